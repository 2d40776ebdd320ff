//! `flashd explore` from outside, as far as it needs no synthesis.

use crate::common::{refusal, root};
use std::process::{Command, Output};

fn explore(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flashd")).current_dir(root()).arg("explore").args(args).output().unwrap()
}

/// Runs a command that must fail with exit code 2; gives its message.
fn refused(args: &[&str]) -> String {
    refusal(explore(args), args)
}

/// A file with a grid in a folder that lives as long as the first result.
fn grid(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("grid.json");
    std::fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap().to_string();
    (folder, path)
}

#[test]
fn errors_of_a_small_grid() {
    let (folder, file) = grid(
        r#"[{"design": "flash-d", "update": "rounded", "accumulator": ["format", {"fraction": 11}]},
            {"design": "fa2", "format": "bf16"}]"#,
    );
    let json = folder.path().join("out.json");
    let args = ["--errors-only", "--grid", &file, "--format", "bf16", "--every", "4"];
    let run = explore(&[&args[..], &["--json", json.to_str().unwrap()]].concat());
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let result: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let result = &result["formats"][0];
    assert_eq!(result["reference"], "fa2_bf16_d16");
    let points = result["points"].as_array().unwrap();
    let name = |i: usize| points[i]["core"].as_str().unwrap();
    let mean = |i: usize| points[i]["errors"]["mean"].as_f64().unwrap();
    let equal = |i: usize| points[i]["equal_scores_error"].as_f64().unwrap();
    // By mean error. The format's own accumulator loses the sum of many small updates, and is far behind.
    assert_eq!(points.len(), 3);
    assert!(mean(0) > 0.0 && mean(0) <= mean(1) && mean(1) < mean(2));
    assert_eq!(name(2), "flash_d_rounded_acc7_bf16_d16");
    assert!(equal(2) > equal(0) && equal(2) > equal(1));
    assert_eq!(points[2]["as_accurate_as_reference"], false);
    for i in 0..3 {
        let stem = name(i).strip_suffix("_bf16_d16").unwrap();
        assert!(text.lines().any(|line| line.split_whitespace().next() == Some(stem)), "{text}");
    }

    // A limit between the second and the third leaves two, and --json alone prints them. The reference may be one of
    // the grid: it is as accurate as itself.
    let limit = (50.0 * (mean(1) + mean(2))).to_string();
    let run = explore(&[&args[..], &["--max-error", &limit, "--reference", "fa2", "--json"]].concat());
    let fewer: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let fewer = &fewer["formats"][0];
    assert_eq!((&fewer["reference"], &fewer["left_out"]), (&"fa2_bf16_d16".into(), &1.into()));
    let left = fewer["points"].as_array().unwrap();
    assert_eq!(left.iter().map(|p| &p["core"]).collect::<Vec<_>>(), [name(0), name(1)]);
    let fa2 = left.iter().find(|p| p["core"] == "fa2_bf16_d16").unwrap();
    assert_eq!(fa2["errors"], fewer["reference_errors"]);
    assert_eq!(fa2["as_accurate_as_reference"], true);
}

#[test]
fn bad_input_is_refused() {
    for (text, parts) in [
        (r#"[{"design": "fa2"}, {"design": "fa2", "colour": 3}]"#, ["entry 2", "colour"]),
        (r#"[{"design": "fa2", "update": "rounded"}]"#, ["entry 1", "update"]),
        ("[]", ["grid.json", "empty"]),
        ("{", ["grid.json", "JSON list of objects"]),
        (r#"[{"design": "fa2", "format": "fp16"}]"#, ["grid.json", "no core in the formats"]),
    ] {
        let (_folder, file) = grid(text);
        let message = refused(&["--errors-only", "--grid", &file]);
        assert!(parts.iter().all(|part| message.contains(part)), "{text}: {message}");
    }
    for (args, part) in [
        (&["--errors-only", "--grid", "/nowhere/grid.json"][..], "/nowhere/grid.json"),
        (&["--errors-only", "--data", "/nowhere"], "/nowhere: cannot be read"),
        (&["--errors-only", "--data", "configs"], "holds no traces"),
        (&["--errors-only", "--d", "1"], "--d: 1 is outside 2 to 576"),
        (&["--errors-only", "--every", "0"], "--every"),
        (&["--errors-only", "--max-error", "-1"], "--max-error"),
        (&["--errors-only", "--reference", "fa3"], "fa2_separate"),
        (&["--errors-only", "--clock", "4"], "--clock"),
        (&["--errors-only", "--json", "/nowhere/x.json"], "/nowhere/x.json"),
        (&["--clock", "0"], "--clock"),
        (&["--clock", "4", "--svg", "/nowhere/x.svg"], "/nowhere/x.svg"),
        (&[], "--clock"),
    ] {
        let message = refused(args);
        assert!(message.contains(part), "{args:?}: {message}");
    }
}

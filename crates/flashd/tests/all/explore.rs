//! `flashd explore` from outside, as far as it needs no synthesis.

use crate::common::{refusal, root};
use serde_json::Value;
use std::process::{Command, Output};

fn explore(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flashd")).current_dir(root()).arg("explore").args(args).output().unwrap()
}

/// Runs a command that must fail with exit code 2; returns its message.
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
    let result: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let result = &result["formats"][0];
    assert_eq!(result["reference"], "fa2_bf16_d16");
    let points = result["points"].as_array().unwrap();
    let name = |i: usize| points[i]["core"].as_str().unwrap();
    let mean = |i: usize| points[i]["errors"]["mean"].as_f64().unwrap();
    let equal = |i: usize| points[i]["equal_scores_error"].as_f64().unwrap();
    // By mean error. The format's own accumulator loses the sum of many small updates, and is far worse.
    assert_eq!(points.len(), 3);
    assert!(mean(0) > 0.0 && mean(0) <= mean(1) && mean(1) < mean(2));
    assert_eq!(name(2), "flash_d_rounded_acc_format_bf16_d16");
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
    let fewer: Value = serde_json::from_slice(&run.stdout).unwrap();
    let fewer = &fewer["formats"][0];
    assert_eq!((&fewer["reference"], &fewer["left_out"]), (&"fa2_bf16_d16".into(), &1.into()));
    let left = fewer["points"].as_array().unwrap();
    assert_eq!(left.iter().map(|p| &p["core"]).collect::<Vec<_>>(), [name(0), name(1)]);
    let fa2 = left.iter().find(|p| p["core"] == "fa2_bf16_d16").unwrap();
    assert_eq!(fa2["errors"], fewer["reference_errors"]);
    assert_eq!(fa2["as_accurate_as_reference"], true);
}

/// Explores a grid without a cost, of few queries; returns the output and the JSON.
fn errors(grid: &str, args: &[&str]) -> (String, Value) {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("out.json");
    let all = [&["--errors-only", "--every", "64", "--grid", grid, "--json", json.to_str().unwrap()], args]
        .concat();
    let run = explore(&all);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let result = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    (String::from_utf8(run.stdout).unwrap(), result)
}

fn words<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|value| value[field].as_str().unwrap()).collect()
}

#[test]
#[ignore = "a quarter of a minute"]
fn formats_are_compared_with_one_another() {
    let (text, result) = errors("configs/grids/formats.json", &[]);
    let formats =
        ["bf16", "fp8-e4m3", "fp8-e4m3, o bf16", "fp8-e4m3, o bf16, scales mx", "int8", "int8, v fp8-e4m3"];
    assert_eq!(words(&result["formats"], "format"), formats);
    let references = [
        "fa2_bf16_d16",
        "fa2_fp8_e4m3_d16",
        "fa2_o_bf16_fp8_e4m3_d16",
        "fa2_mx_o_bf16_fp8_e4m3_d16",
        "fa2_int8_d16",
        "fa2_v_fp8_e4m3_int8_d16",
    ];
    assert_eq!(words(&result["formats"], "reference"), references);

    let all = &result["all_formats"];
    assert_eq!(all["reference"], "fa2_bf16_d16");
    let points = all["points"].as_array().unwrap();
    assert_eq!(points.len(), 12);
    let means: Vec<f64> = points.iter().map(|p| p["errors"]["mean"].as_f64().unwrap()).collect();
    assert!(means.is_sorted(), "{means:?}");
    let mut found = words(&all["points"], "format");
    // bf16 rounds its inputs less than all others.
    assert_eq!(found[..2], ["bf16"; 2]);
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, formats);
    // One table has all of them, each with its formats.
    let (_, table) = text.split_once("all formats: errors on").unwrap();
    for (core, format) in words(&all["points"], "core").into_iter().zip(words(&all["points"], "format")) {
        let design = if core.starts_with("fa2") { "fa2" } else { "flash_d" };
        let named = |line: &str| line.trim().starts_with(design) && line.contains(&format!(" {format} "));
        assert!(table.lines().any(named), "{core}: {table}");
    }
    assert!(table.contains("as accurate as fa2_bf16_d16"), "{table}");
}

#[test]
fn the_reference_of_all_formats_is_one_core() {
    let (_folder, file) = grid(r#"[{"design": ["flash-d", "fa2"], "format": ["int8", "fp8-e4m3"]}]"#);
    // Nothing more is computed for cores above the limit, which all cores are.
    let errors = |args: &[&str]| errors(&file, &[args, &["--max-error", "0.0001"]].concat());
    let (_, first) = errors(&[]);
    assert_eq!(first["all_formats"]["reference"], "fa2_fp8_e4m3_d16");
    // In the order of the option, and by a name in full, of a core that need not be in the grid.
    let (_, second) = errors(&["--format", "int8", "--format", "fp8-e4m3", "--reference", "flash_d"]);
    assert_eq!(second["all_formats"]["reference"], "flash_d_int8_d16");
    let (_, third) = errors(&["--reference", "fa2_logref_int8_d16"]);
    assert_eq!(third["all_formats"]["reference"], "fa2_logref_int8_d16");
    assert_eq!(words(&third["formats"], "reference"), ["fa2_logref_fp8_e4m3_d16", "fa2_logref_int8_d16"]);
    // One format alone is as before.
    let (text, single) = errors(&["--format", "int8"]);
    assert!(single.get("all_formats").is_none() && !text.contains("all formats"));
}

#[test]
fn bad_input_is_refused() {
    for (text, parts) in [
        (r#"[{"design": "fa2"}, {"design": "fa2", "colour": 3}]"#, ["entry 2", "colour"]),
        (r#"[{"design": "fa2", "update": "rounded"}]"#, ["entry 1", "update"]),
        ("[]", ["grid.json", "empty"]),
        ("{", ["grid.json", "JSON list of objects"]),
        (r#"[{"design": "fa2", "format": "fp16"}]"#, ["grid.json", "no core in the formats"]),
        (r#"[{"design": "fa2", "scales": "row", "v_scales": "row"}]"#, ["entry 1", "v_scales"]),
    ] {
        let (_folder, file) = grid(text);
        let message = refused(&["--errors-only", "--format", "bf16", "--grid", &file]);
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

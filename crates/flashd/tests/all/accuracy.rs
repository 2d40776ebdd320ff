//! `flashd accuracy` and `flashd figure` from outside.

use crate::common::{refusal, root};
use std::process::{Command, Output};

fn flashd(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flashd")).current_dir(root()).args(args).output().unwrap()
}

/// Runs a command that must succeed; returns its output.
fn printed(args: &[&str]) -> String {
    let out = flashd(args);
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn json(args: &[&str]) -> serde_json::Value {
    serde_json::from_str(&printed(&[args, &["--json"]].concat())).unwrap()
}

/// Runs a command that must fail with exit code 2; returns its message.
fn refused(args: &[&str]) -> String {
    refusal(flashd(args), args)
}

#[test]
fn errors_on_heads() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("rows.svg");
    let svg = svg.to_str().unwrap();
    let args =
        ["accuracy", "--every", "16", "--no-lengths", "--check", "1", "--format", "bf16", "--svg-rows", svg];
    let text = printed(&args);
    assert!(
        text.contains("bf16: the bundled sample, one query in 16") && text.contains("minilm-d32"),
        "{text}"
    );
    assert!(std::fs::read_to_string(svg).unwrap().contains("bytes-d256"));
    let result = json(&args);
    assert!(result["lengths"].is_null());
    let rows = result["traces"]["formats"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        let cores = row["cores"].as_array().unwrap();
        assert_eq!((cores[0]["core"].as_str(), cores[1]["core"].as_str()), (Some("flash_d"), Some("fa2")));
        for core in cores {
            assert!(core["mean"].as_f64().unwrap() > row["rounding"]["mean"].as_f64().unwrap());
            assert_eq!(
                (core["hardware"]["mismatches"].as_u64(), core["hardware"]["queries"].as_u64()),
                (Some(0), Some(1))
            );
        }
    }
}

#[test]
fn named_cores_in_every_format() {
    let cores = [
        "--core",
        "--design fa2",
        "--core",
        "--design flash-d --lane 8,4,3 --format bf16",
        "--core",
        "configs/fa2_fp8_e4m3_d16.json",
    ];
    let rest = ["accuracy", "--synthetic", "7", "--every", "64", "--check", "0", "--no-lengths"];
    let result = json(&[&rest[..], &cores].concat());
    assert_eq!(result["traces"]["synthetic_seed"], 7);
    let formats = result["traces"]["formats"].as_array().unwrap();
    assert_eq!(formats.len(), 2);
    assert_eq!((&formats[0]["format"], &formats[1]["format"]), (&"bf16".into(), &"fp8-e4m3".into()));
    for row in formats[0]["rows"].as_array().unwrap() {
        assert_eq!(row["cores"][1]["core"], "flash_d_o8v4w3");
        assert!(row["cores"][1]["over_fa2"].as_f64().unwrap() > 2.0, "{row}");
        assert!(row["cores"][0]["hardware"].is_null());
    }
    let message = refused(&[&rest[..], &cores, &["--format", "fp8-e4m3"]].concat());
    assert!(message.contains("is there already"), "{message}");
}

#[test]
fn errors_over_the_length() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("n.svg");
    let args = [
        "accuracy",
        "--no-traces",
        "--format",
        "fp8-e4m3",
        "--n",
        "256,16,256",
        "--svg",
        svg.to_str().unwrap(),
    ];
    let text = printed(&args);
    assert!(text.contains("fp8-e4m3, equal scores") && text.contains("fp8-e4m3, spread scores"), "{text}");
    assert!(std::fs::read_to_string(&svg).unwrap().contains("input error"));
    let result = json(&args);
    assert!(result["traces"].is_null());
    let core = &result["lengths"][0]["cores"][0];
    for scores in ["equal", "spread"] {
        let keys: Vec<u64> =
            core[scores].as_array().unwrap().iter().map(|e| e["keys"].as_u64().unwrap()).collect();
        assert_eq!(keys, [16, 256]);
        assert_eq!(core[scores][1]["over_reference"], 1.0);
    }
}

#[test]
fn weights_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    for (unit, rest) in [("lse", vec![]), ("paper", vec!["--previous", "0.25,0.5"])] {
        let svg = folder.path().join(format!("{unit}.svg"));
        let args =
            [&["figure", "weight", "--weight", unit, "--svg", svg.to_str().unwrap()], &rest[..]].concat();
        let text = printed(&args);
        assert!(text.contains(&format!("{unit}, bf16, 8 segments")), "{text}");
        assert!(std::fs::read_to_string(&svg).unwrap().starts_with("<svg"));
        let curves = json(&args)["curves"].as_array().unwrap().len();
        assert_eq!(curves, if rest.is_empty() { 5 } else { 2 });
    }
}

#[test]
fn bad_input_is_refused() {
    for (args, part) in [
        (&["accuracy", "--data", "/nowhere"][..], "/nowhere: cannot be read"),
        (&["accuracy", "--data", "configs"], "holds no traces"),
        (&["accuracy", "--data", "testbench/data", "--synthetic"], "--synthetic"),
        (&["accuracy", "--synthetic", "x"], "--synthetic"),
        (&["accuracy", "--every", "0"], "--every"),
        (&["accuracy", "--n", "0"], "--n: 0 is outside 1 to 65536"),
        (&["accuracy", "--n", "65537"], "--n: 65537 is outside 1 to 65536"),
        (&["accuracy", "--format", "bf17"], "bf17"),
        (&["accuracy", "--core", "--design fa3"], "fa3"),
        (&["accuracy", "--core", "--lane 8,4,3"], "--design is missing"),
        (&["accuracy", "--core", "/nowhere.json"], "/nowhere.json"),
        (&["accuracy", "--core", "--design flash-d --lane 8,4,3", "--format", "fp32"], "--lane"),
        (&["accuracy", "--core", "--design fa2", "--core", "--design fa2"], "is there already"),
        (&["accuracy", "--core", "--design fa2 --d 64"], "--d: each head has its own"),
        (&["accuracy", "--svg", "/nowhere/a.svg"], "/nowhere/a.svg"),
        (&["accuracy", "--svg-rows", "/nowhere/a.svg"], "/nowhere/a.svg"),
        (&["accuracy", "--no-lengths", "--svg", "a.svg"], "--svg"),
        (&["accuracy", "--no-traces", "--no-lengths"], "--no-lengths"),
        (&["figure"], "weight"),
        (&["figure", "weight", "--segments", "7"], "--segments: 7 is not one of 4, 8, 16, 32"),
        (&["figure", "weight", "--previous", "0.5,1"], "--previous: 1 is not above 0 and below 1"),
        (&["figure", "weight", "--previous", "-0.5"], "--previous: -0.5"),
        (&["figure", "weight", "--previous", "x"], "--previous"),
        (&["figure", "weight", "--svg", "/nowhere/a.svg"], "/nowhere/a.svg"),
    ] {
        let message = refused(args);
        assert!(message.contains(part), "{args:?}: {message}");
    }
}

/// Heads of a model with ALiBi and a sink: default cores get a bias, named ones must have it, and errors hardly change.
#[test]
fn heads_of_models_with_biases_and_sinks() {
    let means = |args: &[&str]| -> Vec<f64> {
        let all = json(&[&["accuracy", "--no-lengths", "--format", "bf16"], args].concat());
        let rows = all["traces"]["formats"][0]["rows"].as_array().unwrap().clone();
        let cores = rows.iter().flat_map(|row| row["cores"].as_array().unwrap());
        cores
            .map(|core| {
                assert_eq!(core["hardware"]["mismatches"], 0, "{core}");
                assert!(
                    core["over_input"].as_f64().is_some_and(|over| (0.95..1.2).contains(&over)),
                    "{core}"
                );
                core["mean"].as_f64().unwrap()
            })
            .collect()
    };
    let plain = means(&[]);
    for args in [&["--alibi", "0.25"][..], &["--sink", "2"], &["--alibi", "0.25", "--sink", "-1"]] {
        let with = means(args);
        assert_eq!(plain.len(), with.len());
        assert!(plain != with && with.iter().all(|mean| *mean < 2e-3), "{args:?}: {with:?}");
    }
    let args = ["accuracy", "--no-lengths", "--sink", "0", "--core", "--design fa2"];
    let refused = refusal(flashd(&args), &args);
    assert!(refused.contains("--sink") && refused.contains("--bias"), "{refused}");
}

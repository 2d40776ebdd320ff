//! `flashd simulate --engine model` from outside.

use crate::common::{data, printed_json, refusal};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn simulate(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flashd")).arg("simulate").args(args).output().unwrap()
}

fn json(args: &[&str]) -> Value {
    printed_json(simulate(&[args, &["--json"]].concat()))
}

/// Runs a command that must fail with exit code 2 and one clear line.
fn refused(args: &[&str]) -> String {
    refusal(simulate(args), args)
}

fn head(flag: &str) -> String {
    data(&format!("bytes_math-d16-layer04-head03-{flag}.npy"))
}

#[test]
fn the_models_report_agrees_with_the_cores() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (q, k, v) = (head("q"), head("k"), head("v"));
    let sample = ["--q", &q, "--k", &k, "--v", &v, "--first-queries", "20", "--first-keys", "24"];
    let selections = [
        "--design flash-d --causal --gaps 5",
        "--design fa2 --format fp8-e4m3",
        "--design flash-d --weight paper --gaps 3",
        "--design fa2 --masks --causal --window 6",
        "--design flash-d --queries 8",
        "--design fa2 --queries 3 --gaps 2",
        "--design fa2 --masks --causal --queries 4",
        "--design flash-d --masks --partial --tile 5 --causal --gaps 4",
        "--design fa2 --masks --partial --tile 7 --value-latency 3",
        "--design flash-d --masks --partial --queries 3 --tile 5 --causal --gaps 4",
        "--design fa2 --format int8 --masks --partial --queries 4 --tile 9",
        "--design flash-d --value-latency 4 --gaps 1",
        "--design fa2 --parts 4",
        "--design flash-d --parts 2 --gaps 8 --value-latency 2",
    ];
    for selection in selections {
        let both = ["cycle", "model"].map(|engine| {
            let o = path(engine);
            let mut args: Vec<&str> = selection.split(' ').collect();
            args.extend(sample);
            args.extend(["--engine", engine, "--o", &o]);
            let mut report = json(&args);
            let mismatches = report["mismatches"].as_u64();
            assert_eq!(mismatches, (engine == "cycle").then_some(0), "{selection}");
            report["counters"]["comparisons"] = 0.into();
            let side = report["counters"].clone();
            (side, report["accuracy"].clone(), std::fs::read(o).unwrap())
        });
        assert_eq!(both[0], both[1], "{selection}");
    }
}

#[test]
fn a_folder_is_run_once() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results");
    let results = results.to_str().unwrap();
    let traces = data("");
    let args =
        ["--engine", "model", "--design", "flash-d", "--d", "16", "--data", &traces, "--results", results];
    let first = json(&args);
    assert_eq!((first["heads"].as_u64(), first["resumed"].as_u64()), (Some(2), Some(0)));
    let name = "bytes_math-d16-layer04-head03";
    let (o, note) = (format!("{results}/{name}-o.npy"), format!("{results}/{name}.json"));
    let written = std::fs::read(&o).unwrap();
    // As the head alone.
    let (q, k, v) = (head("q"), head("k"), head("v"));
    let alone = folder.path().join("alone.npy");
    let alone = alone.to_str().unwrap();
    let single = json(&[
        "--engine", "model", "--design", "flash-d", "--causal", "--q", &q, "--k", &k, "--v", &v, "--o", alone,
    ]);
    assert_eq!(std::fs::read(alone).unwrap(), written);
    let own = first["per_head"].as_array().unwrap().iter().find(|h| h["head"] == name).unwrap();
    assert_eq!(own["counters"], single["counters"]);
    // A head that is missing is run again, the other one is not.
    std::fs::remove_file(&o).unwrap();
    let second = json(&args);
    assert_eq!((second["heads"].as_u64(), second["resumed"].as_u64()), (Some(2), Some(1)));
    assert_eq!(std::fs::read(&o).unwrap(), written);
    assert_eq!(json(&args)["resumed"], 2);
    // So are all where the core is another, or where a note is not one.
    std::fs::write(&note, "{").unwrap();
    assert_eq!(json(&args)["resumed"], 1);
    assert_eq!(json(&[&args[..], &["--hold", "8"]].concat())["resumed"], 0);
}

#[test]
fn histograms_count_every_step() {
    let folder = tempfile::tempdir().unwrap();
    let (q, k, v) = (head("q"), head("k"), head("v"));
    for selection in [
        "--design flash-d",
        "--design fa2",
        "--design flash-d --weight paper",
        "--design fa2 --fa2 log-reference",
    ] {
        let file = folder.path().join("histograms.json");
        let mut args: Vec<&str> = selection.split(' ').collect();
        args.extend([
            "--engine",
            "model",
            "--q",
            &q,
            "--k",
            &k,
            "--v",
            &v,
            "--histograms",
            file.to_str().unwrap(),
        ]);
        let report = json(&args);
        let histograms: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let counters = &report["counters"];
        let sum = |name: &str| -> u64 {
            histograms[name].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum()
        };
        let number = |name: &str| histograms[name].as_u64().unwrap();
        assert_eq!(sum("score"), counters["keys"].as_u64().unwrap(), "{selection}");
        assert_eq!(sum("argument"), number("held") + number("updates"), "{selection}");
        assert!(sum("factor_log2") <= number("updates"), "{selection}");
        assert_eq!(
            (number("held"), number("loads")),
            (counters["skips"].as_u64().unwrap(), counters["loads"].as_u64().unwrap())
        );
        // A weight or an exponential is at most 1.
        let bins = histograms["factor_log2"].as_object().unwrap();
        assert!(bins.keys().all(|bin| bin.parse::<i64>().unwrap() <= 0), "{selection}: {bins:?}");
    }
}

#[test]
fn options_of_the_other_engine_are_refused() {
    let (q, k, v) = (head("q"), head("k"), head("v"));
    let sample = ["--design", "fa2", "--q", &q, "--k", &k, "--v", &v];
    for (more, words) in [
        (
            vec!["--engine", "model", "--vcd", "wave.vcd"],
            "--vcd: takes --engine compiled, reference or rusthdl",
        ),
        (
            vec!["--engine", "model", "--pipeline", "p.log"],
            "--pipeline: takes --engine compiled, reference or rusthdl",
        ),
        (
            vec!["--engine", "model", "--fst", "wave.fst"],
            "--fst: takes --engine compiled, reference or rusthdl",
        ),
        (
            vec!["--engine", "model", "--vectors", "v.vec"],
            "--vectors: takes --engine compiled, reference or rusthdl",
        ),
        (vec!["--engine", "compiled", "--histograms", "h.json"], "--histograms: takes --engine model"),
        (vec!["--engine", "model", "--histograms", "/nowhere/h.json"], "--histograms /nowhere/h.json"),
    ] {
        assert!(refused(&[&sample[..], &more].concat()).contains(words), "{more:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results");
    let results = results.to_str().unwrap();
    let (empty, traces) = (folder.path().to_str().unwrap(), data(""));
    for (args, words) in [
        (
            vec!["--engine", "rusthdl", "--design", "fa2", "--data", &traces, "--results", results],
            "--data: takes --engine model",
        ),
        (
            vec!["--engine", "model", "--design", "fa2", "--data", empty, "--results", results],
            "holds no traces",
        ),
        (vec!["--engine", "model", "--design", "fa2", "--data", &traces], "--results"),
        (
            vec![
                "--engine",
                "model",
                "--design",
                "fa2",
                "--d",
                "17",
                "--data",
                &traces,
                "--results",
                results,
            ],
            "d = 17",
        ),
    ] {
        assert!(refused(&args).contains(words), "{args:?}");
    }
    assert!(!Path::new(results).join("x").exists());
}

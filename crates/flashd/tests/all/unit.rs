//! `simulate` of an attention unit.

use crate::npy::Rows;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn simulate(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    command.arg("simulate").args(words.split_whitespace()).current_dir(folder);
    command.output().unwrap()
}

fn report(folder: &Path, words: &str) -> Value {
    let out = simulate(folder, &format!("{words} --json"));
    assert!(out.status.success(), "{words}: {}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

fn tensors(folder: &Path, queries: usize, keys: usize) {
    for (seed, (role, rows)) in [("q", queries), ("k", keys), ("v", keys)].into_iter().enumerate() {
        Rows::random(seed as u64 + 5, rows, 6).write(&folder.join(format!("{role}.npy")));
    }
}

const UNIT: &str = "--design flash-d --format bf16 --d 6 --queries 2 --masks --wrapper axi4 --job job.json";

/// The results of a unit are those of its array, whatever memory and host do.
#[test]
fn results_agree_with_the_array() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    tensors(folder, 7, 9);
    let job =
        r#"{"flags": ["causal"], "position": 2, "tensors": {"q": "q.npy", "k": "k.npy", "v": "v.npy"}}"#;
    std::fs::write(folder.join("job.json"), job).unwrap();
    let array =
        "--design flash-d --format bf16 --queries 2 --masks --causal --q q.npy --k k.npy --v v.npy --o a.npy";
    let array = report(folder, array);
    for how in
        ["", "--gaps 3", "--memory-latency 40 --memory-gap 3", "--values all --beat 64 --engine reference"]
    {
        let unit = report(folder, &format!("{UNIT} {how} --o o.npy"));
        assert_eq!(Rows::read(&folder.join("o.npy")).x, Rows::read(&folder.join("a.npy")).x, "{how}");
        assert_eq!(unit["accuracy"]["mean"], array["accuracy"]["mean"]);
        assert_eq!(unit["registers"]["JOBS"].as_u64(), Some(1));
        assert_eq!(unit["keys"].as_u64(), Some(4 + 6 + 8 + 9));
        // A key has 12 bytes.
        assert_eq!(unit["registers"]["BYTES_KEYS"].as_u64(), Some(27 * 12));
    }
}

/// A unit whose queries take SCALE has the factor of `--scale` or of its job, and the usual errors.
#[test]
fn a_job_sets_the_factor_of_scores() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    tensors(folder, 7, 9);
    let unit = format!("{UNIT} --q-scales row-q16 --tensor-scale none");
    let run = |job: &str, words: &str| {
        let files = r#""tensors": {"q": "q.npy", "k": "k.npy", "v": "v.npy"}"#;
        std::fs::write(folder.join("job.json"), format!("{{{files}{job}}}")).unwrap();
        let report = report(folder, &format!("{unit} {words} --o o.npy"));
        assert_eq!(report["configuration"]["block"]["core"]["score_shift"].as_i64(), Some(0));
        assert!(report["accuracy"]["mean"].as_f64().unwrap() < 0.01, "{job} {words}: {report}");
        // A query has 12 bytes, and no scale.
        assert_eq!(report["registers"]["BYTES_QUERIES"].as_u64(), Some(7 * 12));
        (report["registers"]["SCALE"].as_u64().unwrap(), Rows::read(&folder.join("o.npy")).x)
    };
    let (scale, default) = run("", "");
    assert_eq!(scale, (65536.0 / 6f64.sqrt()).round() as u64);
    assert_eq!(run(r#", "scale": 26755"#, ""), (scale, default.clone()));
    let (scale, halves) = run("", "--scale 0.5");
    assert_eq!((scale, &halves), (0x8000, &run(r#", "scale": "0x8000""#, "").1));
    let (other, smallest) = run(r#", "scale": 1"#, "");
    let (scale, one) = run("", "--scale none");
    assert_eq!(scale, 0);
    assert!(other == 1 && one != halves && halves != default && smallest != default);
    let out = simulate(folder, &format!("{unit} --scale 2"));
    let text = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.code() == Some(2) && text.contains("SCALE = 131072"), "{text}");
    let (scale, doubled) = run_with_shift(folder, &unit);
    assert!(scale == 0x8000 && doubled == one, "0.5 * 2^1 is 1");
}

/// SCALE and results of a unit that doubles scores.
fn run_with_shift(folder: &Path, unit: &str) -> (u64, Vec<f64>) {
    let report = report(folder, &format!("{unit} --score-shift 1 --scale none --o o.npy"));
    (report["registers"]["SCALE"].as_u64().unwrap(), Rows::read(&folder.join("o.npy")).x)
}

/// Several jobs are a queue: with pages, groups and windows, and random tensors.
#[test]
fn lists_of_jobs_are_queues() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let jobs = r#"[
        {"queries": 3, "keys": 21, "group": 2, "k_heads": 2, "flags": ["paged"], "page": 3, "pages": 5, "seed": 4},
        {"queries": 5, "keys": 12, "flags": ["causal", "window"], "window": 4, "position": -1, "k": "0x200003", "k_row": 17},
        {"queries": 0, "keys": 1}
    ]"#;
    std::fs::write(folder.join("job.json"), jobs).unwrap();
    let unit = report(folder, UNIT);
    assert_eq!(unit["registers"]["JOBS"].as_u64(), Some(3));
    assert_eq!(unit["queries"].as_u64(), Some(3 * 4 + 5));
    // Descriptors, and a block table for each head.
    assert!(unit["registers"]["BEATS_CONTROL"].as_u64().unwrap() >= 3 * 10);
    let text = simulate(folder, UNIT);
    let text = String::from_utf8(text.stdout).unwrap();
    for word in ["cycles lost", "for keys", "descriptors and tables", "0 mismatches"] {
        assert!(text.contains(word), "{text}");
    }
}

/// A unit reads each key and each value of a block once.
#[test]
fn beats_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("job.json"), r#"{"flags": ["causal"], "queries": 32, "keys": 32}"#).unwrap();
    let unit = "--design flash-d --format fp8-e4m3 --d 16 --queries 8 --masks --wrapper axi4 --values all --job job.json";
    let unit = report(folder, unit);
    // Blocks of 8 queries see 8, 16, 24 and 32 keys; a key and a value have a beat each.
    assert_eq!(unit["keys"].as_u64(), Some(80));
    assert_eq!(unit["registers"]["BEATS_KEYS"].as_u64(), Some(80));
    assert_eq!(unit["registers"]["BEATS_VALUES"].as_u64(), Some(80));
    assert_eq!(unit["registers"]["BYTES_WRITTEN"].as_u64(), Some(32 * 16));
}

#[test]
fn jobs_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    tensors(folder, 7, 9);
    let files = r#""tensors": {"q": "q.npy", "k": "k.npy", "v": "v.npy"}"#;
    for (job, about) in [
        (r#"{"queries": 3"#.to_string(), "job.json"),
        ("[]".into(), "empty list"),
        ("[3]".into(), "object"),
        (r#"{"querys": 3}"#.into(), "querys"),
        (r#"{"FLAGS": 3}"#.into(), "FLAGS"),
        (r#"{"queries": -3}"#.into(), "queries: -3"),
        (r#"{"queries": 1.5}"#.into(), "queries: 1.5"),
        (r#"{"page": 256}"#.into(), "page: 256"),
        (r#"{"q": "0xfg"}"#.into(), "q: "),
        (r#"{"flags": "causal"}"#.into(), "flags"),
        (r#"{"flags": ["acausal"]}"#.into(), "flags"),
        (r#"{"flags": ["lse"], "queries": 1, "keys": 1}"#.into(), "UNSUPPORTED"),
        (r#"[{"queries": 1, "keys": 1}, {"queries": 1, "keys": 1, "states_of": 0}]"#.into(), "states_of"),
        (r#"{"queries": 1, "keys": 1, "states_of": 0}"#.into(), "states_of"),
        (r#"{"flags": ["window"], "queries": 1, "keys": 1, "window": 1}"#.into(), "WINDOW"),
        (r#"{"keys": 100000}"#.into(), "LENGTH"),
        (r#"[{"queries": 1, "keys": 1}, {"queries": 2, "keys": 2, "k_row": 3}]"#.into(), "job 1, refused"),
        (r#"{"queries": 2, "keys": 2, "q": 4096, "o": 4100}"#.into(), "lie on"),
        (r#"{"keys": 40, "flags": ["paged"], "page": 3, "pages": 4}"#.into(), "pages"),
        (r#"{"seed": -1}"#.into(), "seed"),
        (r#"{"tensors": {"q": "q.npy", "k": "k.npy"}}"#.into(), "tensors"),
        (r#"{"tensors": {"q": "q.npy", "k": "k.npy", "v": "w.npy"}}"#.into(), "w.npy"),
        (format!(r#"{{{files}, "seed": 1}}"#), "tensors, seed"),
        (format!(r#"{{{files}, "queries": 8}}"#), "queries: 8"),
        (format!(r#"{{{files}, "group": 2}}"#), "group: 2"),
    ] {
        std::fs::write(folder.join("job.json"), &job).unwrap();
        let out = simulate(folder, UNIT);
        let text = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{job}: {text}");
        assert!(text.contains(about) && text.contains("job.json"), "{job}: {text}");
    }
    for (words, about) in [
        ("--design flash-d --d 4 --job job.json --wrapper axi4", "--queries"),
        ("--design flash-d --d 4 --job job.json --wrapper axis --queries 2", "--job"),
        ("--design flash-d --d 4 --wrapper axi4 --queries 2 --q q.npy --k k.npy --v v.npy", "--job"),
        ("--design flash-d --d 4 --wrapper axi4 --queries 2 --job job.json --engine model", "--engine"),
        ("--design flash-d --d 4 --wrapper axi4 --queries 2 --job job.json --beat 96", "--beat"),
        ("--design flash-d --d 4 --wrapper axi4 --queries 2 --job job.json --causal", "--causal"),
        (
            "--design flash-d --d 6 --wrapper axis --queries 2 --q q.npy --k k.npy --v v.npy --in-flight 16",
            "--in-flight",
        ),
    ] {
        let out = simulate(folder, words);
        let text = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{words}: {text}");
        assert!(text.contains(about), "{words}: {text}");
    }
}

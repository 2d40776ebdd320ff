//! `simulate` of a stream wrapper.

use crate::npy::Rows;
use std::path::Path;
use std::process::{Command, Output};

fn simulate(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    command.args("simulate --q q.npy --k k.npy --v v.npy".split(' ')).args(words.split_whitespace());
    command.current_dir(folder).output().unwrap()
}

fn head(folder: &Path, queries: usize) {
    for (seed, (role, rows)) in [("q", queries), ("k", 9), ("v", 9)].into_iter().enumerate() {
        Rows::random(seed as u64 + 5, rows, 6).write(&folder.join(format!("{role}.npy")));
    }
}

#[test]
fn results_agree_with_the_array() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    head(folder, 7);
    let results = |words: &str| {
        let out = simulate(folder, &format!("{words} --o o.npy --json"));
        assert!(out.status.success(), "{words}: {}", String::from_utf8_lossy(&out.stderr));
        let report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        (Rows::read(&folder.join("o.npy")).x, report)
    };
    for core in [
        "--design flash-d --format bf16 --queries 2",
        "--design fa2 --format fp8-e4m3 --queries 3 --masks --causal",
        "--design flash-d --format fp8-e4m3 --update fixed --queries 4 --masks --causal --window 3",
    ] {
        let array = results(core).0;
        for how in ["", "--gaps 3", "--memory 9 --beat 16", "--values all --engine rusthdl"] {
            let (wrapped, report) = results(&format!("{core} --wrapper axis {how}"));
            assert_eq!(wrapped, array, "{core} {how}");
            let blocks = report["blocks"].as_u64().unwrap();
            assert_eq!(report["registers"]["BlocksDone"].as_u64(), Some(blocks));
            let stalls = report["registers"]["StallValue"].as_u64().unwrap();
            // By default values come in time.
            assert!(if how.is_empty() { stalls == 0 } else { how != "--memory 9 --beat 16" || stalls > 20 });
        }
    }
}

#[test]
fn masks_beyond_the_registers_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    head(folder, 12);
    for (words, about) in [
        ("--wrapper axis", "--queries"),
        ("--queries 2 --wrapper axis --engine model", "--engine model"),
        ("--queries 2 --masks --wrapper axis --lengths 5", "--lengths"),
        // More queries than keys: the first ones see none.
        ("--queries 2 --masks --wrapper axis --causal", "--causal-align top-left"),
        (
            "--queries 2 --masks --wrapper axis --causal --causal-align top-left --key-index-bits 3",
            "--key-index-bits",
        ),
        ("--queries 2 --wrapper axis --beat 7", "--beat"),
        ("--queries 2 --wrapper axis --vectors x.hex", "--vectors"),
        ("--queries 2 --memory 3", "--memory"),
    ] {
        let out = simulate(folder, &format!("--design flash-d --format bf16 {words}"));
        let text = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{words}: {text}");
        assert!(text.contains(about), "{words}: {text}");
    }
}

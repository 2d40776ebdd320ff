//! Queries that are beyond the range of the lanes.

use crate::npy::Rows;
use std::path::Path;
use std::process::{Command, Output};

fn simulate(folder: &Path, keys: usize, flags: &str) -> Output {
    let rows = |name: &str, rows: usize| {
        Rows { d: 2, x: vec![0.5; rows * 2] }.write(&folder.join(format!("head-{name}.npy")));
    };
    rows("q", 1);
    rows("k", keys);
    rows("v", keys);
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    command.args("simulate --design fa2 --engine model".split(' ')).args(flags.split(' '));
    command.current_dir(folder).output().unwrap()
}

/// All values are the largest of their channel, 127, and so are the results: 4 times the largest of int8q2.
#[test]
fn results_beyond_a_small_unit_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let files = "--q head-q.npy --k head-k.npy --v head-v.npy --format int8 --o-format";
    let shown = |o: &str| {
        let out = simulate(folder.path(), 3, &format!("{files} {o}"));
        assert_eq!(out.status.code(), Some(0));
        String::from_utf8(out.stdout).unwrap()
    };
    assert!(shown("int8q2").contains("2 results are ±31.75, the largest of int8q2, or saturated to it"));
    assert!(!shown("int8").contains("saturated"));
    let report = simulate(folder.path(), 3, &format!("{files} int8q2 --json")).stdout;
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(report.pointer("/results_at_limit"), Some(&2.into()));
}

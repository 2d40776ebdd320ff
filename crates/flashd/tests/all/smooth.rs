//! K minus its mean over the keys, and its effect on results.

use crate::npy::Rows;
use std::path::Path;
use std::process::{Command, Output};

const D: usize = 8;
const KEYS: usize = 24;

/// Numbers that look random, the same in every run.
fn noise(seed: u32, n: usize) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 23) - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// A head whose keys have much in common, and the same without it: `head` and `flat`.
fn heads(folder: &Path) {
    let (q, v) = (noise(1, 4 * D), noise(2, KEYS * D));
    // Exact in f32, and their mean too: multiples of 1/32 that come with their negatives.
    let half: Vec<f64> = noise(3, KEYS / 2 * D).into_iter().map(|x| (x * 64.0).round() / 32.0).collect();
    let flat: Vec<f64> = half.iter().copied().chain(half.iter().map(|x| -x)).collect();
    let with: Vec<f64> = flat.iter().enumerate().map(|(i, x)| x + 50.0 + (i % D) as f64).collect();
    for (name, k) in [("head", with), ("flat", flat)] {
        for (role, x) in [("q", q.clone()), ("k", k), ("v", v.clone())] {
            Rows { d: D, x }.write(&folder.join(format!("{name}-{role}.npy")));
        }
    }
}

fn flashd(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    command.args(words.split(' ')).current_dir(folder).output().unwrap()
}

fn simulate(folder: &Path, head: &str, more: &str) -> (serde_json::Value, Vec<u8>) {
    let files = format!("--q {head}-q.npy --k {head}-k.npy --v {head}-v.npy --o o.npy");
    let words = format!("simulate --design flash-d --d {D} --engine model --json {files} {more}");
    let out = flashd(folder, &words);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    (serde_json::from_slice(&out.stdout).unwrap(), std::fs::read(folder.join("o.npy")).unwrap())
}

#[test]
fn the_mean_of_keys_costs_no_accuracy() {
    let folder = tempfile::tempdir().unwrap();
    heads(folder.path());
    for format in ["--format fp8-e4m3", "--format int8", "--format bf16"] {
        let (plain, _) = simulate(folder.path(), "head", format);
        let (smooth, o) = simulate(folder.path(), "head", &format!("{format} --smooth-k"));
        let (_, by_hand) = simulate(folder.path(), "flat", format);
        assert_eq!(o, by_hand, "{format}: the mean is exact here");
        let mean = |report: &serde_json::Value| report.pointer("/accuracy/mean").unwrap().as_f64().unwrap();
        assert!(mean(&smooth) * 3.0 < mean(&plain), "{format}: {} and {}", mean(&smooth), mean(&plain));
        assert_eq!(smooth["smooth_k"], true);
        assert!(plain.get("smooth_k").is_none());
    }
}

#[test]
fn results_with_and_without_are_not_taken_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    heads(folder.path());
    let words = "simulate --design flash-d --format fp8-e4m3 --engine model --data . --results out --json";
    let resumed = |more: &str| -> u64 {
        let out = flashd(folder.path(), &format!("{words}{more}"));
        let report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        report["resumed"].as_u64().unwrap()
    };
    assert_eq!([resumed(""), resumed("")], [0, 2]);
    assert_eq!([resumed(" --smooth-k"), resumed(" --smooth-k")], [0, 2]);
}

#[test]
fn accuracy_shows_both_and_refuses_it_without_heads() {
    let folder = tempfile::tempdir().unwrap();
    heads(folder.path());
    let words = "accuracy --data . --no-lengths --check 0 --smooth-k --json --core";
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    let core = "--design flash-d --format fp8-e4m3";
    let out = command.args(words.split(' ')).arg(core).current_dir(folder.path()).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let mean = |of: &str| {
        let mean = report.pointer(&format!("/traces/{of}/0/rows/1/cores/0/mean"));
        mean.and_then(serde_json::Value::as_f64).unwrap()
    };
    assert!(mean("smooth_k") < mean("formats"), "{report}");
    for other in ["--channels", "--no-traces"] {
        let out = flashd(folder.path(), &format!("accuracy --smooth-k {other}"));
        assert_eq!(out.status.code(), Some(2));
        let message = String::from_utf8(out.stderr).unwrap();
        assert!(message.contains("--smooth-k") && message.contains(other), "{message}");
    }
}

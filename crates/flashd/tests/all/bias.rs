//! `simulate` with biases of scores, from files and from a slope.

use crate::npy::Rows;
use std::path::Path;
use std::process::{Command, Output};

const D: usize = 8;
const QUERIES: usize = 5;
const KEYS: usize = 12;

fn flashd(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    command.args(words.split_whitespace()).current_dir(folder).output().unwrap()
}

fn head(folder: &Path) {
    for (seed, (role, rows)) in [("q", QUERIES), ("k", KEYS), ("v", KEYS)].into_iter().enumerate() {
        Rows::random(seed as u64 + 1, rows, D).write(&folder.join(format!("{role}.npy")));
    }
}

/// The results of a run.
fn simulate(folder: &Path, more: &str) -> Vec<f64> {
    let out = flashd(folder, &format!("simulate --q q.npy --k k.npy --v v.npy --o o.npy {more}"));
    assert!(out.status.success(), "{more}: {}", String::from_utf8_lossy(&out.stderr));
    Rows::read(&folder.join("o.npy")).x
}

fn error(folder: &Path, words: &str) -> String {
    let out = flashd(folder, words);
    assert_eq!(out.status.code(), Some(2), "{words}");
    String::from_utf8(out.stderr).unwrap().trim().to_string()
}

#[test]
fn files_and_slopes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    head(folder);
    // Biases that act as a mask, and a slope.
    let far = |hidden: &dyn Fn(usize, usize) -> bool| {
        let of = |i: usize| if hidden(i / KEYS, i % KEYS) { -1e4 } else { 0.0 };
        Rows { d: KEYS, x: (0..QUERIES * KEYS).map(of).collect() }
    };
    far(&|_, key| key >= 9).write(&folder.join("lengths.npy"));
    far(&|query, key| key + QUERIES > query + KEYS).write(&folder.join("causal.npy"));
    Rows { d: KEYS, x: (0..KEYS).map(|key| if key >= 9 { -1e4 } else { 0.0 }).collect() }
        .write(&folder.join("keys.npy"));
    let slope = |i: usize| -0.5 * ((i / KEYS + KEYS - QUERIES) as f64 - (i % KEYS) as f64).abs();
    Rows { d: KEYS, x: (0..QUERIES * KEYS).map(slope).collect() }.write(&folder.join("slope.npy"));
    for design in ["--design flash-d", "--design fa2", "--design fa2 --queries 3"] {
        let masked = format!("{design} --masks");
        let biased = format!("{design} --bias --key-bias");
        let lengths = simulate(folder, &format!("{masked} --lengths 9"));
        assert_eq!(simulate(folder, &format!("{biased} lengths.npy")), lengths, "{design}");
        assert_eq!(simulate(folder, &format!("{biased} keys.npy")), lengths, "{design}");
        let causal = simulate(folder, &format!("{masked} --causal"));
        assert_eq!(simulate(folder, &format!("{biased} causal.npy")), causal, "{design}");
        let alibi = simulate(folder, &format!("{design} --bias --alibi 0.5"));
        assert_eq!(simulate(folder, &format!("{biased} slope.npy")), alibi, "{design}");
        assert_ne!(simulate(folder, &format!("{design} --bias")), alibi);
        let plain = simulate(folder, design);
        assert_eq!(simulate(folder, &format!("{design} --bias")), plain, "{design}");
    }
    // A bias and masks, in tiles and in parts.
    let whole = simulate(folder, "--design flash-d --bias --alibi 0.5 --causal --masks");
    let tiled = "--design flash-d --bias --alibi 0.5 --causal --masks --partial --tile 5";
    assert_eq!(simulate(folder, tiled), whole);
    let parts = simulate(folder, "--design flash-d --bias --alibi 0.5 --causal --masks --parts 2");
    assert!(parts.iter().zip(&whole).all(|(a, b)| (a - b).abs() < 0.02));
}

/// Attention with a sink in f64, all queries seeing the keys up to their own, the last one the last.
fn with_sink(folder: &Path, sink: f64, causal: bool) -> Vec<f64> {
    let [q, k, v] = ["q", "k", "v"].map(|role| Rows::read(&folder.join(format!("{role}.npy"))).x);
    let mut o = Vec::new();
    for (i, q) in q.chunks(D).enumerate() {
        let keys = if causal { KEYS - QUERIES + i + 1 } else { KEYS };
        let dot = |k: &[f64]| q.iter().zip(k).map(|(a, b)| a * b).sum::<f64>() / (D as f64).sqrt();
        let e: Vec<f64> = k.chunks(D).take(keys).map(|k| dot(k).exp()).collect();
        let sum = e.iter().sum::<f64>() + sink.exp();
        o.extend((0..D).map(|j| e.iter().zip(v.chunks(D)).map(|(e, v)| e * v[j]).sum::<f64>() / sum));
    }
    o
}

#[test]
fn sinks() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    head(folder);
    for sink in [-3.0, 0.0, 2.5, 6.0] {
        for causal in [false, true] {
            let wanted = with_sink(folder, sink, causal);
            let more = if causal { "--causal --masks" } else { "" };
            for design in
                ["flash-d", "fa2", "fa2 --fa2 log-reference", "flash-d --queries 2", "fa2 --queries 3"]
            {
                let o = simulate(folder, &format!("--design {design} --bias --sink {sink} {more}"));
                let worst = o.iter().zip(&wanted).map(|(o, w)| (o - w).abs()).fold(0.0, f64::max);
                assert!(worst < 0.025, "{design}, {sink}, {more}: {worst}");
            }
        }
    }
    // The sink enters once, with the first tile or part.
    let whole = simulate(folder, "--design flash-d --bias --sink 1 --masks");
    assert_eq!(simulate(folder, "--design flash-d --bias --sink 1 --masks --partial --tile 4"), whole);
    let parts = simulate(folder, "--design fa2 --bias --sink 1 --masks --parts 4");
    assert!(parts.iter().zip(with_sink(folder, 1.0, false)).all(|(o, w)| (o - w).abs() < 0.025));
    // A query that sees nothing else has a result of zero.
    let alone = simulate(folder, "--design flash-d --bias --sink 1 --masks --lengths 0,1,2,3,4");
    assert!(alone[..D].iter().all(|&o| o == 0.0) && alone[D..2 * D].iter().any(|&o| o != 0.0));
}

#[test]
fn errors_name_the_wrong_input() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    head(folder);
    Rows { d: 3, x: vec![0.0; 6] }.write(&folder.join("short.npy"));
    let simulate = "simulate --design flash-d --q q.npy --k k.npy --v v.npy";
    assert!(
        error(folder, &format!("{simulate} --key-bias short.npy"))
            .ends_with("--key-bias: takes a core that adds a bias; add --bias")
    );
    assert!(
        error(folder, &format!("{simulate} --alibi 1"))
            .ends_with("--alibi: takes a core that adds a bias; add --bias")
    );
    assert!(error(folder, &format!("{simulate} --bias --key-bias short.npy")).ends_with(
        "short.npy: has 2 rows of 3; [12] or [5, 12] is needed, a number for each key or each query and key"
    ));
    assert!(
        error(folder, "generate --design flash-d --weight paper --d 8 --bias --stdout").contains("--bias")
    );
}

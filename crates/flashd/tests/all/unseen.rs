//! Unseen queries, keys and values may hold anything in every input path; masks may hold minus infinity.

use crate::npy::Rows;
use std::path::Path;
use std::process::{Command, Output};

const D: usize = 8;
const QUERIES: usize = 6;
const KEYS: usize = 14;

fn flashd(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    command.args(crate::common::words(words)).current_dir(folder).output().unwrap()
}

fn refused(folder: &Path, words: &str) -> String {
    let out = flashd(folder, words);
    assert_eq!(out.status.code(), Some(2), "{words}");
    String::from_utf8(out.stderr).unwrap().trim().to_string()
}

/// The contents of unseen rows.
const GARBAGE: [f64; 5] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 3e38, -1e30];

/// A head whose rows that are not `seen` are zeros, or else garbage.
fn head(folder: &Path, stem: &str, seen: impl Fn(&str, usize) -> bool, garbage: bool) {
    for (seed, (role, rows)) in [("q", QUERIES), ("k", KEYS), ("v", KEYS)].into_iter().enumerate() {
        let mut all = Rows::random(seed as u64 + 1, rows, D);
        for (i, x) in all.x.iter_mut().enumerate().filter(|(i, _)| !seen(role, i / D)) {
            *x = if garbage { GARBAGE[i % GARBAGE.len()] } else { 0.0 };
        }
        all.write(&folder.join(format!("{stem}{role}.npy")));
    }
}

/// A table over queries and keys.
fn table(folder: &Path, name: &str, of: impl Fn(usize, usize) -> f64) {
    let x = (0..QUERIES * KEYS).map(|i| of(i / KEYS, i % KEYS)).collect();
    Rows { d: KEYS, x }.write(&folder.join(name));
}

/// The bits of the results, and the report, in which errors are.
fn simulate(folder: &Path, stem: &str, more: &str) -> (Vec<u64>, String) {
    let engine = if more.contains("--engine") { "" } else { "--engine model" };
    let files = format!("--q {stem}q.npy --k {stem}k.npy --v {stem}v.npy --o o.npy");
    let out = flashd(folder, &format!("simulate {engine} {files} --json {more}"));
    assert!(out.status.success(), "{stem}, {more}: {}", String::from_utf8_lossy(&out.stderr));
    let mut report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    report.as_object_mut().unwrap().remove("engine");
    (Rows::read(&folder.join("o.npy")).x.iter().map(|x| x.to_bits()).collect(), report.to_string())
}

#[test]
fn rows_that_no_query_sees_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder, "added.npy", |query, key| match key {
        9.. => f64::NEG_INFINITY,
        3 => -3.4e38,
        _ => (query + key) as f64 / 8.0,
    });
    Rows { d: KEYS, x: (0..KEYS).map(|key| if key < 5 { f64::NEG_INFINITY } else { 0.5 }).collect() }
        .write(&folder.join("keys.npy"));
    type Seen = fn(&str, usize) -> bool;
    let cases: [(&str, Seen); 7] = [
        ("--first-keys 9 --first-queries 4", |role, row| row < if role == "q" { 4 } else { 9 }),
        ("--causal --causal-align top-left", |role, row| role == "q" || row < QUERIES),
        ("--causal --window 3 --masks", |role, row| role == "q" || row >= KEYS - QUERIES - 2),
        (
            "--lengths 0,5,0,2,9,1 --masks",
            |role, row| if role == "q" { ![0, 2].contains(&row) } else { row < 9 },
        ),
        ("--masks --bias --key-bias added.npy", |role, row| role == "q" || (row < 9 && row != 3)),
        ("--masks --bias --key-bias keys.npy", |role, row| role == "q" || row >= 5),
        ("--masks --bias --causal --key-bias keys.npy --first-keys 10", |role, row| {
            role == "q" || (5..10).contains(&row)
        }),
    ];
    let cores = [
        "--design flash-d",
        "--design fa2",
        "--design flash-d --format fp8-e4m3",
        "--design fa2 --format fp16 --smooth-k",
        "--design flash-d --format int8 --smooth-k",
        "--design fa2 --format int4 --scales none",
        "--design flash-d --update fixed --parts 2 --partial",
        "--design flash-d --partial --tile 4",
        "--design fa2 --queries 3",
    ];
    for (more, seen) in cases {
        head(folder, "zeros-", seen, false);
        head(folder, "", seen, true);
        for core in cores {
            // Arrays take ranges of keys; ranges in arrays, tiles and parts take masks.
            let masks = more.contains("--masks");
            if (core.contains("--queries") && (more.contains("added") || !masks && more.contains("--causal")))
                || (core.contains("--partial") && !masks)
            {
                continue;
            }
            let more = format!("{core} {more}");
            assert_eq!(simulate(folder, "", &more), simulate(folder, "zeros-", &more), "{more}");
        }
    }
}

#[test]
fn the_rest_of_smooth_k_is_that_of_keys_that_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    head(folder, "", |role, row| role == "q" || row < 9, true);
    for core in ["--design flash-d --format fp8-e4m3 --masks", "--design fa2 --format int8 --masks"] {
        let cut = simulate(folder, "", &format!("{core} --smooth-k --first-keys 9")).0;
        assert_eq!(simulate(folder, "", &format!("{core} --smooth-k --lengths 9")).0, cut, "{core}");
    }
}

#[test]
fn hidden_keys_are_as_masked_ones() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    head(folder, "", |_, _| true, false);
    table(folder, "lengths.npy", |_, key| if key >= 9 { f64::NEG_INFINITY } else { 0.0 });
    table(
        folder,
        "causal.npy",
        |query, key| if key + QUERIES > query + KEYS { f64::NEG_INFINITY } else { 0.0 },
    );
    table(folder, "all.npy", |query, _| if query == 2 { f64::NEG_INFINITY } else { 0.0 });
    table(folder, "holes.npy", |_, key| if key == 4 { f64::NEG_INFINITY } else { 0.0 });
    for core in ["flash-d", "fa2", "flash-d --update fixed", "fa2 --queries 4", "flash-d --engine compiled"] {
        let core = format!("--design {core} --masks");
        for (file, flags) in
            [("lengths", "--lengths 9"), ("causal", "--causal"), ("all", "--lengths 14,14,0,14,14,14")]
        {
            let hidden = simulate(folder, "", &format!("{core} --bias --key-bias {file}.npy")).0;
            assert_eq!(hidden, simulate(folder, "", &format!("{core} {flags}")).0, "{core} {file}");
        }
    }
    let files = "simulate --q q.npy --k k.npy --v v.npy";
    assert_eq!(
        refused(folder, &format!("{files} --design fa2 --bias --key-bias lengths.npy")),
        "error: --key-bias lengths.npy: hides key 9 from query 0, which takes a core with masks; add --masks"
    );
    assert_eq!(
        refused(folder, &format!("{files} --design fa2 --bias --masks --queries 2 --key-bias holes.npy")),
        "error: --key-bias holes.npy: hides key 4 from query 0 between keys that it sees; with --queries or --wrapper a query sees one \
         range of keys; leave these out"
    );
}

#[test]
fn seen_rows_must_be_finite() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for bad in ["NaN", "inf", "-inf"] {
        head(folder, "", |_, _| true, false);
        let mut k = Rows::read(&folder.join("k.npy"));
        k.x[11 * D + 3] = bad.parse().unwrap();
        k.write(&folder.join("k.npy"));
        let files = "simulate --design flash-d --engine model --q q.npy --k k.npy --v v.npy";
        let message =
            format!("error: k.npy: row 11, column 3 is {bad}; every element must be a finite float32");
        assert_eq!(refused(folder, files), message);
        // The last query sees it.
        assert_eq!(refused(folder, &format!("{files} --causal")), message);
        assert!(flashd(folder, &format!("{files} --causal --causal-align top-left")).status.success());
    }
    for (bad, text) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        head(folder, "", |_, _| true, false);
        table(folder, "added.npy", |query, key| if (query, key) == (1, 11) { bad } else { 0.0 });
        let run = "simulate --design fa2 --masks --bias --engine model --q q.npy --k k.npy --v v.npy --key-bias added.npy";
        assert_eq!(
            refused(folder, run),
            format!(
                "error: --key-bias added.npy: row 1, column 11 is {text}; a mask has finite numbers, and -inf for a key that its query does not see"
            )
        );
        assert!(flashd(folder, &format!("{run} --causal")).status.success());
        assert!(flashd(folder, &format!("{run} --lengths 11")).status.success());
        assert!(flashd(folder, &format!("{run} --first-queries 1")).status.success());
    }
}

/// Folders of heads: `simulate --data`, `golden`, `accuracy`, `skips`, `traffic`.
#[test]
fn folders_may_have_garbage_where_no_query_sees() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Five queries at the first keys: none sees the sixth key or later ones.
    for (name, garbage) in [("zeros", false), ("garbage", true)] {
        let heads = folder.join(name);
        std::fs::create_dir(&heads).unwrap();
        head(&heads, "m-layer00-head00-", |role, row| role == "q" || row < QUERIES, garbage);
        std::fs::write(heads.join("meta.json"), r#"[{"file": "m-layer00-head00", "causal": true}]"#).unwrap();
    }
    let both = |words: &str| {
        ["zeros", "garbage"].map(|name| {
            let out = flashd(folder, &words.replace("DIR", name));
            assert!(out.status.success(), "{words}: {}", String::from_utf8_lossy(&out.stderr));
            String::from_utf8(out.stdout).unwrap().replace(name, "DIR")
        })
    };
    both(
        "simulate --design flash-d --format fp8-e4m3 --engine model --data DIR --causal-align top-left --results o-DIR",
    );
    let o = ["zeros", "garbage"]
        .map(|name| Rows::read(&folder.join(format!("o-{name}/m-layer00-head00-o.npy"))).x);
    assert_eq!(o[0], o[1]);
    let [zeros, garbage] = both("golden --data DIR --causal-align top-left --json");
    assert_eq!(zeros, garbage);
    // As in the file the last query sees the last key.
    let error = refused(folder, "accuracy --data garbage --format bf16 --no-lengths --core '--design fa2'");
    assert!(error.contains("m-layer00-head00-k.npy: row 6, column 2 is NaN"), "{error}");
    assert!(
        refused(folder, "skips --data garbage").contains("m-layer00-head00-k.npy: row 6, column 2 is NaN")
    );
    // Cells of Q whose queries see nothing.
    head(&folder.join("garbage"), "m-layer00-head00-", |_, _| true, false);
    let mut k = Rows::random(9, 2, D);
    k.write(&folder.join("garbage/m-layer00-head00-k.npy"));
    k.x[0] = 0.25;
    k.write(&folder.join("garbage/m-layer00-head00-v.npy"));
    let mut q = Rows::random(8, QUERIES, D);
    for commands in [false, true] {
        // The positions of four of six queries are before the first of two keys.
        if commands {
            q.x[..4 * D].fill(f64::NAN);
        }
        q.write(&folder.join("garbage/m-layer00-head00-q.npy"));
        for command in [
            "accuracy --data garbage --format fp8-e4m3 --no-lengths --core '--design flash-d' --json",
            "skips --data garbage --json",
            "golden --data garbage --json",
        ] {
            let out = flashd(folder, command);
            assert!(out.status.success(), "{command}: {}", String::from_utf8_lossy(&out.stderr));
            let text = String::from_utf8(out.stdout).unwrap();
            assert!(!text.contains("NaN") && !text.contains("null,\n      \"mean"), "{command}: {text}");
        }
    }
}

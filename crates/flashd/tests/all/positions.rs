//! Which keys a query sees, with every kind of core: against an attention in f64 that is written here, and shares neither
//! code nor reader with the program.

use crate::common::{data, printed_json, refusal};
use crate::npy::Rows;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Softmax attention over the keys that are seen, and zeros where none is.
fn attention(q: &Rows, k: &Rows, v: &Rows, queries: usize, sees: impl Fn(usize, usize) -> bool) -> Rows {
    let mut x = Vec::new();
    for i in 0..queries {
        let seen: Vec<usize> = (0..k.rows()).filter(|&j| sees(i, j)).collect();
        let score = |j: &usize| {
            let dot: f64 = q.row(i).iter().zip(k.row(*j)).map(|(a, b)| a * b).sum();
            dot / (q.d as f64).sqrt()
        };
        let most = seen.iter().map(score).fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = seen.iter().map(|j| (score(j) - most).exp()).collect();
        let sum: f64 = weights.iter().sum();
        for column in 0..v.d {
            let o: f64 = seen.iter().zip(&weights).map(|(&j, w)| w * v.row(j)[column]).sum();
            x.push(if seen.is_empty() { 0.0 } else { o / sum });
        }
    }
    Rows { d: v.d, x }
}

/// Three files and their contents.
struct Case {
    files: [PathBuf; 3],
    q: Rows,
    k: Rows,
    v: Rows,
}

impl Case {
    fn random(folder: &Path, queries: usize, keys: usize, d: usize) -> Case {
        let [q, k, v] = [("q", queries), ("k", keys), ("v", keys)].map(|(role, rows)| {
            let rows = Rows::random(
                (queries * 100 + keys + role.len()) as u64 * 7 + u64::from(role.as_bytes()[0]),
                rows,
                d,
            );
            rows.write(&folder.join(format!("{queries}-{keys}-{role}.npy")));
            rows
        });
        let files = ["q", "k", "v"].map(|role| folder.join(format!("{queries}-{keys}-{role}.npy")));
        Case { files, q, k, v }
    }

    /// The program's results and its report.
    fn run(&self, flags: &str, o: &Path) -> (Rows, serde_json::Value) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
        command.arg("simulate").args(flags.split_whitespace()).arg("--json").arg("--o").arg(o);
        for (flag, file) in ["--q", "--k", "--v"].iter().zip(&self.files) {
            command.arg(flag).arg(file);
        }
        let report = printed_json(command.output().unwrap());
        (Rows::read(o), report)
    }

    /// Whether a query sees a key: positions count in the whole files, which are cut afterwards.
    fn sees(&self, visible: &Visible, cut: (usize, usize), i: usize, j: usize) -> bool {
        let (queries, keys) = (self.q.rows() as i64, self.k.rows() as i64);
        let (i, j) = (i as i64, j as i64);
        let position = if visible.top_left { i } else { i + keys - queries };
        let after = visible.causal && j > position;
        let before = visible.window.is_some_and(|w| j <= position - w);
        !after && !before && j < cut.1 as i64
    }

    /// The right results.
    fn right(&self, visible: &Visible, cut: (usize, usize)) -> Rows {
        let sees = |i: usize, j: usize| self.sees(visible, cut, i, j);
        attention(&self.q, &self.k, &self.v, cut.0.min(self.q.rows()), sees)
    }

    /// The largest magnitude of the values that some query sees.
    fn largest_value(&self, visible: &Visible, cut: (usize, usize)) -> f64 {
        let seen = (0..cut.1).filter(|&j| (0..cut.0).any(|i| self.sees(visible, cut, i, j)));
        let largest = seen.flat_map(|j| self.v.row(j)).fold(0f64, |most, x| most.max(x.abs()));
        // As the program has it where all are 0.
        if largest > 0.0 { largest } else { 1.0 }
    }
}

struct Visible {
    flags: &'static str,
    causal: bool,
    top_left: bool,
    window: Option<i64>,
}

const VISIBLE: [Visible; 5] = [
    Visible { flags: "--causal", causal: true, top_left: false, window: None },
    Visible { flags: "--causal --causal-align bottom-right", causal: true, top_left: false, window: None },
    Visible { flags: "--causal --causal-align top-left", causal: true, top_left: true, window: None },
    Visible { flags: "--causal --window 3", causal: true, top_left: false, window: Some(3) },
    Visible { flags: "--window 4 --causal-align top-left", causal: false, top_left: true, window: Some(4) },
];

fn largest_difference(a: &Rows, b: &Rows) -> f64 {
    assert_eq!(a.x.len(), b.x.len());
    a.x.iter().zip(&b.x).fold(0.0, |most, (a, b)| most.max((a - b).abs()))
}

/// On the sample, the first queries of a head see the first keys only.
#[test]
fn the_first_queries_of_a_causal_head_have_the_first_keys_positions() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["q", "k", "v"].map(|role| data(&format!("bytes_math-d16-layer04-head03-{role}.npy")).into());
    let [q, k, v] = files.each_ref().map(|path: &PathBuf| Rows::read(path));
    let case = Case { files, q, k, v };
    for (flags, cut) in [("--first-queries 4", (4, 128)), ("--first-keys 10", (128, 10))] {
        for masks in ["", "--masks"] {
            let flags = format!("--design flash-d --engine model --causal {flags} {masks}");
            let (o, _) = case.run(&flags, &folder.path().join("o.npy"));
            let difference = largest_difference(&o, &case.right(&VISIBLE[0], cut));
            assert!(difference < 0.04, "{flags}: {difference} off attention");
        }
    }
}

#[test]
fn every_core_has_the_positions_of_the_whole_head() {
    let folder = tempfile::tempdir().unwrap();
    let cores = [
        ("--design flash-d", 1e-3),
        ("--design flash-d --weight paper --segments 32", 0.3),
        ("--design fa2", 1e-3),
        ("--design fa2 --fa2 log-reference", 1e-3),
        ("--design fa2 --fa2 shared-log-reference", 1e-3),
    ];
    let ways = [
        "",
        "--masks",
        "--masks --queries 4",
        "--masks --partial --tile 5",
        "--masks --partial --queries 4 --tile 5",
        "--parts 2",
    ];
    let heads = [
        ((16, 16), "--first-queries 3", (3, 16)),
        ((16, 16), "--first-keys 7", (16, 7)),
        ((20, 12), "", (20, 12)),
        ((20, 12), "--first-queries 10 --first-keys 5", (10, 5)),
        ((12, 20), "", (12, 20)),
        ((12, 20), "--first-queries 3", (3, 20)),
    ];
    for (place, ((queries, keys), cut_flags, cut)) in heads.into_iter().enumerate() {
        let case = Case::random(folder.path(), queries, keys, 4);
        for (turn, visible) in VISIBLE.iter().enumerate() {
            let right = case.right(visible, cut);
            // Cores take turns.
            let (core, tolerance) = cores[(place + turn) % cores.len()];
            let mut same: Option<Rows> = None;
            for way in ways {
                let takes_masks = way.contains("--masks");
                let partial = way.contains("--partial") || way.contains("--parts");
                let no_state = core.contains("paper");
                if (visible.window.is_some() && !takes_masks) || (partial && no_state) {
                    continue;
                }
                let flags =
                    format!("{core} --format fp32 --engine model {way} {} {cut_flags}", visible.flags);
                let (o, report) = case.run(&flags, &folder.path().join("o.npy"));
                let difference = largest_difference(&o, &right);
                assert!(difference < tolerance, "{queries} x {keys} {flags}: {difference}");
                // The error that the report has is that against the right result.
                let norm = case.largest_value(visible, cut);
                let reported = report["accuracy"]["max"].as_f64().unwrap();
                assert!((difference / norm - reported).abs() < 1e-7, "{flags}: {reported}");
                // Merging rounds once more; all other ways give the same bits.
                if !way.contains("--parts") {
                    let first = same.get_or_insert_with(|| o.clone());
                    assert_eq!(first.x, o.x, "{queries} x {keys} {flags}");
                }
            }
        }
    }
}

/// The hardware itself, with pauses: more queries than keys, so that the first ones see no key.
#[test]
fn cycle_engine_and_model_agree_on_queries_that_see_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let case = Case::random(folder.path(), 9, 5, 4);
    for core in [
        "--design flash-d",
        "--design flash-d --weight paper",
        "--design fa2",
        "--design fa2 --fa2 literal",
        "--design flash-d --masks",
        "--design fa2 --masks --queries 3",
        "--design flash-d --masks --queries 4 --gaps 3",
        "--design flash-d --masks --partial --tile 2",
        "--design fa2 --parts 2",
        "--design flash-d --parts 4 --gaps 5",
        "--design flash-d --gaps 2",
    ] {
        for (cut, seen) in [("", 5), ("--first-queries 3", 0)] {
            let both = ["cycle", "model"].map(|engine| {
                let o = folder.path().join(engine);
                let flags = format!("{core} --causal --format fp16 {cut} --engine {engine}");
                let (rows, mut report) = case.run(&flags, &o);
                assert_eq!(report["mismatches"].as_u64(), (engine == "cycle").then_some(0), "{flags}");
                let empty = report["empty_queries"].as_u64().unwrap() as usize;
                assert_eq!(empty, rows.rows() - seen, "{flags}");
                assert!(rows.x[..empty * rows.d].iter().all(|&x| x == 0.0), "{flags}");
                report["counters"]["comparisons"] = 0.into();
                (rows.x, report["counters"].clone(), report["accuracy"].clone())
            });
            assert_eq!(both[0], both[1], "{core} {cut}");
        }
    }
}

#[test]
fn an_alignment_without_positions_is_refused() {
    let args = ["--design", "fa2", "--causal-align", "top-left"];
    let files = ["q", "k", "v"].map(|role| data(&format!("bytes_math-d16-layer04-head03-{role}.npy")));
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    command.arg("simulate").args(args);
    for (flag, file) in ["--q", "--k", "--v"].iter().zip(&files) {
        command.arg(flag).arg(file);
    }
    let message = refusal(command.output().unwrap(), &args);
    assert!(message.contains("--causal-align: ") && message.contains("--causal or --window"), "{message}");
}

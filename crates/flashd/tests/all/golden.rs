//! `flashd golden` from outside.

use crate::common::{data, refusal};
use flashd_golden::family::{ALGORITHMS, EQUATIONS};
use flashd_workload::write_npy;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn golden(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flashd")).arg("golden").args(args).output().unwrap()
}

fn json(args: &[&str]) -> Value {
    crate::common::printed_json(golden(&[args, &["--json"]].concat()))
}

fn refused(args: &[&str]) -> String {
    refusal(golden(args), args)
}

/// The files of a bundled head.
fn head() -> [String; 6] {
    let of = |letter: &str| data(&format!("bytes_code-d16-layer02-head05-{letter}.npy"));
    ["--q".into(), of("q"), "--k".into(), of("k"), "--v".into(), of("v")]
}

fn with_head<'a>(head: &'a [String; 6], more: &[&'a str]) -> Vec<&'a str> {
    head.iter().map(String::as_str).chain(more.iter().copied()).collect()
}

/// All algorithms, with counts next to formulas, near safe softmax: on files, the folder, a synthetic head.
#[test]
fn every_algorithm_is_attention_and_counts_its_formula() {
    let head = head();
    let folder = data("");
    for args in [
        with_head(&head, &["--causal", "--br", "16", "--bc", "24"]),
        vec!["--data", &folder, "--br", "32", "--bc", "32"],
        vec!["--n", "33", "--d", "7", "--seed", "3", "--br", "5", "--bc", "9"],
    ] {
        let result = json(&args);
        let algorithms = result["algorithms"].as_array().unwrap();
        let names: Vec<&str> = algorithms.iter().map(|a| a["algorithm"].as_str().unwrap()).collect();
        assert!(ALGORITHMS.iter().map(|a| a.name).eq(names), "{args:?}");
        for a in algorithms {
            assert_eq!(a["counted"], a["formula"], "{args:?} {a}");
            assert!(a["max_error"].as_f64().unwrap() < 1e-12, "{args:?} {a}");
        }
    }
}

/// The counts of one algorithm, by hand: 5 queries in blocks of 2, K and V three times, Q and O once.
#[test]
fn accesses_by_hand() {
    let result = json(&["--algorithm", "running-lse", "--n", "5", "--d", "2", "--br", "2", "--bc", "3"]);
    let counted = &result["algorithms"][0]["counted"];
    assert_eq!(counted["accesses"], 3 * 2 * 10 + 2 * 10);
    assert_eq!((&counted["reads"]["K"], &counted["writes"]["O"]), (&30.into(), &10.into()));
    assert_eq!(result["algorithms"].as_array().unwrap().len(), 1);
}

fn mask_file(folder: &Path, name: &str, shape: &[usize], mask: &[f32]) -> String {
    let path = folder.join(name);
    write_npy(&path, shape, mask).unwrap();
    path.display().to_string()
}

/// A mask of biases and -inf is one of the inputs: a row for all queries is that row for each, a mask of -inf above the diagonal is
/// `--causal`, and a bias that is the same for all keys changes no result but is read.
#[test]
fn masks_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let n = 12;
    let causal: Vec<f32> = (0..n * n).map(|i| if i % n > i / n { f32::NEG_INFINITY } else { 2.5 }).collect();
    let of = |path: &str, more: &[&str]| {
        json(&[&["--n", "12", "--d", "4", "--br", "4", "--bc", "5", "--mask", path], more].concat())
    };
    let masked = of(&mask_file(folder.path(), "causal.npy", &[n, n], &causal), &[]);
    let plain = json(&["--n", "12", "--d", "4", "--br", "4", "--bc", "5", "--causal"]);
    assert_eq!((&masked["seen"], &masked["mask"]), (&plain["seen"], &true.into()));
    for (a, b) in masked["algorithms"].as_array().unwrap().iter().zip(plain["algorithms"].as_array().unwrap())
    {
        assert_eq!(a["counted"], a["formula"]);
        assert!(a["max_error"].as_f64().unwrap() < 1e-12, "{a}");
        assert_eq!(a["counted"]["reads"]["mask"], 144, "{a}");
        assert_eq!(b["counted"]["reads"]["mask"], 0);
    }
    // One row for all queries.
    let row: Vec<f32> = (0..n).map(|i| if i % 3 == 0 { f32::NEG_INFINITY } else { -(i as f32) }).collect();
    let one = of(&mask_file(folder.path(), "row.npy", &[n], &row), &[]);
    let each = of(&mask_file(folder.path(), "rows.npy", &[n, n], &row.repeat(n)), &[]);
    assert_eq!(one["algorithms"], each["algorithms"]);
    assert_eq!(one["seen"], 12 * 8);
    // Biases beyond the range of naive softmax: it reports that and counts nothing; the others count.
    let large = of(&mask_file(folder.path(), "large.npy", &[n], &[2000.0; 12]), &[]);
    for a in large["algorithms"].as_array().unwrap() {
        let naive = a["algorithm"] == "naive";
        assert_eq!((a["beyond_its_domain"] == 1, a["max_error"].is_null()), (naive, naive), "{a}");
    }
    let text = String::from_utf8(
        golden(&["--n", "12", "--d", "4", "--mask", &format!("{}/large.npy", folder.path().display())])
            .stdout,
    );
    assert!(text.unwrap().contains("naive: 1 head has scores beyond what it can compute"));
}

#[test]
fn the_list_has_every_equation() {
    let text = String::from_utf8(golden(&["--list"]).stdout).unwrap();
    for algorithm in ALGORITHMS {
        assert!(text.contains(algorithm.name) && text.contains(algorithm.equation), "{}", algorithm.name);
    }
    for equation in EQUATIONS {
        let number = format!("({})", equation.number);
        assert!(text.contains(&number) && text.contains(equation.formula), "{number}");
    }
    let json: serde_json::Value = serde_json::from_slice(&golden(&["--list", "--json"]).stdout).unwrap();
    assert_eq!(json["equations"][8]["number"], 9);
    assert_eq!(json["algorithms"].as_array().unwrap().len(), ALGORITHMS.len());
}

#[test]
fn bad_input_is_refused_by_name() {
    let head = head();
    let folder = tempfile::tempdir().unwrap();
    let nan = mask_file(folder.path(), "nan.npy", &[3], &[0.0, f32::NAN, 1.0]);
    let infinite = mask_file(folder.path(), "inf.npy", &[3, 3], &[f32::INFINITY; 9]);
    for (args, text) in [
        (vec!["--algorithm", "flash"], "--algorithm"),
        (vec!["--n", "0"], "--n"),
        (vec!["--br", "0"], "--br"),
        (vec!["--n", "200000"], "--n: 200000 queries and 200000 keys"),
        (vec!["--d", "5000"], "--n: d = 5000"),
        (vec!["--causal-align", "top-left"], "--causal-align"),
        (vec!["--scale", "-1"], "--scale"),
        (vec!["--scale", "inf"], "--scale"),
        (vec!["--k", &head[3]], "--q"),
        (vec!["--q", &head[1]], "--k and --v are missing"),
        (with_head(&head, &["--n", "5"]), "--n"),
        (with_head(&head, &["--data", "x"]), "--data"),
        (vec!["--data", "/nowhere"], "--data"),
        (vec!["--list", "--n", "5"], "--list"),
        (vec!["--n", "3", "--mask", &nan], "row 0, column 1 is NaN"),
        (vec!["--n", "3", "--mask", &infinite], "row 0, column 0 is inf"),
        (
            vec!["--n", "4", "--mask", &nan],
            "nan.npy: has shape [3]; a mask of 4 queries and 4 keys has [4, 4], or [4]",
        ),
        (vec!["--mask", "/nowhere.npy"], "--mask /nowhere.npy"),
    ] {
        let error = refused(&args);
        assert!(error.contains(text), "{args:?}: {error}");
    }
}

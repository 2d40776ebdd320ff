//! `flashd skips` from outside.

use crate::common::{printed_json, refusal, root};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn skips(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flashd")).current_dir(root()).arg("skips").args(args).output().unwrap()
}

fn json(args: &[&str]) -> Value {
    printed_json(skips(&[args, &["--json"]].concat()))
}

/// Runs a command that must fail with exit code 2 and print nothing but its message.
fn refused(args: &[&str]) -> String {
    refusal(skips(args), args)
}

fn list<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().unwrap()
}

#[test]
fn groups_rules_and_shares() {
    let all = json(&["--every", "8", "--rules", "static,hold:6,hold:9,fa2:9,budget-shift:9,budget-jump:9"]);
    let names: Vec<&str> = list(&all, "groups").iter().map(|g| g["group"].as_str().unwrap()).collect();
    assert_eq!(names, ["bytes-d16", "bytes-d256", "bytes-d64", "minilm-d32"]);
    for group in list(&all, "groups") {
        let rules = list(group, "rules");
        let written: Vec<&str> = rules.iter().map(|r| r["rule"].as_str().unwrap()).collect();
        assert_eq!(written, ["static", "hold:6", "hold:9", "fa2:9", "budget-shift:9:2", "budget-jump:9:2"]);
        for r in rules {
            for of in ["exact", "core"] {
                if r[of].is_null() {
                    assert_eq!((r["rule"].as_str().unwrap(), of), ("budget-jump:9:2", "core"));
                    continue;
                }
                let share = |name: &str| r[of][name].as_f64().unwrap();
                assert!((share("held") + share("loaded") + share("computed") - 1.0).abs() < 1e-9);
            }
        }
        let held = |i: usize| rules[i]["exact"]["held"].as_f64().unwrap();
        assert!(held(1) > held(2) && held(2) >= held(3), "{group}");
    }
    let heads = json(&["--every", "8", "--by", "head", "--rules", "hold:9"]);
    let count =
        flashd_workload::load_dir(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbench/data"));
    assert_eq!(list(&heads, "groups").len(), count.unwrap().len());
    let layers = json(&["--every", "8", "--by", "layer", "--rules", "hold:9"]);
    assert!(list(&layers, "groups").iter().any(|g| g["group"] == "bytes-d16 layer02"));
}

#[test]
fn the_table_and_the_drawing() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("skips.svg");
    for by in ["model", "head"] {
        let out = skips(&["--every", "16", "--by", by, "--svg", svg.to_str().unwrap()]);
        let text = String::from_utf8(out.stdout).unwrap();
        assert!(out.status.success());
        for word in ["static", "hold:12", "fa2:12", "growing:8", "capped:10:64", "budget-exact:9:2", "any N"]
        {
            assert!(text.contains(word), "{word} is missing:\n{text}");
        }
        let drawing = std::fs::read_to_string(&svg).unwrap();
        assert!(drawing.starts_with("<svg") && drawing.contains("budget-shift") && drawing.len() < 200_000);
    }
}

#[test]
fn the_worst_case() {
    let all = json(&["--worst-case", "--hold", "8"]);
    let stream = |name: &str, rule: &str| {
        let found = list(&all, "streams").iter().find(|s| s["stream"] == name && s["rule"] == rule);
        found.unwrap().clone()
    };
    assert_eq!(stream("three", "static")["result"], -1.0);
    assert!((stream("three", "static")["exact"].as_f64().unwrap() - 0.9998).abs() < 1e-4);
    assert!(stream("three", "hold:8")["max_error"].as_f64().unwrap() < 3e-4);
    let longest =
        list(&all, "worst_cases").iter().find(|w| w["rule"] == "hold:8" && w["keys"] == 65_536).unwrap();
    let lost = 65_535.0 * f64::exp(-8.0);
    for figure in ["error", "bound"] {
        assert!((longest[figure].as_f64().unwrap() - 2.0 * lost / (1.0 + lost)).abs() < 1e-9, "{longest}");
    }
}

#[test]
fn bad_input_is_refused() {
    assert!(refused(&["--data", "no-such-folder"]).contains("--data: no-such-folder"));
    assert!(refused(&["--rules", "hold:0"]).contains("a threshold, 1 to 64, is needed"));
    assert!(refused(&["--rules", "best"]).contains("is no rule"));
    assert!(refused(&["--rules", "hold:9,static,hold:9.0"]).contains("--rules: hold:9 is there twice"));
    assert!(refused(&["--hold", "9,9"]).contains("--hold: hold:9 is there twice"));
    assert!(refused(&["--hold", "x"]).contains("--hold"));
    assert!(refused(&["--hold", "9", "--rules", "static"]).contains("--rules"));
    assert!(refused(&["--limit", "0"]).contains("--limit"));
    assert!(refused(&["--limit", "-1"]).contains("--limit"));
    assert!(refused(&["--limit", "nan"]).contains("--limit"));
    assert!(refused(&["--every", "0"]).contains("--every"));
    assert!(refused(&["--format", "int8"]).contains("--format"));
    assert!(refused(&["--by", "token"]).contains("--by"));
    assert!(refused(&["--worst-case", "--svg", "a.svg"]).contains("--svg"));
    let folder = tempfile::tempdir().unwrap();
    assert!(refused(&["--svg", folder.path().to_str().unwrap()]).contains("--svg"));
    // Nothing is left of a drawing whose data cannot be read.
    let svg = folder.path().join("a.svg");
    refused(&["--data", "no-such-folder", "--svg", svg.to_str().unwrap()]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_name_without_a_layer_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbench/data");
    for role in ["q", "k", "v"] {
        let file = data.join(format!("bytes_code-d256-layer02-head00-{role}.npy"));
        std::fs::copy(file, folder.path().join(format!("mine-{role}.npy"))).unwrap();
    }
    let path = folder.path().to_str().unwrap();
    assert!(refused(&["--data", path, "--by", "layer"]).contains("--by: mine: its name has no layer"));
    assert!(refused(&["--data", path, "--by", "prompt"]).contains("--by: mine"));
    assert_eq!(list(&json(&["--data", path, "--rules", "hold:9"]), "groups").len(), 1);
}

/// Where little is saved, the steps of the axis are below 1 %: no two labels of a row are the same.
#[test]
fn labels_of_a_small_range_differ() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("skips.svg");
    let out = skips(&["--every", "64", "--rules", "hold:24,hold:28", "--svg", svg.to_str().unwrap()]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let drawing = std::fs::read_to_string(&svg).unwrap();
    let mut rows: std::collections::BTreeMap<(String, usize), Vec<&str>> = Default::default();
    let mut panel = 0;
    for text in drawing.split("<text ").skip(1) {
        let y = text.split("y=\"").nth(1).unwrap().split('"').next().unwrap();
        let label = text.split('>').nth(1).unwrap().split('<').next().unwrap().trim();
        if label.parse::<f64>().is_ok() {
            // The labels of each panel begin with 0.
            panel += usize::from(label == "0");
            rows.entry((y.to_string(), panel)).or_default().push(label);
        }
    }
    let axes: Vec<&Vec<&str>> = rows.values().filter(|labels| labels.len() > 2).collect();
    assert!(!axes.is_empty(), "{rows:?}");
    for labels in axes {
        let mut distinct = labels.clone();
        distinct.dedup();
        assert!(distinct.len() == labels.len() && labels[0] == "0", "{labels:?}");
    }
}

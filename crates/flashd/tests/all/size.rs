//! `flashd size` from outside.

use crate::common::{refusal, root};
use serde_json::Value;
use std::process::{Command, Output};

fn size(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flashd")).current_dir(root()).arg("size").args(args).output().unwrap()
}

/// Without --lane the lanes are chosen: no larger than the given ones, and within the limits.
#[test]
fn chooses_a_core_that_holds() {
    let folder = tempfile::tempdir().unwrap();
    let core = ["--design", "flash-d", "--d", "2", "--format", "fp8-e4m3", "--max-keys", "16"];
    let widths = ["--score-fraction-bits", "6", "--state-fraction-bits", "12", "--segments", "4"];
    let limits = ["--limit", "1.1,1.25,1.6"];
    let run = ["--clock", "40", "--every", "256", "--json", "--cache", folder.path().to_str().unwrap()];
    let out = size(&[&core[..], &widths, &limits, &run].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let sizes: Value = serde_json::from_slice(&out.stdout).unwrap();
    let number = |value: &Value| value.as_f64().unwrap();
    // A core that keeps a tighter limit keeps a wider one.
    let areas: Vec<f64> =
        (0..3).map(|i| number(&sizes["choices"][i]["core"]["measured"]["area_um2"])).collect();
    assert!(areas.is_sorted_by(|a, b| a >= b), "{areas:?}");
    let chosen = &sizes["choices"][0]["core"];
    assert!(
        number(&chosen["mean"]) <= 1.1
            && number(&chosen["worst_mean"]) <= 2.0
            && number(&chosen["worst_max"]) <= 3.0
    );
    assert!(number(&chosen["measured"]["area_um2"]) <= number(&sizes["selected"]["measured"]["area_um2"]));
    assert_eq!(sizes["lengths"], serde_json::json!([16]));
    assert_eq!(sizes["widths"], serde_json::json!(["O", "V", "W"]));
    let configuration = &chosen["configuration"];
    assert_eq!([&configuration["segments"], &configuration["score_fraction_bits"]], [4, 6]);
    let flags = chosen["flags"].as_str().unwrap();
    assert!(flags.starts_with("--design flash-d --d 2") && flags.contains("--max-keys 16"), "{flags}");
}

#[test]
fn a_search_without_a_choice_is_refused() {
    let core = ["--design", "fa2", "--d", "4", "--clock", "40"];
    let all =
        ["--lane", "25,14,8", "--score-fraction-bits", "8", "--state-fraction-bits", "20", "--segments", "8"];
    let args = [&core[..], &all].concat();
    assert!(refusal(size(&args), &args).contains("every width is given"));
    let args = [&core[..], &["--limit", "0.9"]].concat();
    assert!(refusal(size(&args), &args).contains("--limit"));
}

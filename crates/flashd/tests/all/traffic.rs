//! `flashd traffic` from outside.

use crate::common::refusal;
use serde_json::Value;
use std::process::{Command, Output};

fn traffic(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flashd")).arg("traffic").args(args).output().unwrap()
}

fn points(args: &[&str]) -> Vec<Value> {
    let out = traffic(&[args, &["--json"]].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice::<Value>(&out.stdout).unwrap().as_array().unwrap().clone()
}

/// Runs a command that must fail with exit code 2 and write nothing.
fn refused(args: &[&str]) -> String {
    refusal(traffic(args), args)
}

#[test]
fn counts_are_the_formulas_and_sweeps_multiply() {
    let all = points(&["--n", "33,64", "--d", "5,16", "--sram", "100,1000,1000000"]);
    assert_eq!(all.len(), 2 * 2 * 3);
    for p in &all {
        let number = |name: &str| p[name].as_u64().unwrap();
        let (n, d, sram) = (number("keys"), number("d"), number("sram"));
        for algorithm in ["standard", "flash_attention", "streamed"] {
            assert_eq!(p[algorithm]["counted"], p[algorithm]["formula"], "{p}");
        }
        let accesses = |algorithm: &str| p[algorithm]["counted"]["accesses"].as_u64().unwrap();
        assert_eq!(accesses("standard"), 4 * n * d + 4 * n * n);
        let blocks = n.div_ceil(sram.div_ceil(4 * d));
        assert_eq!(accesses("flash_attention"), 2 * n * d + n * (blocks * (3 * d + 4) + d + 2));
        // Queries resident: as many as a block of 2022 has.
        let resident = d.min(sram.div_ceil(4 * d));
        assert_eq!(number("resident_queries"), resident);
        assert_eq!(accesses("streamed"), 2 * n * d + 2 * n.div_ceil(resident) * n * d);
        assert!(p["largest_difference"].as_f64().unwrap() <= 1e-12);
        assert_eq!(p["hold"]["value_elements"].as_u64().unwrap(), n * n * d);
    }
}

/// Blocks by hand, and an array's queries, over drawn shapes.
#[test]
fn blocks_by_hand_and_arrays() {
    let mut draw = 1u64;
    for _ in 0..12 {
        let mut next = |most: u64| {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            1 + (draw >> 33) % most
        };
        let (n, d, br, bc, b) = (next(70), next(20), next(80), next(80), next(40));
        let text = |x: u64| x.to_string();
        let (n_, d_, br_, bc_, b_) = (text(n), text(d), text(br), text(bc), text(b));
        let blocks = ["--n", &n_, "--d", &d_, "--br", &br_, "--bc", &bc_];
        for (args, resident) in [(&blocks[..], br), (&[&blocks[..], &["--queries", &b_]].concat(), b)] {
            let all = points(args);
            let p = &all[0];
            assert_eq!((all.len(), p["sram"].is_null()), (1, true));
            for algorithm in ["standard", "flash_attention", "streamed"] {
                assert_eq!(p[algorithm]["counted"], p[algorithm]["formula"], "{args:?}");
            }
            let accesses = |algorithm: &str| p[algorithm]["counted"]["accesses"].as_u64().unwrap();
            assert_eq!(accesses("flash_attention"), 2 * n * d + n * (n.div_ceil(bc) * (3 * d + 4) + d + 2));
            assert_eq!(accesses("streamed"), 2 * n * d + 2 * n.div_ceil(resident) * n * d);
            for bytes in p["bytes"].as_array().unwrap() {
                let named = bytes["format"].as_str().unwrap();
                let (format, scales) = named.split_once(", scales ").unwrap_or((named, ""));
                let format: flashd_spec::format::Format = format.parse().unwrap();
                if !scales.is_empty() {
                    // A byte for each 32 or 16 elements, in words of an element.
                    let blocks = d.div_ceil(if scales == "mx" { 32 } else { 16 });
                    let width = u64::from(format.width());
                    let bits = (d + blocks * 8u64.div_ceil(width)) * width;
                    assert_eq!(bytes["key"].as_u64(), Some(bits.div_ceil(8)), "{named}");
                    assert_eq!(bytes["value"], bytes["key"], "{named}");
                    continue;
                }
                if !format.is_wide_float() {
                    let bits = d * u64::from(format.width());
                    // A key of integers has 16 bits more: its scale.
                    let scale = if format.is_integer() { 16 } else { 0 };
                    assert_eq!(bytes["key"].as_u64(), Some((bits + scale).div_ceil(8)));
                    assert_eq!(bytes["value"].as_u64(), Some(bits.div_ceil(8)));
                    continue;
                }
                let width = u64::from(format.width()) / 8;
                assert_eq!(bytes["key"].as_u64(), Some(d * width));
                assert_eq!(bytes["a_query"].as_f64(), Some((2 * d * width) as f64 / resident as f64));
                assert_eq!(bytes["total"].as_u64(), Some(accesses("streamed") * width));
            }
        }
    }
    assert!(refused(&["--br", "4"]).contains("--bc"));
    assert!(refused(&["--bc", "4"]).contains("--br"));
    assert!(refused(&["--br", "4", "--bc", "4", "--sram", "4096"]).contains("--sram"));
    assert!(refused(&["--queries", "0"]).contains("--queries"));
}

#[test]
fn bytes_are_elements_times_their_size() {
    let accesses = |args: &[&str]| points(args)[0]["flash_attention"].clone();
    let elements = accesses(&["--n", "100", "--d", "8", "--sram", "500"]);
    assert_eq!(elements, accesses(&["--n", "100", "--d", "8", "--sram", "1001", "--element-bytes", "2"]));
}

#[test]
fn a_lower_threshold_holds_more_and_the_seed_decides() {
    let held = |args: &[&str]| {
        let run = points(&[&["--n", "200", "--d", "8", "--sram", "64"], args].concat());
        run[0]["hold"]["held"].as_u64().unwrap()
    };
    assert!(held(&["--hold", "4"]) > held(&["--hold", "8"]));
    assert_eq!(held(&["--hold", "8"]), held(&["--hold", "8", "--seed", "1"]));
    assert_ne!(held(&["--hold", "4"]), held(&["--hold", "4", "--seed", "2"]));
}

#[test]
fn recorded_heads_are_grouped_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("traffic.svg");
    let data = format!("{}/../../testbench/data", env!("CARGO_MANIFEST_DIR"));
    let all = points(&["--data", &data, "--sram", "4096,8192", "--svg", svg.to_str().unwrap()]);
    let heads: u64 = all.iter().map(|p| p["heads"].as_u64().unwrap()).sum();
    assert_eq!(heads as usize, 2 * flashd_workload::load_dir(data.as_ref()).unwrap().len());
    assert!(all.iter().all(|p| p["hold"]["held"].as_u64() < p["hold"]["steps"].as_u64()));
    // A causal head of N keys has N (N + 1) / 2 steps.
    let causal = all.iter().find(|p| p["source"] == "bytes-d16").unwrap();
    let number = |name: &str| causal[name].as_u64().unwrap();
    let steps = number("heads") * number("keys") * (number("keys") + 1) / 2;
    assert_eq!(causal["hold"]["steps"].as_u64().unwrap(), steps);
    let drawing = std::fs::read_to_string(svg).unwrap();
    assert!(drawing.starts_with("<svg") && drawing.matches("<circle").count() == 3 * all.len());
}

#[test]
fn impossible_sizes_are_refused() {
    assert!(
        refused(&["--sram", "0"]).contains("--sram: 0 elements, but a row each of Q, K, V and O takes 256")
    );
    assert!(refused(&["--sram", "4096,255"]).contains("--sram: 255 elements"));
    assert!(refused(&["--sram", "511", "--element-bytes", "2"]).contains("511 bytes are 255 elements"));
    assert!(refused(&["--element-bytes", "0"]).contains("--element-bytes"));
    assert!(refused(&["--n", "0"]).contains("--n"));
    assert!(refused(&["--d", "0"]).contains("--d"));
    assert!(refused(&["--n", "16385"]).contains("use at most 16384"));
    assert!(refused(&["--n", &usize::MAX.to_string(), "--d", "4096"]).contains("--n"));
    assert!(refused(&["--hold", "0.5"]).contains("--hold"));
    assert!(refused(&["--data", "no-such-folder"]).contains("no-such-folder"));
    assert!(refused(&["--data", "no-such-folder", "--n", "4"]).contains("--n"));
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("a.svg");
    refused(&["--sram", "0", "--svg", svg.to_str().unwrap()]);
    assert!(refused(&["--svg", folder.path().to_str().unwrap()]).contains("--svg"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

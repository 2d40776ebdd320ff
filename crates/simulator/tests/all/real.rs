//! Real attention heads: the bundled sample in lock-step, and FLASH-D's error against FA2's.

use flashd_simulator::{ExactResults, Gaps, Scenario, model_results, prepare, run};
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;
use flashd_workload::{Bias, Trace, load_dir, synthetic};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

#[test]
fn the_bundled_sample_in_lockstep() {
    let traces = load_dir(&folder("testbench/data")).unwrap();
    assert!(traces.len() >= 4);
    for trace in &traces {
        let mut s = Scenario::from(trace);
        let (queries, keys) = if trace.d > 64 { (3, 24) } else { (8, 40) };
        s.attention = s.attention.truncated(queries, keys).into();
        let reference = ExactResults::new(&s);
        for format in [Format::BF16, Format::FP8_E4M3] {
            for config in &CoreConfig::variants(trace.d, format) {
                let prepared = prepare(config, &s, &reference).unwrap();
                let run = run(&prepared.config, &prepared.workload, Gaps::Random(1), &mut [])
                    .unwrap_or_else(|e| panic!("{}: {e}", trace.name));
                assert_eq!(run.counters.keys as usize, prepared.workload.steps());
            }
        }
    }
}

#[test]
fn long_vectors_in_lockstep() {
    for (d, keys) in [(80, 12), (100, 12), (512, 5)] {
        for config in
            [CoreConfig::new(Design::FlashD, d, Format::BF16), CoreConfig::new(Design::Fa2, d, Format::BF16)]
        {
            let s = Scenario {
                softcap: None,
                bias: Bias::None,
                sink: None,
                attention: synthetic::attention_like(3, 2, keys, d).into(),
                visible: Default::default(),
                score_scale: Default::default(),
                tensor_scale: Default::default(),
                scale_rule: Default::default(),
            };
            let prepared = prepare(&config, &s, &ExactResults::new(&s)).unwrap();
            let run = run(&prepared.config, &prepared.workload, Gaps::None, &mut [])
                .unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(run.counters.latency, 4 + (d as f64).log2().ceil() as u64);
        }
    }
}

/// Mean error of FLASH-D over FA2's, by group: at most 1.05 in bf16, 1.15 in e4m3.
fn compare(traces: &[Trace]) {
    for (format, limit) in [(Format::BF16, 1.05), (Format::FP8_E4M3, 1.15)] {
        let mut groups: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
        for trace in traces {
            let s = Scenario::from(trace);
            let reference = ExactResults::new(&s);
            for (i, design) in [Design::FlashD, Design::Fa2].into_iter().enumerate() {
                let config = CoreConfig::new(design, trace.attention.d.max(16), format);
                let prepared = prepare(&config, &s, &reference).unwrap();
                let accuracy = reference.accuracy(&prepared, &model_results(&prepared));
                groups.entry(&trace.group).or_default()[i] += accuracy.mean;
            }
        }
        for (group, [flash_d, fa2]) in groups {
            println!("{format} {group}: FLASH-D over FA2 {:.3}", flash_d / fa2);
            assert!(flash_d <= limit * fa2, "{format} {group}: {:.3} > {limit}", flash_d / fa2);
        }
    }
}

#[test]
fn flash_d_is_as_accurate_as_fa2_on_the_bundled_sample() {
    compare(&load_dir(&folder("testbench/data")).unwrap());
}

#[test]
#[ignore = "a minute and a half: cargo test --release -p flashd-simulator --test all real -- --ignored --nocapture"]
fn flash_d_is_as_accurate_as_fa2_on_all_traces() {
    let all = folder("../shared/traces");
    if !all.is_dir() {
        println!("skipped: no folder {}", all.display());
        return;
    }
    compare(&load_dir(&all).unwrap());
}

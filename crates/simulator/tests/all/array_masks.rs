//! Arrays of cores with masks: each query of a block sees different keys.

use flashd_golden::{Head, Model, QueryResult};
use flashd_simulator::array::{ArrayRun, ArrayWorkload, Disturbance, run, run_against};
use flashd_simulator::{Gaps, RunError, Workload};
use flashd_spec::config::{ArrayConfig, CoreConfig, Design, Hold};
use flashd_spec::format::Format;
use flashd_workload::{round_to, synthetic};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::Range;

const GAPS: [Gaps; 2] = [Gaps::None, Gaps::Random(43)];

fn cores(d: usize, format: Format) -> impl Iterator<Item = CoreConfig> {
    CoreConfig::variants(d, format).into_iter().map(|c| CoreConfig { masks: true, ..c })
}

/// Scores spread widely, so that some steps hold.
fn workload(core: &CoreConfig, queries: usize, keys: usize) -> Workload {
    spread(core, queries, keys, 16.0)
}

fn spread(core: &CoreConfig, queries: usize, keys: usize, factor: f64) -> Workload {
    let a = synthetic::attention_like(9, queries, keys, core.d);
    let encoded = |x: &[f32], factor: f64| -> Vec<u64> {
        x.iter().map(|x| round_to(core.format, *x as f64 * factor)).collect()
    };
    let (q, k, v) = (encoded(&a.q, factor), encoded(&a.k, 1.0), encoded(&a.v, 1.0));
    Workload::new(core.format, core.d, &q, &k, &v)
}

fn check(config: &ArrayConfig, w: &ArrayWorkload, gaps: Gaps) -> ArrayRun {
    let run = run(config, w, &Disturbance::gaps(gaps), &mut []).unwrap_or_else(|e| panic!("{gaps:?}: {e}"));
    let c = run.counters;
    assert_eq!((c.blocks as usize, c.queries as usize), (w.blocks.len(), run.results.len()));
    assert_eq!(c.keys as usize, w.keys());
    if gaps == Gaps::None {
        let shape = w.blocks.iter().map(|b| (b.queries.len(), b.keys));
        assert_eq!(c.cycles as usize, config.cycles(shape), "{}", config.name());
    }
    run
}

/// Nothing, everything, single keys, ranges turned around, and ranges by chance.
fn random_ranges(queries: usize, keys: usize, seed: u64) -> Vec<Range<usize>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..queries)
        .map(|i| match (i + seed as usize) % 6 {
            0 => 0..0,
            1 => 0..keys,
            2 => keys - 1..keys,
            3 => 0..1,
            _ => {
                let (a, b) = (rng.random_range(0..=keys), rng.random_range(0..=keys));
                a..b
            }
        })
        .collect()
}

#[test]
fn every_variant_with_ranges_and_padding() {
    for format in [Format::BF16, Format::FP8_E4M3] {
        for core in cores(5, format) {
            for (queries, interleave) in [(1, 1), (2, 1), (3, 1), (8, 1), (4, 2)] {
                let config = ArrayConfig { interleave, ..ArrayConfig::new(core.clone(), queries) };
                let all = workload(&core, 21, 12);
                let mut w = ArrayWorkload::new(&all, queries);
                for (seed, block) in w.blocks.iter_mut().enumerate() {
                    block.keys = [12, 1, 3, 12][seed % 4];
                    block.ranges = random_ranges(block.queries.len(), block.keys, seed as u64);
                }
                w.padding = (0..12).map(|key| key % 5 == 3).collect();
                for gaps in GAPS {
                    let run = check(&config, &w, gaps);
                    assert!(run.results.iter().any(|r| r.empty) && run.results.iter().any(|r| !r.empty));
                    assert!(run.counters.masked > 0);
                }
            }
        }
    }
}

fn causal(queries: usize, window: usize) -> Vec<Range<usize>> {
    (0..queries).map(|i| (i + 1).saturating_sub(window)..i + 1).collect()
}

/// Causal attention in blocks of 16: a block has the keys up to its last query, and only the corner of the last 16 is
/// masked.
#[test]
fn causal_blocks() {
    for design in [Design::FlashD, Design::Fa2] {
        let core = CoreConfig { masks: true, ..CoreConfig::new(design, 4, Format::BF16) };
        let all = workload(&core, 40, 40);
        let w = ArrayWorkload::windows(&all, 16, &causal(40, 40));
        let keys: Vec<usize> = w.blocks.iter().map(|b| b.keys).collect();
        assert_eq!(keys, [16, 32, 40]);
        let alone = all.with_ranges(&causal(40, 40)).results(&Model::new(&core), false);
        for gaps in GAPS {
            let run = check(&ArrayConfig::new(core.clone(), 16), &w, gaps);
            assert_eq!(run.counters.masked, 2 * (15 * 16 / 2) + 7 * 8 / 2);
            assert_eq!(run.counters.steps - run.counters.masked, 40 * 41 / 2);
            let of = |r: &QueryResult| (r.o.clone(), r.empty, r.invalid);
            assert!(run.results.iter().zip(&alone).all(|(a, b)| of(a) == of(b)));
        }
    }
}

/// A sliding window: a block leaves out the keys before the first one that it needs, and its limits are relative to
/// that.
#[test]
fn windows_leave_keys_out() {
    for core in cores(4, Format::BF16) {
        let all = workload(&core, 30, 30);
        let w = ArrayWorkload::windows(&all, 8, &causal(30, 5));
        let shape: Vec<(usize, usize)> = w.blocks.iter().map(|b| (b.first_key, b.keys)).collect();
        assert_eq!(shape, [(0, 8), (4, 12), (12, 12), (20, 10)]);
        assert_eq!(w.blocks[1].ranges[0], 0..5);
        let alone = all.with_ranges(&causal(30, 5)).results(&Model::new(&core), false);
        for gaps in GAPS {
            let run = check(&ArrayConfig::new(core.clone(), 8), &w, gaps);
            assert!(run.results.iter().zip(&alone).all(|(a, b)| a.o == b.o));
        }
    }
}

/// A key that no query of its block sees costs its cycle and no value.
#[test]
fn values_of_unseen_keys_are_not_read() {
    let core = CoreConfig { masks: true, ..CoreConfig::new(Design::FlashD, 4, Format::BF16) };
    let all = workload(&core, 4, 10);
    let mut w = ArrayWorkload::new(&all, 4);
    w.blocks[0].ranges = vec![2..5, 3..4, 0..0, 7..9];
    w.padding = vec![false, false, false, false, true];
    let run = check(&ArrayConfig::new(core, 4), &w, Gaps::None);
    assert_eq!(run.counters.unseen, 6);
    assert!(run.counters.v_reads <= 4);
}

/// Keys beyond the counter's range are seen by no query.
#[test]
fn the_counter_saturates() {
    for design in [Design::FlashD, Design::Fa2] {
        let core = CoreConfig { masks: true, ..CoreConfig::new(design, 4, Format::BF16) };
        let config = ArrayConfig { key_index_bits: Some(3), ..ArrayConfig::new(core.clone(), 2) };
        let mut w = ArrayWorkload::new(&workload(&core, 4, 12), 2);
        w.blocks[0].ranges = vec![0..12, 9..12];
        let results = check(&config, &w, Gaps::None).results;
        assert!(!results[0].empty && results[1].empty);
        let seven = Model::new(&core)
            .run(Head::new(&w.single().q(), &w.k, &w.v, &[7; 4]).with_exponents(&w.single().v_exponents()));
        assert_eq!(results[0].o, seven[0].o);
    }
}

#[test]
fn resets_in_the_middle() {
    for core in cores(4, Format::BF16) {
        let all = workload(&core, 60, 11);
        let mut w = ArrayWorkload::new(&all, 3);
        for (seed, block) in w.blocks.iter_mut().enumerate() {
            block.ranges = random_ranges(3, 11, seed as u64);
        }
        for offset in 0..7 {
            let resets: Vec<u64> = (1..8).map(|n| 10 * n + offset + n * n % 7).collect();
            for gaps in GAPS {
                let run = run(
                    &ArrayConfig::new(core.clone(), 3),
                    &w,
                    &Disturbance { resets: resets.clone(), ..Disturbance::gaps(gaps) },
                    &mut [],
                )
                .unwrap_or_else(|e| panic!("{e}"));
                assert!(run.counters.queries > 0 && (run.counters.blocks as usize) < w.blocks.len());
            }
        }
    }
}

/// A check that cannot fail is none.
#[test]
fn every_comparison_notices_a_fault() {
    for design in [Design::FlashD, Design::Fa2] {
        // A key that is held, or weighs next to nothing, would not be missed.
        let hold = Some(Hold::None);
        let core = CoreConfig { masks: true, hold, ..CoreConfig::new(design, 4, Format::BF16) };
        let config = ArrayConfig::new(core.clone(), 3);
        let w = ArrayWorkload::windows(&spread(&core, 7, 7, 0.25), 3, &causal(7, 3));
        let good = w.single().results(&Model::new(&core), true);
        let signal = |w: &ArrayWorkload, results: &[QueryResult]| match run_against(
            &config,
            w,
            &Disturbance::gaps(Gaps::None),
            &mut [],
            results,
        ) {
            Ok(_) => "none".to_string(),
            Err(RunError::Divergence(d)) => d.signal.clone(),
            Err(e) => panic!("{e}"),
        };
        assert_eq!(signal(&w, &good), "none");
        for i in 0..7 {
            let mut bad = good.clone();
            bad[i].empty ^= true;
            assert_eq!(signal(&w, &bad), "o_empty");
        }
        // One limit of one query is wrong by one.
        for (block, place) in [(0, 0), (0, 2), (1, 1), (2, 0)] {
            for (from, to) in [(1, 0), (0, 1)] {
                let mut bad = w.clone();
                let range = &mut bad.blocks[block].ranges[place];
                *range = range.start + from..range.end - to;
                assert_ne!(signal(&bad, &good), "none", "{block} {place} {from} {to}");
            }
        }
    }
}

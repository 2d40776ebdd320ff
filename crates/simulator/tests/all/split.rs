//! Cores and trees of merges in lock-step with the model, and the model against f64.

use flashd_golden::Merge;
use flashd_golden::Model;
use flashd_simulator::split::{run, split_results};
use flashd_simulator::{Gaps, Workload};
use flashd_spec::config::{CoreConfig, Hold, SplitConfig};
use flashd_spec::format::Format;
use flashd_workload::{round_to, synthetic};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn cores(d: usize, format: Format) -> Vec<CoreConfig> {
    let variants = CoreConfig::variants(d, format).into_iter();
    let mixed = CoreConfig::mixed_precision(d).into_iter().filter(move |c| c.format == format);
    let threshold = CoreConfig::with_hold(d, format, Hold::Below(6.0));
    variants.chain(mixed).chain(threshold).filter(CoreConfig::can_be_partial).collect()
}

/// Scores spread widely; keys are masked by chance, and so are whole parts and queries.
fn workload(core: &CoreConfig, keys: &[usize], seed: u64) -> Workload {
    let most = keys.iter().copied().max().unwrap_or(0);
    let a = synthetic::attention_like(seed, keys.len().max(2), most.max(2), core.d);
    let encoded = |x: &[f32], factor: f64| -> Vec<u64> {
        x.iter().map(|x| round_to(core.format, *x as f64 * factor)).collect()
    };
    let (q, k, v) = (encoded(&a.q, 16.0), encoded(&a.k, 1.0), encoded(&a.v, 1.0));
    let mut w = Workload::new(core.format, core.d, &q[..keys.len() * core.d], &k, &v);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for (i, (query, &keys)) in w.queries.iter_mut().zip(keys).enumerate() {
        query.keys = keys;
        let share = [0.0, 0.4, 0.9, 1.0][i % 4];
        query.masked = (0..keys).map(|_| rng.random_bool(share)).collect();
    }
    w
}

#[test]
fn every_core_in_lockstep() {
    for (_, format) in Format::NAMED {
        for core in cores(5, format) {
            for parts in [2, 4] {
                let split = SplitConfig::new(core.clone(), parts);
                let w = workload(&split.core, &[9, 12, 13, 5, 1, 3, 8, 20, 1, 1], 7);
                for gaps in [Gaps::None, Gaps::Random(3)] {
                    let run = run(&split, &w, gaps, &mut []).unwrap_or_else(|e| panic!("{gaps:?}: {e}"));
                    assert_eq!(run.counters.queries as usize, w.queries.len());
                    assert_eq!(run.counters.latency, u64::from(split.latency()));
                }
            }
        }
    }
}

#[test]
fn many_parts_and_late_values() {
    for core in cores(3, Format::BF16) {
        let core = CoreConfig { value_latency: 3, ..core };
        let split = SplitConfig::new(core, 16);
        let w = workload(&split.core, &[40, 16, 7, 64], 5);
        run(&split, &w, Gaps::Random(9), &mut []).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// An empty part is the identity, and a merge with itself in two orders is the same to the lanes' last bits.
#[test]
fn an_empty_part_changes_nothing() {
    for (_, format) in Format::NAMED {
        for core in cores(6, format) {
            let core = SplitConfig::new(core, 2).core;
            let w = workload(&core, &[12], 3);
            let state = w.results(&Model::new(&core), false)[0].state.clone();
            let merge = Merge::new(&core);
            assert_eq!(merge.merge(state.as_ref(), None), state, "{}", core.name());
            assert_eq!(merge.merge(None, state.as_ref()), state);
            assert_eq!(merge.merge(None, None), None);
            let four = [None, state.clone(), None, None];
            assert_eq!(merge.tree(&four), state);
        }
    }
}

/// One part that has all the keys: the result of a single core, whichever part it is.
#[test]
fn one_part_is_the_core() {
    for format in [Format::BF16, Format::FP8_E4M3] {
        for core in cores(6, format) {
            let split = SplitConfig::new(core.clone(), 4);
            let mut w = workload(&split.core, &[16], 3);
            w.queries[0].masked = (0..16).map(|key| key / 4 != 2).collect();
            let whole = w.results(&Model::new(&split.core), false);
            let parts = split_results(&split, &w);
            // A lane's own multiplier rounds or truncates differently.
            if !core.kind().scales_in_lane {
                assert_eq!(parts[0].o, whole[0].o, "{}", core.name());
            }
            assert_eq!(parts[0].state, whole[0].state, "{}", core.name());
        }
    }
}

/// Parts merged in trees are as accurate as the core alone: the merges' rounding errors are about a last place of the result.
#[test]
fn merged_parts_are_near_the_core() {
    for format in [Format::BF16, Format::FP16] {
        for core in cores(16, format) {
            let split = |parts| SplitConfig::new(core.clone(), parts);
            let mut w = workload(&split(2).core, &[64; 6], 9);
            w.queries.iter_mut().for_each(|query| query.masked.clear());
            let whole = w.results(&Model::new(&split(2).core), false);
            let most = w.v.words().iter().map(|&v| format.value(v).abs()).fold(0.0, f64::max);
            for parts in [2, 8, 32] {
                let merged = split_results(&split(parts), &w);
                let pairs = merged.iter().zip(&whole).flat_map(|(a, b)| a.o.iter().zip(&b.o));
                let distances = pairs.map(|(&a, &b)| (format.value(a) - format.value(b)).abs() / most);
                let (mean, largest) =
                    (distances.clone().sum::<f64>() / (6.0 * 16.0), distances.fold(0.0, f64::max));
                // In bf16 a last place next to max|v| is 2^-8.
                let place = 2f64.powi(1 - format.precision().min(9) as i32);
                assert!(
                    mean < place / 2.0 && largest < 4.0 * place,
                    "{}, {parts} parts: mean {mean}, largest {largest}",
                    core.name()
                );
            }
        }
    }
}

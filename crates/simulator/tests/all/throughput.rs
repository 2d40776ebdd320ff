//! The model's counts against the cycle engine's.

use flashd_golden::{Model, Monitor, QueryResult, VectorModel};
use flashd_simulator::array::{self, ArrayCounters, ArrayWorkload, Disturbance};
use flashd_simulator::split::{self, SplitCounters};
use flashd_simulator::{Counters, Gaps, Workload, run, run_model};
use flashd_spec::config::{ArrayConfig, CoreConfig, Hold, SplitConfig};
use flashd_spec::format::Format;
use flashd_workload::{Visible, round_to, synthetic};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::Range;

fn cores(rng: &mut ChaCha8Rng) -> Vec<CoreConfig> {
    let mut all = Vec::new();
    for format in [Format::BF16, Format::FP8_E4M3] {
        let d = rng.random_range(2..10);
        all.extend(CoreConfig::variants(d, format));
        all.extend(CoreConfig::with_hold(d, format, Hold::Below(2.0)));
    }
    let masked: Vec<_> = all.iter().map(|core| CoreConfig { masks: true, ..core.clone() }).collect();
    all.extend(masked);
    // Values that come late, at random.
    all.iter_mut().for_each(|core| core.value_latency = rng.random_range(1..5));
    all
}

/// A stream whose scores spread so widely that some steps hold.
fn workload(rng: &mut ChaCha8Rng, core: &CoreConfig) -> (Workload, Option<Vec<Range<usize>>>) {
    let (queries, keys) = (rng.random_range(2..9), rng.random_range(2..40));
    let a = synthetic::attention_like(rng.random(), queries, keys, core.d);
    let encoded = |x: &[f32], factor: f64| -> Vec<u64> {
        x.iter().map(|&x| round_to(core.format, f64::from(x) * factor)).collect()
    };
    let (q, k, v) = (encoded(&a.q, 16.0), encoded(&a.k, 1.0), encoded(&a.v, 1.0));
    let workload = Workload::new(core.format, core.d, &q, &k, &v);
    if !core.masks {
        let ranges = Visible::new(rng.random()).ranges(&a);
        // An array without masks has a key for every query.
        return (workload.with_lengths(ranges.into_iter().map(|range| range.end.max(1))), None);
    }
    let ranges: Vec<Range<usize>> = (0..queries)
        .map(|_| {
            let from = rng.random_range(0..keys);
            from..rng.random_range(from..=keys)
        })
        .collect();
    (workload.with_ranges(&ranges), Some(ranges))
}

fn gaps(rng: &mut ChaCha8Rng) -> Gaps {
    if rng.random() { Gaps::None } else { Gaps::Random(rng.random()) }
}

#[test]
fn counts_agree_with_the_core() {
    let seed = 41;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut held = 0;
    for core in cores(&mut rng) {
        for _ in 0..3 {
            let (workload, _) = workload(&mut rng, &core);
            let gaps = gaps(&mut rng);
            let cycle = run(&core, &workload, gaps, &mut []).unwrap_or_else(|e| panic!("{e}"));
            let model = run_model(&core, &workload, gaps, Monitor::default()).unwrap();
            let expected = Counters { comparisons: 0, ..cycle.counters };
            assert_eq!(model.counters, expected, "{}, {gaps:?}, seed {seed}", core.name());
            for (expected, actual) in cycle.results.iter().zip(&model.results) {
                assert_eq!(expected.o, actual.o, "{}, {gaps:?}, seed {seed}", core.name());
            }
            held += model.counters.held;
        }
    }
    assert!(held > 0);
}

/// Queries that start from states, with their keys in tiles.
#[test]
fn counts_with_starts_agree_with_the_core() {
    let seed = 47;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut restored = 0;
    for core in cores(&mut rng).into_iter().filter(|core| core.masks && core.can_be_partial()) {
        let core = CoreConfig { partial: true, d: core.d.max(3), ..core };
        for _ in 0..2 {
            let (workload, _) = workload(&mut rng, &core);
            let tile = rng.random_range(1..9);
            let tiled = workload.tiled(&Model::new(&core), tile);
            let model = VectorModel::new(&core);
            let run_tile = |round: &Workload| round.run_model(&model, Monitor::default()).results;
            assert_eq!(workload.tiled_by(tile, run_tile), tiled, "{}, seed {seed}", core.name());
            let gaps = gaps(&mut rng);
            let cycle = run(&core, &tiled, gaps, &mut []).unwrap_or_else(|e| panic!("{e}"));
            let model = run_model(&core, &tiled, gaps, Monitor::default()).unwrap();
            let expected = Counters { comparisons: 0, ..cycle.counters };
            assert_eq!(model.counters, expected, "{}, {gaps:?}, seed {seed}", core.name());
            for (expected, actual) in cycle.results.iter().zip(&model.results) {
                assert_eq!((&expected.o, &expected.state), (&actual.o, &actual.state), "{}", core.name());
            }
            restored += model.counters.restored;
        }
    }
    assert!(restored > 0);
}

#[test]
fn counts_of_split_keys_agree_with_the_hardware() {
    let seed = 53;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for core in cores(&mut rng).into_iter().filter(|core| core.masks && core.can_be_partial()) {
        let core = CoreConfig { d: core.d.max(3), ..core };
        let (workload, _) = workload(&mut rng, &core);
        let config = SplitConfig::new(core, [2, 4, 8][rng.random_range(0..3)]);
        let gaps = gaps(&mut rng);
        let cycle = split::run(&config, &workload, gaps, &mut []).unwrap_or_else(|e| panic!("{e}"));
        let model = split::run_model(&config, &workload, gaps, Monitor::default()).unwrap();
        let expected = SplitCounters { comparisons: 0, ..cycle.counters };
        let name = format!("{}, {gaps:?}, seed {seed}", config.name());
        assert_eq!(model.counters, expected, "{name}");
        for (expected, actual) in cycle.results.iter().zip(&model.results) {
            assert_eq!((&expected.o, &expected.state), (&actual.o, &actual.state), "{name}");
            let flags = |r: &QueryResult| (r.invalid, r.overflow, r.empty);
            assert_eq!(flags(expected), flags(actual), "{name}");
        }
    }
}

#[test]
fn counts_of_arrays_agree_with_the_hardware() {
    let seed = 43;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for core in cores(&mut rng) {
        let (workload, ranges) = workload(&mut rng, &core);
        let queries = rng.random_range(1..6);
        let config = ArrayConfig::new(core, queries);
        let workload = match ranges {
            Some(ranges) => ArrayWorkload::windows(&workload, queries, &ranges),
            None => ArrayWorkload::new(&workload, queries),
        };
        let gaps = gaps(&mut rng);
        let disturbance = Disturbance::gaps(gaps);
        let cycle = array::run(&config, &workload, &disturbance, &mut []).unwrap_or_else(|e| panic!("{e}"));
        let model = array::run_model(&config, &workload, gaps, Monitor::default()).unwrap();
        let name = format!("{}, {gaps:?}, seed {seed}", config.name());
        assert_eq!(model.counters, ArrayCounters { comparisons: 0, ..cycle.counters }, "{name}");
        assert_eq!(model.periods, cycle.periods, "{name}");
        for (expected, actual) in cycle.results.iter().zip(&model.results) {
            assert_eq!(expected.o, actual.o, "{name}");
        }
        if gaps == Gaps::None {
            let blocks = workload.blocks.iter().map(|b| (b.queries.len(), b.keys));
            assert_eq!(model.counters.cycles as usize, config.cycles(blocks), "{name}");
        }
    }
}

#[test]
fn masked_keys_need_a_core_with_masks() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let masked = CoreConfig { masks: true, ..CoreConfig::shipped()[0].clone() };
    let (mut workload, _) = workload(&mut rng, &masked);
    workload.queries[0].masked = vec![true];
    let plain = CoreConfig { masks: false, ..masked };
    let error = run_model(&plain, &workload, Gaps::None, Monitor::default()).unwrap_err();
    assert_eq!(error.field, "masks");
}

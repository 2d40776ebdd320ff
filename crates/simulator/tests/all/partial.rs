//! Partial results: keys in tiles of any size, through core and model, give the bits of a single call.

use flashd_golden::{Model, Monitor, PartialState, QueryResult, VectorModel};
use flashd_simulator::{CoreRun, Gaps, RunError, Workload, run, run_against};
use flashd_spec::bits::{ones, signed};
use flashd_spec::config::{CoreConfig, Hold};
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use flashd_workload::{round_to, synthetic};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Every core that takes partial results, with the default hold rule, with a threshold, and without.
fn cores(d: usize, format: Format) -> Vec<CoreConfig> {
    let variants = || CoreConfig::variants(d, format).into_iter();
    let holds = [None, Some(Hold::Below(6.0)), Some(Hold::None)];
    let with_holds = holds.into_iter().flat_map(|hold| variants().map(move |c| CoreConfig { hold, ..c }));
    let mixed = CoreConfig::mixed_precision(d).into_iter().filter(move |c| c.format == format);
    let able = with_holds.chain(mixed).filter(CoreConfig::can_be_partial);
    able.map(|c| CoreConfig { masks: true, partial: true, ..c }).collect()
}

fn plain(core: &CoreConfig) -> CoreConfig {
    CoreConfig { masks: false, partial: false, ..core.clone() }
}

/// Scores spread widely, so that some steps hold.
fn workload(core: &CoreConfig, queries: usize, keys: usize, seed: u64) -> Workload {
    let a = synthetic::attention_like(seed, queries.max(2), keys.max(2), core.d);
    let encoded = |x: &[f32], factor: f64| -> Vec<u64> {
        x.iter().map(|x| round_to(core.format, *x as f64 * factor)).collect()
    };
    let (q, k, v) = (encoded(&a.q, 16.0), encoded(&a.k, 1.0), encoded(&a.v, 1.0));
    let mut w = Workload::new(core.format, core.d, &q[..queries * core.d], &k, &v);
    w.queries.iter_mut().for_each(|q| q.keys = keys);
    w
}

/// Masks by chance, among them whole tiles and whole queries.
fn mask(w: &mut Workload, seed: u64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for (i, query) in w.queries.iter_mut().enumerate() {
        let share = [0.0, 0.3, 0.9, 1.0][i % 4];
        query.masked = (0..query.keys).map(|_| rng.random_bool(share)).collect();
    }
}

fn lockstep(core: &CoreConfig, w: &Workload, gaps: Gaps) -> CoreRun {
    let run = run(core, w, gaps, &mut []).unwrap_or_else(|e| panic!("{gaps:?}: {e}"));
    let restored = w.queries.iter().filter(|q| q.restore.is_some()).count();
    assert_eq!(run.counters.restored as usize, restored);
    assert_eq!(run.counters.keys as usize, w.steps() - restored);
    assert_eq!(run.counters.queries as usize, w.queries.len());
    run
}

/// Output, state and emptiness of whole queries from their last tiles; flags from all tiles.
fn joined(w: &Workload, tile: usize, tiles: &[QueryResult]) -> Vec<QueryResult> {
    let last = w.last_tiles(tile);
    let first = |i: usize| if i == 0 { 0 } else { last[i - 1] + 1 };
    let join = |i: usize| {
        let parts = &tiles[first(i)..=last[i]];
        QueryResult {
            invalid: parts.iter().any(|part| part.invalid),
            score_saturated: parts.iter().any(|part| part.score_saturated),
            overflow: parts.iter().any(|part| part.overflow),
            steps: Vec::new(),
            saturated: 0,
            ..parts[parts.len() - 1].clone()
        }
    };
    (0..last.len()).map(join).collect()
}

fn without_steps(results: Vec<QueryResult>) -> Vec<QueryResult> {
    results.into_iter().map(|r| QueryResult { steps: Vec::new(), saturated: 0, ..r }).collect()
}

#[test]
fn every_core_in_lockstep_tile_by_tile() {
    for (_, format) in Format::NAMED {
        for d in [3, 5, 17] {
            for core in cores(d, format) {
                let model = Model::new(&core);
                let mut w = workload(&core, 6, 9, 11);
                mask(&mut w, 3);
                let whole = without_steps(w.results(&model, false));
                for tile in [1, 2, 4, 9] {
                    let tiled = w.tiled(&model, tile);
                    for gaps in [Gaps::None, Gaps::Random(17)] {
                        let run = lockstep(&core, &tiled, gaps);
                        assert_eq!(joined(&w, tile, &run.results), whole, "{}, tiles of {tile}", core.name());
                    }
                }
            }
        }
    }
}

/// Without a partial result, a core with partial results is the core without.
#[test]
fn one_call_agrees_with_a_plain_core() {
    for (_, format) in Format::NAMED {
        for core in cores(7, format) {
            let w = workload(&core, 4, 13, 5);
            let run = lockstep(&core, &w, Gaps::None);
            let expected = w.results(&Model::new(&plain(&core)), false);
            for (partial, plain) in run.results.iter().zip(&expected) {
                assert_eq!((&partial.o, partial.invalid), (&plain.o, plain.invalid), "{}", core.name());
            }
        }
    }
}

/// A partial result takes the place of one key, and changes neither latency nor rate.
#[test]
fn a_start_takes_one_cycle() {
    for core in cores(8, Format::BF16) {
        let model = Model::new(&core);
        let w = workload(&core, 3, 8, 9);
        let whole = lockstep(&core, &w, Gaps::None).counters;
        let tiles = lockstep(&core, &w.tiled(&model, 2), Gaps::None).counters;
        assert_eq!(tiles.restored, 9);
        assert_eq!(tiles.cycles, whole.cycles + tiles.restored, "{}", core.name());
        assert_eq!((tiles.latency, tiles.bubbles), (whole.latency, 0));
        assert_eq!((tiles.v_reads, tiles.held), (whole.v_reads, whole.held));
    }
}

/// A partial result in the middle of a query replaces the state; at its end it is the result.
#[test]
fn a_start_hands_itself_out() {
    for core in cores(5, Format::FP8_E4M3) {
        let model = Model::new(&core);
        let w = workload(&core, 4, 6, 2);
        let results = w.results(&model, false);
        let mut only = w.clone();
        for (query, result) in only.queries.iter_mut().zip(&results) {
            (query.from, query.restore) = (query.keys, result.state.clone());
        }
        let run = lockstep(&core, &only, Gaps::Random(5));
        for (again, result) in run.results.iter().zip(&results) {
            assert_eq!((&again.o, &again.state), (&result.o, &result.state), "{}", core.name());
        }
    }
}

/// A query with Inf in q is flagged in every call that takes a step, also in one that takes nothing but a state.
#[test]
fn a_start_without_a_visible_key_says_that_its_query_is_special() {
    for core in cores(5, Format::BF16) {
        let model = Model::new(&core);
        let mut w = workload(&core, 4, 6, 2);
        let results = w.results(&model, false);
        for (i, (query, result)) in w.queries.iter_mut().zip(&results).enumerate() {
            query.restore = result.state.clone();
            query.masked = vec![true; query.keys];
            if i % 2 == 1 {
                query.q[i] = core.format.max_finite() + 1;
            }
        }
        let run = lockstep(&core, &w, Gaps::Random(5));
        let invalid: Vec<bool> = run.results.iter().map(|result| result.invalid).collect();
        assert_eq!(invalid, [false, true, false, true], "{}", core.name());
        let engine = w.run_model(&VectorModel::new(&core), Monitor::default()).results;
        assert!(engine.iter().map(|result| result.invalid).eq(invalid), "{}", core.name());
    }
}

/// States that no sequence of keys produces are accepted, too: core and model agree on all of them.
#[test]
fn any_state_in_lockstep() {
    let mut rng = ChaCha8Rng::seed_from_u64(23);
    for core in cores(6, Format::BF16) {
        let n = Numerics::new(&core);
        let format = core.accumulator_format();
        let mut w = workload(&core, 8, 5, 13);
        for query in &mut w.queries {
            let mut scalars = [0; 2];
            for (scalar, bits) in scalars.iter_mut().zip(n.scalar_bits(&core)) {
                *scalar = rng.random::<u64>() & ones(bits);
            }
            // A log-sum-exp is not below the smallest score, and there is never more room than all.
            if core.state_scalars()[0] == "lse" {
                let least = 1u64 << (n.score_integer + n.state_fraction);
                scalars[0] = rng.random_range(0..3 * least).wrapping_sub(least) & ones(n.state_bits());
                scalars[1] = n.budget.as_ref().map_or(0, |b| scalars[1].min(1 << b.register));
            } else {
                // A sum holds the key of the maximum at least, and a reference is a score, or a few octaves above one.
                scalars[1] |= 1 << n.state_fraction;
                let bits = n.scalar_bits(&core)[0];
                if bits != n.score_bits() {
                    scalars[0] = signed(scalars[0] & ones(bits - 1), bits - 1) as u64 & ones(bits);
                }
            }
            let o = (0..core.d).map(|_| match core.has_fixed_lanes() {
                true => rng.random::<u64>() & ones(core.accumulator_bits()),
                false => round_to(format, rng.random_range(-4.0..4.0)),
            });
            query.restore = Some(PartialState { scalars, o: o.collect() });
        }
        lockstep(&core, &w, Gaps::Random(3));
    }
}

/// A wrong bit anywhere in a state is found.
#[test]
fn a_wrong_state_is_found() {
    let core = &cores(5, Format::BF16)[2];
    let model = Model::new(core);
    let w = workload(core, 2, 6, 4).tiled(&model, 3);
    let results = w.results(&model, true);
    let spoilt = |spoil: &dyn Fn(&mut PartialState)| {
        let mut results = results.clone();
        results[0].state.as_mut().map(spoil).expect("a state");
        match run_against(core, &w, Gaps::None, &mut [], &results) {
            Err(RunError::Divergence(d)) => d.signal,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(spoilt(&|s| s.scalars[0] ^= 1), "o_lse of query 0");
    assert_eq!(spoilt(&|s| s.scalars[1] ^= 1), "o_room of query 0");
    assert_eq!(spoilt(&|s| s.o[3] ^= 1), "o_state[3] of query 0");
}

#[test]
fn a_core_without_partial_results_refuses_a_start() {
    let core = &cores(5, Format::BF16)[0];
    let w = workload(core, 2, 6, 4).tiled(&Model::new(core), 3);
    let error = run(&CoreConfig { partial: false, ..core.clone() }, &w, Gaps::None, &mut []).unwrap_err();
    assert_eq!(
        error.to_string(),
        "partial: 2 queries start from a partial result, which the core cannot load"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Tiles of any sizes, in any number of calls.
    #[test]
    fn tiles_of_any_size_are_one_call(
        core in 0..cores(4, Format::BF16).len(), fp8: bool, keys in 1..40usize, tile in 1..40usize, seed: u64
    ) {
        let format = if fp8 { Format::FP8_E4M3 } else { Format::BF16 };
        let all = cores(4, format);
        let core = &all[core % all.len()];
        let model = Model::new(core);
        let mut w = workload(core, 3, keys, seed % 1000);
        mask(&mut w, seed);
        let tiled = w.tiled(&model, tile);
        prop_assert_eq!(joined(&w, tile, &tiled.results(&model, false)), without_steps(w.results(&model, false)));
    }
}

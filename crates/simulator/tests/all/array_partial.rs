//! Arrays of cores with partial results: the keys of a block in tiles, through array and model, give the bits of a single call.

use flashd_golden::{Model, Monitor, QueryResult};
use flashd_simulator::array::{ArrayRun, ArrayWorkload, Disturbance, run, run_against, run_model};
use flashd_simulator::{Gaps, RunError, Workload};
use flashd_spec::config::{ArrayConfig, CoreConfig, Design};
use flashd_spec::format::Format;
use flashd_workload::{round_to, synthetic};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn cores(d: usize, format: Format) -> Vec<CoreConfig> {
    let able = CoreConfig::variants(d, format).into_iter().filter(CoreConfig::can_be_partial);
    able.map(|c| CoreConfig { masks: true, partial: true, ..c }).collect()
}

/// Blocks of `most` queries that each see a range of `keys` keys, nothing among them; scores spread widely.
fn workload(core: &CoreConfig, most: usize, queries: usize, keys: usize, seed: u64) -> ArrayWorkload {
    let a = synthetic::attention_like(seed, queries, keys, core.d);
    let encoded = |x: &[f32], factor: f64| -> Vec<u64> {
        x.iter().map(|x| round_to(core.format, *x as f64 * factor)).collect()
    };
    let (q, k, v) = (encoded(&a.q, 16.0), encoded(&a.k, 1.0), encoded(&a.v, 1.0));
    let all = Workload::new(core.format, core.d, &q, &k, &v);
    let mut w = ArrayWorkload::new(&all, most);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for block in &mut w.blocks {
        let range = |_| match rng.random_range(0..5) {
            0 => 0..0,
            1 => 0..keys,
            _ => rng.random_range(0..=keys / 2)..rng.random_range(keys / 2..=keys),
        };
        block.ranges = (0..block.queries.len()).map(range).collect();
    }
    w.padding = (0..keys).map(|key| key % 5 == 3).collect();
    w
}

fn tiled(core: &CoreConfig, w: &ArrayWorkload, tile: usize) -> (ArrayWorkload, Vec<Vec<usize>>) {
    let model = Model::new(core);
    w.tiled_by(tile, |round| round.results(&model, false))
}

fn lockstep(config: &ArrayConfig, w: &ArrayWorkload, gaps: Gaps) -> ArrayRun {
    let run = run(config, w, &Disturbance::gaps(gaps), &mut []).unwrap_or_else(|e| panic!("{gaps:?}: {e}"));
    let c = run.counters;
    assert_eq!((c.blocks as usize, c.queries as usize), (w.blocks.len(), run.results.len()));
    assert_eq!((c.keys + c.restored) as usize, w.steps());
    if gaps == Gaps::None {
        // A state takes a cycle, as a key does.
        let shape = w.blocks.iter().map(|b| (b.queries.len(), b.steps()));
        assert_eq!(c.cycles as usize, config.cycles(shape), "{}", config.name());
    }
    run
}

/// Output, state and emptiness of the last tiles; flags of all.
fn joined(places: &[Vec<usize>], tiles: &[QueryResult]) -> Vec<QueryResult> {
    let whole = |places: &Vec<usize>| QueryResult {
        invalid: places.iter().any(|&i| tiles[i].invalid),
        overflow: places.iter().any(|&i| tiles[i].overflow),
        ..plain(tiles[*places.last().unwrap()].clone())
    };
    places.iter().map(whole).collect()
}

fn plain(result: QueryResult) -> QueryResult {
    QueryResult { steps: Vec::new(), saturated: 0, ..result }
}

#[test]
fn every_core_in_lockstep_tile_by_tile() {
    for format in [Format::BF16, Format::FP8_E4M3] {
        for core in cores(5, format) {
            for (queries, tile) in [(1, 4), (2, 1), (5, 3)] {
                let config = ArrayConfig::new(core.clone(), queries);
                let w = workload(&core, queries, 7, 11, 3);
                let whole: Vec<_> =
                    w.single().results(&Model::new(&core), false).into_iter().map(plain).collect();
                let (tiles, places) = tiled(&core, &w, tile);
                assert!(tiles.blocks.iter().any(|block| block.steps() > block.keys));
                for gaps in [Gaps::None, Gaps::Random(17)] {
                    let run = lockstep(&config, &tiles, gaps);
                    assert_eq!(joined(&places, &run.results), whole, "{}, tiles of {tile}", config.name());
                    let counted = run_model(&config, &tiles, gaps, Monitor::default()).unwrap();
                    assert_eq!(
                        counted.results,
                        run.results
                            .into_iter()
                            .map(|r| QueryResult { steps: Vec::new(), ..r })
                            .collect::<Vec<_>>()
                    );
                    let flashd_simulator::array::ArrayCounters { comparisons, .. } = run.counters;
                    assert_eq!(
                        flashd_simulator::array::ArrayCounters { comparisons, ..counted.counters },
                        run.counters
                    );
                }
            }
        }
    }
}

/// Values that come late, a reset in the middle, and a place of a key in few bits: states are no keys to count.
#[test]
fn late_values_resets_and_narrow_places() {
    for design in Design::ALL {
        let core = CoreConfig {
            masks: true,
            partial: true,
            value_latency: 3,
            ..CoreConfig::new(design, 6, Format::BF16)
        };
        let config = ArrayConfig { key_index_bits: Some(3), ..ArrayConfig::new(core.clone(), 6) };
        let w = workload(&core, 6, 12, 12, 8);
        let (tiles, places) = tiled(&core, &w, 7);
        let whole: Vec<_> = w.single().results(&Model::new(&core), false).into_iter().map(plain).collect();
        let run = lockstep(&config, &tiles, Gaps::Random(5));
        assert_eq!(joined(&places, &run.results), whole);
        let disturbance = Disturbance { resets: vec![23, 41], ..Disturbance::gaps(Gaps::Random(2)) };
        flashd_simulator::array::run(&config, &tiles, &disturbance, &mut [])
            .unwrap_or_else(|e| panic!("{e}"));
    }
}

/// A block that has nothing but states hands them out again.
#[test]
fn states_alone() {
    for core in cores(4, Format::BF16) {
        let config = ArrayConfig::new(core.clone(), 3);
        let w = workload(&core, 3, 3, 8, 4);
        let results = w.single().results(&Model::new(&core), false);
        let mut only = w.clone();
        only.blocks[0].states = results.iter().map(|result| result.state.clone()).collect();
        only.blocks[0].ranges = vec![0..0; 3];
        only.blocks[0].keys = 1;
        let run = lockstep(&config, &only, Gaps::Random(6));
        for (again, result) in run.results.iter().zip(&results) {
            assert_eq!((&again.o, &again.state), (&result.o, &result.state), "{}", config.name());
        }
    }
}

/// A wrong bit anywhere in a state is found.
#[test]
fn a_wrong_state_is_found() {
    for (design, names) in [(Design::FlashD, ["o_lse", "o_room"]), (Design::Fa2, ["o_m", "o_l"])] {
        let core = CoreConfig { masks: true, partial: true, ..CoreConfig::new(design, 4, Format::BF16) };
        let config = ArrayConfig::new(core.clone(), 2);
        let (w, _) = tiled(&core, &workload(&core, 2, 2, 6, 4), 3);
        let results = w.single().results(&Model::new(&core).with_sums(), true);
        let place = results.iter().position(|result| result.state.is_some()).unwrap();
        let spoilt = |spoil: &dyn Fn(&mut flashd_golden::PartialState)| {
            let mut results = results.clone();
            spoil(results[place].state.as_mut().unwrap());
            match run_against(&config, &w, &Disturbance::gaps(Gaps::None), &mut [], &results) {
                Err(RunError::Divergence(d)) => d.signal.split(' ').next().unwrap().to_string(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(spoilt(&|s| s.scalars[0] ^= 1), names[0]);
        assert_eq!(spoilt(&|s| s.scalars[1] ^= 1), names[1]);
        assert_eq!(spoilt(&|s| s.o[3] ^= 1), "o_state[3]");
    }
}

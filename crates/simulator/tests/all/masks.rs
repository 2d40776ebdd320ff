//! Keys that a query does not see: cores in lock-step with the model, and side effects that masks must not have.

use flashd_golden::{Head, Model, QueryResult};
use flashd_simulator::{CoreRun, Gaps, RunError, Workload, run, run_against};
use flashd_spec::config::{CoreConfig, Hold};
use flashd_spec::format::Format;
use flashd_workload::{round_to, synthetic};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const GAPS: [Gaps; 2] = [Gaps::None, Gaps::Random(29)];

/// Every core with masks, of float and fixed-point lanes alike.
fn cores(d: usize, format: Format) -> Vec<CoreConfig> {
    let variants = CoreConfig::variants(d, format).into_iter();
    let never_holds = CoreConfig::variants(d, format)
        .into_iter()
        .filter(|c| !c.follows_the_paper())
        .map(|c| CoreConfig { hold: Some(Hold::None), ..c });
    let mixed = CoreConfig::mixed_precision(d).into_iter().filter(move |c| c.format == format);
    variants.chain(never_holds).chain(mixed).map(|c| CoreConfig { masks: true, ..c }).collect()
}

/// Scores spread widely, so that some steps hold.
fn workload(core: &CoreConfig, queries: usize, keys: usize) -> Workload {
    let a = synthetic::attention_like(5 + queries as u64, queries.max(2), keys.max(2), core.d);
    let encoded = |x: &[f32], factor: f64| -> Vec<u64> {
        x.iter().map(|x| round_to(core.format, *x as f64 * factor)).collect()
    };
    let (q, k, v) = (encoded(&a.q, 16.0), encoded(&a.k, 1.0), encoded(&a.v, 1.0));
    let mut w = Workload::new(core.format, core.d, &q[..queries * core.d], &k, &v);
    w.queries.iter_mut().for_each(|q| q.keys = keys);
    w
}

fn lockstep(core: &CoreConfig, w: &Workload, gaps: Gaps) -> CoreRun {
    let run = run(core, w, gaps, &mut []).unwrap_or_else(|e| panic!("{gaps:?}: {e}"));
    assert_eq!(run.counters.keys as usize, w.steps());
    assert_eq!(run.counters.queries as usize, w.queries.len());
    assert_eq!(run.counters.masked as usize, w.masked());
    run
}

/// First, last, all, none, all but one, and by chance; queries that see nothing are first, between others, and next to
/// each other.
fn masks(keys: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<bool>> {
    let only = |n: usize| (0..keys).map(|key| key == n).collect::<Vec<bool>>();
    let but = |n: usize| (0..keys).map(|key| key != n).collect::<Vec<bool>>();
    let mut by_chance = |share: f64| (0..keys).map(|_| rng.random_bool(share)).collect::<Vec<bool>>();
    vec![
        vec![true; keys],
        by_chance(0.5),
        only(0),
        vec![true; keys],
        vec![true; keys],
        only(keys - 1),
        vec![],
        by_chance(0.9),
        but(keys - 1),
        vec![true; keys],
        but(0),
        by_chance(0.1),
    ]
}

fn masked_workload(core: &CoreConfig, keys: usize, seed: u64) -> Workload {
    let masks = masks(keys, &mut ChaCha8Rng::seed_from_u64(seed));
    let mut w = workload(core, masks.len(), keys);
    for (query, masked) in w.queries.iter_mut().zip(masks) {
        query.masked = masked;
    }
    w
}

#[test]
fn every_core_in_lockstep() {
    for (_, format) in Format::NAMED {
        for d in [2, 5, 17] {
            for core in cores(d, format) {
                for keys in [1, 2, 9] {
                    let w = masked_workload(&core, keys, 31 + keys as u64);
                    for gaps in GAPS {
                        let run = lockstep(&core, &w, gaps);
                        for (query, result) in w.queries.iter().zip(&run.results) {
                            let empty = (0..keys).all(|key| query.masks(key));
                            assert_eq!(result.empty, empty, "{}", core.name());
                            assert!(!empty || result.o.iter().all(|&o| o == 0));
                        }
                    }
                }
            }
        }
    }
}

/// Throughput and latency equal a core's without masks.
#[test]
fn a_masked_key_takes_one_cycle() {
    for core in cores(8, Format::BF16) {
        let w = masked_workload(&core, 9, 3);
        let masked = lockstep(&core, &w, Gaps::None).counters;
        let mut plain = w.clone();
        plain.queries.iter_mut().for_each(|q| q.masked.clear());
        let counters =
            run(&CoreConfig { masks: false, ..core }, &plain, Gaps::None, &mut []).unwrap().counters;
        assert_eq!(masked.cycles, counters.cycles);
        assert_eq!(masked.latency, counters.latency);
        assert!(masked.v_reads < counters.v_reads);
    }
}

/// The same results as if the masked keys had never been sent.
#[test]
fn a_masked_key_changes_nothing() {
    for (_, format) in Format::NAMED {
        for core in cores(6, format) {
            let w = masked_workload(&core, 13, 7);
            let run = lockstep(&core, &w, Gaps::Random(1));
            let plain = Model::new(&CoreConfig { masks: false, ..core.clone() });
            for (query, result) in w.queries.iter().zip(&run.results) {
                let seen: Vec<usize> = (0..query.keys).filter(|&key| !query.masks(key)).collect();
                let rows = |x: &[u64]| -> Vec<u64> {
                    seen.iter().flat_map(|key| x[key * w.words.k..(key + 1) * w.words.k].to_vec()).collect()
                };
                let (k, v) = (rows(&w.k.words()), rows(&w.v.words()));
                let alone =
                    plain.run(Head::new(&query.q, &k, &v, &[seen.len()]).with_exponents(&[query.v_exponent]));
                let of = |r: &QueryResult| (r.o.clone(), r.invalid, r.overflow, r.saturated);
                assert_eq!(of(result), of(&alone[0]), "{}", core.name());
            }
        }
    }
}

/// Inf and NaN in masked keys and values, and values beyond the exponent, have no effect; nor has a query that sees no
/// key.
#[test]
fn masked_specials_are_not_seen() {
    for format in [Format::BF16, Format::FP8_E5M2, Format::FP8_E4M3] {
        for core in cores(4, format) {
            let mut w = workload(&core, 4, 6);
            let special = (0..=core.format.max_finite() + 1).rev().find(|&b| format.is_special(b));
            let Some(special) = special else { panic!("{format} has no special") };
            for key in [0, 3, 5] {
                w.k.words_mut()[key * 4 + 1] = special;
                w.v.words_mut()[key * 4 + 2] = special;
            }
            w.queries[2].q[3] = special;
            let hidden: Vec<bool> = (0..6).map(|key| [0, 3, 5].contains(&key)).collect();
            w.queries[0].masked = hidden.clone();
            w.queries[1].masked = vec![false, true, true, true, true, true];
            w.queries[2].masked = vec![true; 6];
            w.queries[3].masked = hidden;
            for gaps in GAPS {
                let results = lockstep(&core, &w, gaps).results;
                let invalid: Vec<bool> = results.iter().map(|r| r.invalid).collect();
                assert_eq!(invalid, [false, true, false, false], "{}", core.name());
                assert!(results[2].empty && !results[2].overflow);
            }
        }
    }
}

#[test]
fn masks_without_a_port_are_refused() {
    let core = CoreConfig { masks: false, ..cores(4, Format::BF16).remove(0) };
    let w = masked_workload(&core, 3, 1);
    match run(&core, &w, Gaps::None, &mut []) {
        Err(RunError::Config(e)) => assert_eq!(e.field, "masks"),
        other => panic!("{other:?}"),
    }
}

/// A check that cannot fail is none.
#[test]
fn every_comparison_notices_a_fault() {
    for core in cores(4, Format::BF16) {
        let w = masked_workload(&core, 5, 11);
        let good = w.results(&Model::new(&core), true);
        assert!(run_against(&core, &w, Gaps::None, &mut [], &good).is_ok());
        type Fault = fn(&mut Vec<QueryResult>);
        let faults: [(&str, Fault); 4] = [
            ("o_empty", |r| r[3].empty = false),
            ("o_empty", |r| r[6].empty = true),
            ("o_invalid", |r| r[3].invalid = true),
            ("o[2]", |r| r[4].o[2] = 1),
        ];
        for (signal, fault) in faults {
            let mut bad = good.clone();
            fault(&mut bad);
            match run_against(&core, &w, Gaps::None, &mut [], &bad) {
                Err(RunError::Divergence(d)) => assert!(d.signal.starts_with(signal), "{d}"),
                other => panic!("{}: a wrong {signal} went unnoticed: {other:?}", core.name()),
            }
        }
        // A mask for the core but not for the model.
        let mut unmasked = w.clone();
        unmasked.queries.iter_mut().for_each(|q| q.masked.clear());
        let all = unmasked.results(&Model::new(&core), true);
        assert!(run_against(&core, &w, Gaps::None, &mut [], &all).is_err());
    }
}

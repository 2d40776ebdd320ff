//! FA2 with a lazy reference: when the reference moves and how far, and the range of l and o.

use crate::common::scores::{D, FORMATS, FS, OCTAVE, references, run};
use crate::common::{normal, rng, values, variant_of};
use flashd_golden::{Action, Head, Model, QueryResult, Step, encode};
use flashd_spec::config::{CoreConfig, Fa2Variant, Hold, LAZY_SLACK};
use flashd_spec::format::Format;

const SLACK: i64 = LAZY_SLACK as i64 * OCTAVE;

fn lazy(format: Format) -> CoreConfig {
    let core = CoreConfig::with_datapath(Fa2Variant::LazyReference.into(), D, format);
    CoreConfig { score_shift: Some(0), score_fraction_bits: Some(FS), ..core }
}

fn ones(format: Format, keys: usize) -> Vec<u64> {
    vec![format.one(); D * keys]
}

#[test]
fn the_reference_moves_where_a_score_is_beyond_the_slack() {
    for format in FORMATS {
        for first in [0, 137, -3001, 5 * OCTAVE] {
            let at = |x: i64| first + x;
            let cases = [
                // Up to the slack the reference stays. A unit more moves it, by the rise rounded down to whole octaves.
                (vec![at(0), at(SLACK), at(0)], vec![0, 0], vec![false, false]),
                (vec![at(0), at(SLACK + 1), at(0)], vec![0, SLACK], vec![true, false]),
                (vec![at(0), at(SLACK + OCTAVE - 1), at(0)], vec![0, SLACK], vec![true, false]),
                (vec![at(0), at(SLACK + OCTAVE), at(0)], vec![0, SLACK + OCTAVE], vec![true, false]),
                // The slack counts from the new reference.
                (
                    vec![at(0), at(SLACK + 1), at(2 * SLACK), at(2 * SLACK + 1), at(0)],
                    vec![0, SLACK, SLACK, 2 * SLACK],
                    vec![true, false, true, false],
                ),
                // The reference never falls.
                (vec![at(0), at(-7 * OCTAVE), at(SLACK)], vec![0, 0], vec![false, false]),
            ];
            for (scores, wanted, moves) in cases {
                let result = run(&lazy(format), &scores, &ones(format, scores.len()));
                let wanted: Vec<i64> = wanted.into_iter().map(at).collect();
                assert_eq!(references(&result), wanted, "{format}, {scores:?}");
                let upper: Vec<bool> = result.steps[1..].iter().map(|step| step.upper).collect();
                assert_eq!(upper, moves, "{format}, {scores:?}");
            }
        }
    }
}

#[test]
fn a_first_key_counts_one_and_sums_are_shifted() {
    for format in FORMATS {
        let config = lazy(format);
        let one = 1u64 << config.state_fraction();
        let scores = [77, 77 + SLACK, 77 + SLACK + OCTAVE, 77];
        let result = run(&config, &scores, &ones(format, scores.len()));
        let sums: Vec<u64> = result.steps.iter().map(|step| step.l.unwrap()).collect();
        // Whole octaves are exact: 1, 1 + 2^8, 2^-9 times that plus 1, and a key 9 octaves below.
        let shifted = ((one << 8) + one) >> 9;
        assert_eq!(sums, [one, one + (one << 8), shifted + one, shifted + one + (one >> 9)], "{format}");
        assert_eq!(result.steps[0].action, Action::Load);
        assert_eq!(values(format, &result.o), [1.0; D], "{format}");
    }
}

/// The largest l, and the largest accumulators, fit.
#[test]
fn scores_at_the_slack_do_not_overflow() {
    const KEYS: usize = 65_536;
    for (_, format) in Format::NAMED {
        // Narrow formats do not reach these scores.
        if !FORMATS.contains(&format) {
            continue;
        }
        let config = lazy(format);
        let mut scores = vec![SLACK; KEYS];
        scores[0] = 0;
        let result = run(&config, &scores, &ones(format, KEYS));
        let one = 1u64 << config.state_fraction();
        let last = result.steps.last().unwrap();
        assert_eq!(last.l, Some(one + (KEYS as u64 - 1) * (one << LAZY_SLACK)), "{format}");
        assert_eq!((result.saturated, last.upper), (0, false), "{format}");
    }
}

#[test]
fn what_is_far_below_a_new_reference_vanishes() {
    for format in FORMATS {
        let v: Vec<u64> = [-0.5, 3.0, 1.25, -2.0].map(|v| encode(format, v)).repeat(2);
        let mut v = v;
        v[..D].fill(encode(format, -1.0));
        for octaves in [30, 60, 250, 700] {
            let scores = [-350 * OCTAVE, (octaves - 350) * OCTAVE];
            let result = run(&lazy(format), &scores, &v);
            assert!(result.steps[1].upper);
            assert_eq!(result.o, v[D..], "{format}, {octaves} octaves");
        }
    }
}

/// The reference is at most FA2's maximum, and at most the slack below it, so it holds no more keys than FA2.
#[test]
fn the_reference_follows_the_maximum_from_below() {
    let (seed, d, keys, queries) = (3, 16, 300, 20);
    let mut rng = rng(seed);
    for (_, format) in Format::NAMED {
        let [shared, lazy] = [Fa2Variant::SharedScale, Fa2Variant::LazyReference]
            .map(|variant| variant_of(d, format, variant));
        for deviation in [1.0, 6.0] {
            let q = normal(&mut rng, format, deviation, queries * d);
            let k = normal(&mut rng, format, 1.0, keys * d);
            let v = normal(&mut rng, format, 1.0, keys * d);
            for hold in [None, Some(Hold::Below(3.0)), Some(Hold::None)] {
                let [lazy, shared] = [&lazy, &shared].map(|core| {
                    let core = CoreConfig { hold, score_fraction_bits: Some(FS), ..core.clone() };
                    Model::new(&core).run(Head::new(&q, &k, &v, &vec![keys; queries]).with_steps())
                });
                let moves = |step: &&Step| step.upper;
                let held = |step: &&Step| step.action == Action::Hold;
                let count = |results: &[QueryResult], which: &dyn Fn(&&Step) -> bool| {
                    results.iter().flat_map(|result| &result.steps).filter(|step| which(step)).count()
                };
                for (lazy, shared) in lazy.iter().zip(&shared) {
                    for (step, other) in lazy.steps.iter().zip(&shared.steps).skip(1) {
                        let (reference, maximum) = (step.s - step.x, other.s - other.x);
                        assert!((maximum - SLACK..=maximum).contains(&reference), "{format}");
                        assert!(step.action != Action::Hold || other.action == Action::Hold, "{format}");
                    }
                }
                // FA2 rescales at every new maximum, about ln(keys) times for each query.
                let (rare, often) = (count(&lazy, &moves), count(&shared, &moves));
                assert!(rare * if deviation > 1.0 { 2 } else { 10 } < often, "{format}: {rare}, {often}");
                assert!(count(&lazy, &held) <= count(&shared, &held), "{format}");
            }
        }
    }
}

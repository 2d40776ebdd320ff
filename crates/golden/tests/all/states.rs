//! The empty state, and states as numbers.

use crate::common::rng;
use flashd_golden::{Head, Merge, Model, PartialState, QueryResult, Stepper, decode, encode};
use flashd_spec::config::{CoreConfig, KINDS};
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use rand::RngExt;

const D: usize = 4;
const KEYS: usize = 12;

/// Every core that can have partial results, in a few formats.
fn cores() -> Vec<CoreConfig> {
    let formats = [Format::BF16, Format::FP16, Format::FP8_E4M3, Format::INT8];
    let all = KINDS.iter().flat_map(|kind| {
        formats.map(|format| CoreConfig {
            masks: true,
            partial: true,
            score_shift: Some(0),
            ..CoreConfig::with_datapath(kind.datapath, D, format)
        })
    });
    all.filter(|core| core.validate().is_ok()).collect()
}

/// q, k and v in a core's encodings; all scales of rows are 1/64.
fn operands(core: &CoreConfig, seed: u64) -> [Vec<u64>; 3] {
    let mut rng = rng(seed);
    let (words, formats) = (core.port_words(), core.formats());
    [(1, words.q, formats.q), (KEYS, words.k, formats.k), (KEYS, words.v, formats.v)].map(
        |(rows, words, format)| {
            let mut row = || -> Vec<u64> {
                let mut row: Vec<u64> = (0..D)
                    .map(|_| match format.is_integer() {
                        true => rng.random_range(0..1 << format.width()),
                        false => encode(format, rng.random_range(-2.0..2.0)),
                    })
                    .collect();
                // A scale of 1/64 in bf16, least significant byte first.
                row.extend([0x80, 0x3c].into_iter().take(words - D));
                row
            };
            (0..rows).flat_map(|_| row()).collect()
        },
    )
}

/// The steps of a query over keys, from a state if there is one.
fn meet(
    core: &CoreConfig,
    [q, k, v]: &[Vec<u64>; 3],
    keys: std::ops::Range<usize>,
    from: Option<&PartialState>,
) -> Stepper {
    let words = core.port_words();
    let mut steps = Stepper::new(core);
    let exponent = if core.has_value_exponent() { core.products().v.bias as u64 + 2 } else { 0 };
    steps.query(q, exponent).unwrap();
    if let Some(state) = from {
        steps.restore(state).unwrap();
    }
    for key in keys {
        steps.key(&k[key * words.k..][..words.k], false).unwrap();
        if steps.value_is_due() {
            steps.value(&v[key * words.v..][..words.v]).unwrap();
        }
    }
    steps
}

#[test]
fn no_key_is_neutral() {
    let cores = cores();
    assert!(cores.len() >= 25, "{}", cores.len());
    for core in &cores {
        let (name, n) = (core.name(), &Numerics::new(core));
        let no_key = PartialState::no_key(core, n).unwrap();
        assert!(no_key.is_no_key(core, n));
        let all = operands(core, 5);
        let plain = meet(core, &all, 0..KEYS, None);
        assert!(!plain.state().is_no_key(core, n), "{name}");
        // A query that has seen nothing has it, and starting from it is starting from nothing.
        let nothing = meet(core, &all, 0..0, None);
        assert_eq!(nothing.state(), no_key, "{name}");
        assert!(nothing.result().unwrap().empty);
        let again = meet(core, &all, 0..0, Some(&no_key));
        assert_eq!(
            (again.state(), again.result().unwrap()),
            (no_key.clone(), nothing.result().unwrap()),
            "{name}"
        );
        let from = meet(core, &all, 0..KEYS, Some(&no_key));
        assert_eq!(
            (from.state(), from.result().unwrap()),
            (plain.state(), plain.result().unwrap()),
            "{name}"
        );
        // Merges by the tree of split keys.
        let merge = Merge::new(core);
        let state = plain.state();
        for (a, b) in [(&no_key, &state), (&state, &no_key)] {
            assert_eq!(merge.merge(Some(a), Some(b)).as_ref(), Some(&state), "{name}");
        }
        assert_eq!(merge.merge(Some(&no_key), Some(&no_key)), Some(no_key.clone()), "{name}");
        assert_eq!(merge.merge(None, Some(&no_key)), Some(no_key.clone()), "{name}");
        // Sent to a core as a step all the same, it has no weight.
        let exponents = [if core.has_value_exponent() { core.products().v.bias as u64 + 2 } else { 0 }];
        let (lengths, restored) = ([KEYS], [Some(no_key)]);
        let head = Head::new(&all[0], &all[1], &all[2], &lengths).with_exponents(&exponents);
        let (sent, unsent) =
            (Model::new(core).run(Head { restored: &restored, ..head }), Model::new(core).run(head));
        // References of FA2 may begin elsewhere: the same numbers in other words.
        let o = |run: &[QueryResult]| -> Vec<f64> {
            run[0].o.iter().map(|&o| decode(core.formats().o, o)).collect()
        };
        let largest = o(&unsent).iter().fold(0.0, |most: f64, o| most.max(o.abs()));
        for (sent, unsent) in o(&sent).into_iter().zip(o(&unsent)) {
            assert!((sent - unsent).abs() <= largest / 16.0, "{name}: {sent}, {unsent}");
        }
        let lse = |run: &[QueryResult]| run[0].state.as_ref().unwrap().log_sum_exp(core, n);
        assert!(
            (lse(&sent) - lse(&unsent)).abs() < tolerance(core),
            "{name}: {}, {}",
            lse(&sent),
            lse(&unsent)
        );
    }
}

/// The error that a core's tables may add to a log-sum-exp.
fn tolerance(core: &CoreConfig) -> f64 {
    if core.formats().q.fraction_bits <= 3 { 0.08 } else { 0.02 }
}

/// A state's log-sum-exp, in base 2, agrees with the scores of its keys.
#[test]
fn the_log_sum_exp_agrees_with_the_scores() {
    for core in cores() {
        let (all, n) = (operands(&core, 7), Numerics::new(&core));
        let no_key = PartialState::no_key(&core, &n).unwrap();
        assert_eq!(no_key.log_sum_exp(&core, &n), f64::NEG_INFINITY);
        let words = core.port_words();
        let mut steps = meet(&core, &all, 0..0, None);
        let mut sum = 0.0;
        for key in 0..KEYS {
            let step = steps.key(&all[1][key * words.k..][..words.k], false).unwrap();
            if steps.value_is_due() {
                steps.value(&all[2][key * words.v..][..words.v]).unwrap();
            }
            sum += (step.s as f64 / f64::from(n.score_fraction).exp2()).exp2();
            let (told, exact) = (steps.state().log_sum_exp(&core, &n), f64::log2(sum));
            assert!((told - exact).abs() < tolerance(&core), "{}, key {key}: {told}, {exact}", core.name());
        }
    }
}

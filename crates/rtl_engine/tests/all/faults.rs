//! The comparison detects faults in recorded steps.

use crate::random::{Pair, word};
use flashd_hwmodel::catalogue::build;
use flashd_hwmodel::netlist::{Operator, Step, Steps};
use flashd_rtl_engine::{Backend, evaluate};
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::cell::RefCell;

const SEED: u64 = 0xfa17;
const FAULTS: usize = 200;

/// A step with another operator of the same shape, if there is one.
fn faulty(step: &Step, operand_width: impl Fn(usize) -> u32) -> Option<Step> {
    let mut step = step.clone();
    step.operator = match step.operator {
        Operator::And => Operator::Or,
        Operator::Or => Operator::Xor,
        Operator::Xor => Operator::Or,
        Operator::Add => Operator::Sub,
        Operator::Sub => Operator::Add,
        Operator::ShiftLeft => Operator::ShiftRight,
        Operator::ShiftRight => Operator::ShiftLeft,
        Operator::Any => Operator::All,
        Operator::All => Operator::Any,
        Operator::Equal => Operator::AtLeast,
        Operator::Less => Operator::SignedLess,
        Operator::AtLeast => Operator::Less,
        Operator::SignedLess => Operator::Less,
        Operator::Select => {
            step.operands.swap(1, 2);
            Operator::Select
        }
        Operator::Slice(low) if low > 0 => Operator::Slice(low - 1),
        Operator::Slice(0) if operand_width(0) > step.width => Operator::Slice(1),
        Operator::Constant(value) => Operator::Constant(value ^ 1),
        Operator::Lookup(entries) => Operator::Lookup(entries.iter().rev().copied().collect()),
        Operator::Input(_)
        | Operator::Not
        | Operator::Multiply
        | Operator::Slice(_)
        | Operator::Concat
        | Operator::Repeat => return None,
    };
    Some(step)
}

/// All faults of steps: the places and the faulty steps.
fn faults(steps: &Steps) -> Vec<(usize, Step)> {
    let width = |step: &Step, i: usize| steps.steps[step.operands[i] as usize].width;
    let with_place = steps.steps.iter().enumerate();
    with_place.filter_map(|(i, step)| Some((i, faulty(step, |o| width(step, o))?))).collect()
}

/// The most bits of inputs of which all are tried.
const ALL: u32 = 18;
/// Inputs of more bits that are drawn.
const DRAWN: usize = 40_000;

/// Compares two versions of a leaf, for all inputs or for drawn ones.
fn compare(before: &Steps, after: &Steps, rng: &mut ChaCha8Rng) -> Effect {
    let widths: Vec<Option<u32>> = {
        let places = before.steps.iter().filter_map(|step| match step.operator {
            Operator::Input(place) => Some((place as usize, step.width)),
            _ => None,
        });
        places.fold(Vec::new(), |mut widths, (place, width)| {
            widths.resize(widths.len().max(place + 1), None);
            widths[place] = Some(width);
            widths
        })
    };
    let same = |inputs: &[u64]| evaluate(before, inputs) == evaluate(after, inputs);
    let bits: u32 = widths.iter().flatten().sum();
    if bits <= ALL {
        let all_same = (0..1u64 << bits).all(|mut all| {
            let inputs: Vec<u64> = (widths.iter())
                .map(|width| {
                    let width = width.unwrap_or(0);
                    let input = all & ((1 << width) - 1);
                    all >>= width;
                    input
                })
                .collect();
            same(&inputs)
        });
        return if all_same { Effect::None } else { Effect::Some };
    }
    let all_same = (0..DRAWN).all(|_| {
        let close = rng.random_ratio(1, 2);
        let inputs: Vec<u64> =
            widths.iter().map(|width| width.map_or(0, |width| word(rng, width, close))).collect();
        same(&inputs)
    });
    if all_same { Effect::NoneDrawn } else { Effect::Some }
}

/// The effect of a fault on the outputs of its leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// Nothing, whatever the inputs are.
    None,
    /// Nothing for the inputs that were drawn.
    NoneDrawn,
    /// For some inputs they are others.
    Some,
}

#[test]
fn a_changed_operator_is_seen() {
    let configs = [
        CoreConfig::new(Design::FlashD, 4, Format::BF16),
        CoreConfig::new(Design::Fa2, 4, Format::BF16),
        CoreConfig::new(Design::FlashD, 4, Format::FP8_E4M3),
        CoreConfig::new(Design::Fa2, 4, Format::FP8_E4M3),
    ];
    let circuit = |config: &CoreConfig| build(config).expect("a valid configuration");
    let mut all = Vec::new();
    for config in &configs {
        let found = RefCell::new(Vec::new());
        Pair::changed(circuit(config), Backend::best(), 0, &|kind, steps| {
            let leaf = format!("{steps:?}");
            let of_leaf = |(place, step)| ((config.name(), leaf.clone(), place), (config, kind, step));
            found.borrow_mut().extend(faults(&steps).into_iter().map(of_leaf));
            steps
        });
        all.extend(found.into_inner());
    }
    // The draw is the same whatever the order of the leaves is.
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    let (drawn_faults, _) = all.partial_shuffle(&mut ChaCha8Rng::seed_from_u64(SEED), FAULTS);
    let mut unseen = Vec::new();
    for (drawn, ((_, _, place), (config, kind, step))) in drawn_faults.iter().enumerate() {
        let (place, kind) = (*place, *kind);
        let before = RefCell::new(None);
        let changed = |of: usize, mut steps: Steps| {
            if of == kind {
                *before.borrow_mut() = Some(steps.clone());
                steps.steps[place] = step.clone();
            }
            steps
        };
        let seen = (0..ATTEMPTS)
            .any(|seed| Pair::changed(circuit(config), Backend::best(), seed, &changed).run(CYCLES).is_err());
        if !seen {
            let Some(before) = before.into_inner() else { continue };
            let mut after = before.clone();
            after.steps[place] = step.clone();
            // From a separate seed, so that the drawn faults stay the same.
            let effect = compare(&before, &after, &mut ChaCha8Rng::seed_from_u64(drawn as u64));
            let was = &before.steps[place];
            unseen
                .push((effect, format!("{}, kind {kind}, step {place}: {was:?} as {step:?}", config.name())));
        }
    }
    println!(
        "seed {SEED:#x}: {} of {FAULTS} faults seen; not seen, and what they do to the leaf's outputs:",
        FAULTS - unseen.len()
    );
    unseen.iter().for_each(|(effect, text)| println!("  {effect:?}: {text}"));
    let changed = unseen.iter().filter(|(effect, _)| *effect == Effect::Some).count();
    assert!(changed <= MOST_UNSEEN, "{changed} of {FAULTS} faults that change a leaf are not seen");
}

/// Runs that a fault may hide from, and their length.
const ATTEMPTS: u64 = 30;
const CYCLES: usize = 1500;

/// Faults that change a leaf only for inputs that do not occur in the design, as with exclusive flags.
const MOST_UNSEEN: usize = 8;

//! A fault in what was recorded is seen by the comparison.

use crate::random::Pair;
use flashd_compiled::Backend;
use flashd_hwmodel::catalogue::build;
use flashd_hwmodel::netlist::{Operator, Step, Steps};
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;
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

/// All faults that steps can have: the places and what stands there then.
fn faults(steps: &Steps) -> Vec<(usize, Step)> {
    let width = |step: &Step, i: usize| steps.steps[step.operands[i] as usize].width;
    let with_place = steps.steps.iter().enumerate();
    with_place.filter_map(|(i, step)| Some((i, faulty(step, |o| width(step, o))?))).collect()
}

#[test]
fn a_changed_operator_is_seen() {
    let configs = [
        CoreConfig::new(Design::FlashD, 4, Format::BF16),
        CoreConfig::new(Design::Fa2, 4, Format::BF16),
        CoreConfig::new(Design::FlashD, 4, Format::FP8_E4M3),
        CoreConfig::new(Design::Fa2, 4, Format::FP8_E4M3),
    ];
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let mut unseen = Vec::new();
    for drawn in 0..FAULTS {
        let config = &configs[drawn % configs.len()];
        let circuit = || build(config).expect("a valid configuration");
        let all = RefCell::new(Vec::new());
        Pair::changed(circuit(), Backend::best(), 0, &|kind, steps| {
            all.borrow_mut().extend(faults(&steps).into_iter().map(|fault| (kind, fault)));
            steps
        });
        let all = all.into_inner();
        let (kind, (place, step)) = all[rng.random_range(0..all.len())].clone();
        let before = RefCell::new(None);
        let changed = |of: usize, mut steps: Steps| {
            if of == kind {
                *before.borrow_mut() = Some(std::mem::replace(&mut steps.steps[place], step.clone()));
            }
            steps
        };
        let seen = (0..ATTEMPTS)
            .any(|seed| Pair::changed(circuit(), Backend::best(), seed, &changed).run(CYCLES).is_err());
        if !seen {
            let before = before.into_inner();
            unseen.push(format!("{}, kind {kind}, step {place}: {before:?} as {step:?}", config.name()));
        }
    }
    println!("seed {SEED:#x}: {} of {FAULTS} faults seen; not seen:", FAULTS - unseen.len());
    unseen.iter().for_each(|text| println!("  {text}"));
    assert!(unseen.len() <= MOST_UNSEEN, "{} of {FAULTS} faults are not seen", unseen.len());
}

/// Runs that a fault may hide from, and their length.
const ATTEMPTS: u64 = 6;
const CYCLES: usize = 1500;

/// Faults that change nothing: a select whose cases agree, a constant that only decides where nothing does.
const MOST_UNSEEN: usize = 20;

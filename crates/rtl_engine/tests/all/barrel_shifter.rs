//! Barrel shifters are shifts to the engine.

use crate::random::{same_in_all_engines, word};
use flashd_hwmodel::arith::fixed::shift_right_filled;
use flashd_hwmodel::catalogue;
use flashd_hwmodel::netlist::{Net, Operator, Step, Steps};
use flashd_hwmodel::rtl::Pins;
use flashd_hwmodel::word::Word;
use flashd_rtl_engine::{evaluate, simplified};
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const SEED: u64 = 0x5417;

/// Steps of a function of a word, an amount and a bit.
fn of(width: u32, bits: u32, function: impl Fn(&Net, &Net, &Net) -> Net) -> Steps {
    let [x, amount, fill] =
        [("x", width), ("amount", bits), ("fill", 1)].map(|(name, width)| Net::input(name, width));
    let pins = [Pins::word("x", width), Pins::word("amount", bits), Pins::word("fill", 1)];
    Steps::of(&pins, &[function(&x, &amount, &fill)])
}

fn choices(steps: &Steps) -> usize {
    steps.steps.iter().filter(|step| step.operator == Operator::Select).count()
}

/// The steps as they are and simplified give the same for all amounts.
fn same(what: &str, steps: &Steps, [width, bits]: [u32; 2]) {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let simple = simplified(steps);
    for amount in 0..1 << bits {
        for fill in [0, 1] {
            for _ in 0..20 {
                let inputs = [word(&mut rng, width, false), amount, fill];
                let (expected, actual) = (evaluate(steps, &inputs), evaluate(&simple, &inputs));
                assert_eq!(expected, actual, "{what}, {width} bits, seed {SEED:#x}, {inputs:x?}");
            }
        }
    }
}

/// Several bits over a word whose topmost bit is the lowest of them are no copies of its sign.
#[test]
fn bits_that_overlap_are_no_sign() {
    let circuit =
        catalogue::build(&CoreConfig::new(Design::FlashD, 16, Format::BF16)).expect("a valid configuration");
    let overlaps = |_: usize, mut steps: Steps| {
        let is_word = |step: &&Step| matches!(step.operator, Operator::Input(_)) && step.width == 16;
        let word = steps.steps.iter().find(is_word).cloned();
        let output = steps.outputs.iter().position(|&i| steps.steps[i as usize].width == 8);
        if let (Some(word), Some(output)) = (word, output) {
            let first = steps.steps.len() as u32;
            let slice =
                |low, width| Step { operator: Operator::Slice(low), operands: vec![first].into(), width };
            let joined =
                Step { operator: Operator::Concat, operands: vec![first + 1, first + 2].into(), width: 8 };
            steps.steps.extend([word, slice(4, 3), slice(0, 5), joined]);
            steps.outputs[output] = first + 3;
        }
        steps
    };
    same_in_all_engines(&circuit.design(), SEED, 20, || overlaps);
}

#[test]
fn a_filled_shifter_is_one_shift() {
    for (width, bits) in [(5, 2), (16, 4), (23, 5), (31, 5), (40, 6)] {
        let steps = of(width, bits, shift_right_filled);
        same("filled", &steps, [width, bits]);
        assert_eq!(choices(&simplified(&steps)), 0, "{width} bits");
        let sign = of(width, bits, |x, amount, _| shift_right_filled(x, amount, &x.msb()));
        same("arithmetic", &sign, [width, bits]);
        assert_eq!(choices(&simplified(&sign)), 0, "{width} bits");
    }
}

#[test]
fn a_sticky_shifter_is_a_shift_and_a_comparison() {
    for (width, bits) in [(5, 3), (16, 4), (23, 5), (32, 5), (40, 6)] {
        let steps = of(width, bits, |x, amount, _| x.shift_right_sticky(amount));
        same("sticky", &steps, [width, bits]);
        assert_eq!(choices(&simplified(&steps)), 0, "{width} bits");
        let zeros = of(width, bits, |x, amount, _| x.append_zeros(3).shift_right_sticky(amount));
        same("sticky over zeros", &zeros, [width, bits]);
        assert!(choices(&simplified(&zeros)) <= 1, "{width} bits");
    }
}

#[test]
fn a_shifter_with_another_stage_is_none() {
    // The second stage moves by three places, and then is one by two places that fills another bit in.
    let three = |x: &Net, amount: &Net, fill: &Net| {
        let x = amount.bit(0).select(&fill.concat(&x.drop_low(1)), x);
        amount.bit(1).select(&fill.repeat(3).concat(&x.drop_low(3)), &x)
    };
    let other = |x: &Net, amount: &Net, fill: &Net| {
        let x = amount.bit(0).select(&fill.concat(&x.drop_low(1)), x);
        amount.bit(1).select(&fill.not().repeat(2).concat(&x.drop_low(2)), &x)
    };
    for (what, steps) in [("three", of(9, 2, three)), ("other", of(9, 2, other))] {
        same(what, &steps, [9, 2]);
        assert_eq!(choices(&simplified(&steps)), 2, "{what}");
    }
}

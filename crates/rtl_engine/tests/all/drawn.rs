//! Leaves whose steps are drawn are the same to all engines: every operator, at every width.

use crate::random::{same_in_all_engines, word};
use flashd_hwmodel::catalogue::build;
use flashd_hwmodel::netlist::{Operands, Operator, Step, Steps};
use flashd_hwmodel::rtl::Design as Modules;
use flashd_rtl_engine::{evaluate, simplified};
use flashd_spec::bits::ones;
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::cell::RefCell;

const SEED: u64 = 0x1eaf;

/// Steps that grow.
struct Draw<'a> {
    steps: Vec<Step>,
    rng: &'a mut ChaCha8Rng,
    /// No word is wider.
    widest: u32,
}

impl Draw<'_> {
    fn push(&mut self, operator: Operator, operands: &[u32], width: u32) -> u32 {
        self.steps.push(Step { operator, operands: operands.into(), width });
        self.steps.len() as u32 - 1
    }

    fn width(&self, step: u32) -> u32 {
        self.steps[step as usize].width
    }

    fn any(&mut self) -> u32 {
        let count = self.steps.len();
        // Those at the end more often, so that steps read each other.
        let back = self.rng.random_range(0..count).min(self.rng.random_range(0..count));
        (count - 1 - back) as u32
    }

    fn some_width(&mut self) -> u32 {
        self.rng.random_range(1..=self.widest)
    }

    fn number(&mut self, width: u32) -> u32 {
        let value = self.rng.random::<u64>() & ones(width);
        let value = if self.rng.random_ratio(1, 4) { 0 } else { value };
        self.push(Operator::Constant(value), &[], width)
    }

    /// A word cut or filled up to a width: with zeros, copies of its sign, or something else.
    fn fit(&mut self, step: u32, width: u32) -> u32 {
        let now = self.width(step);
        if now == width {
            return step;
        }
        if now > width {
            let low = self.rng.random_range(0..=now - width);
            return self.push(Operator::Slice(low), &[step], width);
        }
        let missing = width - now;
        let high = match self.rng.random_range(0..3) {
            0 => self.push(Operator::Constant(0), &[], missing),
            1 => {
                let sign = if now == 1 { step } else { self.push(Operator::Slice(now - 1), &[step], 1) };
                if missing == 1 { sign } else { self.push(Operator::Repeat, &[sign], missing) }
            }
            _ => self.number(missing),
        };
        self.push(Operator::Concat, &[high, step], width)
    }

    fn of_width(&mut self, width: u32) -> u32 {
        let step = if self.rng.random_ratio(1, 6) { self.number(width) } else { self.any() };
        self.fit(step, width)
    }

    /// One more operation.
    fn grow(&mut self) {
        use Operator::*;
        let width = self.some_width();
        match self.rng.random_range(0..19) {
            kind @ 0..5 => {
                let [a, b] = [self.of_width(width), self.of_width(width)];
                self.push([And, Or, Xor, Add, Sub][kind].clone(), &[a, b], width);
            }
            kind @ 5..9 => {
                let [a, b] = [self.of_width(width), self.of_width(width)];
                self.push([Equal, Less, AtLeast, SignedLess][kind - 5].clone(), &[a, b], 1);
            }
            kind @ 9..11 => {
                let bits = self.rng.random_range(1..=7.min(self.widest));
                let [a, by] = [self.of_width(width), self.of_width(bits)];
                self.push([ShiftLeft, ShiftRight][kind - 9].clone(), &[a, by], width);
            }
            kind @ 11..13 => {
                let a = self.any();
                self.push([Any, All][kind - 11].clone(), &[a], 1);
            }
            13 => {
                let a = self.any();
                self.push(Not, &[a], self.width(a));
            }
            14 => {
                let [a, b] = [self.any(), self.any()];
                let most = (self.width(a) + self.width(b)).min(self.widest);
                let width = if self.rng.random() { most } else { width.min(most) };
                self.push(Multiply, &[a, b], width);
            }
            15 => {
                let low = self.any();
                let width = width.max(self.width(low));
                self.fit(low, width);
            }
            16 => {
                let bit = self.of_width(1);
                self.push(Repeat, &[bit], width);
            }
            17 => {
                let [bit, a, b] = [self.of_width(1), self.of_width(width), self.of_width(width)];
                self.push(Select, &[bit, a, b], width);
            }
            _ => {
                let count = self.rng.random_range(2..100);
                let entries = (0..count).map(|_| self.rng.random::<u64>() & ones(width)).collect();
                let index = self.any();
                self.push(Lookup(entries), &[index], width);
            }
        }
    }
}

/// Other steps with the same inputs and widths of outputs.
fn drawn(rng: &mut ChaCha8Rng, before: &Steps) -> Steps {
    let is_input = |step: &&Step| matches!(step.operator, Operator::Input(_));
    let inputs: Vec<Step> = before.steps.iter().filter(is_input).cloned().collect();
    if inputs.is_empty() {
        return before.clone();
    }
    let widest = [16, 32, 64][rng.random_range(0..3)];
    let mut draw = Draw { steps: inputs, rng, widest };
    for _ in 0..30 {
        draw.grow();
    }
    let widths = before.outputs.iter().map(|&output| before.steps[output as usize].width);
    let outputs = widths.map(|width| draw.of_width(width)).collect();
    Steps { steps: draw.steps, outputs }
}

fn same(modules: &Modules, seed: u64) {
    same_in_all_engines(modules, seed, 6, || {
        let rng = RefCell::new(ChaCha8Rng::seed_from_u64(seed));
        move |_: usize, steps: Steps| drawn(&mut rng.borrow_mut(), &steps)
    });
}

/// Leaves with 32 instances and more, several blocks, and with few.
#[test]
fn leaves_whose_steps_are_drawn() {
    println!("seeds from {SEED:#x}");
    for (design, d) in [(Design::FlashD, 32), (Design::Fa2, 40), (Design::FlashD, 6)] {
        let core = build(&CoreConfig::new(design, d, Format::BF16)).expect("a valid configuration");
        let modules = core.design();
        (SEED..SEED + 100).for_each(|seed| same(&modules, seed));
    }
}

/// Made simpler, drawn steps compute the same.
#[test]
fn drawn_steps_made_simpler() {
    println!("seed {SEED:#x}");
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    for case in 0..1000 {
        let widths: Vec<u32> = (0..rng.random_range(1..5)).map(|_| rng.random_range(1..=64)).collect();
        let inputs = widths.iter().zip(0..).map(|(&width, place)| {
            let operator = Operator::Input(place);
            Step { operator, operands: Operands::new(), width }
        });
        let before = Steps { steps: inputs.collect(), outputs: (0..widths.len() as u32).collect() };
        let steps = drawn(&mut rng, &before);
        let simple = simplified(&steps);
        for _ in 0..20 {
            let inputs: Vec<u64> = widths.iter().map(|&width| word(&mut rng, width, false)).collect();
            let (expected, actual) = (evaluate(&steps, &inputs), evaluate(&simple, &inputs));
            assert_eq!(expected, actual, "case {case}, seed {SEED:#x}, {inputs:x?}, {steps:?}");
        }
    }
}

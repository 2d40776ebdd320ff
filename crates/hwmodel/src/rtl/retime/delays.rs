//! Delays of word operations, by which registers are placed.

use crate::netlist::{Operator, Step, Steps};

/// The delay of an operation of `n` bits, in ps: `base + slope * log2 n`.
#[derive(Clone, Copy)]
struct Row {
    base: f64,
    slope: f64,
}

const fn row(base: f64, slope: f64) -> Row {
    Row { base, slope }
}

/// The delays in a technology.
pub(super) struct Delays {
    /// From the clock edge to the output of a register, and from the input of one to the next edge.
    pub(super) register: f64,
    gate: Row,
    xor: Row,
    /// Copies of one bit: its fan-out.
    copies: Row,
    select: Row,
    reduce: Row,
    equal: Row,
    less: Row,
    add: Row,
    shift: Row,
    /// By the product of the factors' widths.
    multiply: Row,
    /// By the number of entries.
    lookup: Row,
}

/// ASAP7, typical corner, .7 V. Fitted to single operations of 4 to 48 bits, mapped for speed and timed with a buffer before each input and
/// 1.5 fF at each output.
pub(super) static ASAP7: Delays = Delays {
    register: 60.0,
    gate: row(21.0, 0.0),
    xor: row(30.0, 0.0),
    copies: row(0.0, 9.0),
    select: row(30.0, 10.0),
    reduce: row(0.0, 28.0),
    equal: row(0.0, 30.0),
    less: row(0.0, 44.0),
    add: row(-20.0, 60.0),
    shift: row(0.0, 40.0),
    multiply: row(-250.0, 115.0),
    lookup: row(20.0, 28.0),
};

impl Delays {
    /// The delay of the choice before a register with an enable.
    pub(super) fn hold(&self) -> f64 {
        self.select.base
    }

    /// The delay of each step.
    pub(super) fn of_steps(&self, steps: &Steps) -> Vec<f64> {
        let width = |place: u32| f64::from(steps.steps[place as usize].width);
        let of = |(place, step): (usize, &Step)| {
            let own = width(place as u32);
            let first = step.operands.first().map_or(1.0, |&operand| width(operand));
            let (row, bits) = match &step.operator {
                Operator::Input(_) | Operator::Constant(_) | Operator::Slice(_) | Operator::Concat => {
                    return 0.0;
                }
                // An inverter is part of the gate before or after it.
                Operator::Not => return 0.0,
                Operator::And | Operator::Or => (self.gate, own),
                Operator::Xor => (self.xor, own),
                Operator::Repeat => (self.copies, own),
                Operator::Select => (self.select, own),
                Operator::Any | Operator::All => (self.reduce, first),
                Operator::Equal => (self.equal, first),
                Operator::Less | Operator::AtLeast | Operator::SignedLess => (self.less, first),
                Operator::Add | Operator::Sub => (self.add, own),
                Operator::ShiftLeft | Operator::ShiftRight => (self.shift, own),
                // By a constant: a sum with a term for each digit other than zero.
                Operator::Multiply => match factors(steps, step) {
                    (Some(constant), _) | (_, Some(constant)) => {
                        let terms = signed_digits(constant).max(1);
                        (self.add, own * f64::from(terms))
                    }
                    _ => (self.multiply, first * width(step.operands[1])),
                },
                Operator::Lookup(entries) => (self.lookup, entries.len() as f64),
            };
            (row.base + row.slope * bits.max(2.0).log2()).max(0.0)
        };
        steps.steps.iter().enumerate().map(of).collect()
    }
}

/// The factors of a product that are constants.
fn factors(steps: &Steps, step: &Step) -> (Option<u64>, Option<u64>) {
    let constant = |operand: u32| match steps.steps[operand as usize].operator {
        Operator::Constant(value) => Some(value),
        _ => None,
    };
    (constant(step.operands[0]), constant(step.operands[1]))
}

/// The digits other than zero of a number in its canonical signed form.
fn signed_digits(value: u64) -> u32 {
    (value ^ (value.wrapping_mul(3))).count_ones()
}

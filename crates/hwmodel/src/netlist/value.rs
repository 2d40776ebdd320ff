//! Evaluates recorded expressions.

use super::net::{Net, Op};
use crate::word::{Num, Word};

impl Net {
    /// The value of the expression if the input `name` has the value `input(name)`; a packed input has the value of
    /// the whole bus.
    ///
    /// # Panics
    /// If a value does not fit its input.
    pub fn value(&self, input: &impl Fn(&str) -> u64) -> Num {
        let of = |net: &Net| net.value(input);
        let width = self.width();
        match &self.0.op {
            Op::Input(offset) => {
                let whole = input(self.name().unwrap_or_default());
                match offset {
                    None => Num::new(width, whole),
                    Some(low) => Num::new(64, whole).slice(*low, width),
                }
            }
            Op::Constant(value) => Num::new(width, *value),
            Op::Unary(op, a) => unary(op, &of(a)),
            Op::Binary(op, a, b) => binary(op, &of(a), &of(b)),
            Op::SignedLess(a, b) => of(a).slt(&of(b)),
            Op::Multiply(a, b) => of(a).mul(&of(b)).slice(0, width),
            Op::Slice(a, low) => of(a).slice(*low, width),
            Op::Concat(high, low) => of(high).concat(&of(low)),
            Op::Repeat(bit) => of(bit).repeat(width),
            Op::Select(condition, then, otherwise) => of(condition).select(&of(then), &of(otherwise)),
            Op::Lookup(index, entries) => of(index).lookup(entries, width),
        }
    }
}

/// Applies the operator with this Verilog token to one operand.
pub(super) fn unary<W: Word>(op: &str, a: &W) -> W {
    match op {
        "~" => a.not(),
        "|" => a.any(),
        "&" => a.all(),
        other => unreachable!("no unary operator {other}"),
    }
}

/// Applies the operator with this Verilog token to two operands.
pub(super) fn binary<W: Word>(op: &str, a: &W, b: &W) -> W {
    match op {
        "&" => a.and(b),
        "|" => a.or(b),
        "^" => a.xor(b),
        "+" => a.add(b),
        "-" => a.sub(b),
        "<<" => a.shl(b),
        ">>" => a.shr(b),
        "==" => a.eq(b),
        "<" => a.lt(b),
        ">=" => a.lt(b).not(),
        other => unreachable!("no binary operator {other}"),
    }
}

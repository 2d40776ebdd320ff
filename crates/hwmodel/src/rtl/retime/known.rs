//! Known bits in reset: bits that follow from the values of registers with a reset.

use crate::netlist::{Operator, Step, apply};
use crate::word::{Num, ones};

/// A word of which some bits may be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    width: u32,
    /// The bits that are known.
    mask: u64,
    /// Their values.
    value: u64,
}

impl Known {
    /// Nothing is known.
    pub(super) fn nothing(width: u32) -> Known {
        Known { width, mask: 0, value: 0 }
    }

    /// A number.
    pub(super) fn number(width: u32, value: u64) -> Known {
        Known { width, mask: ones(width), value }
    }

    /// The word, if all its bits are known.
    pub(super) fn all(self) -> Option<u64> {
        (self.mask == ones(self.width)).then_some(self.value)
    }

    /// The bits in which both agree.
    pub(super) fn common(self, other: Known) -> Known {
        let mask = self.mask & other.mask & !(self.value ^ other.value);
        Known { width: self.width, mask, value: self.value & mask }
    }

    /// Bits that are 1, and bits that are 0.
    fn sides(self) -> (u64, u64) {
        (self.mask & self.value, self.mask & !self.value)
    }

    fn of_sides(width: u32, high: u64, low: u64) -> Known {
        Known { width, mask: high | low, value: high }
    }

    /// The result of a step.
    pub(super) fn of_step(step: &Step, operands: &[Known]) -> Known {
        let width = step.width;
        let numbers: Option<Vec<Num>> =
            operands.iter().map(|known| known.all().map(|value| Num::new(known.width, value))).collect();
        if let (Some(numbers), false) = (numbers, matches!(step.operator, Operator::Input(_))) {
            return Known::number(width, apply(step, &numbers).value());
        }
        match (&step.operator, operands) {
            (Operator::Not, [a]) => Known { value: !a.value & a.mask, ..*a },
            (Operator::And, [a, b]) => {
                let ((a1, a0), (b1, b0)) = (a.sides(), b.sides());
                Known::of_sides(width, a1 & b1, a0 | b0)
            }
            (Operator::Or, [a, b]) => {
                let ((a1, a0), (b1, b0)) = (a.sides(), b.sides());
                Known::of_sides(width, a1 | b1, a0 & b0)
            }
            (Operator::Any, [a]) if a.sides().0 != 0 => Known::number(1, 1),
            (Operator::All, [a]) if a.sides().1 != 0 => Known::number(1, 0),
            (Operator::Slice(low), [a]) => {
                let of = |bits: u64| bits >> low & ones(width);
                Known { width, mask: of(a.mask), value: of(a.value) }
            }
            (Operator::Concat, [high, low]) => {
                let of = |high: u64, bits: u64| high << low.width | bits;
                Known { width, mask: of(high.mask, low.mask), value: of(high.value, low.value) }
            }
            (Operator::Select, [condition, then, otherwise]) => match condition.all() {
                Some(0) => *otherwise,
                Some(_) => *then,
                None => then.common(*otherwise),
            },
            _ => Known::nothing(width),
        }
    }
}

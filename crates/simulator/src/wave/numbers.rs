//! Which buses carry numbers, and how to read them: the one place that knows.
//!
//! A bus is looked up by the end of its path below the core, without vector indices; the two ports of a
//! register (`d`, `q`) go by the register's name. The first row that fits decides. A bus without a row is a
//! float of the operands' format if it has that format's width, and plain bits otherwise. A number is
//! only ever claimed when the width agrees, so an entry that no longer fits the hardware shows bits, not
//! a wrong value.
//!
//! | quantity | fixed point (lse, FA2) | paper, literal |
//! | --- | --- | --- |
//! | score, maximum | signed, FS fraction bits | the format |
//! | distance of score and maximum | unsigned, FS | the format |
//! | log-sum-exp L, x = s - L | signed, FL | the format |
//! | t = abs(x) | unsigned, B | |
//! | tail = ln(1 + exp(-t)) | unsigned, FL | |
//! | running sum | unsigned, FL | the format |
//! | reciprocal r of the sum | unsigned, the table's fraction | the format |

use super::NUMBER_SUFFIX;
use super::signals::Signal;
use flashd_hwmodel::config::{CoreConfig, Design, Fa2Variant, WeightUnit};
use flashd_hwmodel::cores::lane::{LaneFormats, LaneKind};
use flashd_hwmodel::format::Format;
use flashd_hwmodel::numerics::Numerics;
use flashd_hwmodel::word::signed;

/// How the bits of a bus read as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// A float.
    Float(Format),
    /// Fixed point.
    Fixed {
        /// Two's complement.
        signed: bool,
        /// Width in bits.
        width: u32,
        /// Fraction bits.
        fraction: u32,
    },
}

impl Number {
    /// The decimal value.
    pub fn value(self, bits: u64) -> f64 {
        match self {
            Number::Float(format) => format.value(bits),
            Number::Fixed { signed: true, width, fraction } => {
                signed(bits, width) as f64 / (fraction as f64).exp2()
            }
            Number::Fixed { signed: false, fraction, .. } => bits as f64 / (fraction as f64).exp2(),
        }
    }

    fn width(self) -> u32 {
        match self {
            Number::Float(format) => format.width(),
            Number::Fixed { width, .. } => width,
        }
    }
}

/// The decimal value beside a bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Beside {
    /// Name of the variable.
    pub name: String,
    /// How to find its value.
    pub reading: Reading,
}

/// Where a decimal value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// From the bus itself.
    Own(Number),
    /// FLASH-D's weight w. The bus before this one carries the smaller one of `w` and `1 - w`; this bit
    /// tells that it is `1 - w`.
    Weight(Number),
}

impl Reading {
    /// The decimal value, from the bits of the bus and of the bus before it.
    pub fn value(self, bits: u64, before: u64) -> f64 {
        match self {
            Reading::Own(number) => number.value(bits),
            Reading::Weight(number) if bits != 0 => 1.0 - number.value(before),
            Reading::Weight(number) => number.value(before),
        }
    }
}

/// What a bus carries.
#[derive(Clone, Copy)]
enum Quantity {
    /// A float of the operands' format.
    Port,
    /// The accumulator's float.
    Accumulator,
    /// A lane's difference or product.
    Inner,
    Score,
    Distance,
    State,
    Difference,
    Argument,
    Tail,
    Sum,
    Reciprocal,
}

use Quantity::*;

/// The scalar path in fixed point.
const SCALARS: [(&str, Quantity); 19] = [
    ("score", Score),
    ("score_q", Score),
    ("maximum_q", Score),
    ("maximum.maximum", Score),
    ("maximum_next", Score),
    ("distance", Distance),
    ("log_sum_exp", State),
    ("log_sum_exp_next", State),
    ("log_sum_exp_q", State),
    ("difference.x", Difference),
    ("updates.x", Difference),
    ("argument.x", Difference),
    ("t", Argument),
    ("t_q", Argument),
    ("tail", Tail),
    ("sum.sum_q", Sum),
    ("sum_next", Sum),
    ("reciprocal.sum", Sum),
    ("r", Reciprocal),
];

/// Every lane.
const LANES: [(&str, Quantity); 8] = [
    ("lane.o_q", Accumulator),
    ("lane.select.v", Port),
    ("lane.select.sum", Accumulator),
    ("lane.select.o_next", Accumulator),
    ("lane.sum.a", Accumulator),
    ("lane.sum.b", Inner),
    ("lane.sum.y", Accumulator),
    ("lane.narrow.a", Accumulator),
];

/// FLASH-D's operands.
const FLASH_D: [(&str, Quantity); 10] = [
    ("lane.old.o", Accumulator),
    ("o_before", Accumulator),
    ("lane.difference.b", Accumulator),
    ("lane.difference.y", Inner),
    ("lane.side.difference", Inner),
    ("lane.side.o", Accumulator),
    ("lane.side.way", Inner),
    ("lane.side.base", Accumulator),
    ("lane.product.b", Inner),
    ("lane.product.y", Inner),
];

/// FA2's operand choice, product, scale, and the sum's own adder (the lanes have `sum` too).
const FA2: [(&str, Quantity); 7] = [
    ("lane.operands.o", Accumulator),
    ("lane.operands.multiplicand", Accumulator),
    ("lane.operands.addend", Accumulator),
    ("lane.product.a", Accumulator),
    ("lane.product.y", Inner),
    ("lane.scale.o", Accumulator),
    ("sum.sum.sum", Sum),
];

/// The literal variant's products and scale.
const LITERAL: [(&str, Quantity); 4] = [
    ("lane.old_product.a", Accumulator),
    ("lane.old_product.y", Accumulator),
    ("lane.new_product.y", Accumulator),
    ("lane.scale.a", Accumulator),
];

/// The numbers of one core.
pub(super) struct Numbers {
    numerics: Numerics,
    lane: LaneFormats,
    rows: Vec<(&'static str, Quantity)>,
}

impl Numbers {
    /// For a (valid) configuration.
    pub fn new(config: &CoreConfig) -> Self {
        let numerics = Numerics::new(config);
        let (kind, lane) = LaneKind::of(config.design, config.weight, config.fa2, &numerics);
        let own: &[_] = match kind {
            LaneKind::FlashD => &FLASH_D,
            LaneKind::Fa2 => &FA2,
            LaneKind::Fa2Literal => &LITERAL,
        };
        let fixed = matches!(
            (config.design, config.weight, config.fa2),
            (Design::FlashD, WeightUnit::Lse, _) | (Design::Fa2, _, Fa2Variant::Default)
        );
        // The other designs use the same names for floats of the format.
        let scalars: &[_] = if fixed { &SCALARS } else { &[] };
        let rows = [own, &LANES, scalars].concat();
        Numbers { numerics, lane, rows }
    }

    /// The decimal value to be shown beside signal `i`, if any.
    pub fn beside(&self, signals: &[Signal], i: usize) -> Option<Beside> {
        let signal = &signals[i];
        if signal.below_core() == "weight.upper" {
            let before = i.checked_sub(1).map(|i| &signals[i]).filter(|s| s.below_core() == "weight.w")?;
            let number = self.of(before.below_core(), before.width)?;
            return Some(Beside { name: format!("weight{NUMBER_SUFFIX}"), reading: Reading::Weight(number) });
        }
        let number = self.of(signal.below_core(), signal.width)?;
        let name = signal.path.rsplit('.').next().unwrap_or_default();
        Some(Beside { name: format!("{name}{NUMBER_SUFFIX}"), reading: Reading::Own(number) })
    }

    /// How to read the bus at `path` (below the core), if it carries a number.
    fn of(&self, path: &str, width: u32) -> Option<Number> {
        if width == 1 {
            return None;
        }
        let key = key(path);
        let ends_with = |row: &str| match key.strip_suffix(row) {
            Some(before) => before.is_empty() || before.ends_with('.'),
            None => false,
        };
        let quantity = self.rows.iter().find(|(row, _)| ends_with(row)).map_or(Port, |(_, q)| *q);
        let fixed = |signed, width, fraction| Number::Fixed { signed, width, fraction };
        let n = &self.numerics;
        let number = match quantity {
            Port => Number::Float(n.format),
            Accumulator => Number::Float(self.lane.accumulator),
            Inner => Number::Float(self.lane.inner),
            Score => fixed(true, n.score_bits(), n.score_fraction),
            Distance => fixed(false, n.score_bits(), n.score_fraction),
            State => fixed(true, n.state_bits(), n.state_fraction),
            Difference => fixed(true, n.state_bits() + 1, n.state_fraction),
            Argument => fixed(false, n.exp.argument_bits(), n.exp.value_fraction),
            Tail => fixed(false, n.state_fraction + 1, n.state_fraction),
            Sum => fixed(false, n.sum_bits(), n.state_fraction),
            Reciprocal => {
                let fraction = n.reciprocal.table.value_fraction;
                fixed(false, fraction + 1, fraction)
            }
        };
        (number.width() == width).then_some(number)
    }
}

/// `group_0.lane_3.o_q.d` goes by `group.lane.o_q`.
fn key(path: &str) -> String {
    let parts: Vec<&str> = path.split('.').map(without_index).collect();
    match parts.as_slice() {
        [front @ .., register, "d" | "q"] if register.ends_with("_q") => {
            front.iter().chain([register]).copied().collect::<Vec<_>>().join(".")
        }
        _ => parts.join("."),
    }
}

fn without_index(part: &str) -> &str {
    match part.rsplit_once('_') {
        Some((base, index)) if index.bytes().all(|b| b.is_ascii_digit()) => base,
        _ => part,
    }
}

#[cfg(test)]
mod tests {
    use super::super::signals;
    use super::*;
    use flashd_hwmodel::config::Accumulator;
    use flashd_hwmodel::cores::build;

    /// Wide accumulators and unusual scores make the widths differ, so that a bus whose name is not known
    /// any more has no number.
    #[test]
    fn every_wide_bus_but_a_shift_is_a_number() {
        let mut unknown = std::collections::BTreeSet::new();
        for format in [Format::BF16, Format::FP8_E4M3] {
            for design in [Design::FlashD, Design::Fa2] {
                for other in [false, true] {
                    let config = CoreConfig {
                        accumulator: Some(Accumulator::Fraction(17)),
                        weight: if other && design == Design::FlashD {
                            WeightUnit::Paper
                        } else {
                            WeightUnit::Lse
                        },
                        fa2: if other && design == Design::Fa2 {
                            Fa2Variant::Literal
                        } else {
                            Fa2Variant::Default
                        },
                        ..CoreConfig::new(design, 5, format)
                    };
                    let signals = signals::list("core", build(&config).unwrap().as_ref());
                    let numbers = Numbers::new(&config);
                    for s in signals.iter().filter(|s| s.width > 1 && !s.path.ends_with(".right")) {
                        if numbers.of(s.below_core(), s.width).is_none() {
                            unknown.insert(format!("{}: {}", config.name(), s.below_core()));
                        }
                    }
                }
            }
        }
        assert!(unknown.is_empty(), "{unknown:#?}");
    }

    #[test]
    fn values() {
        let fixed = |signed| Number::Fixed { signed, width: 8, fraction: 4 };
        assert_eq!((fixed(true).value(0xf8), fixed(false).value(0xf8)), (-0.5, 15.5));
        assert_eq!(Number::Float(Format::BF16).value(0xbfc0), -1.5);
        let weight = Reading::Weight(Number::Float(Format::BF16));
        assert_eq!((weight.value(0, 0x3e80), weight.value(1, 0x3e80)), (0.25, 0.75));
    }
}

//! Which buses carry numbers, and how to read them: the one place that knows.
//!
//! A bus is looked up by the end of its path below the core, without vector indices; the two ports of a
//! register (`d`, `q`) go by the register's name, and every level of a tree by the first level's. The first row of
//! `rows` that fits decides. A bus without a row is a float of the operands' format if it has that format's width,
//! and plain bits otherwise. A number is only ever claimed when the width agrees, so an entry that no longer fits
//! the hardware shows bits, not a wrong value.
//!
//! | quantity | number | paper, literal |
//! | --- | --- | --- |
//! | terms and sums of the fused dot product | signed, guard bits beyond the natural score's | |
//! | natural score | signed, FS + 2 fraction bits | |
//! | score, maximum (log2 units) | signed, FS | the format |
//! | distance of score and maximum, tau | unsigned, FS | the format |
//! | reference of fixed-point FA2 | signed integer; with the first score's fraction FS | |
//! | log-sum-exp L, `x = s - L` | signed, FL | the format |
//! | `t = abs(x)` | unsigned, B | |
//! | `tail = log2(1 + 2^-t)` | unsigned, FL + 1 | |
//! | integer part of x; limit of the hold rule's budget | signed integer; unsigned integer | |
//! | rest of that budget | unsigned, R, 1 being all | |
//! | running sum | unsigned, FL | the format |
//! | reciprocal `r 2^-right` of the sum | unsigned, the table's fraction; signed integer | the format |
//! | factor of the lanes that is not rounded to the format | `m 2^-(WM - 1) 2^-right`; in FLASH-D's fixed-point lanes right less one | |
//! | fixed-point lanes' value and accumulator | signed fractions of `2^(v_exponent - bias + 1)` or of `2^(E - bias + 1)` | |
//!
//! A term of the fused dot product is `x + c`, where the carry c enters a free input of a later adder. The value
//! of a term or sum lacks the carries that are still pending, a last place each.

pub(super) mod rows;

use super::NUMBER_SUFFIX;
use super::layout::kind;
use super::signals::Signal;
use flashd_hwmodel::attention::factor::factor_bits;
use flashd_hwmodel::attention::lane::LaneFormats;
use flashd_hwmodel::fa2;
use flashd_hwmodel::fa2::reference::reference_bits;
use flashd_hwmodel::fa2::shared_log_reference::fine_reference_bits;
use flashd_hwmodel::flash_d::fixed_lane::lane_factor_bits;
use flashd_hwmodel::score::sum::sum_exponent_bits;
use flashd_spec::bits::{ones, signed};
use flashd_spec::config::{CoreConfig, Design, Hold};
use flashd_spec::format::Format;
use flashd_spec::numerics::{BIAS, Numerics};
use rows::{BUDGET, FUSED_DOT, PORTS, Quantity, Row, SCORE};

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
    /// `{right, m}`: `m 2^-fraction 2^-right`.
    Factor {
        /// Width in bits of both.
        width: u32,
        /// Width of the significand m.
        significand: u32,
        /// Fraction bits of the significand.
        fraction: u32,
    },
}

impl Number {
    /// The decimal value.
    pub(super) fn value(self, bits: u64) -> f64 {
        // A power of two by its exponent field, as long as it is a normal number.
        let scaled = |x: f64, fraction: u64| match fraction {
            ..1023 => x * f64::from_bits((1023 - fraction) << 52),
            _ => x * (-(fraction as f64)).exp2(),
        };
        match self {
            Number::Float(format) => format.value(bits),
            Number::Fixed { signed: true, width, fraction } => {
                scaled(signed(bits, width) as f64, fraction.into())
            }
            Number::Fixed { signed: false, fraction, .. } => scaled(bits as f64, fraction.into()),
            Number::Factor { significand, fraction, .. } => {
                scaled((bits & ones(significand)) as f64, u64::from(fraction) + (bits >> significand))
            }
        }
    }

    fn width(self) -> u32 {
        match self {
            Number::Float(format) => format.width(),
            Number::Fixed { width, .. } | Number::Factor { width, .. } => width,
        }
    }
}

/// The decimal value of a bus.
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
    /// FLASH-D's weight w. The bus before this one carries the smaller one of `w` and `1 - w`; this bit is 1 if
    /// that is `1 - w`.
    Weight(Number),
}

impl Reading {
    /// The decimal value, from the bits of the bus and of the bus before it.
    pub(super) fn value(self, bits: u64, before: u64) -> f64 {
        match self {
            Reading::Own(number) => number.value(bits),
            Reading::Weight(number) if bits != 0 => 1.0 - number.value(before),
            Reading::Weight(number) => number.value(before),
        }
    }
}

/// The numbers of one core.
pub(super) struct Numbers {
    numerics: Numerics,
    lane: LaneFormats,
    factor: Number,
    fa2: bool,
    rows: Vec<Row>,
}

impl Numbers {
    /// For a (valid) configuration.
    pub(super) fn new(config: &CoreConfig) -> Self {
        let numerics = Numerics::new(config);
        let inner = match config.weight() {
            _ if config.follows_the_paper() => numerics.accumulator,
            Some(_) => numerics.difference,
            None => numerics.product,
        };
        let lane = LaneFormats::new(&numerics, inner);
        let factor = factor(&numerics);
        Numbers { numerics, lane, factor, fa2: config.design() == Design::Fa2, rows: rows(config) }
    }

    /// The decimal value of signal `i`, if any.
    pub(super) fn beside(&self, signals: &[Signal], i: usize) -> Option<Beside> {
        let signal = &signals[i];
        let path = signal.in_core()?;
        if path == "weight.upper" {
            let before = i.checked_sub(1).map(|i| &signals[i]).filter(|s| s.in_core() == Some("weight.w"))?;
            let number = self.of("weight.w", before.width)?;
            return Some(Beside { name: format!("weight{NUMBER_SUFFIX}"), reading: Reading::Weight(number) });
        }
        let number = self.of(path, signal.width)?;
        let name = signal.path.rsplit('.').next().unwrap_or_default();
        Some(Beside { name: format!("{name}{NUMBER_SUFFIX}"), reading: Reading::Own(number) })
    }

    /// How to read the bus at `path` (below the core), if it carries a number.
    fn of(&self, path: &str, width: u32) -> Option<Number> {
        if width == 1 {
            return None;
        }
        let number = self.number(self.row(path).map_or(Quantity::Port, |(_, quantity)| quantity), width)?;
        (number.width() == width).then_some(number)
    }

    /// The row that the bus at `path` goes by.
    fn row(&self, path: &str) -> Option<Row> {
        let key = key(path);
        let ends_with = |row: &str| match key.strip_suffix(row) {
            Some(before) => before.is_empty() || before.ends_with('.'),
            None => false,
        };
        self.rows.iter().copied().find(|(row, _)| ends_with(row))
    }

    /// The encoding of a quantity on a bus, whose width may differ from the quantity's.
    fn number(&self, quantity: Quantity, width: u32) -> Option<Number> {
        let fixed = |signed, width, fraction| Number::Fixed { signed, width, fraction };
        let n = &self.numerics;
        let lane = n.lane;
        Some(match quantity {
            Quantity::Port => Number::Float(n.encodings.formats.q),
            Quantity::Key => Number::Float(n.encodings.formats.k),
            Quantity::PortValue => Number::Float(n.encodings.formats.v),
            Quantity::Result => Number::Float(n.formats.o),
            Quantity::Value => Number::Float(self.lane.value),
            Quantity::Weight => Number::Float(self.lane.weight),
            Quantity::Accumulator => Number::Float(self.lane.accumulator),
            Quantity::Inner => Number::Float(self.lane.inner),
            // A bit more a level.
            Quantity::Term => {
                let width = width.clamp(n.term_bits(), n.term_bits() + n.tree_levels);
                fixed(true, width, if n.is_exact() { 0 } else { n.natural_fraction() + n.dot_guard })
            }
            Quantity::Natural => fixed(true, n.natural_bits(), n.natural_fraction()),
            Quantity::Score => fixed(true, n.score_bits(), n.score_fraction),
            Quantity::Bias => Number::Float(BIAS),
            Quantity::Distance => fixed(false, n.score_bits(), n.score_fraction),
            // From -2^IS to 2^IS, with a reference of one more.
            Quantity::Tau => fixed(false, n.score_bits() + 2, n.score_fraction),
            Quantity::Reference => fixed(true, reference_bits(n), 0),
            Quantity::FineReference => fixed(true, fine_reference_bits(n), n.score_fraction),
            Quantity::Difference => fixed(true, n.state_bits() + 1, n.state_fraction),
            Quantity::Argument => fixed(false, n.octave_argument_bits(), n.exp.value_fraction),
            Quantity::Tail => fixed(false, n.state_fraction + 2, n.state_fraction + 1),
            Quantity::Room => n.budget.map(|budget| fixed(false, budget.room_bits(), budget.register))?,
            Quantity::Limit => n.budget.map(|budget| fixed(false, budget.limit_bits(), 0))?,
            // The log-reference keeps l below 2.
            Quantity::Sum if n.log_reference => fixed(false, n.state_fraction + 1, n.state_fraction),
            Quantity::Sum => fixed(false, n.sum_bits(), n.state_fraction),
            Quantity::Reciprocal => {
                let fraction = n.reciprocal.table.value_fraction;
                fixed(false, fraction + 1, fraction)
            }
            Quantity::SumExponent => fixed(true, sum_exponent_bits(n), 0),
            Quantity::Factor => self.factor,
            Quantity::LaneFactor => {
                let significand = lane?.w;
                // A place of the shift is the significand's.
                Number::Factor { width: lane_factor_bits(n), significand, fraction: significand }
            }
            Quantity::FixedValue => lane.map(|lane| fixed(true, lane.v, lane.v - 1))?,
            Quantity::FixedAccumulator => {
                let width = |o| match self.fa2 {
                    true => fa2::widths::accumulator_bits(n),
                    false => o,
                };
                lane.map(|lane| fixed(true, width(lane.o), lane.o - 1))?
            }
            Quantity::Bits => return None,
        })
    }
}

/// The lanes' factor where it is not rounded to the format.
fn factor(n: &Numerics) -> Number {
    let significand = n.factor_significand;
    // Where exponentials reach 2, their bus carries half of them.
    let fraction = significand - 1 - n.exponential_octaves();
    Number::Factor { width: factor_bits(n, significand), significand, fraction }
}

/// `group_0.lane_3.o_q.d` goes by `group.lane.o_q`, `tree_0.rest_0.rest_0.sum_1.y` by `tree.sum.y`.
fn key(path: &str) -> String {
    let parts: Vec<&str> = path.split('.').map(without_index).filter(|part| *part != "rest").collect();
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

/// The rows of a core.
fn rows(config: &CoreConfig) -> Vec<Row> {
    let mut tables: Vec<&[Row]> = Vec::new();
    // Where the paper is followed to the letter, the same names denote floats of the format.
    if !config.follows_the_paper() {
        tables.extend([FUSED_DOT, SCORE]);
    }
    if matches!(config.hold(), Hold::Budget(_)) {
        tables.push(BUDGET);
    }
    tables.extend(kind(config).numbers);
    tables.push(PORTS);
    tables.concat()
}

#[cfg(test)]
mod tests;

//! FA2's fixed-point sums, with each lane relative to the largest exponent that it has read.

use super::Lanes;
use super::ranged::{Ranged, RangedValue};
use super::sum::{Division, Quotient, SumOp};
use crate::round::pow2;
use flashd_spec::bits::{ones, signed};
use flashd_spec::config::CoreConfig;
use flashd_spec::format::{Format, Formats};
use flashd_spec::numerics::Numerics;

/// Ranged sums. An accumulator is `o 2^-OF` in units of `2^(exponent - bias + 1)`.
#[derive(Clone)]
pub(crate) struct RangedSumLanes {
    /// Format of the values.
    format: Format,
    quotient: Quotient,
    /// Fraction bits OF of the accumulator, and all its bits.
    fraction: u32,
    bits: u32,
    /// The magnitude of a negative accumulator is its complement.
    complement: bool,
}

impl RangedSumLanes {
    /// The lanes of a core.
    pub(crate) fn of(config: &CoreConfig, n: &Numerics) -> Self {
        let (o, guard) = (config.lane_bits().o, config.sum_guard_bits());
        RangedSumLanes::new(n.formats, o, guard, n.kept_significand(), true)
    }

    /// Accumulators have `o` bits and `guard` more above them. A result uses `kept` bits from the leading one on. `in_lane`: the
    /// lane's own multiplier divides, in which the last of these bits is set, and the magnitude of a negative o is `-1 - o`.
    pub(crate) fn new(formats: Formats, o: u32, guard: u32, kept: u32, in_lane: bool) -> Self {
        RangedSumLanes {
            format: formats.v,
            quotient: Quotient::new(formats, kept, in_lane),
            fraction: o - 1,
            bits: o + guard,
            complement: in_lane,
        }
    }

    fn wrapped(&self, o: i64) -> i64 {
        signed(o as u64 & ones(self.bits), self.bits)
    }
}

impl Lanes for RangedSumLanes {
    type Op = SumOp;
    type Ending = Division;
    type Output = Ranged;
    type Value = RangedValue;

    fn value(&self, bits: u64, _: u64) -> (RangedValue, bool) {
        (RangedValue::new(self.format, bits), false)
    }

    fn step(&self, op: SumOp, o: &mut [Ranged], v: &[RangedValue]) -> u64 {
        for (old, v) in o.iter_mut().zip(v) {
            // A query starts from 0 with the least exponent.
            let exponent = old.exponent.max(v.exponent);
            let right = u64::from(op.delta) + exponent - old.exponent;
            // The significand is below 2, and the unit above all values.
            let places = self.fraction as i32 - 1 - (exponent - v.exponent) as i32;
            let addend = (v.significand.abs() * op.e.value() * pow2(places) + 0.5).floor() as i64;
            let addend = if v.significand < 0.0 { -addend } else { addend };
            *old = Ranged { o: self.wrapped((old.o >> right.min(63)) + addend), exponent };
        }
        0
    }

    fn bits(&self, o: Ranged) -> u64 {
        (o.exponent << self.bits) | (o.o as u64 & ones(self.bits))
    }

    fn accumulator(&self, bits: u64) -> Ranged {
        Ranged { o: self.wrapped(bits as i64), exponent: bits >> self.bits }
    }

    fn result(&self, division: Division, o: Ranged, _: u64) -> (f64, bool) {
        let negative = o.o < 0;
        let magnitude = if negative && self.complement { !o.o as u64 } else { o.o.unsigned_abs() };
        let unit = o.exponent as i32 - self.format.bias + 1 - self.fraction as i32;
        self.quotient.of(division, magnitude, negative, unit)
    }
}

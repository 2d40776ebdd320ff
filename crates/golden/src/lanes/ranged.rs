//! FLASH-D's update, (12), in fixed point, with each lane relative to the largest exponent that it has read.

use super::fixed::FixedUpdate;
use super::{BlendOp, FloatEnding, Lanes};
use crate::round::{Rounder, biased_exponent, decode, pow2};
use flashd_spec::bits::{ones, signed};
use flashd_spec::config::LaneBits;
use flashd_spec::format::{Format, Formats, Subnormals};
use flashd_spec::numerics::fixed_result_bits;

/// An accumulator: `o 2^-(OW - 1)` in units of `2^(exponent - bias + 1)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranged {
    pub(crate) o: i64,
    pub(crate) exponent: u64,
}

/// A value, `significand 2^(exponent - bias)`; the significand's magnitude is below 2.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RangedValue {
    pub(super) significand: f64,
    pub(super) exponent: u64,
}

impl RangedValue {
    /// The value of an encoding; Inf and NaN count as zero.
    pub(super) fn new(format: Format, bits: u64) -> Self {
        let x = decode(format, bits);
        // Zeros have the least exponent, as do Inf and NaN.
        let exponent = match (x == 0.0, format.subnormals) {
            (true, Subnormals::Flushed) => 0,
            (true, Subnormals::Supported) => 1,
            (false, _) => biased_exponent(format, bits),
        };
        RangedValue { significand: x / pow2(exponent as i32 - format.bias), exponent }
    }
}

/// Ranged lanes: each has its own exponent.
#[derive(Clone)]
pub(crate) struct RangedLanes {
    /// Format of the values.
    format: Format,
    output: Rounder<f64>,
    bits: LaneBits,
    /// Low bits of the accumulator that the result drops, and that are replaced by a half when the exponent grows.
    cut: u32,
}

impl RangedLanes {
    pub(crate) fn new(formats: Formats, bits: LaneBits) -> Self {
        let cut = bits.o - fixed_result_bits(bits);
        RangedLanes { format: formats.v, output: Rounder::new(formats.o), bits, cut }
    }

    /// Merges the accumulators of two parts: aligns both to the larger exponent, rounding down, and blends them. These lanes have
    /// values as wide as accumulators.
    pub(crate) fn merge(&self, op: BlendOp, a: u64, b: u64) -> u64 {
        let (a, b) = (self.accumulator(a), self.accumulator(b));
        let exponent = a.exponent.max(b.exponent);
        let aligned = |part: Ranged| part.o >> (exponent - part.exponent).min(63);
        self.bits(Ranged { o: FixedUpdate::new(self.bits, op).next(aligned(a), aligned(b)), exponent })
    }
}

impl Lanes for RangedLanes {
    type Op = BlendOp;
    type Ending = FloatEnding;
    type Output = Ranged;
    type Value = RangedValue;

    fn value(&self, bits: u64, _: u64) -> (RangedValue, bool) {
        (RangedValue::new(self.format, bits), false)
    }

    fn step(&self, op: BlendOp, o: &mut [Ranged], v: &[RangedValue]) -> u64 {
        let v_bits = self.bits.v;
        // Only a first key has a factor of zero.
        let loads = op.upper && op.u.m == 0;
        let update = FixedUpdate::new(self.bits, op);
        for (old, v) in o.iter_mut().zip(v) {
            let exponent = if loads { v.exponent } else { old.exponent.max(v.exponent) };
            // The significand is below 2, and an ulp of the operand is 2^(2 - VW).
            let scale = pow2(v_bits as i32 - 2 - (exponent - v.exponent).min(64) as i32);
            let magnitude = (v.significand.abs() * scale + 0.5).floor().min(ones(v_bits - 1) as f64);
            let value = magnitude.copysign(v.significand) as i64;
            let moved = exponent.saturating_sub(old.exponent);
            let before = match moved {
                0 => old.o,
                // The upper bits, shifted, and half of their ulp.
                _ => (((old.o >> self.cut) >> moved.min(63)) << self.cut) + (1 << self.cut >> 1),
            };
            *old = Ranged { o: update.next(before, value), exponent };
        }
        0
    }

    fn bits(&self, o: Ranged) -> u64 {
        (o.exponent << self.bits.o) | (o.o as u64 & ones(self.bits.o))
    }

    fn accumulator(&self, bits: u64) -> Ranged {
        let o = signed(bits & ones(self.bits.o), self.bits.o);
        Ranged { o, exponent: bits >> self.bits.o }
    }

    fn result(&self, _: FloatEnding, o: Ranged, _: u64) -> (f64, bool) {
        let unit = o.exponent as i32 - self.format.bias + 2 - (self.bits.o - self.cut) as i32;
        self.output.round_by_format((o.o >> self.cut) as f64 * pow2(unit))
    }
}

//! FLASH-D's fused float update, (12): one alignment, integer arithmetic, one rounding.
//!
//! The carrier's numbers serve as integers. Both operands are scaled by the same power of two and truncated. All
//! further differences, products and sums are exact in the carrier; the longest, difference times factor, has
//! `pa + GUARD + 1 + p` bits.

use super::{BlendOp, FloatEnding, Lanes, each_lane};
use crate::carrier::Carrier;
use crate::round::{Rounder, decode, encode, pow2};
use flashd_spec::format::{Format, Formats};

/// Guard bits of the aligned operands below the accumulator's significand.
const GUARD: i32 = 3;
/// Guard bits of the product below those.
const PRODUCT_GUARD: i32 = 2;
/// Longer shifts are cut to this: only the sign is left, and the shifted number stays normal in every carrier.
const FARTHEST: u32 = 60;

/// Fused lanes in a carrier. `FLUSH`: the accumulator flushes subnormals.
#[derive(Clone)]
pub(crate) struct FusedLanes<C, const FLUSH: bool> {
    /// Format of the values.
    format: Format,
    output: Rounder<f64>,
    accumulator: Rounder<C>,
    accumulator_format: Format,
    /// The smallest normal number, to whose binade subnormals are aligned.
    min_normal: C,
    /// `pa - 1 + GUARD`: fraction bits of an aligned operand in [1, 2).
    places: i32,
}

impl<C: Carrier, const FLUSH: bool> FusedLanes<C, FLUSH> {
    pub(crate) fn new(formats: Formats, accumulator: Format) -> Self {
        FusedLanes {
            format: formats.v,
            output: Rounder::new(formats.o),
            accumulator: Rounder::new(accumulator),
            accumulator_format: accumulator,
            min_normal: C::from_f64(pow2(accumulator.min_exponent())),
            places: accumulator.precision() as i32 - 1 + GUARD,
        }
    }

    /// Whether the carrier holds every integer of a step. In f32 only narrow exponents leave enough range for the
    /// alignment.
    pub(crate) fn fits(weight: Format, accumulator: Format) -> bool {
        let longest = accumulator.precision() as i32 + GUARD + 1 + weight.precision() as i32;
        longest <= C::PRECISION as i32 && (accumulator.exponent_bits <= 5 || C::PRECISION > 24)
    }

    #[inline(always)]
    fn blend<const UPPER: bool>(&self, u: C, o: C, v: C) -> (C, u32) {
        let (a, b) = (o.abs(), v.abs());
        let larger = if a > b { a } else { b };
        let unit = if larger > self.min_normal { larger } else { self.min_normal }.binade();
        let scale = unit.pow2_over(self.places);
        let truncate = |x: C, magnitude: C| (magnitude * scale).floor().copysign(x);
        let (old, new) = (truncate(o, a), truncate(v, b));
        let product = ((new - old) * u).floor();
        let four = C::from_f64(pow2(PRODUCT_GUARD));
        let sum = if UPPER { new * four - product } else { old * four + product };
        // A sum of zero is +0.
        let exact = (sum + C::default()) * scale.pow2_over(-PRODUCT_GUARD);
        let (rounded, over) = self.accumulator.round_flag::<FLUSH>(exact);
        (rounded, over.into())
    }
}

impl<C: Carrier + 'static, const FLUSH: bool> Lanes for FusedLanes<C, FLUSH> {
    type Op = BlendOp;
    type Ending = FloatEnding;
    type Output = C;
    type Value = C;

    #[inline(always)]
    fn value(&self, bits: u64, _: u64) -> (C, bool) {
        (C::from_f64(decode(self.format, bits)), false)
    }

    #[inline(always)]
    fn step(&self, op: BlendOp, o: &mut [C], v: &[C]) -> u64 {
        let right = op.u.shift().min(FARTHEST) as i32 - PRODUCT_GUARD;
        let u = C::from_f64(op.u.m as f64 * pow2(-right));
        match op.upper {
            true => each_lane(o, v, |o, v| self.blend::<true>(u, o, v)),
            false => each_lane(o, v, |o, v| self.blend::<false>(u, o, v)),
        }
    }

    fn bits(&self, o: C) -> u64 {
        encode(self.accumulator_format, o.to_f64())
    }

    fn accumulator(&self, bits: u64) -> C {
        C::from_f64(decode(self.accumulator_format, bits))
    }

    fn result(&self, _: FloatEnding, o: C, _: u64) -> (f64, bool) {
        self.output.round_by_format(o.to_f64())
    }
}

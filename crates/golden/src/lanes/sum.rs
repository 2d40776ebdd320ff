//! FA2's fixed-point sums: a shift rescales, and every addend is rounded once.
//!
//! An addend is `v e` in ulps of the accumulator, rounded to an integer, half away from zero. The arithmetic in
//! floats is that of [`crate::dot`]: products are at least two bits shorter than the carrier.

use super::Lanes;
use super::fixed::LaneInteger;
use crate::base2::Factor;
use crate::carrier::Carrier;
use crate::round::{Rounder, biased_exponent, decode, pow2};
use flashd_spec::config::LaneBits;
use flashd_spec::format::{Format, Formats};
use std::marker::PhantomData;

/// A step: `o 2^-delta + v e 2^up`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SumOp {
    pub(crate) delta: u32,
    pub(crate) e: Factor,
    /// 1 if the exponential is relative to twice the reference, else 0.
    pub(crate) up: u32,
}

/// The last multiplication, by `r 2^exponent`. `None` for a query without keys.
pub(crate) type Division = Option<(u64, i32)>;

/// The last multiplication, rounded to the results' format.
#[derive(Clone)]
pub(super) struct Quotient {
    output: Rounder<f64>,
    /// Bits of the accumulator's magnitude that it uses.
    kept: u32,
    /// Set the last kept bit, as the middle of the dropped bits.
    middle: bool,
}

impl Quotient {
    pub(super) fn new(formats: Formats, kept: u32, middle: bool) -> Self {
        Quotient { output: Rounder::new(formats.o), kept, middle }
    }

    /// The result of an accumulator of this magnitude, in units of `2^unit`, and whether its rounding saturated.
    pub(super) fn of(&self, division: Division, magnitude: u64, negative: bool, unit: i32) -> (f64, bool) {
        let Some((r, exponent)) = division.filter(|_| magnitude != 0) else {
            return (0.0, false);
        };
        let excess = magnitude.ilog2() as i32 + 1 - self.kept as i32;
        let kept = if excess > 0 { magnitude >> excess } else { magnitude << -excess };
        let product = (kept | u64::from(self.middle)) * r;
        // Longer than an f64: cut, with a sticky bit far below the format's last place.
        let cut = (product.ilog2() + 1).saturating_sub(53);
        let odd = product >> cut | u64::from(product & ((1 << cut) - 1) != 0);
        let result = odd as f64 * pow2(cut as i32 + excess + unit + exponent);
        self.output.round_by_format(if negative { -result } else { result })
    }
}

/// Fixed-point sums, with values in a carrier and accumulators in words.
#[derive(Clone)]
pub(crate) struct SumLanes<C, W> {
    /// Format of the values.
    format: Format,
    quotient: Quotient,
    /// Fraction bits OF of the accumulator.
    fraction: u32,
    /// The accumulator's sign bit, and a mask of all its bits.
    sign: W,
    mask: W,
    carrier: PhantomData<C>,
}

impl<C: Carrier, W: LaneInteger> SumLanes<C, W> {
    /// Accumulators have `lane.o` bits and `guard` more above them. A result uses `kept` bits from the leading one on; `middle` sets
    /// the last of these.
    pub(crate) fn new(formats: Formats, lane: LaneBits, guard: u32, (kept, middle): (u32, bool)) -> Self {
        let bits = lane.o + guard;
        SumLanes {
            format: formats.v,
            quotient: Quotient::new(formats, kept, middle),
            fraction: lane.o - 1,
            sign: W::low(1 << (bits - 1)),
            mask: W::low((1 << bits) - 1),
            carrier: PhantomData,
        }
    }

    /// Whether all products are exact in the carrier and all sums fit the words.
    pub(crate) fn fits(format: Format, lane: LaneBits, guard: u32) -> bool {
        let shortest = (format.precision() + lane.w).max(lane.o) + 2;
        shortest <= C::PRECISION && lane.o + guard < W::BITS
    }
}

impl<C: Carrier + 'static, W> Lanes for SumLanes<C, W>
where
    W: LaneInteger + 'static + From<C::Integer> + std::ops::BitXor<Output = W>,
{
    type Op = SumOp;
    type Ending = Division;
    type Output = W;
    /// The next number beyond the value in units of `2^(v_exponent - bias + 1)`, see the module's documentation.
    type Value = C;

    #[inline(always)]
    fn value(&self, bits: u64, v_exponent: u64) -> (C, bool) {
        let x = decode(self.format, bits);
        let over = x != 0.0 && biased_exponent(self.format, bits) > v_exponent;
        let largest = 1.0 - pow2(-(self.format.precision() as i32));
        let unit = pow2(v_exponent as i32 - self.format.bias + 1);
        let fraction = if over { largest.copysign(x) } else { x / unit };
        // So small that every product rounds to zero, and f32 may not hold it.
        let fraction = if fraction.abs() < pow2(-100) { 0.0 } else { fraction };
        (C::from_f64(fraction).away(), over)
    }

    #[inline(always)]
    fn step(&self, op: SumOp, o: &mut [W], v: &[C]) -> u64 {
        if op.delta > 0 {
            let delta = op.delta.min(W::BITS - 1);
            o.iter_mut().for_each(|o| *o = *o >> delta);
        }
        let (sign, mask) = (self.sign, self.mask);
        let e = C::from_f64(op.e.value() * pow2((self.fraction + op.up) as i32));
        for (o, &v) in o.iter_mut().zip(v) {
            let sum = *o + W::from((v * e).nearest_integer());
            *o = ((sum & mask) ^ sign) - sign;
        }
        0
    }

    fn bits(&self, o: W) -> u64 {
        o.into() as u64 & self.mask.into() as u64
    }

    fn accumulator(&self, bits: u64) -> W {
        ((W::low(bits as i64) & self.mask) ^ self.sign) - self.sign
    }

    fn result(&self, division: Division, o: W, v_exponent: u64) -> (f64, bool) {
        let o: i64 = o.into();
        let unit = v_exponent as i32 - self.format.bias + 1 - self.fraction as i32;
        self.quotient.of(division, o.unsigned_abs(), o < 0, unit)
    }
}

//! FLASH-D's update, (12), in fixed point. The unit is `2^(X - bias + 1)`, a power of two above every value, X the `v_exponent`.

use super::{BlendOp, FloatEnding, Lanes};
use crate::round::{Rounder, biased_exponent, decode, pow2};
use flashd_spec::bits::{ones, signed};
use flashd_spec::config::LaneBits;
use flashd_spec::format::{Format, Formats};
use flashd_spec::numerics::{dither_bits, fixed_result_bits};
use std::marker::PhantomData;
use std::ops::{Add, BitAnd, BitXor, Mul, Shl, Shr, Sub};

/// An integer type that holds every number of a step.
pub(crate) trait LaneInteger:
    Copy
    + Default
    + Send
    + Sync
    + Into<i64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + BitAnd<Output = Self>
    + BitXor<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// Width in bits.
    const BITS: u32;

    /// The low bits of `x`, which equal x if it fits.
    fn low(x: i64) -> Self;
}

impl LaneInteger for i32 {
    const BITS: u32 = 32;

    fn low(x: i64) -> i32 {
        x as i32
    }
}

impl LaneInteger for i64 {
    const BITS: u32 = 64;

    fn low(x: i64) -> i64 {
        x
    }
}

/// A step of fixed-point accumulators of `lane.o` bits with values of `lane.v` bits, relative to the same power of two.
pub(super) struct FixedUpdate<W> {
    upper: bool,
    m: W,
    /// Shifts of the product, which keeps one bit below the accumulator's last place.
    left: u32,
    right: u32,
    /// Bits of the accumulator below a value's: all, the dithered ones, and the rest.
    below: u32,
    places: u32,
    cut: u32,
    dither: W,
    /// 1: a tie is rounded down.
    down: W,
    one: W,
}

impl<W: LaneInteger> FixedUpdate<W> {
    #[inline(always)]
    pub(super) fn new(bits: LaneBits, BlendOp { u, upper, dither }: BlendOp) -> Self {
        let (below, places) = (bits.o - bits.v, dither_bits(bits));
        FixedUpdate {
            upper,
            m: W::low(u.m as i64),
            left: (below + 1).saturating_sub(u.shift()),
            right: u.shift().saturating_sub(below + 1).min(W::BITS - 1),
            below,
            places,
            cut: below - places,
            dither: W::low((dither & ones(places)) as i64),
            down: W::low(1 - (dither >> places & 1) as i64),
            one: W::low(1),
        }
    }

    /// The next accumulator.
    #[inline(always)]
    pub(super) fn next(&self, o: W, v: W) -> W {
        let difference = ((v << self.places) + self.dither - (o >> self.cut)) >> self.places;
        let halves = (((difference * self.m) << self.left) - self.down) >> self.right;
        let way = (halves + self.one) >> 1;
        if self.upper { (v << self.below) - way } else { o + way }
    }
}

/// Fixed-point lanes with accumulators and values in words.
#[derive(Clone)]
pub(crate) struct FixedLanes<W> {
    /// Format of the values.
    format: Format,
    output: Rounder<f64>,
    bits: LaneBits,
    /// Low bits of the accumulator that the result drops.
    cut: u32,
    words: PhantomData<W>,
}

impl<W: LaneInteger> FixedLanes<W> {
    pub(crate) fn new(formats: Formats, bits: LaneBits) -> Self {
        let cut = bits.o - fixed_result_bits(bits);
        FixedLanes { format: formats.v, output: Rounder::new(formats.o), bits, cut, words: PhantomData }
    }

    /// Whether the words hold the difference times the factor, and twice the accumulator.
    pub(crate) fn fits(bits: LaneBits) -> bool {
        bits.v + bits.w < W::BITS && bits.o + 3 < W::BITS
    }
}

impl<W: LaneInteger + 'static> Lanes for FixedLanes<W> {
    type Op = BlendOp;
    type Ending = FloatEnding;
    type Output = W;
    type Value = W;

    #[inline(always)]
    fn value(&self, bits: u64, v_exponent: u64) -> (W, bool) {
        let limit = pow2(self.bits.v as i32 - 1);
        let largest = limit - 1.0;
        let x = decode(self.format, bits);
        let over = x != 0.0 && biased_exponent(self.format, bits) > v_exponent;
        let unit = pow2(v_exponent as i32 - self.format.bias + 1);
        let magnitude = if over { largest } else { (x.abs() / unit * limit + 0.5).floor().min(largest) };
        (W::low(magnitude.copysign(x) as i64), over)
    }

    #[inline(always)]
    fn step(&self, op: BlendOp, o: &mut [W], v: &[W]) -> u64 {
        let update = FixedUpdate::new(self.bits, op);
        o.iter_mut().zip(v).for_each(|(o, &v)| *o = update.next(*o, v));
        0
    }

    fn bits(&self, o: W) -> u64 {
        o.into() as u64 & ones(self.bits.o)
    }

    fn accumulator(&self, bits: u64) -> W {
        W::low(signed(bits, self.bits.o))
    }

    fn result(&self, _: FloatEnding, o: W, v_exponent: u64) -> (f64, bool) {
        let o = o.into() >> self.cut;
        let unit = v_exponent as i32 - self.format.bias + 2 - (self.bits.o - self.cut) as i32;
        self.output.round_by_format(o as f64 * pow2(unit))
    }
}

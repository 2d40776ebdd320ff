//! FLASH-D's lanes with exponents of their own for all queries of a block: [`crate::lanes::RangedLanes`] in 32-bit lanes.
//!
//! A step aligns value and accumulator, and then goes on as in [`super::fixed`].
//!
//! A value is kept as twice its significand, one less if it is negative, so that its rounding half away from zero is a sum and
//! a shift: `v = floor((t + 2^right) / 2^(right + 1))`.

use super::block::{lane, row, value};
use super::fixed::{BlendLanes, BlendStep};
use super::lse::Blend;
use crate::dot::{BLOCK, Block};
use flashd_spec::bits::ones;
use flashd_spec::config::LaneBits;
use flashd_spec::format::{Format, Subnormals};
use flashd_spec::numerics::fixed_result_bits;

/// Elements whose accumulators and exponents stay in registers for all keys of a tile.
const TOGETHER: usize = 4;

/// A value: its significand as above, in units that are the same for all values, and its exponent field.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RangeValue {
    t: i32,
    exponent: i32,
}

/// Makes values of encodings.
#[derive(Clone, Copy)]
pub(crate) struct RangeOperands {
    magnitude: u32,
    most: u32,
    sign_left: u32,
    fraction: u32,
    /// The exponent field of zeros.
    least: i32,
    /// The significand of what the exponent field 0 has is kept (-1) or not (0).
    subnormal: i32,
    left: u32,
    /// The largest significand that is not rounded beyond the largest operand.
    largest: i32,
}

impl RangeOperands {
    #[inline(always)]
    pub(crate) fn of(&self, bits: u64) -> RangeValue {
        let bits = bits as u32;
        let magnitude = bits & self.magnitude;
        let field = (magnitude >> (self.fraction & 31)) as i32;
        let fraction = (magnitude & ((1 << (self.fraction & 31)) - 1)) as i32;
        let normal = fraction | 1 << (self.fraction & 31);
        let significand = if field != 0 { normal } else { fraction & self.subnormal };
        let finite = -i32::from(magnitude <= self.most);
        let significand = ((significand & finite) << (self.left & 31)).min(self.largest);
        // 0 or -1; zeros have no sign.
        let sign = (bits << (self.sign_left & 31)) as i32 >> 31 & -i32::from(significand != 0);
        let t = 2 * significand ^ sign;
        RangeValue { t, exponent: (field & finite).max(self.least) }
    }
}

/// What a step does with the exponents.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct RangeStep {
    /// -1: the query reads the value.
    read: Block<i32>,
    /// 0: the step is the query's first one, and what it had does not count.
    keep: Block<i32>,
}

impl RangeStep {
    pub(crate) const NOTHING: RangeStep = RangeStep { read: [0; BLOCK], keep: [0; BLOCK] };

    #[inline(always)]
    pub(crate) fn prepare(&mut self, blend: &Blend, read: &Block<i32>) {
        self.read = *read;
        for i in 0..BLOCK {
            // A factor of zero is that of a first key alone.
            self.keep[i] = !(blend.upper[i] & -i32::from(blend.m[i] == 0));
        }
    }
}

/// The widths that a kernel needs.
#[derive(Clone, Copy)]
pub(crate) struct RangeLanes {
    blend: BlendLanes,
    /// Places by which a value is moved further than its difference of exponents,
    drop: i32,
    /// and the most that it is moved: then nothing is left of it.
    farthest: i32,
    /// Bits of the accumulator that are not moved, and half of the last place of those that are.
    cut: i32,
    half: i32,
}

impl RangeLanes {
    /// The lanes, and what makes their values, if 32 bits hold all their numbers.
    pub(crate) fn new(
        blend: BlendLanes,
        format: Format,
        bits: LaneBits,
    ) -> Option<(RangeLanes, RangeOperands)> {
        // Fraction bits of an operand, and of a significand in units small enough for both.
        let operand = bits.v.checked_sub(2)?;
        let fraction = operand.max(format.fraction_bits);
        let drop = fraction - operand;
        let cut = bits.o - fixed_result_bits(bits);
        let (least, subnormal) = match format.subnormals {
            Subnormals::Flushed => (0, 0),
            Subnormals::Supported => (1, -1),
        };
        let half = 1 << drop >> 1;
        let lanes = RangeLanes {
            blend,
            drop: drop as i32,
            farthest: fraction as i32 + 2,
            cut: cut as i32,
            half: 1 << cut >> 1,
        };
        let operands = RangeOperands {
            magnitude: (format.sign_bit() - 1) as u32,
            most: format.max_finite() as u32,
            sign_left: u32::BITS - format.width(),
            fraction: format.fraction_bits,
            least,
            subnormal,
            left: fraction - format.fraction_bits,
            // Moved further it is rounded as the significand is: both are closer to the same power of two.
            largest: ((ones(operand + 1) + 1) << drop) as i32 - 1 - half,
        };
        (fraction <= 27 && format.width() <= 32).then_some((lanes, operands))
    }

    /// All steps of a tile on all elements; `values` has a row for each step. `ELEMENTS`: the lanes are elements of one
    /// query.
    #[inline(always)]
    pub(crate) fn apply<const ELEMENTS: bool>(
        &self,
        steps: &[BlendStep],
        ranges: &[RangeStep],
        values: &[&[RangeValue]],
        o: &mut [Block<i32>],
        exponents: &mut [Block<i32>],
    ) {
        let mut start = 0;
        let mut chunks = o.chunks_exact_mut(TOGETHER);
        for o in &mut chunks {
            let e = &mut exponents[start..start + TOGETHER];
            self.some::<TOGETHER, ELEMENTS>(steps, ranges, values, start, o, e);
            start += TOGETHER;
        }
        for o in chunks.into_remainder().chunks_exact_mut(1) {
            let e = &mut exponents[start..=start];
            self.some::<1, ELEMENTS>(steps, ranges, values, start, o, e);
            start += 1;
        }
    }

    #[inline(always)]
    fn some<const N: usize, const ELEMENTS: bool>(
        &self,
        steps: &[BlendStep],
        ranges: &[RangeStep],
        values: &[&[RangeValue]],
        start: usize,
        o: &mut [Block<i32>],
        exponents: &mut [Block<i32>],
    ) {
        let (mut work, mut own) = ([[0; BLOCK]; N], [[0; BLOCK]; N]);
        work.copy_from_slice(o);
        own.copy_from_slice(exponents);
        for ((step, range), values) in steps.iter().zip(ranges).zip(values) {
            let values = row::<_, N, ELEMENTS>(values, start);
            for (n, (o, e)) in work.iter_mut().zip(&mut own).enumerate() {
                let v = self.align::<ELEMENTS>(range, o, e, |i| value::<_, ELEMENTS>(values, n, i));
                if step.any_upper {
                    let loaded = |i: usize| (v[i] + 1) << self.blend.below;
                    let upper = |i| step.upper[lane::<ELEMENTS>(i)] != 0;
                    let base = |i, o| if upper(i) { loaded(i) } else { o };
                    self.blend.vector::<ELEMENTS>(step, o, |i| v[i], base);
                } else {
                    self.blend.vector::<ELEMENTS>(step, o, |i| v[i], |_, o| o);
                }
            }
        }
        o.copy_from_slice(&work);
        exponents.copy_from_slice(&own);
    }

    /// The operands of a step, `v - 1`, with accumulators and exponents brought to the larger exponent.
    #[inline(always)]
    fn align<const ELEMENTS: bool>(
        &self,
        range: &RangeStep,
        o: &mut Block<i32>,
        exponents: &mut Block<i32>,
        value: impl Fn(usize) -> RangeValue,
    ) -> Block<i32> {
        let mut operands = [0; BLOCK];
        for i in 0..BLOCK {
            let at = lane::<ELEMENTS>(i);
            let RangeValue { t, exponent } = value(i);
            // What is not read is as good as of the least exponent.
            let exponent = exponent & range.read[at];
            let before = exponents[i] & range.keep[at];
            let after = before.max(exponent);
            operands[i] = self.operand(t, after - exponent);
            let moved = after - before;
            let right = (self.cut + moved).min(31);
            let upper = ((o[i] >> (right & 31)) << (self.cut & 31)) + self.half;
            o[i] = if moved != 0 { upper } else { o[i] };
            exponents[i] = after;
        }
        operands
    }

    /// The operand `v - 1` of a value moved by a number of places.
    #[inline(always)]
    fn operand(&self, t: i32, places: i32) -> i32 {
        let right = (self.drop + places).min(self.farthest);
        ((t + (1 << (right & 31))) >> ((right + 1) & 31)) - 1
    }
}

//! The lanes of FA2 `ranged` for all queries of a block: [`crate::lanes::RangedSumLanes`] in 32-bit lanes.

use super::block::{lane, row, value};
use super::octaves::Addition;
use super::ranged::RangeValue;
use crate::block::{BLOCK, Block};
use flashd_spec::format::Format;

/// Longest right shift of a product, which has fewer bits.
const FARTHEST: i32 = 30;
/// Elements whose accumulators stay in registers for all keys of a tile.
const TOGETHER: usize = 4;

/// A step as the kernel takes it.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct SumStep {
    m: Block<i32>,
    /// Right shift of the product of two significands to the accumulator's last place, for a value of the largest exponent. May be
    /// negative.
    right: Block<i32>,
    delta: Block<i32>,
    /// -1: the query reads the value.
    read: Block<i32>,
}

impl SumStep {
    pub(crate) const NOTHING: SumStep =
        SumStep { m: [0; BLOCK], right: [0; BLOCK], delta: [0; BLOCK], read: [0; BLOCK] };
}

/// The lanes of FA2 `ranged`.
#[derive(Clone, Copy)]
pub(crate) struct RangedSums {
    /// Shift of a product to the accumulator's last place, without the factor's own.
    place: i32,
    /// Longest left shift of a product.
    farthest_left: i32,
    /// Bits of a lane above the accumulator.
    above: u32,
}

impl RangedSums {
    /// The lanes of accumulators with `bits` bits, of which `fraction` are fraction, and factors of `factor` bits; `None` if 32 bits
    /// do not hold all their numbers.
    pub(crate) fn new(format: Format, bits: u32, fraction: u32, factor: u32) -> Option<RangedSums> {
        let p = format.precision();
        // A product has one integer bit.
        let left = (fraction + 2).saturating_sub(p + factor);
        let fits = bits < 32 && p + factor < 30 && fraction < 30;
        fits.then(|| RangedSums {
            place: p as i32 - fraction as i32,
            farthest_left: left as i32,
            above: 32 - bits,
        })
    }

    /// Converts a step to the numbers that the kernel uses.
    #[inline(always)]
    pub(crate) fn prepare(&self, addition: &Addition, read: &Block<i32>, step: &mut SumStep) {
        step.m.copy_from_slice(&addition.m);
        step.right.iter_mut().zip(&addition.shift).for_each(|(right, shift)| *right = shift + self.place);
        let delta = addition.delta.iter().zip(read);
        step.delta.iter_mut().zip(delta).for_each(|(step, (delta, read))| *step = delta & read);
        step.read = *read;
    }

    /// Takes all steps of a tile on all elements; `values` has a row for each step. `ELEMENTS`: the lanes are elements of one query.
    #[inline(always)]
    pub(crate) fn apply<const ELEMENTS: bool>(
        &self,
        steps: &[SumStep],
        values: &[&[RangeValue]],
        o: &mut [Block<i32>],
        exponents: &mut [Block<i32>],
    ) {
        let mut start = 0;
        while start < o.len() {
            let count = if o.len() - start >= TOGETHER { TOGETHER } else { 1 };
            let (o, e) = (&mut o[start..start + count], &mut exponents[start..start + count]);
            match count {
                TOGETHER => self.some::<TOGETHER, ELEMENTS>(steps, values, start, o, e),
                _ => self.some::<1, ELEMENTS>(steps, values, start, o, e),
            }
            start += count;
        }
    }

    /// [`RangedSums::apply`] on N vectors of accumulators, from vector `start` on.
    #[inline(always)]
    fn some<const N: usize, const ELEMENTS: bool>(
        &self,
        steps: &[SumStep],
        values: &[&[RangeValue]],
        start: usize,
        o: &mut [Block<i32>],
        exponents: &mut [Block<i32>],
    ) {
        let (mut work, mut own) = ([[0; BLOCK]; N], [[0; BLOCK]; N]);
        work.copy_from_slice(o);
        own.copy_from_slice(exponents);
        for (step, values) in steps.iter().zip(values) {
            let values = row::<_, N, ELEMENTS>(values, start);
            for (n, (o, e)) in work.iter_mut().zip(&mut own).enumerate() {
                for i in 0..BLOCK {
                    let at = lane::<ELEMENTS>(i);
                    let (sign, significand, exponent) = value::<_, ELEMENTS>(values, n, i).parts();
                    let read = step.read[at];
                    let (before, top) = (e[i], e[i].max(exponent & read));
                    let places = step.right[at] + top - exponent;
                    let left = (-places).clamp(0, self.farthest_left);
                    let right = places.clamp(0, FARTHEST);
                    let product = significand * step.m[at];
                    let magnitude = ((product << (left & 31)) + ((1 << (right & 31)) >> 1)) >> (right & 31);
                    let addend = ((magnitude ^ sign) - sign) & read;
                    let shifted = o[i] >> ((step.delta[at] + top - before).min(31) & 31);
                    // Wraps to the accumulator's bits.
                    let sum = shifted.wrapping_add(addend) << (self.above & 31);
                    (o[i], e[i]) = (sum >> (self.above & 31), top);
                }
            }
        }
        o.copy_from_slice(&work);
        exponents.copy_from_slice(&own);
    }
}

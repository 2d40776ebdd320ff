//! The roundings of FA2's float lanes in f32.

use super::block::{lane, value};
use crate::block::{BLOCK, Block};
use crate::carrier::Carrier;
use crate::round::pow2;
use flashd_spec::format::Format;

/// Rounds to a format's precision without a check of the range.
#[derive(Clone, Copy)]
pub(crate) struct Quick {
    dropped: u32,
    /// Exponent field of the smallest normal number, in place.
    least: u32,
}

impl Quick {
    pub(crate) fn new(format: Format) -> Quick {
        Quick {
            dropped: f32::PRECISION - format.precision(),
            least: (pow2(format.min_exponent()) as f32).to_bits(),
        }
    }

    /// Significand bits of f32 beyond the format's.
    pub(crate) fn dropped(&self) -> u32 {
        self.dropped
    }

    /// Rounds to nearest, ties to even, as if the exponent were unbounded.
    #[inline(always)]
    pub(crate) fn normal(&self, x: f32) -> f32 {
        x.drop_bits(self.dropped)
    }

    /// Rounds to nearest, ties to even, with gradual underflow, as `x + c - c`: the last place of c is the place to
    /// round to.
    #[inline(always)]
    pub(crate) fn gradual(&self, x: f32) -> f32 {
        const EXPONENT: u32 = f32::INFINITY.to_bits();
        // The significand of c is 1.5, so that the sum stays in c's binade when x is negative.
        const HALF: u32 = 1 << (f32::MANTISSA_DIGITS - 2);
        let bits = x.to_bits();
        let c = f32::from_bits((bits & EXPONENT).max(self.least) + (self.dropped << 23) + HALF);
        let rounded = (x + c) - c;
        f32::from_bits(rounded.to_bits() | (bits & (1 << 31)))
    }
}

/// The roundings of a step. `product` rounds the product; `sum` rounds the sum and says whether it saturates.
pub(crate) struct StepRounding<P, S> {
    /// Significand bits of f32 beyond the accumulator's.
    pub(crate) dropped: u32,
    pub(crate) product: P,
    pub(crate) sum: S,
}

impl<P: Fn(f32) -> f32, S: Fn(f32) -> (f32, bool)> StepRounding<P, S> {
    /// One step on N vectors: `o = result(query, o, v, r)`, r being the rounded `scaled e + added`, where `operands`
    /// gives `(scaled, added)`. With `ODD`, the sum rounds to odd first; otherwise `bad` is set in lanes where that
    /// would matter or the sum saturates.
    #[inline(always)]
    pub(crate) fn step<const N: usize, const ODD: bool, const ELEMENTS: bool>(
        &self,
        e: &Block<f32>,
        values: &[f32],
        work: &mut [Block<f32>; N],
        bad: &mut Block<u32>,
        operands: impl Fn(usize, f32, f32) -> (f32, f32),
        result: impl Fn(usize, f32, f32, f32) -> f32,
    ) {
        let middle = 1u32 << ((self.dropped - 1) & 31);
        let below = (middle << 1) - 1;
        for (n, o) in work.iter_mut().enumerate() {
            for i in 0..BLOCK {
                let (query, v) = (lane::<ELEMENTS>(i), value::<_, ELEMENTS>(values, n, i));
                let (scaled, added) = operands(query, o[i], v);
                let product = (self.product)(scaled * e[query]);
                let sum = if ODD { product.add_odd(added) } else { product + added };
                let (rounded, over) = (self.sum)(sum);
                if !ODD {
                    // The sum minus its larger operand is exact, so one of the two differences shows an inexact sum.
                    let inexact = ((sum - product).to_bits() ^ added.to_bits())
                        | ((sum - added).to_bits() ^ product.to_bits());
                    let tie = sum.to_bits() & below == middle;
                    bad[i] |= if tie { inexact } else { 0 } | u32::from(over);
                }
                o[i] = result(query, o[i], v, rounded);
            }
        }
    }
}

//! FA2's float lanes for all queries of a block: [`crate::lanes::FloatLanes`] in f32.
//!
//! Product and sum are rounded as there, but for three shortcuts. What they cannot do is found out and left to those
//! lanes:
//!
//! - The carrier's sum is not rounded to odd. That matters only where it is not exact and lies in the middle
//!   between two numbers of the accumulator.
//! - Results that saturate are not counted.
//! - Where all numbers are far above the smallest normal one, nothing is flushed ([`Scaling::is_safe`]).

use super::fa2::Scale;
use crate::carrier::Carrier;
use crate::dot::{BLOCK, Block};
use crate::lanes::{FloatLanes, FloatOp, Lanes};
use crate::round::{Rounder, pow2};
use flashd_hwmodel::format::Format;

/// Elements whose accumulators stay in registers for all keys of a tile.
const TOGETHER: usize = 4;
/// Exponentials with a longer shift are left to the reference: f32 may not hold them.
const LONGEST_SHIFT: i32 = 110;
/// Nonzero values are at least this in a safe tile,
const SAFE_VALUE: f32 = 9.094_947e-13; // 2^-40
/// nonzero accumulators this,
const SAFE_OUTPUT: f32 = 8.271_806e-25; // 2^-80
/// and exponentials are shifted by no more than this: a product's last bit, 22 below its first, is a normal number.
const SAFE_SHIFT: i32 = 50;

/// A step as the kernel takes it.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    scale: Scale,
    e: Block<f32>,
    read: Block<i32>,
    kind: Kind,
    safe: bool,
}

/// What a kernel has to choose between.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// All queries scale their value.
    Values,
    /// Some do something else.
    Mixed,
    /// The reference has to.
    Reference,
}

impl Step {
    pub(crate) const NOTHING: Step =
        Step { scale: Scale::NOTHING, e: [0.0; BLOCK], read: [0; BLOCK], kind: Kind::Reference, safe: false };

    #[inline(always)]
    pub(crate) fn prepare(&mut self, scale: &Scale, read: &Block<i32>) {
        self.scale = *scale;
        self.read = *read;
        let (mut all, mut other, mut longest) = (-1, 0, 0);
        for (i, &read) in read.iter().enumerate() {
            // Queries that do not read have a factor of zero.
            let shift = scale.shift[i] & read;
            let power = f32::from_bits(((127 - shift.clamp(0, LONGEST_SHIFT)) << 23) as u32);
            self.e[i] = (scale.m[i] & read) as f32 * power;
            all &= read;
            other |= scale.moved[i] | scale.first[i];
            longest = longest.max(shift);
        }
        self.kind = match (longest > LONGEST_SHIFT, all == -1 && other == 0) {
            (true, _) => Kind::Reference,
            (_, true) => Kind::Values,
            _ => Kind::Mixed,
        };
        self.safe = longest <= SAFE_SHIFT && scale.moved.iter().all(|&moved| moved == 0);
    }
}

/// Rounding without a look at the range.
#[derive(Clone, Copy)]
struct Quick {
    dropped: u32,
    /// Exponent field of the smallest normal number, in place.
    least: u32,
}

impl Quick {
    /// To nearest, ties to even, as if the exponent were unbounded.
    #[inline(always)]
    fn normal(&self, x: f32) -> f32 {
        x.drop_bits(self.dropped)
    }

    /// To nearest, ties to even, with gradual underflow: `x + c - c`, the last place of c being the one to round to.
    #[inline(always)]
    fn gradual(&self, x: f32) -> f32 {
        const EXPONENT: u32 = f32::INFINITY.to_bits();
        // One and a half: c does not leave its binade when x is negative.
        const HALF: u32 = 1 << (f32::MANTISSA_DIGITS - 2);
        let bits = x.to_bits();
        let c = f32::from_bits((bits & EXPONENT).max(self.least) + (self.dropped << 23) + HALF);
        let rounded = (x + c) - c;
        f32::from_bits(rounded.to_bits() | (bits & (1 << 31)))
    }
}

/// The lanes; `FLUSH`: accumulator and product flush subnormals.
pub(crate) struct Scaling<const FLUSH: bool> {
    pub(crate) reference: FloatLanes<f32, FLUSH>,
    product: Rounder<f32>,
    sum: Rounder<f32>,
    quick_product: Quick,
    quick_sum: Quick,
    largest: f32,
    /// A first key's `o = v`, else `o = v + 0`.
    load: bool,
}

impl<const FLUSH: bool> Scaling<FLUSH> {
    pub(crate) fn new(format: Format, accumulator: Format, product: Format, load: bool) -> Self {
        let quick = |format: Format| Quick {
            dropped: f32::PRECISION - format.precision(),
            least: (pow2(format.min_exponent()) as f32).to_bits(),
        };
        Scaling {
            reference: FloatLanes::new(format, accumulator, product),
            product: Rounder::new(product),
            sum: Rounder::new(accumulator),
            quick_product: quick(product),
            quick_sum: quick(accumulator),
            largest: crate::round::decode(accumulator, accumulator.max_finite()) as f32,
            load,
        }
    }

    /// Whether nothing underflows with these values, the smallest magnitude but zero being given.
    pub(crate) fn has_safe_values(smallest: f64) -> bool {
        smallest >= SAFE_VALUE.into()
    }

    /// Whether nothing in a tile of such steps on such accumulators underflows: all numbers are then multiples of one
    /// that is far above the smallest normal number.
    #[inline(always)]
    fn is_safe(work: &[Block<f32>]) -> bool {
        let mut unsafe_ = 0;
        for o in work {
            for &o in o {
                unsafe_ |= i32::from(o.abs() < SAFE_OUTPUT) & i32::from(o != 0.0);
            }
        }
        unsafe_ == 0
    }

    /// All steps of a tile on all elements; `values` has a row for each step. Adds to the count of saturated roundings.
    #[inline(always)]
    pub(crate) fn apply(
        &self,
        steps: &[Step],
        values: &[&[f32]],
        safe_values: bool,
        o: &mut [Block<f32>],
        saturated: &mut Block<u64>,
    ) {
        let safe = FLUSH && safe_values && steps.iter().all(|step| step.safe);
        let mut start = 0;
        let mut chunks = o.chunks_exact_mut(TOGETHER);
        for o in &mut chunks {
            self.elements::<TOGETHER>(steps, values, safe, start, o, saturated);
            start += TOGETHER;
        }
        for o in chunks.into_remainder().chunks_exact_mut(1) {
            self.elements::<1>(steps, values, safe, start, o, saturated);
            start += 1;
        }
    }

    #[inline(always)]
    fn elements<const N: usize>(
        &self,
        steps: &[Step],
        values: &[&[f32]],
        safe: bool,
        start: usize,
        o: &mut [Block<f32>],
        saturated: &mut Block<u64>,
    ) {
        let mut work = [[0.0; BLOCK]; N];
        work.copy_from_slice(o);
        if safe && Self::is_safe(&work) {
            self.all::<N, true>(steps, values, start, &mut work, saturated);
        } else {
            self.all::<N, false>(steps, values, start, &mut work, saturated);
        }
        o.copy_from_slice(&work);
    }

    #[inline(always)]
    fn all<const N: usize, const SAFE: bool>(
        &self,
        steps: &[Step],
        values: &[&[f32]],
        start: usize,
        work: &mut [Block<f32>; N],
        saturated: &mut Block<u64>,
    ) {
        for (step, row) in steps.iter().zip(values) {
            let row = &row[start..start + N];
            let mut next = *work;
            let bad = match step.kind {
                Kind::Values => self.step::<N, SAFE>(step, row, &mut next, |_, o, v| (v, o), |_, _, _, r| r),
                Kind::Mixed => self.step::<N, SAFE>(
                    step,
                    row,
                    &mut next,
                    |i, o, v| if step.scale.moved[i] != 0 { (o, v) } else { (v, o) },
                    |i, o, v, r| {
                        let first = if self.load { v } else { v + 0.0 };
                        let r = if step.scale.first[i] != 0 { first } else { r };
                        if step.read[i] != 0 { r } else { o }
                    },
                ),
                Kind::Reference => true,
            };
            if bad {
                self.by_reference(step, row, work, saturated);
            } else {
                *work = next;
            }
        }
    }

    /// One step; whether it has to be left to the reference.
    #[inline(always)]
    fn step<const N: usize, const SAFE: bool>(
        &self,
        step: &Step,
        row: &[f32],
        work: &mut [Block<f32>; N],
        operands: impl Fn(usize, f32, f32) -> (f32, f32),
        result: impl Fn(usize, f32, f32, f32) -> f32,
    ) -> bool {
        let middle = 1u32 << (self.quick_sum.dropped - 1);
        let below = (middle << 1) - 1;
        let mut bad = [0i32; BLOCK];
        for (o, &v) in work.iter_mut().zip(row) {
            for i in 0..BLOCK {
                let (scaled, added) = operands(i, o[i], v);
                let exact = scaled * step.e[i];
                let product = match (FLUSH, SAFE) {
                    (true, true) => self.quick_product.normal(exact),
                    (true, false) => self.product.round_as::<true>(exact),
                    (false, _) => self.quick_product.gradual(exact),
                };
                let sum = product + added;
                let (rounded, over) = match (FLUSH, SAFE) {
                    (true, true) => (self.quick_sum.normal(sum), false),
                    (true, false) => self.sum.round_flag::<true>(sum),
                    (false, _) => {
                        let rounded = self.quick_sum.gradual(sum);
                        (rounded, rounded.abs() > self.largest)
                    }
                };
                let tie = sum.to_bits() & below == middle;
                // The difference with the larger operand is exact: one of the two shows it.
                let inexact = (sum - product != added) | (sum - added != product);
                bad[i] |= i32::from(over | (tie & inexact));
                o[i] = result(i, o[i], v, rounded);
            }
        }
        bad.iter().fold(0, |any, &bad| any | bad) != 0
    }

    /// A step as the reference does it.
    #[cold]
    #[inline(never)]
    fn by_reference<const N: usize>(
        &self,
        step: &Step,
        row: &[f32],
        work: &mut [Block<f32>; N],
        saturated: &mut Block<u64>,
    ) {
        for i in (0..BLOCK).filter(|&i| step.read[i] != 0) {
            let e = f64::from(step.scale.m[i]) * pow2(-step.scale.shift[i]);
            let op = match (step.scale.first[i] != 0, step.scale.moved[i] != 0) {
                (true, _) if self.load => FloatOp::Load,
                (true, _) => FloatOp::First,
                (_, true) => FloatOp::ScaleOutput(e),
                (_, false) => FloatOp::ScaleValue(e),
            };
            let mut lane = [0.0; N];
            lane.iter_mut().zip(&*work).for_each(|(lane, o)| *lane = o[i]);
            saturated[i] += self.reference.step(op, &mut lane, row);
            work.iter_mut().zip(lane).for_each(|(o, lane)| o[i] = lane);
        }
    }
}

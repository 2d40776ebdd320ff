//! FA2's float lanes for all queries of a block: [`crate::lanes::FloatLanes`] in f32.
//!
//! Product and sum round as they do in the reference, except for three shortcuts. Where a shortcut would change a
//! result, the tile is computed again without it:
//!
//! - The carrier's sum is not rounded to odd. That matters only if the sum is inexact and halfway between two numbers
//!   of the accumulator's format. The steps of such a tile are repeated with sums rounded to odd.
//! - Results do not saturate. If one would, the tile is computed without shortcuts.
//! - Nothing is flushed where all numbers are far above the smallest normal one ([`Reach`]). Other tiles take no
//!   shortcut.

use super::block::{lane, row, value};
use super::fa2::Rescale;
use super::rounding::{Quick, StepRounding};
use crate::block::{BLOCK, Block};
use crate::lanes::{FloatLanes, FloatOp, Lanes};
use crate::round::{Rounder, pow2};
use flashd_spec::format::{Format, Formats};

/// Elements whose accumulators stay in registers for all keys of a tile.
const TOGETHER: usize = 4;
/// The same in a tile that takes no shortcut.
const FEW: usize = 2;
/// The reference computes a step in which an exponential has a longer shift: f32 may not hold it.
const LONGEST_SHIFT: i32 = 110;
/// Least magnitude of nonzero values in a tile that needs no flushing.
const SAFE_VALUE: f32 = 9.094_947e-13; // 2^-40
/// Least magnitude of nonzero accumulators in such a tile.
const SAFE_OUTPUT: f32 = 9.313_226e-10; // 2^-30
/// Places by which the exponentials of such a tile may shift a number in all. Values have at most 16 bits and
/// accumulators at most 24, so both are multiples of 2^-55. Then every number of the tile is a multiple of 2^-125: a
/// normal number or zero.
const SAFE_SHIFT: i32 = 70;

/// A step as the kernel takes it. No vector of it crosses a cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct FloatStep {
    scale: Rescale,
    e: Block<f32>,
    read: Block<i32>,
    kind: KernelKind,
}

/// How a kernel computes a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KernelKind {
    /// Every query either scales the value or has not met a key.
    Values,
    /// Some query holds, does not see the key, scales its output or takes its first key.
    Mixed,
    /// The reference computes the step, because a shift is longer than [`LONGEST_SHIFT`].
    Reference,
}

impl FloatStep {
    pub(crate) const NOTHING: FloatStep =
        FloatStep { scale: Rescale::NOTHING, e: [0.0; BLOCK], read: [0; BLOCK], kind: KernelKind::Reference };

    /// Converts a step to the numbers that the kernel uses, and adds its shifts to `reach`. `idle`: -1 for queries that
    /// have not met a key; their accumulators do not matter.
    #[inline(always)]
    pub(crate) fn prepare(
        &mut self,
        scale: &Rescale,
        read: &Block<i32>,
        idle: &Block<i32>,
        reach: &mut Reach,
    ) {
        self.scale = *scale;
        self.read = *read;
        let (mut all, mut other, mut longest) = (-1, 0, 0);
        for (i, &read) in read.iter().enumerate() {
            // Queries that do not read have a factor of zero, and first keys need no factor.
            let shift = scale.shift[i] & read & !scale.first[i];
            let power = f32::from_bits(((127 - shift.clamp(0, LONGEST_SHIFT)) << 23) as u32);
            self.e[i] = (scale.m[i] & read) as f32 * power;
            all &= read | idle[i];
            other |= scale.moved[i] | scale.first[i];
            longest = longest.max(shift);
            let moved = scale.moved[i];
            reach.outputs[i] += shift & moved;
            reach.values[i] = reach.values[i].max(shift & !moved);
        }
        self.kind = match (longest > LONGEST_SHIFT, all == -1 && other == 0) {
            (true, _) => KernelKind::Reference,
            (_, true) => KernelKind::Values,
            _ => KernelKind::Mixed,
        };
        reach.reference |= self.kind == KernelKind::Reference;
    }
}

/// Accumulators of N elements. Aligned, so that a vector that is not in a register stays within a cache line.
#[repr(align(64))]
struct Accumulators<const N: usize>([Block<f32>; N]);

/// How far the steps of a tile shift numbers right.
pub(crate) struct Reach {
    /// For each query, the places by which all steps together shift its outputs.
    outputs: Block<i32>,
    /// For each query, the longest shift of a value.
    values: Block<i32>,
    /// Whether the reference computes one of the steps.
    reference: bool,
}

impl Reach {
    pub(crate) const NOTHING: Reach = Reach { outputs: [0; BLOCK], values: [0; BLOCK], reference: false };

    /// Whether no result can be below the smallest normal number, if values and accumulators are not small.
    #[inline(always)]
    fn is_safe(&self) -> bool {
        // A tile has at most 32 steps, and 32 bits hold the sum of their shifts.
        self.outputs.iter().zip(&self.values).all(|(&outputs, &values)| outputs + values <= SAFE_SHIFT)
    }
}

/// FA2's float lanes. `FLUSH`: accumulator and product flush subnormals.
pub(crate) struct ScalingLanes<const FLUSH: bool> {
    pub(crate) reference: FloatLanes<f32, FLUSH>,
    product: Rounder<f32>,
    sum: Rounder<f32>,
    quick_product: Quick,
    quick_sum: Quick,
    largest: f32,
    /// The accumulator's smallest normal number is f32's. Where the values fit f32, sums then do not saturate either.
    deep: bool,
    /// A first key loads `o = v`; if false, `o = v + 0`.
    load: bool,
}

impl<const FLUSH: bool> ScalingLanes<FLUSH> {
    pub(crate) fn new(formats: Formats, accumulator: Format, product: Format, load: bool) -> Self {
        ScalingLanes {
            reference: FloatLanes::new(formats, accumulator, product),
            product: Rounder::new(product),
            sum: Rounder::new(accumulator),
            quick_product: Quick::new(product),
            quick_sum: Quick::new(accumulator),
            largest: crate::round::decode(accumulator, accumulator.max_finite()) as f32,
            deep: accumulator.min_exponent() < f32::MIN_EXP,
            load,
        }
    }

    /// Whether values are large enough for products that do not underflow; `smallest` is their smallest nonzero
    /// magnitude.
    pub(crate) fn has_safe_values(&self, smallest: f64) -> bool {
        self.deep && smallest >= SAFE_VALUE.into()
    }

    /// Whether every accumulator is zero or at least [`SAFE_OUTPUT`].
    #[inline(always)]
    fn is_safe(o: &[Block<f32>]) -> bool {
        let mut small = [0; BLOCK];
        for o in o {
            for (small, o) in small.iter_mut().zip(o) {
                *small |= i32::from(o.abs() < SAFE_OUTPUT) & i32::from(*o != 0.0);
            }
        }
        small.iter().fold(0, |any, &small| any | small) == 0
    }

    /// Takes all steps of a tile on all elements; `values` has a row for each step. Adds each query's saturated
    /// roundings to `saturated`. `ELEMENTS`: the lanes are elements of one query.
    #[inline(always)]
    pub(crate) fn apply<const ELEMENTS: bool>(
        &self,
        steps: &[FloatStep],
        values: &[&[f32]],
        reach: &Reach,
        safe_values: bool,
        o: &mut [Block<f32>],
        saturated: &mut Block<u64>,
    ) {
        let quick = !reach.reference && (!FLUSH || (safe_values && reach.is_safe()));
        let mut start = 0;
        let mut chunks = o.chunks_exact_mut(TOGETHER);
        for o in &mut chunks {
            if !(quick && self.quickly::<TOGETHER, ELEMENTS>(steps, values, start, o)) {
                self.carefully::<ELEMENTS>(steps, values, start, o, saturated);
            }
            start += TOGETHER;
        }
        for o in chunks.into_remainder().chunks_exact_mut(1) {
            if !(quick && self.quickly::<1, ELEMENTS>(steps, values, start, o)) {
                self.carefully::<ELEMENTS>(steps, values, start, o, saturated);
            }
            start += 1;
        }
    }

    /// Takes all steps and returns true, if nothing saturates and, where that matters, accumulators are not small.
    /// Otherwise leaves `o` as it was.
    #[inline(always)]
    fn quickly<const N: usize, const ELEMENTS: bool>(
        &self,
        steps: &[FloatStep],
        values: &[&[f32]],
        start: usize,
        o: &mut [Block<f32>],
    ) -> bool {
        if FLUSH && !Self::is_safe(o) {
            return false;
        }
        let mut work = Accumulators([[0.0; BLOCK]; N]);
        let Accumulators(work) = &mut work;
        work.copy_from_slice(o);
        // Checked once, after all steps: if one step is wrong, all of them are repeated.
        let (bad, mut largest) = self.quick_steps::<N, false, ELEMENTS>(steps, values, start, work);
        if bad.iter().fold(0, |any, &bad| any | bad) != 0 {
            work.copy_from_slice(o);
            (_, largest) = self.quick_steps::<N, true, ELEMENTS>(steps, values, start, work);
        }
        let saturates = largest.iter().any(|&largest| largest > self.largest.to_bits());
        if !saturates {
            o.copy_from_slice(work);
        }
        !saturates
    }

    /// Takes all steps without a check for saturation. Returns the lanes in which a sum must be rounded to odd, as
    /// `bad` of [`Self::step`], and, unless `FLUSH`, the largest magnitude in each lane.
    #[inline(always)]
    fn quick_steps<const N: usize, const ODD: bool, const ELEMENTS: bool>(
        &self,
        steps: &[FloatStep],
        values: &[&[f32]],
        start: usize,
        work: &mut [Block<f32>; N],
    ) -> (Block<u32>, Block<u32>) {
        let (product, sum) = (self.quick_product, self.quick_sum);
        let round = |quick: Quick, x: f32| if FLUSH { quick.normal(x) } else { quick.gradual(x) };
        let rounding = StepRounding {
            dropped: sum.dropped(),
            product: |x| round(product, x),
            sum: |x| (round(sum, x), false),
        };
        let (mut bad, mut largest) = ([0; BLOCK], [0; BLOCK]);
        for (step, values) in steps.iter().zip(values) {
            let values = row::<_, N, ELEMENTS>(values, start);
            self.step::<N, ODD, ELEMENTS>(step, values, work, &rounding, &mut bad);
            if !FLUSH {
                for o in &*work {
                    for (largest, o) in largest.iter_mut().zip(o) {
                        *largest = o.abs().to_bits().max(*largest);
                    }
                }
            }
        }
        (bad, largest)
    }

    /// Takes all steps without a shortcut.
    #[inline(always)]
    fn carefully<const ELEMENTS: bool>(
        &self,
        steps: &[FloatStep],
        values: &[&[f32]],
        mut start: usize,
        o: &mut [Block<f32>],
        saturated: &mut Block<u64>,
    ) {
        let mut chunks = o.chunks_exact_mut(FEW);
        for o in &mut chunks {
            self.few::<FEW, ELEMENTS>(steps, values, start, o, saturated);
            start += FEW;
        }
        for o in chunks.into_remainder().chunks_exact_mut(1) {
            self.few::<1, ELEMENTS>(steps, values, start, o, saturated);
            start += 1;
        }
    }

    #[inline(always)]
    fn few<const N: usize, const ELEMENTS: bool>(
        &self,
        steps: &[FloatStep],
        values: &[&[f32]],
        start: usize,
        o: &mut [Block<f32>],
        saturated: &mut Block<u64>,
    ) {
        let (product, sum, quick, largest) = (self.product, self.sum, self.quick_sum, self.largest);
        let quick_product = self.quick_product;
        let rounding = StepRounding {
            dropped: quick.dropped(),
            product: |x| if FLUSH { product.round_as::<true>(x) } else { quick_product.gradual(x) },
            sum: |x| match FLUSH {
                true => sum.round_flag::<true>(x),
                false => {
                    let rounded = quick.gradual(x);
                    (rounded, rounded.abs() > largest)
                }
            },
        };
        let mut work = [[0.0; BLOCK]; N];
        work.copy_from_slice(o);
        for (step, values) in steps.iter().zip(values) {
            let values = row::<_, N, ELEMENTS>(values, start);
            let (mut next, mut bad) = (work, [0; BLOCK]);
            if step.kind != KernelKind::Reference {
                self.step::<N, false, ELEMENTS>(step, values, &mut next, &rounding, &mut bad);
            }
            if step.kind == KernelKind::Reference || bad.iter().fold(0, |any, &bad| any | bad) != 0 {
                self.by_reference::<N, ELEMENTS>(step, values, &mut work, saturated);
            } else {
                work = next;
            }
        }
        o.copy_from_slice(&work);
    }

    /// One step. With `ODD`, sums round to odd before they round to the format; otherwise `bad` is set in lanes where
    /// that would matter or a rounding saturates.
    #[inline(always)]
    fn step<const N: usize, const ODD: bool, const ELEMENTS: bool>(
        &self,
        step: &FloatStep,
        values: &[f32],
        work: &mut [Block<f32>; N],
        rounding: &StepRounding<impl Fn(f32) -> f32, impl Fn(f32) -> (f32, bool)>,
        bad: &mut Block<u32>,
    ) {
        if step.kind == KernelKind::Values {
            let operands = |_, o, v| (v, o);
            return rounding.step::<N, ODD, ELEMENTS>(&step.e, values, work, bad, operands, |_, _, _, r| r);
        }
        let FloatStep { scale, read, e, .. } = step;
        let load = self.load;
        rounding.step::<N, ODD, ELEMENTS>(
            e,
            values,
            work,
            bad,
            |i, o, v| if scale.moved[i] != 0 { (o, v) } else { (v, o) },
            |i, o, v, r| {
                let first = if load { v } else { v + 0.0 };
                let r = if scale.first[i] != 0 { first } else { r };
                if read[i] != 0 { r } else { o }
            },
        )
    }

    /// One step, computed by the reference.
    #[cold]
    #[inline(never)]
    fn by_reference<const N: usize, const ELEMENTS: bool>(
        &self,
        step: &FloatStep,
        values: &[f32],
        work: &mut [Block<f32>; N],
        saturated: &mut Block<u64>,
    ) {
        for i in 0..BLOCK {
            let query = lane::<ELEMENTS>(i);
            if step.read[query] == 0 {
                continue;
            }
            let e = f64::from(step.scale.m[query]) * pow2(-step.scale.shift[query]);
            let op = match (step.scale.first[query] != 0, step.scale.moved[query] != 0) {
                (true, _) if self.load => FloatOp::Load,
                (true, _) => FloatOp::First,
                (_, true) => FloatOp::ScaleOutput(e),
                (_, false) => FloatOp::ScaleValue(e),
            };
            let mut lane = [0.0; N];
            lane.iter_mut().zip(&*work).for_each(|(lane, o)| *lane = o[i]);
            let v: [f32; N] = std::array::from_fn(|n| value::<_, ELEMENTS>(values, n, i));
            saturated[query] += self.reference.step(op, &mut lane, &v);
            work.iter_mut().zip(lane).for_each(|(o, lane)| o[i] = lane);
        }
    }
}

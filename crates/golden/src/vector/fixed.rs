//! FLASH-D's fixed-point lanes for all queries of a block: [`crate::lanes::FixedLanes`] in 32-bit lanes.
//!
//! There the way from o to v is a sign and a magnitude that is rounded half up. Here it is one rounded shift: with
//! `y = v - (o >> below) - 1`, the factor `m 2^-right` and `2^S = 2 2^right`,
//!
//! ```text
//! y >= 0:  floor((y m + 2^right) / 2^S)            the magnitude is y
//! y <  0:  floor((y m + m - 1 + 2^right) / 2^S)    the magnitude is -y - 1, and minus a floor is a ceiling
//! ```
//!
//! and its negative, which upper steps add to v, the same with `-m`, `1 - m` and `2^right - 1`.

use super::block::{lane, row, value};
use super::lse::Blend;
use crate::block::{BLOCK, Block};
use flashd_spec::config::LaneBits;

/// Most places that a factor scales by: what is shifted further has vanished.
const FARTHEST: i32 = 29;
/// Elements whose accumulators stay in registers for all keys of a tile.
pub(crate) const TOGETHER: usize = 8;
/// Those of what is left.
pub(crate) const FEW: usize = 4;

/// The widths that a kernel needs.
#[derive(Clone, Copy)]
pub(crate) struct BlendLanes {
    pub(crate) below: u32,
}

/// A step as the kernel takes it. No vector of it crosses a cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct BlendStep {
    m: Block<i32>,
    /// Added where y is negative.
    negative: Block<i32>,
    round: Block<i32>,
    shift: Block<i32>,
    pub(crate) upper: Block<i32>,
    pub(crate) any_upper: bool,
}

impl BlendStep {
    pub(crate) const NOTHING: BlendStep = BlendStep {
        m: [0; BLOCK],
        negative: [0; BLOCK],
        round: [0; BLOCK],
        shift: [0; BLOCK],
        upper: [0; BLOCK],
        any_upper: false,
    };
}

impl BlendLanes {
    /// The lanes, if 32 bits hold all their numbers.
    pub(crate) fn new(bits: LaneBits) -> Option<BlendLanes> {
        let below = bits.o - bits.v;
        // The longest product has a sign, v + 1 bits, and w bits or those of a factor that has been shifted left.
        let product = bits.v + 1 + bits.w.max(below + 2);
        (product < 30 && bits.o + 3 < 31).then_some(BlendLanes { below })
    }

    /// The operands of a value, [`crate::lanes::FixedLanes`]'s number: `v - 1`.
    pub(crate) fn value(v: i32) -> i32 {
        v - 1
    }

    #[inline(always)]
    pub(crate) fn prepare(&self, blend: &Blend, step: &mut BlendStep) {
        let below = self.below as i32;
        for i in 0..BLOCK {
            // The product is left with one bit below the accumulator's last one.
            let left = (below + 1 - blend.shift[i]).max(0);
            let right = (blend.shift[i] - below - 1).clamp(0, FARTHEST);
            // The factor zero has any shift; it must not be shifted out of the lane.
            let m = blend.m[i] << left.min(below + 1);
            let sign = blend.upper[i];
            step.m[i] = (m ^ sign) - sign;
            step.negative[i] = ((m - 1) ^ sign) - sign;
            step.round[i] = (1 << right) + sign;
            step.shift[i] = right + 1;
            step.upper[i] = sign;
        }
        step.any_upper = blend.upper.iter().any(|&upper| upper != 0);
    }

    /// All steps of a tile on all elements; `values` has a row of operands for each step. `ELEMENTS`: the lanes are
    /// elements of one query.
    #[inline(always)]
    pub(crate) fn apply<const ELEMENTS: bool>(
        &self,
        steps: &[BlendStep],
        values: &[&[i32]],
        o: &mut [Block<i32>],
    ) {
        let mut start = 0;
        let mut chunks = o.chunks_exact_mut(TOGETHER);
        for o in &mut chunks {
            self.some::<TOGETHER, ELEMENTS>(steps, values, start, o);
            start += TOGETHER;
        }
        let mut chunks = chunks.into_remainder().chunks_exact_mut(FEW);
        for o in &mut chunks {
            self.some::<FEW, ELEMENTS>(steps, values, start, o);
            start += FEW;
        }
        for o in chunks.into_remainder().chunks_exact_mut(1) {
            self.some::<1, ELEMENTS>(steps, values, start, o);
            start += 1;
        }
    }

    /// The same on N elements from one on.
    #[inline(always)]
    pub(crate) fn some<const N: usize, const ELEMENTS: bool>(
        &self,
        steps: &[BlendStep],
        values: &[&[i32]],
        start: usize,
        o: &mut [Block<i32>],
    ) {
        let mut work = [[0; BLOCK]; N];
        work.copy_from_slice(o);
        for (step, values) in steps.iter().zip(values) {
            let values = row::<_, N, ELEMENTS>(values, start);
            for (n, o) in work.iter_mut().enumerate() {
                let v = |i| value::<_, ELEMENTS>(values, n, i);
                if step.any_upper {
                    let loaded = |i| (v(i) + 1) << self.below;
                    let upper = |i| step.upper[lane::<ELEMENTS>(i)] != 0;
                    self.vector::<ELEMENTS>(step, o, v, |i, o| if upper(i) { loaded(i) } else { o });
                } else {
                    self.vector::<ELEMENTS>(step, o, v, |_, o| o);
                }
            }
        }
        o.copy_from_slice(&work);
    }

    /// One step of one vector, with operands `v - 1`; `base` is what the way is added to.
    #[inline(always)]
    pub(crate) fn vector<const ELEMENTS: bool>(
        &self,
        step: &BlendStep,
        o: &mut Block<i32>,
        v: impl Fn(usize) -> i32,
        base: impl Fn(usize, i32) -> i32,
    ) {
        for (i, o) in o.iter_mut().enumerate() {
            let at = lane::<ELEMENTS>(i);
            let y = v(i) - (*o >> self.below);
            let product = y * step.m[at] + step.round[at] + (step.negative[at] & (y >> 31));
            *o = base(i, *o) + (product >> (step.shift[at] & 31));
        }
    }
}

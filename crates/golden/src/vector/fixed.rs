//! FLASH-D's fixed-point lanes for all queries of a block: [`crate::lanes::FixedLanes`] in 32-bit lanes.
//!
//! The increment `u (v - o)` is one rounded shift. Let y be the dithered difference, let its product with the factor `m 2^-right` have one bit below the
//! last place of o, and let `2^S = 2 2^right`. The increment is then `floor((y m - down + 2^right) / 2^S)`, where `down`, 0 or 1, decides ties. Upper steps
//! add its negative to v, which is the same with `-m`, `-down` and `2^right - 1` for `m`, `down` and `2^right`.

use super::block::{lane, row, value};
use super::lse::Blend;
use crate::block::{BLOCK, Block};
use flashd_spec::config::LaneBits;
use flashd_spec::numerics::{dither_bits, fixed_result_bits};

/// Longest right shift of a product. A product that is shifted further rounds to zero.
const FARTHEST: i32 = 29;
/// Elements whose accumulators stay in registers for all keys of a tile.
pub(crate) const TOGETHER: usize = 8;
/// The same for the elements that are left over.
pub(crate) const FEW: usize = 4;

/// FLASH-D's fixed-point lanes.
#[derive(Clone, Copy)]
pub(crate) struct BlendLanes {
    /// Low bits of the accumulator that differences drop, and bits of the dither.
    cut: u32,
    places: u32,
}

/// A step as the kernel takes it. No vector of it crosses a cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct BlendStep {
    m: Block<i32>,
    dither: Block<i32>,
    round: Block<i32>,
    shift: Block<i32>,
    pub(crate) upper: Block<i32>,
    pub(crate) any_upper: bool,
}

impl BlendStep {
    pub(crate) const NOTHING: BlendStep = BlendStep {
        m: [0; BLOCK],
        dither: [0; BLOCK],
        round: [0; BLOCK],
        shift: [0; BLOCK],
        upper: [0; BLOCK],
        any_upper: false,
    };
}

impl BlendLanes {
    /// The lanes; `None` if 32 bits do not hold all their numbers.
    pub(crate) fn new(bits: LaneBits) -> Option<BlendLanes> {
        let below = bits.o - bits.v;
        // The longest product has a sign, v + 1 bits, and w bits or the bits of a factor that has been shifted left.
        let product = bits.v + 1 + bits.w.max(below + 2);
        let lanes = BlendLanes { cut: bits.o - fixed_result_bits(bits), places: dither_bits(bits) };
        (product < 30 && bits.o + 3 < 31).then_some(lanes)
    }

    /// The kernel's operand, `v 2^places`, of a value v as [`crate::lanes::FixedLanes`] converts it.
    #[inline(always)]
    pub(crate) fn value(&self, v: i32) -> i32 {
        v << (self.places & 31)
    }

    /// The accumulator after a first key, from its operand of [`BlendLanes::value`].
    #[inline(always)]
    pub(crate) fn loaded(&self, operand: i32) -> i32 {
        operand << (self.cut & 31)
    }

    /// Converts a step to the numbers that the kernel uses.
    #[inline(always)]
    pub(crate) fn prepare(&self, blend: &Blend, step: &mut BlendStep) {
        let below = (self.cut + self.places) as i32;
        let mask = (1 << self.places) - 1;
        for i in 0..BLOCK {
            // The product keeps one bit below the accumulator's last place.
            let left = (below + 1 - blend.shift[i]).max(0);
            let right = (blend.shift[i] - below - 1).clamp(0, FARTHEST);
            // A zero factor may have any shift; the limit keeps the shift within the lane.
            let m = blend.m[i] << left.min(below + 1);
            let sign = blend.upper[i];
            step.m[i] = (m ^ sign) - sign;
            step.dither[i] = blend.dither[i] & mask;
            // A tie is rounded up or down.
            let down = 1 - (blend.dither[i] >> self.places & 1);
            step.round[i] = (1 << right) + sign - ((down ^ sign) - sign);
            step.shift[i] = right + 1;
            step.upper[i] = sign;
        }
        step.any_upper = blend.upper.iter().any(|&upper| upper != 0);
    }

    /// Takes all steps of a tile on all elements; `values` has a row of operands for each step. `ELEMENTS`: the lanes
    /// are elements of one query.
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

    /// [`BlendLanes::apply`] on N vectors of accumulators, from vector `start` on.
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
                    let loaded = |i| self.loaded(v(i));
                    let upper = |i| step.upper[lane::<ELEMENTS>(i)] != 0;
                    self.vector::<ELEMENTS>(step, o, v, |i, o| if upper(i) { loaded(i) } else { o });
                } else {
                    self.vector::<ELEMENTS>(step, o, v, |_, o| o);
                }
            }
        }
        o.copy_from_slice(&work);
    }

    /// One step of one vector: `o = base + increment`. `v` gives the operands of [`BlendLanes::value`].
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
            let y = (v(i) + step.dither[at] - (*o >> (self.cut & 31))) >> (self.places & 31);
            let product = y * step.m[at] + step.round[at];
            *o = base(i, *o) + (product >> (step.shift[at] & 31));
        }
    }
}

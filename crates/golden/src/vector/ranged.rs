//! FLASH-D's lanes with exponents of their own for all queries of a block: [`crate::lanes::RangedLanes`] in 32-bit lanes.
//!
//! A step aligns value and accumulator, and then goes on as in [`super::fixed`]. Most elements need less in most tiles ([`Course`]).
//!
//! A value is kept as twice its significand, one less if it is negative, so that its rounding half away from zero is a sum and
//! a shift: `v = floor((t + 2^right) / 2^(right + 1))`.

use super::TILE;
use super::block::{lane, row, value};
use super::fixed::{BlendLanes, BlendStep, FEW, TOGETHER};
use super::lse::Blend;
use crate::block::{BLOCK, Block};
use flashd_spec::bits::ones;
use flashd_spec::config::LaneBits;
use flashd_spec::format::{Format, Subnormals};
use flashd_spec::numerics::fixed_result_bits;

/// Keys that are looked at together where exponents move within a tile: most do so once.
const PIECE: usize = 8;

/// What the exponents of an accumulator's vector do in a tile, from what is least work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Course {
    /// None of them moves, and a value has the same place in all lanes that read it: values are aligned once for all lanes, and all
    /// else is as in fixed point.
    #[default]
    Common,
    /// None of them moves.
    Still,
    /// One may move.
    Moves,
}

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
    /// The largest finite magnitude; what is above it counts as zero.
    most: u32,
    /// From the format's sign to that of 32 bits.
    sign_left: u32,
    /// Fraction bits of the format.
    fraction: u32,
    /// The exponent field of zeros.
    least: i32,
    /// -1: subnormals have a significand; 0: they are zeros.
    subnormal: i32,
    /// From the format's fraction bits to an operand's.
    left: u32,
    /// The largest significand that is not rounded beyond the largest operand.
    largest: i32,
}

impl RangeOperands {
    /// The value of an encoding.
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
        let t = (2 * significand) ^ sign;
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
            // Only a first key has a factor of zero.
            self.keep[i] = !(blend.upper[i] & -i32::from(blend.m[i] == 0));
        }
    }
}

/// What the lanes do in a tile.
pub(crate) struct RangeTile<'a> {
    pub(crate) steps: &'a [BlendStep],
    pub(crate) ranges: &'a [RangeStep],
    /// A row for each step.
    pub(crate) values: &'a [&'a [RangeValue]],
}

/// What is found out about a tile before its steps.
pub(crate) struct RangeSurvey {
    /// The largest exponent of each element's values.
    tops: Vec<i32>,
    /// The exponent of each element's accumulators, where all have the same; else any number.
    levels: Vec<i32>,
    /// Of each vector of accumulators.
    courses: Vec<Course>,
    /// Operands for these exponents, a row for each step.
    aligned: Vec<i32>,
}

impl RangeSurvey {
    /// For d elements in some vectors of accumulators.
    pub(crate) fn new(d: usize, vectors: usize) -> RangeSurvey {
        RangeSurvey {
            tops: vec![0; d],
            levels: vec![0; d],
            courses: vec![Course::Common; vectors],
            aligned: vec![0; TILE * d],
        }
    }

    /// Looks at a tile before its steps.
    #[inline(always)]
    fn look<const ELEMENTS: bool>(&mut self, tile: &RangeTile, exponents: &[Block<i32>]) {
        // Queries that read nothing do not matter; with a first key there is nothing to move.
        let (mut reads, mut loads) = ([0; BLOCK], [0; BLOCK]);
        for range in tile.ranges {
            for i in 0..BLOCK {
                reads[i] |= range.read[i];
                loads[i] |= !range.keep[i];
            }
        }
        if loads.iter().fold(0, |any, &load| any | load) != 0 {
            self.courses.fill(Course::Moves);
            return;
        }
        self.tops.fill(0);
        for values in tile.values {
            for (top, value) in self.tops.iter_mut().zip(*values) {
                *top = value.exponent.max(*top);
            }
        }
        for (n, (course, exponents)) in self.courses.iter_mut().zip(exponents).enumerate() {
            if ELEMENTS {
                self.levels[n * BLOCK..(n + 1) * BLOCK].copy_from_slice(exponents);
                let mut moves = 0;
                for (i, exponent) in exponents.iter().enumerate() {
                    moves |= i32::from(self.tops[n * BLOCK + i] > *exponent);
                }
                *course = if moves != 0 { Course::Moves } else { Course::Common };
            } else {
                let (mut low, mut high) = (i32::MAX, 0);
                for (exponent, read) in exponents.iter().zip(&reads) {
                    low = low.min(exponent | (!read & i32::MAX));
                    high = high.max(exponent & read);
                }
                self.levels[n] = high;
                *course = match (self.tops[n] > low, low == high) {
                    (true, _) => Course::Moves,
                    (_, true) => Course::Common,
                    _ => Course::Still,
                };
            }
        }
    }
}

/// The widths that a kernel needs.
#[derive(Clone, Copy)]
pub(crate) struct RangeLanes {
    blend: BlendLanes,
    /// Places by which a value is moved further than its difference of exponents.
    drop: i32,
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
        let lanes = RangeLanes { blend, drop: drop as i32, cut: cut as i32, half: 1 << cut >> 1 };
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
        (fraction <= 27 && format.width() <= 32 && !format.is_integer()).then_some((lanes, operands))
    }

    /// All steps of a tile on all elements; `values` has a row for each step. `ELEMENTS`: the lanes are elements of one
    /// query.
    #[inline(always)]
    pub(crate) fn apply<const ELEMENTS: bool>(
        &self,
        tile: RangeTile,
        survey: &mut RangeSurvey,
        o: &mut [Block<i32>],
        exponents: &mut [Block<i32>],
    ) {
        survey.look::<ELEMENTS>(&tile, exponents);
        // Looking again pays where many move.
        let moving = survey.courses.iter().filter(|&&course| course == Course::Moves).count();
        let whole = moving * 8 <= survey.courses.len();
        let piece = if whole { TILE } else { PIECE };
        let pieces = tile.steps.chunks(piece).zip(tile.ranges.chunks(piece)).zip(tile.values.chunks(piece));
        for ((steps, ranges), values) in pieces {
            let tile = RangeTile { steps, ranges, values };
            if !whole {
                survey.look::<ELEMENTS>(&tile, exponents);
            }
            self.piece::<ELEMENTS>(tile, survey, o, exponents);
        }
    }

    /// The steps of a tile or of a part of it that has been looked at.
    #[inline(always)]
    fn piece<const ELEMENTS: bool>(
        &self,
        tile: RangeTile,
        survey: &mut RangeSurvey,
        o: &mut [Block<i32>],
        exponents: &mut [Block<i32>],
    ) {
        let RangeSurvey { levels, courses, aligned, .. } = survey;
        let mut common = [&[][..]; TILE];
        if courses.contains(&Course::Common) {
            for (values, aligned) in tile.values.iter().zip(aligned.chunks_exact_mut(levels.len())) {
                for ((aligned, value), level) in aligned.iter_mut().zip(*values).zip(&*levels) {
                    *aligned = self.operand(value.t, level - value.exponent);
                }
            }
            common
                .iter_mut()
                .zip(aligned.chunks_exact(levels.len()))
                .for_each(|(row, aligned)| *row = aligned);
        }
        let common = &common[..tile.values.len()];
        let mut start = 0;
        while start < o.len() {
            let left = &courses[start..];
            let all_common = |courses: &[Course]| courses.iter().all(|&course| course == Course::Common);
            let count = match left.len() {
                TOGETHER.. if all_common(&left[..TOGETHER]) => TOGETHER,
                FEW.. => FEW,
                _ => 1,
            };
            let course = left[..count].iter().max().copied().unwrap_or_default();
            let (o, e) = (&mut o[start..start + count], &mut exponents[start..start + count]);
            match (course, count) {
                (Course::Common, TOGETHER) => {
                    self.blend.some::<TOGETHER, ELEMENTS>(tile.steps, common, start, o);
                }
                (Course::Common, FEW) => self.blend.some::<FEW, ELEMENTS>(tile.steps, common, start, o),
                (Course::Common, _) => self.blend.some::<1, ELEMENTS>(tile.steps, common, start, o),
                (Course::Still, FEW) => self.some::<FEW, false, ELEMENTS>(&tile, start, o, e),
                (Course::Still, _) => self.some::<1, false, ELEMENTS>(&tile, start, o, e),
                (Course::Moves, FEW) => self.some::<FEW, true, ELEMENTS>(&tile, start, o, e),
                (Course::Moves, _) => self.some::<1, true, ELEMENTS>(&tile, start, o, e),
            }
            start += count;
        }
    }

    /// All steps on N elements from one on; `MOVES`: exponents may move.
    #[inline(always)]
    fn some<const N: usize, const MOVES: bool, const ELEMENTS: bool>(
        &self,
        tile: &RangeTile,
        start: usize,
        o: &mut [Block<i32>],
        exponents: &mut [Block<i32>],
    ) {
        let (mut work, mut own) = ([[0; BLOCK]; N], [[0; BLOCK]; N]);
        work.copy_from_slice(o);
        own.copy_from_slice(exponents);
        for ((step, range), values) in tile.steps.iter().zip(tile.ranges).zip(tile.values) {
            let values = row::<_, N, ELEMENTS>(values, start);
            for (n, (o, e)) in work.iter_mut().zip(&mut own).enumerate() {
                let value = |i| value::<_, ELEMENTS>(values, n, i);
                let v = self.align::<MOVES, ELEMENTS>(range, o, e, value);
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
        if MOVES {
            exponents.copy_from_slice(&own);
        }
    }

    /// The operands of a step, `v - 1`, with accumulators and exponents brought to the larger exponent.
    #[inline(always)]
    fn align<const MOVES: bool, const ELEMENTS: bool>(
        &self,
        range: &RangeStep,
        o: &mut Block<i32>,
        exponents: &mut Block<i32>,
        value: impl Fn(usize) -> RangeValue,
    ) -> Block<i32> {
        let mut operands = [0; BLOCK];
        if !MOVES {
            for i in 0..BLOCK {
                let RangeValue { t, exponent } = value(i);
                operands[i] = self.operand(t, exponents[i] - exponent);
            }
            return operands;
        }
        let (mut moved, mut any) = ([0; BLOCK], 0);
        for i in 0..BLOCK {
            let at = lane::<ELEMENTS>(i);
            let RangeValue { t, exponent } = value(i);
            // What is not read is as good as of the least exponent.
            let exponent = exponent & range.read[at];
            let before = exponents[i] & range.keep[at];
            let after = before.max(exponent);
            operands[i] = self.operand(t, after - exponent);
            moved[i] = after - before;
            any |= moved[i];
            exponents[i] = after;
        }
        // Few steps move one.
        if any != 0 {
            for i in 0..BLOCK {
                let right = (self.cut + moved[i]).min(31);
                let upper = ((o[i] >> (right & 31)) << (self.cut & 31)) + self.half;
                o[i] = if moved[i] != 0 { upper } else { o[i] };
            }
        }
        operands
    }

    /// The operand `v - 1` of a value moved by a number of places: `floor((t + 2^right) / 2^(right + 1)) - 1` is
    /// `floor((floor(t / 2^right) - 1) / 2)`. Where the number is negative nobody reads the value, and it may be anything.
    #[inline(always)]
    fn operand(&self, t: i32, places: i32) -> i32 {
        let right = (self.drop + places).min(i32::BITS as i32 - 1);
        ((t >> (right & 31)) - 1) >> 1
    }
}

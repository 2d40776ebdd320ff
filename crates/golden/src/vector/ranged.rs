//! FLASH-D's ranged lanes for all queries of a block: [`crate::lanes::RangedLanes`] in 32-bit lanes.
//!
//! A step aligns value and accumulator, and then goes on as in [`super::fixed`]. In most tiles most elements need less
//! work ([`ExponentChange`]).
//!
//! A value is kept as t, twice its significand, minus one if it is negative. Rounding half away from zero is then a sum
//! and a shift: `v = floor((t + 2^right) / 2^(right + 1))`.

use super::TILE;
use super::block::{lane, row, value};
use super::fixed::{BlendLanes, BlendStep, FEW, TOGETHER};
use super::lse::Blend;
use crate::block::{BLOCK, Block};
use flashd_spec::bits::ones;
use flashd_spec::config::LaneBits;
use flashd_spec::format::{Format, Subnormals};
use flashd_spec::numerics::fixed_result_bits;

/// Keys that are surveyed together if exponents move within a tile. Most exponents move once in a tile, so most pieces
/// are without a move.
const PIECE: usize = 8;

/// Changes of the exponents of a vector of accumulators in a tile; the least work first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum ExponentChange {
    /// None of them moves, and all lanes that read a value align it by the same shift. Values are aligned once for all
    /// lanes, and the rest is as in fixed point.
    #[default]
    Common,
    /// None of them moves, but they differ.
    Still,
    /// At least one may move.
    Moves,
}

/// A value: its significand as t (see above), in units that are the same for all values, and its exponent field.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RangeValue {
    t: i32,
    exponent: i32,
}

impl RangeValue {
    /// Sign (0 or -1), significand and exponent field of a value that [`RangeOperands::exact`] converted.
    #[inline(always)]
    pub(crate) fn parts(self) -> (i32, i32, i32) {
        let sign = self.t >> 31;
        (sign, (self.t ^ sign) >> 1, self.exponent)
    }
}

/// Converts encodings to [`RangeValue`]s.
#[derive(Clone, Copy)]
pub(crate) struct RangeOperands {
    magnitude: u32,
    /// The largest finite magnitude; an encoding above it is Inf or NaN and counts as zero.
    most: u32,
    /// Left shift from the format's sign to bit 31.
    sign_left: u32,
    /// Fraction bits of the format.
    fraction: u32,
    /// The exponent field of zeros and subnormals.
    least: i32,
    /// -1: subnormals have a significand; 0: they are zeros.
    subnormal: i32,
    /// Left shift from the format's fraction bits to the significand's.
    left: u32,
    /// The largest significand that does not round beyond the largest operand.
    largest: i32,
}

impl RangeOperands {
    /// The conversion of values that need no rounding: significands have the format's bits. `None` if 32 bits do not hold them.
    pub(crate) fn exact(format: Format) -> Option<RangeOperands> {
        let fits = format.fraction_bits <= 27 && format.width() <= 32 && !format.is_integer();
        fits.then(|| RangeOperands::new(format, 0, i32::MAX))
    }

    /// The conversion to significands with `left` bits more than the format's, up to `largest`.
    fn new(format: Format, left: u32, largest: i32) -> RangeOperands {
        let (least, subnormal) = match format.subnormals {
            Subnormals::Flushed => (0, 0),
            Subnormals::Supported => (1, -1),
        };
        RangeOperands {
            magnitude: (format.sign_bit() - 1) as u32,
            most: format.max_finite() as u32,
            sign_left: u32::BITS - format.width(),
            fraction: format.fraction_bits,
            least,
            subnormal,
            left,
            largest,
        }
    }

    /// Converts an encoding.
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

/// Exponents of a step. No vector of it crosses a cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct RangeStep {
    /// -1: the query reads the value.
    read: Block<i32>,
    /// 0: the step is the query's first one, and its earlier exponents count as zero. Otherwise -1.
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

/// The steps of a tile and their values.
pub(crate) struct RangeTile<'a> {
    pub(crate) steps: &'a [BlendStep],
    pub(crate) ranges: &'a [RangeStep],
    /// A row of d values for each step.
    pub(crate) values: &'a [&'a [RangeValue]],
}

/// A survey of a tile before its steps.
pub(crate) struct RangeSurvey {
    /// For each element, the largest exponent of its values.
    tops: Vec<i32>,
    /// For each element, the exponent of its accumulators if all have the same; otherwise any number.
    levels: Vec<i32>,
    /// The course of each vector of accumulators.
    courses: Vec<ExponentChange>,
    /// Operands aligned to `levels`, a row for each step.
    aligned: Vec<i32>,
}

impl RangeSurvey {
    /// Room for d elements in `vectors` vectors of accumulators.
    pub(crate) fn new(d: usize, vectors: usize) -> RangeSurvey {
        RangeSurvey {
            tops: vec![0; d],
            levels: vec![0; d],
            courses: vec![ExponentChange::Common; vectors],
            aligned: vec![0; TILE * d],
        }
    }

    /// Surveys a tile before its steps.
    #[inline(always)]
    fn look<const ELEMENTS: bool>(&mut self, tile: &RangeTile, exponents: &[Block<i32>]) {
        // The exponents of queries that read nothing do not matter. A first key sets the exponents, so all courses
        // move.
        let (mut reads, mut loads) = ([0; BLOCK], [0; BLOCK]);
        for range in tile.ranges {
            for i in 0..BLOCK {
                reads[i] |= range.read[i];
                loads[i] |= !range.keep[i];
            }
        }
        if loads.iter().fold(0, |any, &load| any | load) != 0 {
            self.courses.fill(ExponentChange::Moves);
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
                *course = if moves != 0 { ExponentChange::Moves } else { ExponentChange::Common };
            } else {
                let (mut low, mut high) = (i32::MAX, 0);
                for (exponent, read) in exponents.iter().zip(&reads) {
                    low = low.min(exponent | (!read & i32::MAX));
                    high = high.max(exponent & read);
                }
                self.levels[n] = high;
                *course = match (self.tops[n] > low, low == high) {
                    (true, _) => ExponentChange::Moves,
                    (_, true) => ExponentChange::Common,
                    _ => ExponentChange::Still,
                };
            }
        }
    }
}

/// FLASH-D's ranged lanes.
#[derive(Clone, Copy)]
pub(crate) struct RangeLanes {
    blend: BlendLanes,
    /// Right shift of a value, besides its difference of exponents.
    drop: i32,
    /// Low bits of the accumulator that a half replaces when the exponent grows, and that half.
    cut: i32,
    half: i32,
}

impl RangeLanes {
    /// The lanes and the conversion of their values; `None` if 32 bits do not hold all their numbers.
    pub(crate) fn new(
        blend: BlendLanes,
        format: Format,
        bits: LaneBits,
    ) -> Option<(RangeLanes, RangeOperands)> {
        // Fraction bits of an operand, and of a significand, which holds both an operand and an encoding.
        let operand = bits.v.checked_sub(2)?;
        let fraction = operand.max(format.fraction_bits);
        let drop = fraction - operand;
        let cut = bits.o - fixed_result_bits(bits);
        let half = 1 << drop >> 1;
        let lanes = RangeLanes { blend, drop: drop as i32, cut: cut as i32, half: 1 << cut >> 1 };
        // A larger significand may be replaced by this one. Shifted further right, both round alike: they are nearest to the same
        // power of two.
        let largest = ((ones(operand + 1) + 1) << drop) as i32 - 1 - half;
        let operands = RangeOperands::new(format, fraction - format.fraction_bits, largest);
        (fraction <= 27 && format.width() <= 32 && !format.is_integer()).then_some((lanes, operands))
    }

    /// Takes all steps of a tile on all elements. `ELEMENTS`: the lanes are elements of one query.
    #[inline(always)]
    pub(crate) fn apply<const ELEMENTS: bool>(
        &self,
        tile: RangeTile,
        survey: &mut RangeSurvey,
        o: &mut [Block<i32>],
        exponents: &mut [Block<i32>],
    ) {
        survey.look::<ELEMENTS>(&tile, exponents);
        // Surveying every piece again pays if many vectors move.
        let moving = survey.courses.iter().filter(|&&course| course == ExponentChange::Moves).count();
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

    /// Takes the steps of a tile, or of a piece of it, that has been surveyed.
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
        if courses.contains(&ExponentChange::Common) {
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
            let all_common =
                |courses: &[ExponentChange]| courses.iter().all(|&course| course == ExponentChange::Common);
            let count = match left.len() {
                TOGETHER.. if all_common(&left[..TOGETHER]) => TOGETHER,
                FEW.. => FEW,
                _ => 1,
            };
            let course = left[..count].iter().max().copied().unwrap_or_default();
            let (o, e) = (&mut o[start..start + count], &mut exponents[start..start + count]);
            match (course, count) {
                (ExponentChange::Common, TOGETHER) => {
                    self.blend.some::<TOGETHER, ELEMENTS>(tile.steps, common, start, o);
                }
                (ExponentChange::Common, FEW) => {
                    self.blend.some::<FEW, ELEMENTS>(tile.steps, common, start, o)
                }
                (ExponentChange::Common, _) => self.blend.some::<1, ELEMENTS>(tile.steps, common, start, o),
                (ExponentChange::Still, FEW) => self.some::<FEW, false, ELEMENTS>(&tile, start, o, e),
                (ExponentChange::Still, _) => self.some::<1, false, ELEMENTS>(&tile, start, o, e),
                (ExponentChange::Moves, FEW) => self.some::<FEW, true, ELEMENTS>(&tile, start, o, e),
                (ExponentChange::Moves, _) => self.some::<1, true, ELEMENTS>(&tile, start, o, e),
            }
            start += count;
        }
    }

    /// Takes all steps on N vectors of accumulators, from vector `start` on. `MOVES`: exponents may move.
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
                    let loaded = |i: usize| self.blend.loaded(v[i]);
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

    /// Aligns accumulators and values to the larger exponent, and returns the operands of the values.
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
            // A value that is not read must not raise the exponent.
            let exponent = exponent & range.read[at];
            let before = exponents[i] & range.keep[at];
            let after = before.max(exponent);
            operands[i] = self.operand(t, after - exponent);
            moved[i] = after - before;
            any |= moved[i];
            exponents[i] = after;
        }
        // Few steps move an exponent.
        if any != 0 {
            for i in 0..BLOCK {
                let right = (self.cut + moved[i]).min(31);
                let upper = ((o[i] >> (right & 31)) << (self.cut & 31)) + self.half;
                o[i] = if moved[i] != 0 { upper } else { o[i] };
            }
        }
        operands
    }

    /// The operand of a value shifted right by `places`: `floor((t + 2^right) / 2^(right + 1))` is `floor((floor(t / 2^right) + 1) / 2)`.
    /// If `places` is negative, no query reads the value and any result will do.
    #[inline(always)]
    fn operand(&self, t: i32, places: i32) -> i32 {
        let right = (self.drop + places).min(i32::BITS as i32 - 1);
        self.blend.value(((t >> (right & 31)) + 1) >> 1)
    }
}

//! Scores of queries and keys that each have one scale, which multiplies their dot product.
//!
//! For integers the dot product is exact: `s = floor((q . k) c 2^(left - right) + 1/2)` in ulps of the score. The multiplier c is the
//! product of both significands and `log2(e)`, rounded. For floats the elements already have the scales' powers of two, and
//! c multiplies the natural score.

use crate::base2::{Score, round_half_up, saturated};
use crate::block::{BLOCK, Block, BlockDot, DotUnit, transpose};
use crate::round::decode;
use crate::rows::VectorScale;
use flashd_spec::format::Format;
use flashd_spec::numerics::{LOG2E, Numerics, SCALE_PRODUCT_DROPPED, SCALE_PRODUCT_FRACTION, scaled_right};

/// Bits that rounding drops from the product of two significands of [`VectorScale`] and `log2(e)`; both are longer than bf16's.
const DROPPED: u32 = SCALE_PRODUCT_DROPPED + 2 * (VectorScale::FRACTION - Format::BF16.fraction_bits);

/// `c`, the product of both significands and `log2(e)`, rounded half up.
fn multiplier(q: VectorScale, k: VectorScale) -> i64 {
    round_half_up((q.significand * k.significand * LOG2E) as i64, DROPPED as i32)
}

/// The scales of up to [`BLOCK`] queries, which follow their d elements.
fn scales_of(queries: &[u64], words: usize, d: usize) -> [VectorScale; BLOCK] {
    let mut scales = [VectorScale::default(); BLOCK];
    for (scale, row) in scales.iter_mut().zip(queries.chunks(words)) {
        *scale = VectorScale::in_words(&row[d..]);
    }
    scales
}

/// The first d of the `words` words of each vector: its elements.
fn elements(rows: &[u64], words: usize, d: usize) -> Vec<u64> {
    rows.chunks(words).flat_map(|row| &row[..d]).copied().collect()
}

/// An integer, or a fixed-point number in its units.
fn units(format: Format, bits: u64) -> i32 {
    (decode(format, bits) * f64::from(format.integer_fraction()).exp2()) as i32
}

/// The unit for integers, with the keys of one run.
pub(crate) struct ScaledUnit {
    format: Format,
    d: usize,
    words: usize,
    /// Elements of the keys.
    k: Vec<i32>,
    scales: Vec<VectorScale>,
    rule: ScoreRule,
}

/// Converts a dot product to the score.
#[derive(Clone, Copy)]
struct ScoreRule {
    most: i32,
    left: u32,
    /// A score beyond the limit.
    beyond: i64,
}

impl ScoreRule {
    fn score(&self, dot: i32, q: VectorScale, k: VectorScale) -> f64 {
        let right = (self.most - q.exponent - k.exponent).clamp(0, 62);
        let moved = (i64::from(dot) * multiplier(q, k)) << self.left;
        round_half_up(moved, right).clamp(-self.beyond, self.beyond) as f64
    }
}

impl ScaledUnit {
    pub(crate) fn new(n: &Numerics, d: usize, k: &[u64]) -> Self {
        let words = d + crate::rows::tail_words(n);
        let (most, left) = scaled_right(n);
        let element = |&bits: &u64| units(n.formats.k, bits);
        ScaledUnit {
            format: n.formats.q,
            d,
            words,
            k: k.chunks(words).flat_map(|row| row[..d].iter().map(element)).collect(),
            scales: k.chunks(words).map(|row| VectorScale::in_words(&row[d..])).collect(),
            rule: ScoreRule { most, left, beyond: Score::new(n).limit() + 1 },
        }
    }
}

impl DotUnit for ScaledUnit {
    fn block<'a>(&'a self, queries: &[u64]) -> Box<dyn BlockDot + 'a> {
        let scales = scales_of(queries, self.words, self.d);
        let elements = elements(queries, self.words, self.d);
        let queries = transpose(self.d, &elements, |q| units(self.format, q));
        Box::new(ScaledBlock { unit: self, queries, scales })
    }
}

struct ScaledBlock<'a> {
    unit: &'a ScaledUnit,
    queries: Vec<Block<i32>>,
    scales: [VectorScale; BLOCK],
}

impl BlockDot for ScaledBlock<'_> {
    /// Returns scores, not sums; [`crate::recurrence::FixedScore`] passes them on.
    fn dots(&mut self, key: usize) -> Block<f64> {
        let ScaledUnit { d, k, scales, rule, .. } = self.unit;
        let mut sums = [0i32; BLOCK];
        for (query, &k) in self.queries.iter().zip(&k[key * d..(key + 1) * d]) {
            for (sum, &q) in sums.iter_mut().zip(query) {
                *sum += q * k;
            }
        }
        let mut scores = [0.0; BLOCK];
        for ((score, sum), &q) in scores.iter_mut().zip(sums).zip(&self.scales) {
            *score = rule.score(sum, q, scales[key]);
        }
        scores
    }
}

/// The unit for floats: a fused unit, whose natural scores are multiplied by the scales' significands.
pub(crate) struct SignificandsUnit {
    d: usize,
    words: usize,
    sums: Box<dyn DotUnit>,
    scales: Vec<VectorScale>,
    guard: i32,
    places: i32,
    natural_limit: i64,
    /// A score beyond the limit.
    beyond: i64,
}

impl SignificandsUnit {
    /// `unit` makes the fused unit from the elements of queries and keys.
    pub(crate) fn new(
        n: &Numerics,
        d: usize,
        [q, k]: [&[u64]; 2],
        unit: impl FnOnce(&[u64], &[u64]) -> Box<dyn DotUnit>,
    ) -> Self {
        let words = d + crate::rows::tail_words(n);
        SignificandsUnit {
            d,
            words,
            sums: unit(&elements(q, words, d), &elements(k, words, d)),
            scales: k.chunks(words).map(|row| VectorScale::in_words(&row[d..])).collect(),
            guard: n.dot_guard as i32,
            places: (SCALE_PRODUCT_FRACTION + n.natural_fraction() - n.score_fraction) as i32,
            natural_limit: Score::new(n).natural_limit(),
            beyond: Score::new(n).limit() + 1,
        }
    }
}

impl DotUnit for SignificandsUnit {
    fn block<'a>(&'a self, queries: &[u64]) -> Box<dyn BlockDot + 'a> {
        let scales = scales_of(queries, self.words, self.d);
        let sums = self.sums.block(&elements(queries, self.words, self.d));
        Box::new(SignificandsBlock { unit: self, sums, scales })
    }
}

struct SignificandsBlock<'a> {
    unit: &'a SignificandsUnit,
    sums: Box<dyn BlockDot + 'a>,
    scales: [VectorScale; BLOCK],
}

impl BlockDot for SignificandsBlock<'_> {
    /// Returns scores, not sums; [`crate::recurrence::FixedScore`] passes them on.
    fn dots(&mut self, key: usize) -> Block<f64> {
        let SignificandsUnit { scales, guard, places, natural_limit, beyond, .. } = self.unit;
        let mut scores = self.sums.dots(key);
        for (score, &q) in scores.iter_mut().zip(&self.scales) {
            let (natural, saturates) = saturated(round_half_up(*score as i64, *guard), *natural_limit);
            let rounded = round_half_up(natural * multiplier(q, scales[key]), *places);
            // A natural score that saturates counts as a score that does, whatever it is multiplied by.
            *score = match saturates {
                true if natural < 0 => -beyond,
                true => *beyond,
                false => rounded.clamp(-beyond, *beyond),
            } as f64;
        }
        scores
    }
}

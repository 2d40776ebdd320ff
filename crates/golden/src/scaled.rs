//! Scores of integers with a scale for each query and each key: exact sums, multiplied once.
//!
//! `s = floor((q . k) c 2^(left - right) + 1/2)` in units of the score's last place, `c` the significands of both scales times `log2(e)`,
//! rounded to 16 bits.

use crate::base2::{Score, round_half_up};
use crate::dot::{BLOCK, Block, BlockDot, DotUnit, transpose};
use crate::round::decode;
use flashd_spec::bits::joined;
use flashd_spec::format::Format;
use flashd_spec::numerics::{LOG2E, Numerics, SCALE_PRODUCT_DROPPED, scaled_right};

/// A positive bf16 number, `significand 2^(exponent - 134)`.
#[derive(Clone, Copy, Debug, Default)]
struct Scale {
    /// 128 to 255, or 0 for a scale that counts as zero.
    significand: u64,
    exponent: i32,
}

impl Scale {
    /// The scale in the words behind a vector's elements of `width` bits each, and whether it is negative, Inf or NaN.
    fn of(words: &[u64], width: u32) -> (Scale, bool) {
        let bits = joined(words, width);
        let (negative, exponent) = (bits >> 15 & 1 == 1, bits >> 7 & 0xff);
        let special = negative || exponent == 0xff;
        let significand = if special || exponent == 0 { 0 } else { 128 + (bits & 0x7f) };
        (Scale { significand, exponent: exponent as i32 }, special)
    }
}

/// For each vector of `d` elements and what stands behind them, whether an element, or its scale, is one that makes a query invalid.
pub(crate) fn special_rows(n: &Numerics, format: Format, d: usize, x: &[u64]) -> Vec<bool> {
    let row = |x: &[u64]| match n.scaled() {
        true => Scale::of(&x[d..], format.width()).1,
        false => x.iter().any(|&bits| format.is_special(bits)),
    };
    x.chunks(d + n.scale_words).map(row).collect()
}

/// The unit with the keys of one run.
pub(crate) struct ScaledUnit {
    format: Format,
    d: usize,
    words: usize,
    /// Elements of the keys, and their scales.
    k: Vec<i32>,
    scales: Vec<Scale>,
    rule: Rule,
}

/// From a sum to the score.
#[derive(Clone, Copy)]
struct Rule {
    most: i32,
    left: u32,
    limit: i64,
}

impl Rule {
    fn score(&self, dot: i32, q: Scale, k: Scale) -> f64 {
        let product = (q.significand * k.significand * LOG2E) as i64;
        let c = round_half_up(product, SCALE_PRODUCT_DROPPED as i32);
        let right = (self.most - q.exponent - k.exponent).clamp(0, 62);
        let moved = (i64::from(dot) * c) << self.left;
        round_half_up(moved, right).clamp(-self.limit, self.limit) as f64
    }
}

impl ScaledUnit {
    pub(crate) fn new(n: &Numerics, d: usize, k: &[u64]) -> Self {
        let (format, words) = (n.formats.k, d + n.scale_words);
        let (most, left) = scaled_right(n);
        let element = |&bits: &u64| decode(format, bits) as i32;
        ScaledUnit {
            format: n.formats.q,
            d,
            words,
            k: k.chunks(words).flat_map(|row| row[..d].iter().map(element)).collect(),
            scales: k.chunks(words).map(|row| Scale::of(&row[d..], format.width()).0).collect(),
            rule: Rule { most, left, limit: Score::new(n).limit() },
        }
    }
}

impl DotUnit for ScaledUnit {
    fn block<'a>(&'a self, queries: &[u64]) -> Box<dyn BlockDot + 'a> {
        let mut scales = [Scale::default(); BLOCK];
        let rows = queries.chunks(self.words);
        for (scale, row) in scales.iter_mut().zip(rows.clone()) {
            *scale = Scale::of(&row[self.d..], self.format.width()).0;
        }
        let elements: Vec<u64> = rows.flat_map(|row| &row[..self.d]).copied().collect();
        let queries = transpose(self.d, &elements, |q| decode(self.format, q) as i32);
        Box::new(ScaledBlock { unit: self, queries, scales })
    }
}

struct ScaledBlock<'a> {
    unit: &'a ScaledUnit,
    queries: Vec<Block<i32>>,
    scales: [Scale; BLOCK],
}

impl BlockDot for ScaledBlock<'_> {
    /// Scores, and not sums: no other unit follows.
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

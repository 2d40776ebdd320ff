//! Operands with scales, in wide integers.

use super::integers::round_half_up;
use super::scalar::{Scalar, within};
use crate::common::{Dyadic, Rng};
use flashd_spec::config::CoreConfig;
use flashd_spec::format::{Format, Scale};
use flashd_spec::numerics::{LOG2E, LOG2E_FRACTION};
use rand::RngExt;

/// A vector of d elements with scales.
#[derive(Clone, Copy)]
pub struct Operand {
    pub format: Format,
    pub scale: Scale,
    pub d: usize,
    /// Format of an element times its scale.
    pub product: Format,
}

/// The operands of queries, keys and values.
pub fn operands(config: &CoreConfig) -> [Operand; 3] {
    let (f, s, p) = (config.formats(), config.scales(), config.products());
    let of = |format, scale, d, product| Operand { format, scale, d, product };
    [of(f.q, s.q, config.d, p.q), of(f.k, s.k, config.d, p.k), of(f.v, s.v, config.dv(), p.v)]
}

/// A scale, `significand 2^exponent`; `bad`: it makes the query invalid.
struct Number {
    significand: i128,
    exponent: i32,
    bad: bool,
}

impl Operand {
    /// Bits of a scale, and how many elements share one.
    fn shape(self) -> (u32, usize) {
        match self.scale {
            Scale::None => (0, self.d),
            Scale::Row | Scale::RowQ16 => (16, self.d),
            Scale::RowE8m0 => (8, self.d),
            Scale::Mx => (8, 32),
            Scale::Nvfp4 => (8, 16),
        }
    }

    /// Appends random scales to each vector: most at or below one, some of any kind.
    pub fn with_scales(self, rng: &mut Rng, elements: Vec<u64>) -> Vec<u64> {
        let (bits, shared) = self.shape();
        if bits == 0 {
            return elements;
        }
        let mut scale = || match (self.scale, rng.random_range(0..8)) {
            (Scale::Row, 0) => rng.random::<u128>() & 0xffff,
            (Scale::Row, 1) => {
                [0, 1, 0x7f, 0x80, 0x7f7f, 0x7f80, 0x7fff, 0x8000, 0xbf80][rng.random_range(0..9)]
            }
            (Scale::Row, _) => rng.random_range(0x3a00..0x3f00),
            (Scale::RowQ16, 1) => [0, 1, 2, 0x2000, 0x7fff, 0x8000, 0xffff][rng.random_range(0..7)],
            (Scale::RowQ16, _) => (rng.random::<u128>() & 0xffff) >> rng.random_range(0..16),
            (Scale::Nvfp4, 0) => rng.random::<u128>() & 0xff,
            (Scale::Nvfp4, 1) => [0, 1, 7, 8, 0x7e, 0x7f, 0x80, 0x81, 0xff][rng.random_range(0..9)],
            (Scale::Nvfp4, _) => rng.random_range(0x20..0x48),
            (_, 0) => rng.random::<u128>() & 0xff,
            (_, 1) => [0, 1, 0xfe, 0xff][rng.random_range(0..4)],
            _ => rng.random_range(112..130),
        };
        let width = self.format.width();
        let mut all = Vec::new();
        for row in elements.chunks(self.d) {
            all.extend(row);
            // The scales as one string of bits, cut into words.
            let mut low: Vec<bool> = Vec::new();
            for _ in 0..self.d.div_ceil(shared) {
                let scale = scale();
                low.extend((0..bits).map(|bit| scale >> bit & 1 == 1));
            }
            for word in low.chunks(width as usize) {
                all.push(word.iter().rev().fold(0, |bits, &bit| bits << 1 | u64::from(bit)));
            }
        }
        all
    }

    /// The scale of an element.
    fn number(self, row: &[u64], element: usize) -> Number {
        let ((bits, shared), width) = (self.shape(), self.format.width());
        let place = (element / shared) as u32 * bits;
        let bit = |i: u32| row[self.d + (i / width) as usize] >> (i % width) & 1;
        let x = (place..place + bits).rev().fold(0i128, |all, i| all << 1 | i128::from(bit(i)));
        match self.scale {
            Scale::None => Number { significand: 1, exponent: 0, bad: false },
            Scale::Row => {
                let (sign, field) = (x >> 15, x >> 7 & 255);
                let bad = sign == 1 || field == 255;
                let significand = if bad || field == 0 { 0 } else { 128 + x % 128 };
                Number { significand, exponent: field as i32 - 134, bad }
            }
            // The leading one at bit 15; 0 is 2^16.
            Scale::RowQ16 => {
                let x = if x == 0 { 1 << 16 } else { x };
                let places = x.ilog2() as i32 - 15;
                let significand = if places > 0 { x >> 1 } else { x << -places };
                Number { significand, exponent: places - 16, bad: false }
            }
            Scale::RowE8m0 | Scale::Mx => {
                let bad = x == 255;
                Number { significand: i128::from(!bad), exponent: x as i32 - 127, bad }
            }
            Scale::Nvfp4 => {
                let (field, fraction) = (x >> 3 & 15, x & 7);
                let bad = x > 0x80 || x == 0x7f;
                let significand = if bad { 0 } else { fraction + if field > 0 { 8 } else { 0 } };
                Number { significand, exponent: field.max(1) as i32 - 10, bad }
            }
        }
    }

    /// Whether a vector makes a query invalid.
    pub fn is_special(self, row: &[u64]) -> bool {
        (0..self.d).any(|i| self.format.is_special(row[i]) || self.number(row, i).bad)
    }

    /// The elements of a vector times their scales, without the significands of bf16 scales, as encodings of `product`.
    pub fn products(self, row: &[u64]) -> Vec<u64> {
        if self.product == self.format {
            return row[..self.d].to_vec();
        }
        let element = |i: usize| {
            let Dyadic { mantissa, exponent } = Dyadic::of(self.format, row[i]);
            let Number { significand, exponent: scale, .. } = self.number(row, i);
            let (by, scale) = match self.scale {
                // The power of two of 1.f.
                Scale::Row => (i128::from(significand > 0), scale + 7),
                Scale::RowQ16 => (1, scale + 15),
                Scale::Mx if self.format.is_integer() => (significand, scale - 6),
                _ => (significand, scale),
            };
            let negative = row[i] >> (self.format.width() - 1) == 1 && !self.format.is_special(row[i]);
            let sign = u64::from(negative) << (self.product.width() - 1);
            let magnitude = (mantissa * by).unsigned_abs();
            if magnitude == 0 {
                return sign;
            }
            // Moves the leading one to the place of the hidden bit.
            let places = self.product.fraction_bits as i32 - magnitude.ilog2() as i32;
            let significand = if places < 0 { magnitude >> -places } else { magnitude << places };
            let field = exponent + scale - places + self.product.fraction_bits as i32 + self.product.bias;
            let fraction = significand as u64 & ((1 << self.product.fraction_bits) - 1);
            sign | (field as u64) << self.product.fraction_bits | fraction
        };
        (0..self.d).map(element).collect()
    }
}

impl Scalar<'_> {
    /// The product of both vectors' scales and `log2(e)`: 24 bits, and the exponent of a power of two that multiplies
    /// them.
    fn multiplier(&self, q: &[u64], k: &[u64]) -> (i128, i32) {
        let [of_q, of_k, _] = operands(self.config);
        // Fifteen fraction bits for each scale, also for a power of two.
        let part = |operand: Operand, row: &[u64]| match operand.scale {
            Scale::Row => {
                let Number { significand, exponent, .. } = operand.number(row, 0);
                (significand << 8, exponent - 8)
            }
            Scale::RowQ16 => {
                let Number { significand, exponent, .. } = operand.number(row, 0);
                (significand, exponent)
            }
            Scale::RowE8m0 if self.n.is_exact() => {
                let Number { significand, exponent, .. } = operand.number(row, 0);
                (significand << 15, exponent - 15)
            }
            _ => (1 << 15, -15),
        };
        let ((mq, eq), (mk, ek)) = (part(of_q, q), part(of_k, k));
        // At most 50 bits, of which the lowest 26 are rounded away.
        (round_half_up(mq * mk * i128::from(LOG2E), 26), 26 - LOG2E_FRACTION as i32 + eq + ek)
    }

    /// The score of integers: the exact dot product times the multiplier of 24 bits, rounded once.
    pub(super) fn exact_score(&self, q: &[u64], k: &[u64]) -> (i128, bool) {
        let (d, f) = (self.config.d, self.config.formats());
        let number = |format, bits| Dyadic::of(format, bits).mantissa;
        let dot: i128 = q[..d].iter().zip(&k[..d]).map(|(&q, &k)| number(f.q, q) * number(f.k, k)).sum();
        let (multiplier, exponent) = self.multiplier(q, k);
        let limit = (1i128 << (self.n.score_integer + self.score_fraction())) - 1;
        let unit = f.q.integer_fraction() + f.k.integer_fraction();
        let exponent = exponent - unit + self.n.score_shift + self.score_fraction() as i32;
        // With a left shift of 60 everything but zero saturates.
        within(round_half_up(dot * multiplier, -exponent.min(60)), limit)
    }

    /// The natural score times the multiplier of 24 bits, rounded once.
    pub(super) fn multiplied_score(&self, natural: i128, q: &[u64], k: &[u64]) -> (i128, bool) {
        let (multiplier, _) = self.multiplier(q, k);
        let limit = (1i128 << (self.n.score_integer + self.score_fraction())) - 1;
        // Fraction bits: 15 of each significand and log2(e)'s, minus the 26 that are rounded away.
        let places = (30 + LOG2E_FRACTION - 26 + self.n.natural_fraction() - self.score_fraction()) as i32;
        within(round_half_up(natural * multiplier, places), limit)
    }
}

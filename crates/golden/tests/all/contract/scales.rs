//! Integers with scales, in wide integers.

use super::scalar::{Scalar, round_half_up};
use crate::common::Dyadic;
use flashd_spec::config::CoreConfig;
use flashd_spec::numerics::{LOG2E, LOG2E_FRACTION};
use rand::RngExt;

/// Rows with a scale behind each: mostly near one over the largest integer, some of any kind.
pub fn with_scales(rng: &mut crate::common::Rng, config: &CoreConfig, elements: &[u64]) -> Vec<u64> {
    let width = config.format.width();
    let words = (config.key_words() - config.d) as u32;
    assert_eq!(words * width, 16, "a scale is a bf16 number");
    let row = |row: &[u64]| {
        let scale: u64 = match rng.random_range(0..8) {
            0 => rng.random::<u64>() & 0xffff,
            1 => [0, 1, 0x7f, 0x80, 0x7f7f, 0x7f80, 0x7fff, 0x8000, 0xbf80][rng.random_range(0..9)],
            _ => rng.random_range(0x3a00..0x3e00),
        };
        let words = (0..words).map(|word| scale >> (word * width) & ((1 << width) - 1));
        row.iter().copied().chain(words).collect::<Vec<u64>>()
    };
    elements.chunks(config.d).flat_map(row).collect()
}

/// The number that a row's scale is, `significand 2^exponent`, and whether it is none that a scale may be.
pub fn scale_of(config: &CoreConfig, row: &[u64]) -> (i128, i32, bool) {
    let words = row[config.d..].iter().rev();
    let bits = words.fold(0i128, |bits, &word| bits << config.format.width() | i128::from(word));
    let (sign, field) = (bits >> 15, bits >> 7 & 255);
    let bad = sign == 1 || field == 255;
    (if bad || field == 0 { 0 } else { 128 + bits % 128 }, field as i32 - 134, bad)
}

impl Scalar<'_> {
    /// Integers, multiplied and added exactly, times both scales and `log2(e)` in 16 bits, rounded once.
    pub(super) fn scaled_score(&self, q: &[u64], k: &[u64]) -> i128 {
        let d = self.config.d;
        let number = |bits| Dyadic::of(self.config.format, bits).mantissa;
        let dot: i128 = q[..d].iter().zip(&k[..d]).map(|(&q, &k)| number(q) * number(k)).sum();
        let ((mq, eq, _), (mk, ek, _)) = (scale_of(self.config, q), scale_of(self.config, k));
        // 31 bits at most, of which the lowest 15 are rounded away.
        let multiplier = round_half_up(mq * mk * i128::from(LOG2E), 15);
        let limit = (1i128 << (self.n.score_integer + self.score_fraction())) - 1;
        let exponent =
            15 - LOG2E_FRACTION as i32 + eq + ek + self.n.score_shift + self.score_fraction() as i32;
        // So far left everything that is not zero saturates.
        round_half_up(dot * multiplier, -exponent.min(60)).clamp(-limit, limit)
    }
}

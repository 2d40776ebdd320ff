//! Queries and keys with scales, integers of 8 or 4 bits.

use super::data::Operand;
use flashd_spec::config::CoreConfig;
use flashd_spec::format::Format;
use flashd_workload::{round_to, scale_words};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Exponents of random scales below that of one.
const BELOW: std::ops::Range<u64> = 0..14;

/// The words of integers with a scale behind them.
fn words(config: &CoreConfig, integers: [i64; 2], scale: f64) -> Vec<u64> {
    let format = config.format;
    let mut row = vec![0; config.d];
    for (x, n) in row.iter_mut().zip(integers) {
        *x = format.signed(n.unsigned_abs(), n < 0);
    }
    row.extend(scale_words(round_to(Format::BF16, scale), format.width()));
    row
}

/// The query to which [`key`] gives scores: its first element weighs as much as the largest integer times the second.
pub(super) fn query(config: &CoreConfig) -> Vec<u64> {
    let most = config.format.max_finite() as i64;
    words(config, [most, 1], f64::from(-config.score_shift()).exp2())
}

/// A key of this natural score, as near as two integers and a power of two can bring it.
pub(super) fn key(config: &CoreConfig, score: f64) -> Vec<u64> {
    let most = config.format.max_finite() as i64;
    let largest = (most * most) as f64;
    let unit = (score.abs().max(1e-6) / largest).log2().ceil().exp2();
    let n = (score / unit).round() as i64;
    let high = (n as f64 / most as f64).round() as i64;
    words(config, [high, n - high * most], unit)
}

/// Elements of vectors with scales behind them: mostly at or below one, some of any exponent, and now and then one that no scale may be.
pub(super) fn with_scales(operand: Operand, elements: &[u64], rng: &mut ChaCha8Rng) -> Vec<u64> {
    let (format, one) = (Format::BF16, Format::BF16.one());
    let mut scale = || match rng.random_range(0..16) {
        0 => rng.random::<u64>() & (2 * format.sign_bit() - 1),
        1 => [0, 1, format.min_positive(), format.max_finite(), format.max_finite() + 1, format.sign_bit()]
            [rng.random_range(0..6)],
        2 => rng.random_range(0..=format.max_finite()),
        _ => {
            let fraction = rng.random::<u64>() & format.fraction_mask();
            one - (rng.random_range(BELOW) << format.fraction_bits) + fraction
        }
    };
    let rows = elements.chunks(operand.d);
    let with = |row: &[u64]| {
        row.iter().copied().chain(scale_words(scale(), operand.format.width())).collect::<Vec<_>>()
    };
    rows.flat_map(with).collect()
}

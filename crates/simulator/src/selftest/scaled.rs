//! Vectors with scales.

use super::vectors::RowSpec;
use flashd_spec::bits::{ones, pack};
use flashd_spec::config::CoreConfig;
use flashd_spec::format::{Format, Scale, ScaleFormat};
use flashd_workload::round_to;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Exponents of random scales below that of one.
const BELOW: std::ops::Range<u64> = 0..14;
/// Largest scores of keys without scales: the next power of two above the saturation limit.
const REACH: f64 = 1024.0;

/// Encodes integers, followed by the nearest available scale to `by`.
fn words(format: Format, scale: Scale, d: usize, integers: [i64; 2], by: f64) -> Vec<u64> {
    let mut row = vec![0; d];
    for (x, n) in row.iter_mut().zip(integers) {
        *x = format.signed(n.unsigned_abs(), n < 0);
    }
    if let Some(encoding) = scale.format() {
        let bits = match encoding.float() {
            Some(float) => round_to(float, by),
            None if encoding == ScaleFormat::Q16 => nearest_q16(by),
            None => (by.log2().round() as i32 + ScaleFormat::E8M0_BIAS).clamp(0, 254) as u64,
        };
        row.extend(pack(&[bits], encoding.bits(), format.width()));
    }
    row
}

/// The nearest Q0.16 number, at most 1; see [`ScaleFormat::Q16`].
fn nearest_q16(by: f64) -> u64 {
    let units = (by * 65536.0).round().clamp(1.0, 65536.0) as u64;
    units & ones(ScaleFormat::Q16.bits())
}

/// The query's first element, the largest integer of keys, and the scale of keys without scales. The first element is limited,
/// so that a key's second element can give the remainder of its first.
fn largest(config: &CoreConfig) -> ([i64; 2], f64) {
    let formats = config.formats();
    let [q, k] = [formats.q, formats.k].map(|format| format.max_finite() as i64);
    let most = [q.min(2 * k), k];
    let unit = (REACH / (most[0] * most[1]) as f64).log2().floor().exp2();
    (most, if config.scales().k == Scale::None { unit } else { 1.0 })
}

/// The query of integers to which [`key`] gives scores: its first element weighs as much as some integer times the second.
pub(super) fn query(config: &CoreConfig) -> Vec<u64> {
    let ([most, _], unit) = largest(config);
    let by = f64::from(-config.score_shift()).exp2() * unit;
    words(config.formats().q, config.scales().q, config.d, [most, 1], by)
}

/// A key of integers with this natural score, as near as two integers and a power of two can bring it.
pub(super) fn key(config: &CoreConfig, score: f64) -> Vec<u64> {
    let ([q, most], fixed) = largest(config);
    let largest = (q * most) as f64;
    let unit = match config.scales().k {
        Scale::None => fixed,
        _ => (score.abs().max(1e-6) / largest).log2().ceil().exp2(),
    };
    let n = (score / unit).round().clamp(-largest, largest) as i64;
    let high = (n as f64 / q as f64).round() as i64;
    words(config.formats().k, config.scales().k, config.d, [high, n - high * q], unit)
}

/// A scale: mostly at or below one, some of any exponent, and now and then one that no scale may be.
fn any_scale(encoding: ScaleFormat, rng: &mut ChaCha8Rng) -> u64 {
    let all = ones(encoding.bits());
    let Some(format) = encoding.float() else {
        if encoding == ScaleFormat::Q16 {
            return match rng.random_range(0..8) {
                0 => [0, 1, 2, 0x7fff, 0x8000, all][rng.random_range(0..6)],
                _ => (rng.random::<u64>() & all) >> rng.random_range(BELOW),
            };
        }
        return match rng.random_range(0..16) {
            0 => rng.random::<u64>() & all,
            1 => [0, 1, all - 1, all][rng.random_range(0..4)],
            _ => encoding.one() - rng.random_range(BELOW),
        };
    };
    match rng.random_range(0..16) {
        0 => rng.random::<u64>() & all,
        1 => [0, 1, format.min_positive(), format.max_finite(), format.max_finite() + 1, format.sign_bit()]
            [rng.random_range(0..6)],
        2 => rng.random_range(0..=format.max_finite()),
        _ => {
            let fraction = rng.random::<u64>() & format.fraction_mask();
            let below = rng.random_range(BELOW).min(format.bias as u64 - 1);
            format.one() - (below << format.fraction_bits) + fraction
        }
    }
}

/// Appends scales to the elements of vectors, if the format has scales.
pub(super) fn with_scales(operand: RowSpec, elements: Vec<u64>, rng: &mut ChaCha8Rng) -> Vec<u64> {
    let RowSpec { format, d, scale } = operand;
    let Some(encoding) = scale.format() else { return elements };
    let mut all = Vec::with_capacity(elements.len() / d * (d + scale.words(format, d)));
    for row in elements.chunks(d) {
        let numbers: Vec<u64> = (0..scale.count(d)).map(|_| any_scale(encoding, rng)).collect();
        all.extend(row);
        all.extend(pack(&numbers, encoding.bits(), format.width()));
    }
    all
}

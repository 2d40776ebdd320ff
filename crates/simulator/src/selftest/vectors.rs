//! What vectors are made of, and kinds of them.

use flashd_spec::bits::ones;
use flashd_spec::config::CoreConfig;
use flashd_spec::format::{Encodings, Format, Scale};
use flashd_workload::round_value;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Exponents at an end of the format.
pub(super) const END: u64 = 12;

/// What vectors are made of: a format, d elements, and what multiplies them.
#[derive(Clone, Copy)]
pub(super) struct RowSpec {
    pub(super) format: Format,
    pub(super) d: usize,
    pub(super) scale: Scale,
}

impl RowSpec {
    pub(super) fn queries_and_keys(config: &CoreConfig) -> (RowSpec, RowSpec) {
        let (Encodings { formats, scales }, d) = (config.encodings(), config.d);
        (RowSpec { format: formats.q, d, scale: scales.q }, RowSpec { format: formats.k, d, scale: scales.k })
    }

    pub(super) fn values(config: &CoreConfig) -> RowSpec {
        RowSpec { format: config.formats().v, d: config.dv(), scale: config.scales().v }
    }
}

/// Vectors whose elements come from the lowest exponents of the format, or from the highest ones.
pub(super) fn end(
    RowSpec { format, d, .. }: RowSpec,
    pool: usize,
    low: bool,
    octaves: u64,
    rng: &mut ChaCha8Rng,
) -> Vec<u64> {
    let mut element = || {
        let exponent = rng.random_range(0..=octaves.min(format.exponent_mask()));
        with_exponent(format, if low { exponent } else { format.exponent_mask() - exponent }, rng)
    };
    (0..pool * d).map(|_| element()).collect()
}

/// A number of this exponent field, or the largest one.
pub(super) fn with_exponent(format: Format, exponent: u64, rng: &mut ChaCha8Rng) -> u64 {
    let magnitude = exponent << format.fraction_bits | (rng.random::<u64>() & ones(format.fraction_bits));
    format.signed(magnitude.min(format.max_finite()), rng.random())
}

/// What numbers around one are multiplied by so that a format has places for them.
pub(super) fn fill(format: Format) -> f64 {
    if format.is_integer() { format.value(format.max_finite()) / 4.0 } else { 1.0 }
}

/// A number as the format has it.
pub(super) fn format_value(format: Format, x: f32) -> f32 {
    round_value(format, f64::from(x)) as f32
}

/// Vectors of raw encodings: any exponent, close exponents, corner cases, and in one vector of eight Inf and NaN.
pub(super) fn raw(RowSpec { format, d, .. }: RowSpec, pool: usize, rng: &mut ChaCha8Rng) -> Vec<u64> {
    let magnitudes = format.sign_bit() - 1;
    let corners = [
        0,
        1,
        format.one() - 1,
        format.one(),
        format.one() + 1,
        format.max_finite(),
        format.min_positive(),
        (1 << format.fraction_bits) - 1,
        1 << format.fraction_bits,
    ];
    let mut elements = Vec::with_capacity(pool * d);
    for _ in 0..pool {
        let kind = rng.random_range(0..8);
        for _ in 0..d {
            let magnitude = match (kind, rng.random_range(0..4)) {
                (0..=2, _) | (3, 0) => {
                    // Within some octaves of one: terms that meet in a sum.
                    let spread = rng.random_range(-6i64..6) << format.fraction_bits;
                    let near = format.one() as i64
                        + spread
                        + (rng.random::<u64>() & ones(format.fraction_bits)) as i64;
                    near.clamp(0, format.max_finite() as i64) as u64
                }
                (3..=5, 0 | 1) => corners[rng.random_range(0..corners.len())],
                // Inf or NaN where the format has them, a NaN else: in one element of several.
                (7, 0) if rng.random() => {
                    let specials = magnitudes - format.max_finite();
                    match specials {
                        0 => magnitudes,
                        n => format.max_finite() + rng.random_range(1..=n),
                    }
                }
                _ => rng.random::<u64>() & magnitudes,
            };
            let negative = rng.random();
            // The lowest integer, which counts as the one above it.
            if format.is_integer() && (3..=5).contains(&kind) && rng.random_ratio(1, 16) {
                elements.push(format.sign_bit());
                continue;
            }
            let bits = format.signed(magnitude, negative);
            elements.push(if kind < 7 && format.is_special(bits) {
                format.signed(format.max_finite(), negative)
            } else {
                bits
            });
        }
    }
    elements
}

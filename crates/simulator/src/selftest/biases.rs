//! Biases for the scores of a query's keys.

use super::vectors::{RowSpec, raw};
use flashd_spec::bits::ones;
use flashd_spec::config::CoreConfig;
use flashd_spec::format::Scale;
use flashd_spec::numerics::BIAS;
use flashd_workload::round_to;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Biases of `keys` keys, encodings of [`BIAS`]; none for cores without. Kinds: zeros, a slope as in ALiBi, numbers as large as scores,
/// numbers from below the score's last place to beyond its limits, masks of large negative numbers, and encodings of any kind.
///
/// Inf and NaN are in one query of some, and wherever `masked` says that a key is not seen.
pub(crate) fn biases(config: &CoreConfig, keys: usize, masked: &[bool], rng: &mut ChaCha8Rng) -> Vec<u64> {
    if !config.bias {
        return Vec::new();
    }
    let sign = |rng: &mut ChaCha8Rng| if rng.random() { 1.0 } else { -1.0 };
    let limit = f64::from(config.score_integer_bits);
    let least = -f64::from(config.score_fraction()) - 4.0;
    let round = |x: f64| round_to(BIAS, x);
    let mut biases: Vec<u64> = match rng.random_range(0..8) {
        0 | 1 => vec![0; keys],
        2 => {
            let slope = f64::from(-rng.random_range(1..=8)).exp2();
            (0..keys).map(|key| round(-slope * (keys - 1 - key) as f64)).collect()
        }
        3 => (0..keys).map(|_| round(rng.random_range(-8.0..8.0))).collect(),
        4 => (0..keys).map(|_| round(sign(rng) * rng.random_range(least..limit + 2.0).exp2())).collect(),
        // Ties and their neighbours: few bits, around the last place.
        5 => (0..keys).map(|_| round(f64::from(rng.random_range(-24..=24)) * (least + 2.0).exp2())).collect(),
        6 => {
            let hides = [-1e4, -3e38, -(limit.exp2())][rng.random_range(0..3)];
            (0..keys).map(|_| if rng.random() { round(hides) } else { 0 }).collect()
        }
        // Vectors of one element: a key's, with Inf and NaN among them.
        _ => raw(RowSpec { format: BIAS, d: 1, scale: Scale::None }, keys, rng),
    };
    for (bias, _) in biases.iter_mut().zip(masked).filter(|(_, masked)| **masked) {
        if rng.random() {
            *bias = rng.random::<u64>() & ones(BIAS.width());
        }
    }
    biases
}

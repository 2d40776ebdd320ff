//! The values of a round.

use super::scaled::with_scales;
use super::scores::RoundScores;
use super::vectors::{END, RowSpec, end, fill, raw, with_exponent};
use flashd_spec::config::CoreConfig;
use flashd_workload::{round_to, synthetic};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use std::ops::RangeInclusive;

/// Values that follow others.
const FOLLOWS: RangeInclusive<f64> = 1e-9..=500.0;
/// The largest exponent field of small values.
const SMALL: u64 = 40;

/// Values of a kind of round: as in trained models, of any kind, from an end of the format, a single bit each, of any place, small ones
/// after zeros, or such that sums cancel.
pub(super) fn values(
    config: &CoreConfig,
    kind: RoundScores,
    pool: usize,
    scores: &[f32],
    rng: &mut ChaCha8Rng,
) -> Vec<u64> {
    let operand = RowSpec::values(config);
    let RowSpec { format, d, .. } = operand;
    let elements = match (kind, rng.random_range(0..3)) {
        (RoundScores::Raw, _) => raw(operand, pool, rng),
        (RoundScores::Ends, which) => end(operand, pool, which == 0, END, rng),
        // After a weight of next to nothing, the largest values leave as little as the smallest ones bring.
        (RoundScores::Jumps, 2) => {
            let (low, high) = (end(operand, pool, true, 2, rng), end(operand, pool, false, 2, rng));
            low.into_iter().zip(high).map(|(low, high)| if rng.random() { low } else { high }).collect()
        }
        (_, 1) if !scores.is_empty() => followers(operand, scores, rng),
        (RoundScores::Octaves | RoundScores::Edges, 2) => after_zeros(operand, pool, rng),
        // Sums and halves of such values have few bits: each shows in a rounding.
        (RoundScores::Jumps | RoundScores::Equal | RoundScores::Octaves, 0) => {
            let mut bit = || {
                let power = rng.random_range(-26..=2) as f64;
                let ulp = if rng.random_ratio(1, 4) { rng.random_range(0.0..1.0) } else { 0.0 };
                let sign = if rng.random() { 1.0 } else { -1.0 };
                round_to(format, sign * (1.0 + ulp) * power.exp2() * fill(format))
            };
            (0..pool * d).map(|_| bit()).collect()
        }
        _ => {
            let a = synthetic::attention_like(rng.random(), 1, pool, d);
            a.v.iter().map(|&x| round_to(format, f64::from(x) * fill(format))).collect()
        }
    };
    with_scales(operand, elements, rng)
}

/// Values that depend on earlier ones through their weighted terms v exp(s). A value cancels the last independent term, so that low
/// bits of a weight, a product or a sum become high bits of a result; or it extends the term from octaves below; or it is independent.
fn followers(RowSpec { format, d, .. }: RowSpec, scores: &[f32], rng: &mut ChaCha8Rng) -> Vec<u64> {
    let mut v = vec![0; scores.len() * d];
    for element in 0..d {
        let (mut own, mut score_then) = (0.0, 0.0);
        for (row, &score) in scores.iter().enumerate() {
            let weighted = own * f64::from(score_then - score).exp();
            let value = match rng.random_range(0..4) {
                0 => 0.0,
                1 | 2 => -weighted,
                _ => {
                    let there = weighted * f64::from(rng.random_range(-30.0..0.0f32)).exp2();
                    if rng.random() { there.abs().log2().floor().exp2() } else { -there }
                }
            };
            let value = if FOLLOWS.contains(&value.abs()) {
                value
            } else {
                (own, score_then) =
                    (rng.random_range(1.0..4.0) * if rng.random() { 1.0 } else { -1.0 }, score);
                own
            };
            v[row * d + element] = round_to(format, value);
        }
    }
    v
}

/// Zeros and small numbers in runs: a sum that is zero meets a term whose exponent is no larger than the distances that an adder
/// shifts by, so that nothing but the zero's own hidden and sticky bits keep it out of the rounding.
fn after_zeros(RowSpec { format, d, .. }: RowSpec, pool: usize, rng: &mut ChaCha8Rng) -> Vec<u64> {
    let mut runs = vec![(false, 0); d];
    let mut element = |(zero, left): &mut (bool, usize)| {
        if *left == 0 {
            (*zero, *left) = (rng.random(), rng.random_range(1..=4));
        }
        *left -= 1;
        if *zero {
            0
        } else {
            with_exponent(format, rng.random_range(0..=SMALL.min(format.exponent_mask())), rng)
        }
    };
    (0..pool).flat_map(|_| runs.iter_mut().map(&mut element).collect::<Vec<_>>()).collect()
}

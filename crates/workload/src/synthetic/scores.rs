//! Streams with prescribed scores: one query, and keys that are a number along the first axis.

use super::source::RandomSource;
use crate::tensor::Attention;

/// One query and a key for each score; the values are Gaussian.
///
/// `q = sqrt(d) e_0` and `k_j = s_j e_0`, so that `q . k_j / sqrt(d) = s_j`.
fn with_scores(source: &mut RandomSource, d: usize, scores: impl Iterator<Item = f64>) -> Attention {
    assert!(d > 0, "a row needs at least one element");
    let mut q = vec![0.0; d];
    q[0] = (d as f64).sqrt() as f32;
    let mut k = Vec::new();
    for score in scores {
        k.push(score as f32);
        k.extend(std::iter::repeat_n(0.0, d - 1));
    }
    let keys = k.len() / d;
    let v = source.gaussians(keys * d).into_iter().map(|x| x as f32).collect();
    Attention::new(d, q, k, v)
}

/// All scores equal: the result is the mean of the values, and every key weighs 1/keys.
///
/// One Gaussian query and one Gaussian key, repeated; values are Gaussian, standard deviation 1, with [`odd_means`]: the sum of an even channel grows with
/// the square root of the number of keys, the sum of an odd channel with the number itself.
pub fn equal_scores(seed: u64, keys: usize, d: usize) -> Attention {
    let mut source = RandomSource::new(seed);
    let mut row = |n: usize| -> Vec<f32> { source.gaussians(n).into_iter().map(|x| x as f32).collect() };
    let (q, key) = (row(d), row(d));
    let mut v = row(keys * d);
    odd_means(&mut v, d);
    Attention::new(d, q, key.repeat(keys), v)
}

/// Gives the values' odd channels a mean of 3: three standard deviations, so that nearly all of a channel have one sign.
pub fn odd_means(v: &mut [f32], d: usize) {
    v.chunks_exact_mut(d).flat_map(|row| row.iter_mut().skip(1).step_by(2)).for_each(|v| *v += 3.0);
}

/// Scores that jump up and down by `jump` from key to key: 0, jump, 0, jump, ... minus half a jump.
///
/// Every difference of neighbouring scores is beyond the active range of a sigmoid when `jump` is 50. Values are
/// Gaussian.
pub fn score_jumps(seed: u64, keys: usize, d: usize, jump: f64) -> Attention {
    let score = |j: usize| {
        if j.is_multiple_of(2) { -0.5 * jump } else { 0.5 * jump }
    };
    with_scores(&mut RandomSource::new(seed), d, (0..keys).map(score))
}

/// Long runs of keys that weigh nothing: a key of score 0, then `run - 1` keys of score -20 to -40, over and over.
///
/// The light scores are multiples of 1/4, uniform. They lie 20 or more below the log-sum-exp, so that every one
/// of them may be held. Values are Gaussian.
///
/// # Panics
/// If `run` is 0.
pub fn long_holds(seed: u64, keys: usize, d: usize, run: usize) -> Attention {
    assert!(run > 0, "a run has at least one key");
    let mut source = RandomSource::new(seed);
    let light: Vec<f64> = (0..keys).map(|_| -20.0 - source.below(81) as f64 / 4.0).collect();
    let scores = light.into_iter().enumerate().map(|(j, light)| if j % run == 0 { 0.0 } else { light });
    with_scores(&mut source, d, scores)
}

/// Scores at and beyond the range of a fixed-point score that saturates at `+-limit`.
///
/// Each is one of 0, 1/2, 255/256, 1, 257/256, 2 and 4 times the limit, of either sign, uniform; the first is
/// beyond the upper limit and the second beyond the lower one. Values are Gaussian.
pub fn saturating_scores(seed: u64, keys: usize, d: usize, limit: f64) -> Attention {
    const MULTIPLES: [f64; 7] = [0.0, 0.5, 255.0 / 256.0, 1.0, 257.0 / 256.0, 2.0, 4.0];
    let mut source = RandomSource::new(seed);
    let drawn: Vec<f64> = (0..keys)
        .map(|j| match j {
            0 => 2.0 * limit,
            1 => -2.0 * limit,
            _ => {
                let sign = if source.below(2) == 0 { 1.0 } else { -1.0 };
                sign * MULTIPLES[source.below(MULTIPLES.len())] * limit
            }
        })
        .collect();
    with_scores(&mut source, d, drawn.into_iter())
}

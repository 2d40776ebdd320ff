//! The data of a round: queries and keys. Values: [`super::values`].

use super::scaled::{self, with_scales};
use super::scores::{RoundScores, STRETCH};
use super::values::values;
use super::vectors::{END, RowSpec, end, fill, format_value, raw, with_exponent};
use flashd_spec::config::CoreConfig;
use flashd_spec::format::Scale;
use flashd_workload::{RowEncoding, ScaleRule, synthetic};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Axes that a score is spread over; each takes the rounding error of the previous ones.
const AXES: usize = 4;

/// Queries, keys and values of a round, a pool of each, row-major.
pub(super) struct RoundOperands {
    pub(super) q: Vec<u64>,
    pub(super) k: Vec<u64>,
    pub(super) v: Vec<u64>,
}

impl RoundOperands {
    pub(super) fn new(config: &CoreConfig, round: usize, pool: usize, rng: &mut ChaCha8Rng) -> RoundOperands {
        let kind = RoundScores::of(round);
        let scores = kind.draw(config, pool, rng);
        let (q, k) = queries_and_keys(config, kind, pool, &scores, rng);
        let v = values(config, kind, pool, &scores, rng);
        RoundOperands { q, k, v }
    }
}

/// Queries and keys of a kind of round; with `scores`, the keys give these, whatever the query.
fn queries_and_keys(
    config: &CoreConfig,
    kind: RoundScores,
    pool: usize,
    scores: &[f32],
    rng: &mut ChaCha8Rng,
) -> (Vec<u64>, Vec<u64>) {
    let (queries, keys) = RowSpec::queries_and_keys(config);
    let d = queries.d;
    let exact = config.encodings().is_exact();
    let has_integers = queries.format.is_integer() || keys.format.is_integer();
    let encode = |RowSpec { format, scale, .. }: RowSpec, x: &[f32], factor: f64| -> Vec<u64> {
        let fill = if scale == Scale::None { fill(format) } else { 1.0 };
        let scaled: Vec<f64> = x.iter().map(|&x| f64::from(x) * factor * fill).collect();
        let encoding = RowEncoding { format, scale, rule: ScaleRule::default() };
        scaled.chunks(d).flat_map(|row| encoding.encode(row).0).collect()
    };
    match kind {
        RoundScores::Trained => {
            let a = synthetic::attention_like(rng.random(), pool, pool, d);
            let factor = [0.25, 1.0, 4.0, 16.0][rng.random_range(0..4)];
            (encode(queries, &a.q, factor), encode(keys, &a.k, 1.0))
        }
        RoundScores::Raw => {
            let (q, k) = (raw(queries, pool, rng), raw(keys, pool, rng));
            (with_scales(queries, q, rng), with_scales(keys, k, rng))
        }
        RoundScores::Equal => {
            let a = synthetic::equal_scores(rng.random(), pool, d);
            (encode(queries, &a.q.repeat(pool), 1.0), encode(keys, &a.k, 1.0))
        }
        RoundScores::Ends if !has_integers && rng.random() => {
            let (q, k) = complements(queries, keys, pool, rng);
            (with_scales(queries, q, rng), with_scales(keys, k, rng))
        }
        RoundScores::Ends => {
            let low = rng.random();
            let (q, k) = (end(queries, pool, low, END, rng), end(keys, pool, !low, END, rng));
            (with_scales(queries, q, rng), with_scales(keys, k, rng))
        }
        RoundScores::Jumps | RoundScores::Tails | RoundScores::Octaves | RoundScores::Edges if exact => {
            let keys = scores.iter().flat_map(|&score| scaled::key(config, score.into()));
            (scaled::query(config).repeat(pool), keys.collect())
        }
        RoundScores::Jumps | RoundScores::Tails | RoundScores::Octaves | RoundScores::Edges => {
            let (q, k) = spread(scores, keys, pool);
            (encode(queries, &q, 1.0), encode(keys, &k, 1.0))
        }
    }
}

/// Queries and keys with scores spread over [`AXES`].
fn spread(scores: &[f32], keys: RowSpec, pool: usize) -> (Vec<f32>, Vec<f32>) {
    let (d, axes) = (keys.d, keys.d.min(AXES));
    // The core's shift is a power of two near 1/sqrt(d); the remaining factor does not matter.
    let root = (d as f32).sqrt();
    let q = (0..pool * d).map(|i| if i % d < axes { root } else { 0.0 }).collect();
    let mut k = vec![0.0; pool * d];
    for (row, &score) in k.chunks_exact_mut(d).zip(scores) {
        let mut rest = score;
        for x in &mut row[..axes] {
            *x = format_value(keys.format, rest);
            rest -= *x;
        }
    }
    (q, k)
}

/// Queries and keys: on every axis, for some rows, one of them has an exponent field of a single bit, and the other one what brings
/// the product near one.
fn complements(queries: RowSpec, keys: RowSpec, pool: usize, rng: &mut ChaCha8Rng) -> (Vec<u64>, Vec<u64>) {
    let d = queries.d;
    let (single_format, other_format) = (queries.format, keys.format);
    // The exponent field of a product of one.
    let ones = (single_format.bias + other_format.bias) as u64;
    let mut singles = Vec::with_capacity(pool * d);
    let mut others = Vec::with_capacity(pool * d);
    let mut single = vec![1; d];
    for row in 0..pool {
        if row.is_multiple_of(STRETCH) {
            single.fill_with(|| 1 << rng.random_range(0..single_format.exponent_bits));
        }
        for &single in &single {
            let other = (ones + rng.random_range(0..8)).saturating_sub(single + 4);
            singles.push(with_exponent(single_format, single, rng));
            others.push(with_exponent(other_format, other.min(other_format.exponent_mask()), rng));
        }
    }
    let swaps = rng.random() && single_format == other_format;
    if swaps { (others, singles) } else { (singles, others) }
}

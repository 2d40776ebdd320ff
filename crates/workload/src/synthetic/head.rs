//! A synthetic head with scores as in a trained model.

use super::source::RandomSource;
use crate::tensor::Attention;

/// Directions that queries and keys share; fewer where a quarter of the head dimension is less.
const CONTENT_RANK: usize = 4;
/// Standard deviation of the score that the shared directions add.
const CONTENT_SCORE: f64 = 1.2;
/// Score that a query adds to a heavy key.
const HEAVY_SCORE: f64 = 3.0;
/// The first key is heavy, and one in this number of others.
const HEAVY_EVERY: usize = 64;
/// Magnitude of a heavy key's value, relative to the others.
const HEAVY_VALUE: f64 = 0.2;
/// Dimensions of the position signal; fewer where half of the head dimension is less.
const POSITION_RANK: usize = 8;
/// Mean score that a query adds to the key at its own position.
const LOCAL_SCORE: f64 = 3.0;
/// Correlation of the position signal from one position to the next: the bump is about 1/(1 - r) keys wide.
const POSITION_CORRELATION: f64 = 0.9;

/// A head with the traits of real ones, the same for the same seed on every machine.
///
/// The score after 1/sqrt(d) is a sum of four parts:
///
/// | part | how | score |
/// | --- | --- | --- |
/// | noise | q and k Gaussian, standard deviation 1 | standard deviation 1 |
/// | content | q and k share 4 random directions with Gaussian weights; values follow the key's weights | standard deviation 1.2 |
/// | heavy keys | the first key and one in 64 others lie along a direction that all queries have; their values are small, as those of attention sinks are | + 3 |
/// | locality | a signal that changes slowly over positions, correlation 0.9 from one to the next, is part of q and k | + 3 at the own position, a tenth of that 22 keys away |
///
/// From d = 8 on, the scores of a query over 256 keys have a standard deviation of 2 to 3, and their softmax an
/// entropy of 2.5 to 4 nats (2 to 3 under a causal mask; uniform weights have 5.5). Small trained language models
/// lie there as well: 1.8 to 2.6, and 2.2 to 2.5 nats under a causal mask, on average over their heads. Smaller d
/// crowds the directions and spreads the scores further.
///
/// Query i sits at the position of key `keys - queries + i`: the newest query sees the newest key as its own, both
/// in a square head and in a decoding step of one query.
///
/// # Panics
/// If `queries`, `keys` or `d` is 0.
pub fn attention_like(seed: u64, queries: usize, keys: usize, d: usize) -> Attention {
    assert!(queries > 0 && keys > 0 && d > 0, "a head needs queries, keys and dimensions");
    let mut source = RandomSource::new(seed);
    // A score of x takes a factor sqrt(x * sqrt(d)) in q and the same in k.
    let amplitude = |score: f64| (score * (d as f64).sqrt()).sqrt();
    let content_rank = CONTENT_RANK.min(d / 4).max(1);
    let position_rank = POSITION_RANK.min(d / 2).max(1);
    let directions = source.directions(content_rank + position_rank + 1, d);
    let (content, others) = directions.split_at(content_rank);
    let (places, heavy) = others.split_at(position_rank);
    let into_value: Vec<Vec<f64>> = (0..content_rank).map(|_| source.gaussians(d)).collect();

    let positions = queries.max(keys);
    let walk = random_walk(&mut source, positions, position_rank);
    let content_weight = amplitude(CONTENT_SCORE / (content_rank as f64).sqrt());
    let place_weight = amplitude(LOCAL_SCORE / position_rank as f64);
    let add = |row: &mut [f64], direction: &[f64], weight: f64| {
        row.iter_mut().zip(direction).for_each(|(x, u)| *x += weight * u);
    };

    let (mut q, mut k, mut v) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..queries {
        let mut row = source.gaussians(d);
        for direction in content {
            add(&mut row, direction, content_weight * source.gaussian());
        }
        add(&mut row, &heavy[0], amplitude(HEAVY_SCORE));
        for (place, x) in places.iter().zip(&walk[positions - queries + i]) {
            add(&mut row, place, place_weight * x);
        }
        q.extend(row.iter().map(|&x| x as f32));
    }
    for j in 0..keys {
        let mut key = source.gaussians(d);
        let mut value = source.gaussians(d);
        for (direction, image) in content.iter().zip(&into_value) {
            let weight = source.gaussian();
            add(&mut key, direction, content_weight * weight);
            add(&mut value, image, 0.5 * weight);
        }
        for (place, x) in places.iter().zip(&walk[positions - keys + j]) {
            add(&mut key, place, place_weight * x);
        }
        // Drawn for the first key as well, so that all that follows is the same either way.
        let chosen = source.below(HEAVY_EVERY) == 0;
        if chosen || j == 0 {
            add(&mut key, &heavy[0], amplitude(HEAVY_SCORE));
            value.iter_mut().for_each(|x| *x *= HEAVY_VALUE);
        }
        k.extend(key.iter().map(|&x| x as f32));
        v.extend(value.iter().map(|&x| x as f32));
    }
    Attention::new(d, q, k, v)
}

/// [`attention_like`] with as many queries as keys, and the first `large` channels of V `factor` times as large: language models have
/// channels that are hundreds of times the others.
///
/// # Panics
/// As [`attention_like`].
pub fn with_outlier_channels(seed: u64, keys: usize, d: usize, large: usize, factor: f64) -> Attention {
    let mut head = attention_like(seed, keys, keys, d);
    for row in head.v.chunks_exact_mut(d) {
        row[..large.min(d)].iter_mut().for_each(|v| *v = (f64::from(*v) * factor) as f32);
    }
    head
}

/// One vector for each position, of standard deviation 1, each correlated with the one before.
fn random_walk(source: &mut RandomSource, positions: usize, rank: usize) -> Vec<Vec<f64>> {
    let fresh = (1.0 - POSITION_CORRELATION * POSITION_CORRELATION).sqrt();
    let mut walk = vec![source.gaussians(rank)];
    while walk.len() < positions {
        let next = walk[walk.len() - 1].iter().map(|x| POSITION_CORRELATION * x + fresh * source.gaussian());
        let next = next.collect();
        walk.push(next);
    }
    walk
}

//! The search for the powers of two of Q and K: the ones with the smallest error of the scores.
//!
//! A core rounds after each product and each addition, in the format of its operands. Too large an exponent
//! saturates a sum, too small a one pushes elements and products into the subnormal range; both show as an error
//! of the score, and the search measures just that, on a sample.

use super::round::FormatRounding;
use super::scaling::{
    Scaling, ScalingError, ScoreScale, TensorScale, filling_exponent, range_of, v_candidates,
};
use crate::tensor::{Attention, max_abs};
use flashd_spec::format::{Encodings, Scale};
use std::collections::HashMap;

/// Queries in the sample, evenly spaced.
const SAMPLED_QUERIES: usize = 24;
/// Keys for each query in the sample, evenly spaced; the key with the largest score comes on top.
const SAMPLED_KEYS: usize = 32;
/// How far the search goes beyond, and how far it stays below, the total exponent at which the largest dot
/// product would just fill the range.
const TOTAL_RANGE: std::ops::RangeInclusive<i32> = -6..=2;
/// How uneven the headroom of Q and K may become.
const MAX_SKEW: i32 = 3;
/// The least gain of an uneven choice over an even one: less is an accident of the sample.
const WORTHWHILE: f64 = 0.95;

/// Chooses the powers of two for a head, and splits the score scale.
///
/// With [`TensorScale::Auto`] and one format of narrow range (fp8, fp16) for both, Q and K get the exponents with the
/// smallest mean error of the score over a sample of query and key pairs, every product and every addition of the
/// adder tree rounded to that format. V gets the exponent that fills the range, the first of
/// [`v_candidates`]; a core that wants headroom is better served by trying them all.
///
/// # Errors
/// A score scale that is not positive and finite, or whose power of two is beyond the core's range.
pub fn choose_scaling(
    encodings: impl Into<Encodings>,
    attention: &Attention,
    score: ScoreScale,
    tensor: TensorScale,
) -> Result<Scaling, ScalingError> {
    let encodings = encodings.into();
    let Encodings { formats, scales } = encodings;
    let unscaled = Scaling::unscaled(score, attention.d)?;
    if tensor == TensorScale::None {
        return Ok(unscaled);
    }
    let v_exponent = v_candidates(attention.max_abs_v(), encodings)[0];
    let unscaled = unscaled.with_v_exponent(v_exponent);
    let ranges = [range_of(formats.q, scales.q), range_of(formats.k, scales.k)];
    if ranges == [None; 2] {
        return Ok(unscaled);
    }
    let max_q = max_abs(&attention.q) * unscaled.q_factor;
    let max_k = max_abs(&attention.k);
    if max_q == 0.0 || max_k == 0.0 {
        return Ok(unscaled);
    }
    // Operands of two formats, integers, and those with scales go to a dot product that rounds once: each fills the range of its own.
    let alone = formats.q == formats.k && [scales.q, scales.k] == [Scale::None; 2] && !formats.q.is_integer();
    let [of_q, of_k] = ranges;
    let fill = |max: f64, range: Option<f64>| range.map_or(0, |largest| filling_exponent(max, largest));
    if !alone {
        let filled = unscaled.with_exponents(fill(max_q, of_q), fill(max_k, of_k));
        return Ok(if filled.is_valid() { filled } else { unscaled });
    }
    let (sample, rounding) = (ScoreSample::new(attention, &unscaled), FormatRounding::new(formats.q));
    let filling = (fill(max_q, of_q), fill(max_k, of_k));
    // Sums fill the range first: products of two full operands are far beyond it.
    let filling_total = fill(sample.largest_term, of_q).min(filling.0 + filling.1);
    let measure = |total: i32, skew: i32| {
        // The room that is left below the filling exponents, divided between Q and K.
        let room = filling.0 + filling.1 - total;
        let q_room = room / 2 + skew;
        let candidate = unscaled.with_exponents(filling.0 - q_room, filling.1 - (room - q_room));
        let allowed = (0..=room).contains(&q_room) && candidate.is_valid();
        allowed.then(|| (sample.mean_error(attention, &candidate, rounding), candidate))
    };
    let smaller = |a: &(f64, Scaling), b: &(f64, Scaling)| a.0.total_cmp(&b.0);
    let evenly = TOTAL_RANGE.filter_map(|step| measure(filling_total + step, 0));
    let Some(even) = evenly.min_by(smaller) else {
        return Ok(unscaled);
    };
    let total = even.1.q_exponent + even.1.k_exponent;
    let skewed = (1..=MAX_SKEW).flat_map(|skew| [skew, -skew]).filter_map(|skew| measure(total, skew));
    let skewed = skewed.filter(|(error, _)| *error < WORTHWHILE * even.0).min_by(smaller);
    Ok(skewed.unwrap_or(even).1)
}

/// Pairs of a query and a key, with their exact scores.
struct ScoreSample {
    /// By query, so that a query is rounded once.
    queries: Vec<(usize, Vec<ScoredKey>)>,
    /// Largest magnitude of a product or dot product, with the score's remainder folded in.
    largest_term: f64,
}

/// A key of the sample and the exact score of a query with it.
struct ScoredKey {
    key: usize,
    score: f64,
}

impl ScoreSample {
    fn new(attention: &Attention, unscaled: &Scaling) -> ScoreSample {
        let mut queries = Vec::new();
        let mut largest_term = 0f64;
        for i in spaced(attention.queries, SAMPLED_QUERIES) {
            let query = attention.query(i);
            let mut dots = Vec::with_capacity(attention.keys);
            for j in 0..attention.keys {
                let products = query.iter().zip(attention.key(j)).map(|(&q, &k)| f64::from(q) * f64::from(k));
                let (dot, largest) =
                    products.fold((0.0, 0f64), |(dot, largest), p| (dot + p, largest.max(p.abs())));
                largest_term = largest_term.max(dot.abs()).max(largest);
                dots.push(dot);
            }
            let extreme = (0..attention.keys).max_by(|&a, &b| dots[a].abs().total_cmp(&dots[b].abs()));
            let keys = spaced(attention.keys, SAMPLED_KEYS).chain(extreme);
            let pairs = keys.map(|key| ScoredKey { key, score: dots[key] * unscaled.score_scale }).collect();
            queries.push((i, pairs));
        }
        ScoreSample { queries, largest_term: largest_term * unscaled.q_factor }
    }

    /// Mean magnitude of the error of the scores, each rounded as a core rounds it.
    fn mean_error(&self, attention: &Attention, scaling: &Scaling, rounding: FormatRounding) -> f64 {
        let (factors, round) = (scaling.factors(), |x: f64| rounding.value(x));
        let mut keys: HashMap<usize, Vec<f64>> = HashMap::new();
        let (mut sum, mut count) = (0.0, 0);
        let mut tree = Vec::with_capacity(attention.d);
        for (i, pairs) in &self.queries {
            let query: Vec<f64> = attention.query(*i).iter().map(|&q| round(factors.q(q))).collect();
            for pair in pairs {
                let row = || attention.key(pair.key).iter().map(|&k| round(factors.k(k))).collect();
                let key = keys.entry(pair.key).or_insert_with(row);
                tree.clear();
                tree.extend(query.iter().zip(key).map(|(q, k)| round(q * *k)));
                sum += (scaling.score(sum_in_tree(&mut tree, rounding)) - pair.score).abs();
                count += 1;
            }
        }
        sum / f64::from(count)
    }
}

/// Sums neighbours level by level, as the adder tree of a core does; an odd one out moves up.
fn sum_in_tree(tree: &mut Vec<f64>, rounding: FormatRounding) -> f64 {
    while tree.len() > 1 {
        let half = tree.len().div_ceil(2);
        for i in 0..half {
            tree[i] = match tree.get(2 * i + 1) {
                Some(right) => rounding.value(tree[2 * i] + right),
                None => tree[2 * i],
            };
        }
        tree.truncate(half);
    }
    tree[0]
}

/// At most `count` indices below `n`, evenly spaced.
fn spaced(n: usize, count: usize) -> impl Iterator<Item = usize> {
    let count = count.min(n);
    (0..count).map(move |i| i * n / count)
}

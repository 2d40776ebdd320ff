//! Worst-case errors of rules: on constructed streams, and at each rule's worst distance.
//!
//! Streams have one value element a key, +1 or -1, so that an error of 2 is as far off as a result can be. Cores run
//! them with `q = sqrt(d) e_0` and `k_j = s_j e_0`; their reference is the softmax of the rounded scores.

use super::Rule;
use super::measure::{outcome, weighted_mean};
use flashd_golden::family::safe_softmax;
use flashd_golden::{Head, Model, decode};
use flashd_spec::format::Format;
use flashd_workload::round_to;
use flashd_workload::synthetic::{ADVERSARIAL, adversarial_stream};
use rayon::prelude::*;
use serde::Serialize;

/// Numbers of keys, ascending.
pub const COUNTS: [usize; 5] = [256, 1024, 4096, 16_384, 65_536];
/// Vector length of the cores, whose 1/sqrt(d) is a power of two.
const D: usize = 16;
/// Distances below the first key that are tried on every rule, in steps of a quarter.
const QUARTERS: std::ops::RangeInclusive<u32> = 4..=96;
/// The name of the three keys that mislead the static rule, all values but the first being -1.
const THREE: &str = "three";

/// A rule on a stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamHolds {
    /// Name of the stream, see [`adversarial_stream`]; `three` is 0, -20, -9 with values 1, -1, -1.
    pub stream: String,
    /// Keys of the stream.
    pub keys: usize,
    /// The rule.
    pub rule: String,
    /// Keys held.
    pub held: u64,
    /// Result after the last key.
    pub result: f64,
    /// The exact result.
    pub exact: f64,
    /// Largest error after any number of its keys.
    pub max_error: f64,
    /// The same of the core that has the rule.
    pub core_max_error: Option<f64>,
}

/// A rule at its worst distance: one key, and all others that far below it, with the opposite value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstCase {
    /// The rule.
    pub rule: String,
    /// Keys, the first one counted.
    pub keys: usize,
    /// The distance, `-x` of the second key.
    pub distance: f64,
    /// Keys held.
    pub held: u64,
    /// The error.
    pub error: f64,
    /// The bound of the error with this number of keys held; the static rule has none.
    pub bound: Option<f64>,
    /// The error of the core that has the rule on the same stream.
    pub core_error: Option<f64>,
}

/// Scores and values of a named stream.
fn stream(name: &str) -> Option<(Vec<f64>, Vec<f64>)> {
    match name {
        THREE => Some((vec![0.0, -20.0, -9.0], vec![1.0, -1.0, -1.0])),
        _ => adversarial_stream(name),
    }
}

/// A rule's result on scores and values, and the keys that it held.
fn result(rule: &Rule, s: &[f64], v: &[f64]) -> (f64, u64) {
    let top = s.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let softmax: Vec<f64> = s.iter().map(|s| (s - top).exp()).collect();
    let outcome = outcome(rule, s, &softmax);
    (weighted_mean(&outcome.weights, v, 1)[0], outcome.held)
}

/// The errors of the core that has a rule after each of `lengths` keys of a stream.
fn core_errors(rule: &Rule, format: Format, s: &[f64], v: &[f64], lengths: &[usize]) -> Option<Vec<f64>> {
    let [core, _] = rule.cores(D, format)?;
    let round = |x: f64| round_to(format, x);
    let row = |x: f64| std::iter::once(round(x)).chain(std::iter::repeat_n(0, D - 1));
    let q: Vec<u64> = lengths.iter().flat_map(|_| row((D as f64).sqrt())).collect();
    let k: Vec<u64> = s.iter().flat_map(|&s| row(s)).collect();
    let values: Vec<u64> = v.iter().flat_map(|&v| row(v)).collect();
    let rounded = |x: &[f64]| -> Vec<f64> { x.iter().map(|&x| decode(format, round(x))).collect() };
    let (s, v) = (rounded(s), rounded(v));
    let results = Model::new(&core).run(Head::new(&q, &k, &values, lengths));
    let error = |(result, &n): (&flashd_golden::QueryResult, &usize)| {
        (decode(format, result.o[0]) - safe_softmax(&s[..n], &v[..n], 1).o[0]).abs()
    };
    Some(results.iter().zip(lengths).map(error).collect())
}

/// Rules on all adversarial streams.
pub fn on_streams(rules: &[Rule], format: Format) -> Vec<StreamHolds> {
    let names: Vec<&str> = std::iter::once(THREE).chain(ADVERSARIAL).collect();
    let pairs: Vec<(&str, &Rule)> =
        names.iter().flat_map(|&name| rules.iter().map(move |rule| (name, rule))).collect();
    let one = |&(name, rule): &(&str, &Rule)| {
        let (s, v) = &stream(name)?;
        let lengths: Vec<usize> = (1..=s.len()).collect();
        let error =
            |&n: &usize| (result(rule, &s[..n], &v[..n]).0 - safe_softmax(&s[..n], &v[..n], 1).o[0]).abs();
        let (last, held) = result(rule, s, v);
        Some(StreamHolds {
            stream: name.to_string(),
            keys: s.len(),
            rule: rule.to_string(),
            held,
            result: last,
            exact: safe_softmax(s, v, 1).o[0],
            max_error: lengths.iter().map(error).fold(0.0, f64::max),
            core_max_error: core_errors(rule, format, s, v, &lengths)
                .map(|errors| errors.into_iter().fold(0.0, f64::max)),
        })
    };
    pairs.par_iter().filter_map(one).collect()
}

/// One key at 0 with value 1, the others at `-distance` with value -1.
fn one_against_many(keys: usize, distance: f64) -> (Vec<f64>, Vec<f64>) {
    let of = |first: f64, others: f64| (0..keys).map(|j| if j == 0 { first } else { others }).collect();
    (of(0.0, -distance), of(1.0, -1.0))
}

/// The worst distance of a rule for a number of keys: all quarters from 1 to 24, and the rule's own threshold.
pub fn worst_case(rule: &Rule, keys: usize, format: Format) -> WorstCase {
    let own = match rule {
        Rule::Hold(t) | Rule::Fa2(t) | Rule::Growing(t) | Rule::Capped(t, _) => Some(*t),
        Rule::Static | Rule::Budget { .. } => None,
    };
    let distances: Vec<f64> = QUARTERS.map(|quarter| f64::from(quarter) / 4.0).chain(own).collect();
    let at = |&distance: &f64| {
        let (s, v) = one_against_many(keys, distance);
        let (result, held) = result(rule, &s, &v);
        let error = (result - safe_softmax(&s, &v, 1).o[0]).abs();
        (distance, held, error)
    };
    let (distance, held, error) =
        distances.par_iter().map(at).max_by(|a, b| a.2.total_cmp(&b.2)).unwrap_or_default();
    let (s, v) = one_against_many(keys, distance);
    WorstCase {
        rule: rule.to_string(),
        keys,
        distance,
        held,
        error,
        bound: rule.bound(held),
        core_error: core_errors(rule, format, &s, &v, &[keys]).map(|errors| errors[0]),
    }
}

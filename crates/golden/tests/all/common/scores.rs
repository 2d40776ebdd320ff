//! Queries with chosen scores: keys whose dot products with a query of ones are given numbers.

use super::bits_of;
use flashd_golden::{Head, Model, QueryResult};
use flashd_spec::config::CoreConfig;
use flashd_spec::format::Format;
use flashd_spec::numerics::{LOG2E, LOG2E_FRACTION};

/// Length of the vectors.
pub const D: usize = 4;
/// Fraction bits of the score.
pub const FS: u32 = 10;
/// An octave in units of `2^-FS`.
pub const OCTAVE: i64 = 1 << FS;

/// Formats in which sums of four products reach every score.
pub const FORMATS: [Format; 3] = [Format::BF16, Format::FP16, Format::FP32];

/// A key whose dot product with ones gives a score of that many units. The natural score has two fraction bits more and
/// is multiplied by log2(e).
pub fn key(format: Format, score: i64) -> Vec<u64> {
    let natural = (score as f64 * 4.0 * f64::from(1 << LOG2E_FRACTION) / LOG2E as f64).round() as i64;
    let part = |i: u32| {
        let byte = natural.abs() >> (8 * i) & 255;
        (natural.signum() * byte) as f64 * 2f64.powi(8 * i as i32 - FS as i32 - 2)
    };
    (0..D as u32).map(|i| bits_of(format, part(i))).collect()
}

/// Runs a query with these scores.
pub fn run(config: &CoreConfig, scores: &[i64], v: &[u64]) -> QueryResult {
    let k: Vec<u64> = scores.iter().flat_map(|&s| key(config.format, s)).collect();
    let q = vec![config.format.one(); D];
    let model = Model::new(config).with_sums();
    let result = model.run(Head::new(&q, &k, v, &[scores.len()]).with_steps()).remove(0);
    let seen: Vec<i64> = result.steps.iter().map(|step| step.s).collect();
    assert_eq!(seen, scores, "{}", config.name());
    result
}

/// The reference before each step after the first: score minus argument.
pub fn references(result: &QueryResult) -> Vec<i64> {
    result.steps[1..].iter().map(|step| step.s - step.x).collect()
}

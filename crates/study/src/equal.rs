//! Errors on equal scores: every key weighs 1/N, and the losses of updates with small weights add up.

use flashd_golden::{Head, VectorModel, decode, exponent_of_values};
use flashd_simulator::{Accuracy, Magnitudes};
use flashd_spec::config::{ConfigError, CoreConfig};
use flashd_spec::format::{Encodings, Format};
use flashd_workload::synthetic::equal_scores;
use flashd_workload::{RowEncoding, ScaleRule, channel_limit, row_encodings};
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// Number of keys of an exploration.
pub const KEYS: usize = 65_536;
/// Vector length of the heads.
pub const D: usize = 64;
/// Seeds of the heads: each is `equal_scores(seed, N, D)`.
pub const SEEDS: std::ops::RangeInclusive<u64> = 1..=4;

/// A head before it is rounded: its query, its key and all values.
struct Drawn {
    seed: u64,
    keys: usize,
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    max_abs_v: f64,
}

/// The head of a seed. Heads of the last number of keys are cached, 17 MB each at the longest: every format rounds the same heads, and
/// drawing one takes as long as running a core on it.
fn drawn(seed: u64, keys: usize) -> Arc<Drawn> {
    static LAST: Mutex<Vec<Arc<Drawn>>> = Mutex::new(Vec::new());
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    last.retain(|head| head.keys == keys);
    if let Some(known) = last.iter().find(|head| head.seed == seed) {
        return Arc::clone(known);
    }
    let head = equal_scores(seed, keys, D);
    let (max_abs_v, k) = (head.max_abs_v(), head.k[..D.min(keys * D)].to_vec());
    let head = Arc::new(Drawn { seed, keys, q: head.q, k, v: head.v, max_abs_v });
    last.push(Arc::clone(&head));
    head
}

/// One head; the shorter ones are its beginning.
struct EqualHead {
    /// Format of results.
    format: Format,
    q: Vec<u64>,
    k: Vec<u64>,
    v: Vec<u64>,
    counts: Vec<FirstKeys>,
}

/// The first keys of a head.
struct FirstKeys {
    keys: usize,
    v_exponent: u64,
    /// Means of the rounded values, D of them.
    exact: Vec<f64>,
    magnitudes: Magnitudes,
}

impl EqualHead {
    fn new(encodings: Encodings, seed: u64, counts: &[usize]) -> EqualHead {
        let formats = encodings.formats;
        let [of_q, of_k, of_v] = row_encodings(encodings, ScaleRule::default());
        let longest = counts.iter().copied().max().unwrap_or(0);
        let head = drawn(seed, longest);
        let rows = |encoding: RowEncoding, x: &[f32], fill: f64| -> Vec<u64> {
            let row =
                |x: &[f32]| encoding.encode(&x.iter().map(|&x| f64::from(x) * fill).collect::<Vec<_>>()).0;
            x.chunks_exact(D).flat_map(row).collect()
        };
        // Where channels have scales, values fill their range; errors are relative.
        let fill = channel_limit(encodings).map_or(1.0, |limit| limit / head.max_abs_v);
        let v = rows(of_v, &head.v, fill);
        let words = encodings.words(D, D);
        let q = rows(of_q, &head.q, 1.0);
        let count = |&keys: &usize| {
            let (mut sums, mut channels) = (vec![0.0; D], vec![0f64; D]);
            for row in v[..keys * words.v].chunks_exact(words.v) {
                for ((sum, max), value) in sums.iter_mut().zip(&mut channels).zip(of_v.decode(D, row)) {
                    *sum += value;
                    *max = max.max(value.abs());
                }
            }
            FirstKeys {
                keys,
                v_exponent: exponent_of_values(encodings, D, &v[..keys * words.v]),
                exact: sums.iter().map(|sum| sum / keys as f64).collect(),
                magnitudes: Magnitudes::of_channels(channels),
            }
        };
        let counts = counts.iter().map(count).collect();
        // All keys are the first one.
        let k = rows(of_k, &head.k, 1.0).repeat(longest);
        EqualHead { format: formats.o, q, k, v, counts }
    }

    /// Errors of the elements for each count.
    fn errors(&self, config: &CoreConfig) -> Vec<Accuracy> {
        let lengths: Vec<usize> = self.counts.iter().map(|c| c.keys).collect();
        let exponents: Vec<u64> = self.counts.iter().map(|c| c.v_exponent).collect();
        let q = self.q.repeat(lengths.len());
        let head = Head::new(&q, &self.k, &self.v, &lengths).with_exponents(&exponents);
        let results = VectorModel::new(config).run(head).results;
        let accuracy = |(result, count): (&flashd_golden::QueryResult, &FirstKeys)| {
            let outputs = result.o.iter().map(|&o| decode(self.format, o));
            Accuracy::of(outputs, &count.exact, &count.magnitudes)
        };
        results.iter().zip(&self.counts).map(accuracy).collect()
    }
}

/// As [`errors`], with the mean errors and the number of elements.
pub(crate) fn accuracies(
    encodings: Encodings,
    configs: &[CoreConfig],
    counts: &[usize],
    done: &(dyn Fn() + Sync),
) -> Result<Vec<Vec<Accuracy>>, ConfigError> {
    let configs: Vec<CoreConfig> = configs.iter().map(|c| c.clone().with_lengths(D.into())).collect();
    for config in &configs {
        config.validate()?;
        if config.encodings() != encodings {
            let problem = format!("{} on heads in {encodings}", config.encodings());
            return Err(ConfigError { field: "format", problem });
        }
    }
    let mut all = vec![vec![Accuracy::default(); counts.len()]; configs.len()];
    // One head after another: the longest has 4 million values.
    for seed in SEEDS {
        let head = EqualHead::new(encodings, seed, counts);
        all.par_iter_mut().zip(&configs).for_each(|(all, config)| {
            for (all, one) in all.iter_mut().zip(head.errors(config)) {
                all.max = all.max.max(one.max);
                all.channel_worst = all.channel_worst.max(one.channel_worst);
                all.elements += one.elements;
                // Every head has as many elements: running means over the heads.
                let share = one.elements as f64 / all.elements as f64;
                all.mean += (one.mean - all.mean) * share;
                all.channel_mean += (one.channel_mean - all.channel_mean) * share;
            }
            done();
        });
    }
    Ok(all)
}

/// The largest errors of the elements over the heads of all [`SEEDS`], as fractions of max|v|: for each configuration and each
/// of `counts` equal scores. The values are random, rounded as they are; the exact result is the mean of
/// the rounded ones. Vector lengths are replaced by [`D`]. `done` is called for every configuration and seed.
///
/// # Errors
/// A configuration that is not valid or not of the format.
pub fn errors(
    encodings: impl Into<Encodings>,
    configs: &[CoreConfig],
    counts: &[usize],
    done: &(dyn Fn() + Sync),
) -> Result<Vec<Vec<f64>>, ConfigError> {
    let all = accuracies(encodings.into(), configs, counts, done)?;
    Ok(all.into_iter().map(|counts| counts.into_iter().map(|accuracy| accuracy.max).collect()).collect())
}

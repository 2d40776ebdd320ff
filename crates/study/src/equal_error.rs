//! The rule by which two cores count as equally accurate, whatever the number of keys.
//!
//! A kind of data is a kind of scores with a kind of values ([`kinds`]). The reference is exact attention on the rounded operands, its result
//! rounded once: the error that the formats cost any core. Errors are against f64 attention on the unrounded data. A core holds
//! if its mean error over the reference's is at most [`Rule::mean`] as the geometric mean over kinds and lengths, and at most
//! [`Rule::each_mean`] (mean error) and [`Rule::each_max`] (largest error) in each.

use crate::accuracy::{AccuracyError, OnHead, on_head};
use crate::errors::Encoded;
use crate::heads::Head;
use crate::parts::Parts;
use flashd_spec::config::CoreConfig;
use flashd_spec::format::Encodings;
use flashd_workload::Trace;
use flashd_workload::synthetic::{ScoreKind, ValueKind, long_context};
use serde::Serialize;

/// Vector length of the heads.
pub const D: usize = 16;
/// Queries of each kind, of all its heads. The largest of some dozens of ratios is looked at: of fewer queries, chance would choose the widths.
pub const QUERIES: usize = 8;
/// Queries of a head; those of one with equal scores are the same, and one is enough.
const QUERIES_OF_A_HEAD: usize = 4;

/// A kind of data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataKind {
    /// Distribution of the scores.
    pub scores: ScoreKind,
    /// Distribution of the values.
    pub values: ValueKind,
}

/// All kinds: each kind of scores with each kind of values.
pub fn kinds() -> Vec<DataKind> {
    let of = |scores| ValueKind::ALL.map(|values| DataKind { scores, values });
    ScoreKind::ALL.into_iter().flat_map(of).collect()
}

/// The largest ratios of a core's error to the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rule {
    /// Geometric mean, over kinds and lengths, of the ratio of mean errors.
    pub mean: f64,
    /// The ratio of mean errors in each kind and length.
    pub each_mean: f64,
    /// The ratio of largest errors in each kind and length.
    pub each_max: f64,
}

/// A tenth more than the formats cost is less than one bit of any width changes. A single kind may have twice the mean error: on equal scores of mean 0 the
/// reference itself is far below an ulp of the values.
pub const RULE: Rule = Rule { mean: 1.10, each_mean: 2.0, each_max: 3.0 };

/// A core on one kind of data with one number of keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindErrors {
    /// Distribution of the scores.
    pub scores: String,
    /// Distribution of the values.
    pub values: &'static str,
    /// Number of keys.
    pub keys: usize,
    /// Mean error of the reference, a fraction of max|v|.
    pub reference_mean: f64,
    /// Its largest error.
    pub reference_max: f64,
    /// Mean error of the core.
    pub mean: f64,
    /// Its largest error.
    pub max: f64,
    /// Mean error over the reference's.
    pub mean_ratio: f64,
    /// Largest error over the reference's.
    pub max_ratio: f64,
}

/// The mean over that of a reference that errs. Where exact results are numbers of the format, so that the reference does not err, the core is compared with
/// `rounding`, the mean or largest error of a rounding to the format. A core without any error has 1.
fn ratio(error: f64, reference: f64, rounding: f64) -> f64 {
    // Sums in f64 err by less.
    const EXACT: f64 = 1e-12;
    match (error < EXACT, reference < EXACT) {
        (true, _) => 1.0,
        (false, false) => error / reference,
        (false, true) => error / rounding,
    }
}

/// A core under the rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// Every kind with every number of keys.
    pub kinds: Vec<KindErrors>,
    /// Geometric mean of the ratios of mean errors.
    pub mean: f64,
    /// Largest ratio of mean errors.
    pub worst_mean: f64,
    /// Largest ratio of largest errors.
    pub worst_max: f64,
}

impl Judged {
    fn of(kinds: Vec<KindErrors>) -> Judged {
        let ratios = || kinds.iter().map(|kind| kind.mean_ratio);
        let logs: f64 = ratios().map(f64::ln).sum();
        Judged {
            mean: (logs / kinds.len().max(1) as f64).exp(),
            worst_mean: ratios().fold(0.0, f64::max),
            worst_max: kinds.iter().map(|kind| kind.max_ratio).fold(0.0, f64::max),
            kinds,
        }
    }

    /// Whether the core keeps the rule.
    pub fn holds(&self, rule: Rule) -> bool {
        self.mean <= rule.mean && self.worst_mean <= rule.each_mean && self.worst_max <= rule.each_max
    }
}

/// Judges cores of one encoding on some kinds, with each of `lengths` keys, which reach a core in `parts`. `done` is called for every core, kind, length and seed.
///
/// # Errors
/// A configuration that is not valid or not of the encodings.
pub fn judge(
    encodings: Encodings,
    cores: &[CoreConfig],
    kinds: &[DataKind],
    lengths: &[usize],
    parts: Parts,
    done: &(dyn Fn() + Sync),
) -> Result<Vec<Judged>, AccuracyError> {
    let mut all = vec![Vec::new(); cores.len()];
    // Of a result just below the largest value.
    let ulp = (-f64::from(encodings.formats.o.precision())).exp2();
    for &keys in lengths {
        for &kind in kinds {
            let heads = heads(keys, kind).map(|head| {
                let encoded = Encoded::new(encodings, Default::default(), &head)?;
                on_head(&encoded.filling().in_parts(parts), cores, done)
            });
            let heads: Vec<OnHead> = heads.collect::<Result<_, _>>()?;
            let mean_max = |of: &dyn Fn(&OnHead) -> (f64, f64)| {
                let each = heads.iter().map(of);
                let mean = each.clone().map(|(mean, _)| mean).sum::<f64>() / heads.len() as f64;
                (mean, each.map(|(_, max)| max).fold(0.0, f64::max))
            };
            let (reference_mean, reference_max) = mean_max(&|on| (on.input.mean, on.input.max));
            for (i, all) in all.iter_mut().enumerate() {
                let (mean, max) = mean_max(&|on| (on.cores[i].accuracy.mean, on.cores[i].accuracy.max));
                let values = kind.values.name();
                let scores = kind.scores.name();
                all.push(KindErrors {
                    scores,
                    values,
                    keys,
                    reference_mean,
                    reference_max,
                    mean,
                    max,
                    mean_ratio: ratio(mean, reference_mean, ulp / 4.0),
                    max_ratio: ratio(max, reference_max, ulp / 2.0),
                });
            }
        }
    }
    Ok(all.into_iter().map(Judged::of).collect())
}

/// The heads of a kind; every query sees all keys.
fn heads(keys: usize, kind: DataKind) -> impl Iterator<Item = Head> {
    let queries = if kind.scores == ScoreKind::Equal { 1 } else { QUERIES_OF_A_HEAD };
    (1..=(QUERIES / queries) as u64).map(move |seed| {
        let attention = long_context(seed, queries, keys, D, kind.scores, kind.values);
        let name = format!("{}-{}-{keys}-{seed}", kind.scores.name(), kind.values.name());
        Head::new(Trace { name, group: String::new(), d: D, causal: false, attention }, 1)
    })
}

//! The rule by which two cores count as equally accurate, whatever the number of keys.
//!
//! A kind of data is a kind of scores with a kind of values ([`kinds`]), at some numbers of keys ([`lengths`]); recorded heads of a model are one more. The
//! reference is exact attention on the rounded operands, its result rounded once: the error that the formats cost any core. Errors are against
//! f64 attention on the unrounded data. A core holds if its mean error over the reference's is at most [`Ratios::mean`] as the geometric mean over
//! the kinds of each length and over the recorded ones, and at most [`Ratios::each_mean`] (mean error) and [`Ratios::each_max`] (largest error) in each.

use crate::accuracy::{AccuracyError, OnHead, on_head};
use crate::errors::EncodedHead;
use crate::heads::HeadSample;
use crate::parts::KeyParts;
use flashd_spec::config::CoreConfig;
use flashd_spec::format::Encodings;
use flashd_workload::Trace;
use flashd_workload::synthetic::{ScoreKind, ValueKind, long_context};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeSet;

/// Vector length of the heads.
pub const D: usize = 16;
/// Queries of each kind with a number of keys, of all its heads. The largest of some dozens of ratios decides: with fewer queries, chance
/// would choose the widths. With few keys, more queries are cheap.
fn queries(keys: usize) -> usize {
    if keys <= 1024 { 32 } else { 8 }
}

/// Queries of a head. With equal scores all queries have the same result, and one is enough.
const QUERIES_OF_A_HEAD: usize = 4;
/// [`JudgingData::draws`] that confirm a search. It tries dozens of narrow cores, and on one draw some keep the rule by chance.
pub const CONFIRMING: usize = 5;

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
pub struct Ratios {
    /// Geometric mean, over the kinds of each length and over the recorded ones, of the ratio of mean errors.
    pub mean: f64,
    /// The ratio of mean errors in each kind and length.
    pub each_mean: f64,
    /// The ratio of largest errors in each kind and length.
    pub each_max: f64,
}

impl Ratios {
    /// Limits that a core which fails only by the chance of its data keeps: other seeds change the mean by a hundredth, the largest of
    /// some dozens of ratios by a tenth or two.
    #[must_use]
    pub fn relaxed(self) -> Ratios {
        let Ratios { mean, each_mean, each_max } = self;
        Ratios { mean: mean + 0.01, each_mean: 1.1 * each_mean, each_max: 1.2 * each_max }
    }
}

/// A tenth more than the formats cost is less than one bit of any width changes. A single kind may have twice the mean error: on equal scores of mean 0 the
/// reference itself is far below an ulp of the values.
pub const RULE: Ratios = Ratios { mean: 1.10, each_mean: 2.0, each_max: 3.0 };

/// Heads that are judged together.
#[derive(Clone, Debug, PartialEq)]
pub enum JudgedHeads {
    /// Synthetic ones of a kind with a number of keys.
    Synthetic(DataKind, usize),
    /// Recorded ones of a model.
    Recorded(String),
}

impl JudgedHeads {
    /// Their number of keys; `None` for recorded ones.
    fn keys(&self) -> Option<usize> {
        match self {
            JudgedHeads::Synthetic(_, keys) => Some(*keys),
            JudgedHeads::Recorded(_) => None,
        }
    }
}

impl std::fmt::Display for JudgedHeads {
    /// Scores, values and keys, or the model: `equal, gaussian, 4096`.
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            JudgedHeads::Synthetic(DataKind { scores, values }, keys) => {
                write!(f, "{}, {}, {keys}", scores.name(), values.name())
            }
            JudgedHeads::Recorded(model) => f.write_str(model),
        }
    }
}

/// A core's errors on the heads of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct KindErrors {
    /// The heads.
    pub case: JudgedHeads,
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

/// A core's error over the reference's. If the reference is exact, because exact results are numbers of the format, the core is compared
/// with `rounding`, the mean or largest error of a rounding to the format. A core without any error has 1.
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
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Every kind with every number of keys.
    pub kinds: Vec<KindErrors>,
    /// Geometric mean of the ratios of mean errors over the kinds of one number of keys, or over the recorded heads' models: the largest of these means. The
    /// mean over all is no larger: a user's contexts may all be short, or like the recorded ones.
    pub mean: f64,
    /// Largest ratio of mean errors.
    pub worst_mean: f64,
    /// Largest ratio of largest errors.
    pub worst_max: f64,
}

impl Judged {
    fn of(kinds: Vec<KindErrors>) -> Judged {
        // Cases of one length, or the recorded ones.
        let keys = |kind: &KindErrors| kind.case.keys();
        let groups: BTreeSet<Option<usize>> = kinds.iter().map(keys).collect();
        let geometric = |group: Option<usize>| {
            let logs = kinds.iter().filter(|kind| keys(kind) == group).map(|kind| kind.mean_ratio.ln());
            let logs: Vec<f64> = logs.collect();
            (logs.iter().sum::<f64>() / logs.len() as f64).exp()
        };
        let largest = |ratio: fn(&KindErrors) -> f64| kinds.iter().map(ratio).fold(0.0, f64::max);
        Judged {
            mean: groups.into_iter().map(geometric).fold(0.0, f64::max),
            worst_mean: largest(|kind| kind.mean_ratio),
            worst_max: largest(|kind| kind.max_ratio),
            kinds,
        }
    }

    /// Whether the core keeps the rule.
    pub fn holds(&self, rule: Ratios) -> bool {
        self.mean <= rule.mean && self.worst_mean <= rule.each_mean && self.worst_max <= rule.each_max
    }
}

/// The data on which cores are judged.
#[derive(Clone, Debug)]
pub struct JudgingData<'a> {
    /// Kinds of synthetic heads.
    pub kinds: Vec<DataKind>,
    /// Their numbers of keys: each kind has each of them.
    pub lengths: Vec<usize>,
    /// Draws of synthetic heads, together for each kind and length. A search has one, its confirmation [`CONFIRMING`].
    pub draws: usize,
    /// Recorded heads; each model's are one more kind.
    pub recorded: &'a [HeadSample],
    /// How the keys reach a core.
    pub parts: KeyParts,
}

/// Numbers of keys that a core for `max_keys` keys is judged at: short and long contexts of its users, and its longest.
pub fn lengths(max_keys: usize) -> Vec<usize> {
    [256, 4096].into_iter().filter(|&keys| keys < max_keys).chain([max_keys]).collect()
}

/// Judges cores of one encoding. `done` is called for every core and head.
///
/// # Errors
/// A configuration that is not valid or not of the encodings.
pub fn judge(
    encodings: Encodings,
    cores: &[CoreConfig],
    data: &JudgingData,
    done: &(dyn Fn() + Sync),
) -> Result<Vec<Judged>, AccuracyError> {
    let mut cases = Vec::new();
    for &keys in &data.lengths {
        cases.extend(data.kinds.iter().map(|&kind| JudgedHeads::Synthetic(kind, keys)));
    }
    let models: BTreeSet<&String> = data.recorded.iter().map(|head| &head.trace.group).collect();
    cases.extend(models.into_iter().cloned().map(JudgedHeads::Recorded));
    let on_case = |case: &JudgedHeads| {
        let one = |head: &HeadSample| {
            let encoded = EncodedHead::new(encodings, Default::default(), head)?;
            on_head(&encoded.filling().in_parts(data.parts), cores, done)
        };
        let heads: Result<Vec<OnHead>, AccuracyError> = match case {
            JudgedHeads::Synthetic(kind, keys) => {
                heads(*keys, *kind, data.draws).map(|head| one(&head)).collect()
            }
            JudgedHeads::Recorded(model) => {
                data.recorded.iter().filter(|head| head.trace.group == *model).map(one).collect()
            }
        };
        Ok(errors(encodings, cores.len(), case, &heads?))
    };
    // In the order of the cases, whichever is done first.
    let by_case: Vec<Vec<KindErrors>> =
        cases.par_iter().map(on_case).collect::<Result<_, AccuracyError>>()?;
    let of_core = |i: usize| Judged::of(by_case.iter().map(|case| case[i].clone()).collect());
    Ok((0..cores.len()).map(of_core).collect())
}

/// The errors of each core on the heads of a case.
fn errors(encodings: Encodings, cores: usize, case: &JudgedHeads, heads: &[OnHead]) -> Vec<KindErrors> {
    // The ulp of a result just below the largest value.
    let ulp = (-f64::from(encodings.formats.o.precision())).exp2();
    let mean_max = |of: &dyn Fn(&OnHead) -> (f64, f64)| {
        let each = heads.iter().map(of);
        let mean = each.clone().map(|(mean, _)| mean).sum::<f64>() / heads.len() as f64;
        (mean, each.map(|(_, max)| max).fold(0.0, f64::max))
    };
    let (reference_mean, reference_max) = mean_max(&|on| (on.input.mean, on.input.max));
    let of_core = |i: usize| {
        let (mean, max) = mean_max(&|on| (on.cores[i].accuracy.mean, on.cores[i].accuracy.max));
        KindErrors {
            case: case.clone(),
            reference_mean,
            reference_max,
            mean,
            max,
            mean_ratio: ratio(mean, reference_mean, ulp / 4.0),
            max_ratio: ratio(max, reference_max, ulp / 2.0),
        }
    };
    (0..cores).map(of_core).collect()
}

/// The heads of a kind; every query sees all keys.
fn heads(keys: usize, kind: DataKind, draws: usize) -> impl Iterator<Item = HeadSample> {
    let of_a_head = if kind.scores == ScoreKind::Equal { 1 } else { QUERIES_OF_A_HEAD };
    (1..=(draws * queries(keys) / of_a_head) as u64).map(move |seed| {
        let attention = long_context(seed, of_a_head, keys, D, kind.scores, kind.values);
        let name = format!("{}-{}-{keys}-{seed}", kind.scores.name(), kind.values.name());
        HeadSample::new(Trace { name, group: String::new(), d: D, causal: false, attention }, 1)
    })
}

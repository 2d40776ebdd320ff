//! The parts of the error of a core: the format's rounding of the inputs and of the result, and the datapath.
//!
//! ```text
//!  q, k, v --f64 attention------------------------------------------------> exact
//!     |                                                    exact rounded --> rounding error: no result is closer
//!     +--scale, round--> f64 attention on these, rounded ------------------> input error
//!     |        +--bit-exact model of a core -------------------------------> error of the core
//!     |        +--RTL core, cycle by cycle, against the model ---------> hardware error
//! ```
//!
//! Each thread takes one head after another, with a copy of V: the memory is that of
//! the heads and of a few tensors of the largest one.

use crate::accuracy::totals::Total;
use crate::by::By;
use crate::errors::EncodedHead;
use crate::grid::stem;
use crate::hardware::{HardwareCheck, check};
use crate::heads::{HeadSample, Heads, HeadsError, capped, with_sink};
use flashd_golden::VectorModel;
use flashd_golden::f64_attention::scores;
use flashd_simulator::{Accuracy, RunError, SaturatedScores};
use flashd_spec::config::{ConfigError, CoreConfig, Design};
use flashd_spec::format::Encodings;
use flashd_spec::numerics::BIAS;
use flashd_workload::{RowEncoding, ScaleRule, Scaling, round_to, round_value, row_encodings};
use rayon::prelude::*;
use serde::ser::Error;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

mod totals;

pub use totals::CoreErrors;

/// Why errors cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum AccuracyError {
    /// A head that no core can take.
    #[error(transparent)]
    Heads(#[from] HeadsError),
    /// A head whose name does not contain its row.
    #[error("{0}")]
    Name(String),
    /// A configuration that is not valid on a head, or not of the format.
    #[error("{core}: {error}")]
    Config {
        /// The core.
        core: String,
        /// Its error.
        error: ConfigError,
    },
    /// The hardware and its model differ, or the run could not be made.
    #[error(transparent)]
    Hardware(#[from] RunError),
}

/// A core on the heads of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CoreAccuracy {
    /// Name without format and vector length.
    pub core: String,
    /// Its configuration; each head sets vector length and score shift, which are left out in JSON.
    #[serde(serialize_with = "without_lengths")]
    pub configuration: CoreConfig,
    /// Errors against f64 attention on the unrounded data.
    #[serde(flatten)]
    pub errors: CoreErrors,
    /// Its mean error over the mean input error; none where that is 0.
    pub over_input: Option<f64>,
    /// Its mean error over the first FA2 core's; none where there is none, or its error is 0.
    pub over_fa2: Option<f64>,
    /// The hardware against the model on a sample; none where it was not asked for.
    pub hardware: Option<HardwareCheck>,
}

/// Writes a configuration without its vector lengths.
fn without_lengths<S: Serializer>(core: &CoreConfig, serializer: S) -> Result<S::Ok, S::Error> {
    let mut fields = serde_json::to_value(core).map_err(S::Error::custom)?;
    if let Some(fields) = fields.as_object_mut() {
        fields.retain(|field, _| !["d", "dk", "dv"].contains(&field.as_str()));
    }
    fields.serialize(serializer)
}

/// All cores on the heads of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowAccuracy {
    /// The head, layer or group.
    pub name: String,
    /// Heads in it.
    pub heads: usize,
    /// Queries of all of them.
    pub queries: usize,
    /// The most keys that a query sees.
    pub longest_query: usize,
    /// Error of the exact results rounded to the format: no core's mean or largest error is smaller, but for results
    /// below the smallest normal number of a format that flushes.
    pub rounding: MeanMax,
    /// Error of f64 attention on the rounded inputs, its results rounded to the format: the error of an exact core. A
    /// core's error can be smaller where its roundings happen to cancel some of the inputs'.
    pub input: MeanMax,
    /// Cores, in the order given.
    pub cores: Vec<CoreAccuracy>,
}

/// All rows in one format.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FormatAccuracy {
    /// The formats, and whether there are scales.
    pub format: Encodings,
    /// Sorted by name.
    pub rows: Vec<RowAccuracy>,
}

/// Mean over heads of their mean errors, and the largest error of an element; fractions of max|v|.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MeanMax {
    /// Mean over heads.
    pub mean: f64,
    /// Largest of all elements.
    pub max: f64,
}

impl MeanMax {
    /// Combines several heads.
    pub(crate) fn of(heads: impl Iterator<Item = Accuracy> + Clone) -> MeanMax {
        let count = heads.clone().count().max(1) as f64;
        MeanMax {
            mean: heads.clone().map(|head| head.mean).sum::<f64>() / count,
            max: heads.map(|head| head.max).fold(0.0, f64::max),
        }
    }
}

/// One head in one format: each figure with the power of two of V that suits it best.
pub(crate) struct OnHead {
    pub(crate) rounding: Accuracy,
    pub(crate) input: Accuracy,
    pub(crate) cores: Vec<Total>,
}

/// Measures the cores on one head. `done` is called for every core.
pub(crate) fn on_head(
    encoded: &EncodedHead,
    cores: &[CoreConfig],
    done: &(dyn Fn() + Sync),
) -> Result<OnHead, AccuracyError> {
    let (head, encodings) = (encoded.head, encoded.encodings);
    let mut models = Vec::new();
    for core in cores {
        let fitted = of_encodings(core, encodings).and_then(|()| encoded.fitted(core));
        models.push(VectorModel::new(&fitted.map_err(|error| invalid(core, error))?));
    }
    let scores = rounded_scores(encoded);
    let mut rounding: Option<Accuracy> = None;
    let mut input = Vec::new();
    let mut all: Vec<Vec<Total>> = vec![Vec::new(); cores.len()];
    for scaling in &encoded.scalings {
        let round = |(i, o): (usize, f64)| {
            // The power of two is exact, and undone exactly.
            let i = i % head.trace.attention.dv;
            let scaled = o / encoded.channels.scale(i) * 2f64.powi(scaling.v_exponent);
            encoded.result(scaling, i, round_to(encodings.formats.o, scaled))
        };
        // Mean and largest each with its best scaling, so that both are bounds.
        let nearest = head.accuracy(head.exact.iter().copied().enumerate().map(round));
        let before = rounding.unwrap_or(nearest);
        rounding = Some(Accuracy {
            mean: before.mean.min(nearest.mean),
            max: before.max.min(nearest.max),
            ..nearest
        });
        let values = encoded.values(scaling);
        let (v, saturated) = (values.words, values.saturated);
        let results = on_rounded(encoded, scaling, &scores, &v);
        input.push(head.accuracy(results.into_iter().enumerate().map(round)));
        all.par_iter_mut().zip(&models).for_each(|(totals, model)| {
            let results = encoded.run(model, &v);
            let scores = SaturatedScores::of(model.config(), &results, |wider| {
                encoded.run(&VectorModel::new(wider), &v).iter().any(|result| result.score_saturated)
            });
            totals.push(Total::new(encoded, scaling, saturated, &results, scores));
        });
    }
    (0..cores.len()).for_each(|_| done());
    // The first of equals, as everywhere.
    let least = input.into_iter().min_by(|a: &Accuracy, b| a.mean.total_cmp(&b.mean));
    let best = |all: Vec<Total>| all.into_iter().min_by(|a, b| a.accuracy.mean.total_cmp(&b.accuracy.mean));
    Ok(OnHead {
        rounding: rounding.unwrap_or_default(),
        input: least.unwrap_or_default(),
        cores: all.into_iter().filter_map(best).collect(),
    })
}

fn invalid(core: &CoreConfig, error: ConfigError) -> AccuracyError {
    AccuracyError::Config { core: core.name(), error }
}

fn of_encodings(core: &CoreConfig, encodings: Encodings) -> Result<(), ConfigError> {
    if core.encodings() == encodings {
        return Ok(());
    }
    let problem = format!("{} on heads that were rounded to {encodings}", core.encodings());
    Err(ConfigError { field: "format", problem })
}

/// Scores of the rounded Q and K, for each query, of the keys that it sees.
fn rounded_scores(encoded: &EncodedHead) -> Vec<Vec<f64>> {
    let (head, d) = (encoded.head, encoded.head.trace.attention.d);
    let [of_q, of_k, _] = row_encodings(encoded.encodings, ScaleRule::default());
    let words = encoded.encodings.words(d, head.trace.attention.dv);
    let values = |encoding: RowEncoding, words: usize, bits: &[u64]| -> Vec<f64> {
        bits.par_chunks_exact(words).flat_map_iter(|row| encoding.decode(d, row)).collect()
    };
    let (q, k) = (values(of_q, words.q, &encoded.q), values(of_k, words.k, &encoded.k));
    // All scalings undo the same shift.
    let scale = encoded.scalings.first().map_or(1.0, |scaling| scaling.score(1.0));
    q.par_chunks_exact(d)
        .zip(&head.lengths)
        .enumerate()
        .map(|(place, (q, &n))| {
            let mut s = capped(scores(q, &k[..n * d], d, scale), head.scores.softcap);
            let bias = |key: usize| BIAS.value(head.bias(place, key));
            s.iter_mut().enumerate().for_each(|(key, s)| *s += bias(key));
            s
        })
        .collect()
}

/// f64 attention on the rounded tensors, in the scale of the original ones.
fn on_rounded(encoded: &EncodedHead, scaling: &Scaling, scores: &[Vec<f64>], v: &[u64]) -> Vec<f64> {
    let d = encoded.head.trace.attention.dv;
    let undo = 2f64.powi(-scaling.v_exponent);
    let [.., of_v] = row_encodings(encoded.encodings, scaling.rule);
    let words = encoded.encodings.words(encoded.head.trace.attention.d, d).v;
    let row = |row: &[u64]| {
        let values = of_v.decode(d, row).into_iter().enumerate();
        values.map(|(i, v)| v * undo * encoded.channels.scale(i)).collect::<Vec<f64>>()
    };
    let v: Vec<f64> = v.par_chunks_exact(words).flat_map_iter(row).collect();
    // A sink is rounded like every bias.
    let sink = encoded.head.scores.sink.map(|sink| round_value(BIAS, sink.into()) as f32);
    scores.par_iter().flat_map_iter(|s| with_sink(s.clone(), &v[..s.len() * d], d, sink)).collect()
}

/// Errors of cores of one format on heads: a row for each head, layer or group. A rule chooses the scales that are powers of two. Vector
/// length and score shift follow each head; V has the power of two that suits the core best on the head. `queries` queries of each row's
/// first head also run through the RTL core; 0 leaves that out. `done` is called for every core on every head.
///
/// # Errors
/// A head that no core can take, a configuration that is not valid or not of the format, and a difference between
/// hardware and model.
pub fn measure(
    heads: &Heads,
    (encodings, rule): (Encodings, ScaleRule),
    cores: &[CoreConfig],
    by: By,
    queries: usize,
    done: &(dyn Fn() + Sync),
) -> Result<FormatAccuracy, AccuracyError> {
    let one = |head| on_head(&EncodedHead::new(encodings, rule, head)?, cores, done);
    let measured: Vec<OnHead> = heads.heads.par_iter().map(one).collect::<Result<_, _>>()?;
    let mut rows: BTreeMap<String, Vec<(&HeadSample, &OnHead)>> = BTreeMap::new();
    for pair in heads.heads.iter().zip(&measured) {
        rows.entry(by.of(&pair.0.trace).map_err(AccuracyError::Name)?).or_default().push(pair);
    }
    let rows: Vec<(String, Vec<(&HeadSample, &OnHead)>)> = rows.into_iter().collect();
    let row = |(name, heads): &(String, Vec<(&HeadSample, &OnHead)>)| {
        row(name, heads, (encodings, rule), cores, queries)
    };
    Ok(FormatAccuracy { format: encodings, rows: rows.par_iter().map(row).collect::<Result<_, _>>()? })
}

fn row(
    name: &str,
    heads: &[(&HeadSample, &OnHead)],
    (encodings, rule): (Encodings, ScaleRule),
    cores: &[CoreConfig],
    queries: usize,
) -> Result<RowAccuracy, AccuracyError> {
    let (first, on_first) = heads[0];
    // Encoded again: to keep all of them would take far more memory than this takes time.
    let sample = if queries > 0 { Some(EncodedHead::new(encodings, rule, first)?) } else { None };
    let input = MeanMax::of(heads.iter().map(|(_, on)| on.input));
    let over = |mean: f64, reference: f64| (reference > 0.0).then(|| mean / reference);
    let mut all = Vec::new();
    for (i, core) in cores.iter().enumerate() {
        let errors = CoreErrors::of(&heads.iter().map(|(_, on)| &on.cores[i]).collect::<Vec<_>>());
        let hardware = sample.as_ref().map(|encoded| {
            let config = encoded.fitted(core).map_err(|error| invalid(core, error))?;
            Ok::<_, AccuracyError>(check(encoded, &config, &on_first.cores[i].scaling, queries)?)
        });
        all.push(CoreAccuracy {
            core: stem(core),
            configuration: core.clone(),
            over_input: over(errors.mean, input.mean),
            over_fa2: None,
            hardware: hardware.transpose()?,
            errors,
        });
    }
    let fa2 = all.iter().find(|core| core.configuration.design() == Design::Fa2).map(|core| core.errors.mean);
    for core in &mut all {
        core.over_fa2 = fa2.and_then(|fa2| over(core.errors.mean, fa2));
    }
    Ok(RowAccuracy {
        name: name.to_string(),
        heads: heads.len(),
        queries: heads.iter().map(|(head, _)| head.queries.len()).sum(),
        longest_query: heads.iter().flat_map(|(head, _)| &head.lengths).copied().max().unwrap_or(0),
        rounding: MeanMax::of(heads.iter().map(|(_, on)| on.rounding)),
        input,
        cores: all,
    })
}

//! Recorded heads and their exact results, made once for all cores.

use flashd_golden::f64_attention::{safe_softmax_of_scores, scores, softcap as cap_score};
use flashd_simulator::{Accuracy, Magnitudes};
use flashd_spec::config::{CoreConfig, D_RANGE};
use flashd_spec::numerics::BIAS;
use flashd_workload::synthetic::attention_like;
use flashd_workload::{Bias, CausalAlign, ScalingError, Trace, TraceError, load_dir, round_to};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// Heads that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HeadsError {
    /// The folder cannot be read as one of traces.
    #[error(transparent)]
    Traces(#[from] TraceError),
    /// A head that no core can take.
    #[error("{}: {name} has {problem}", folder.display())]
    Unfit {
        /// Folder.
        folder: PathBuf,
        /// The head.
        name: String,
        /// Its sizes, and the required ones.
        problem: String,
    },
    /// A head's score scale is beyond the cores'.
    #[error("{name}: {error}")]
    Scaling {
        /// The head.
        name: String,
        /// Why.
        error: ScalingError,
    },
}

/// Operations of a model on scores, in natural units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// Their soft cap c, `c tanh(s / c)`.
    pub softcap: Option<f64>,
    /// ALiBi: the slope that the distance of query and key is multiplied by, and subtracted.
    pub alibi: Option<f32>,
    /// A score that has a weight and no value.
    pub sink: Option<f32>,
}

/// A sample of the queries of one head.
#[derive(Clone, Debug)]
pub struct HeadSample {
    /// The head.
    pub trace: Trace,
    /// Queries used: the last one and every n-th before it.
    pub queries: Vec<usize>,
    /// Keys that each of them sees, from the first.
    pub lengths: Vec<usize>,
    /// Operations of the model on scores.
    pub scores: Scores,
    /// Their addends, in natural units.
    bias: Bias,
    /// Safe softmax in f64 for each of them, on the data as given, `[queries, d_v]`.
    pub exact: Vec<f64>,
    /// The magnitude of which errors are fractions.
    pub magnitudes: Magnitudes,
}

impl HeadSample {
    /// A head with every `every`-th query, counted from the last; 1 (or 0) takes all.
    pub(crate) fn new(trace: Trace, every: usize) -> HeadSample {
        let queries: Vec<usize> = (0..trace.attention.queries).rev().step_by(every.max(1)).collect();
        HeadSample::of(trace, queries, Scores::default())
    }

    /// Given queries of a head.
    fn of(trace: Trace, queries: Vec<usize>, model: Scores) -> HeadSample {
        let a = &trace.attention;
        let bias = match model.alibi {
            Some(slope) => Bias::Alibi { slope, positions: a.positions(CausalAlign::default()) },
            None => Bias::None,
        };
        let wide = |x: &[f32]| -> Vec<f64> { x.iter().map(|&x| x.into()).collect() };
        let (q, k, v) = (wide(&a.q), wide(&a.k), wide(&a.v));
        let ranges = trace.visible().ranges(a);
        let lengths: Vec<usize> = queries.iter().map(|&i| ranges[i].end).collect();
        let scale = trace.score_scale().factor(a.d);
        let exact = queries.par_iter().zip(&lengths).flat_map_iter(|(&i, &n)| {
            let mut s = capped(scores(&q[i * a.d..][..a.d], &k[..n * a.d], a.d, scale), model.softcap);
            s.iter_mut().enumerate().for_each(|(key, s)| *s += f64::from(bias.of(i, key)));
            with_sink(s, &v[..n * a.dv], a.dv, model.sink)
        });
        let exact = exact.collect();
        HeadSample { queries, lengths, scores: model, bias, exact, magnitudes: Magnitudes::of(a), trace }
    }

    /// The addend of the score of a key for the query at a place of the sample, as a core gets it: an encoding of [`BIAS`].
    pub(crate) fn bias(&self, place: usize, key: usize) -> u64 {
        round_to(BIAS, self.bias.of(self.queries[place], key).into())
    }

    /// Whether a core has to add something to scores.
    pub(crate) fn adds(&self) -> bool {
        self.scores.alibi.is_some() || self.scores.sink.is_some()
    }

    /// The same head in another model: exact results are of that model.
    #[must_use]
    pub fn with_scores(self, scores: Scores) -> HeadSample {
        if self.scores == scores { self } else { HeadSample::of(self.trace, self.queries, scores) }
    }

    /// The same head in a model that caps its scores, or does not.
    #[must_use]
    pub fn with_softcap(self, softcap: Option<f64>) -> HeadSample {
        let scores = Scores { softcap, ..self.scores };
        self.with_scores(scores)
    }

    /// Errors of the elements of all outputs.
    pub(crate) fn accuracy(&self, outputs: impl Iterator<Item = f64>) -> Accuracy {
        self.accuracy_by_channel(outputs).0
    }

    /// The same, and the error of each channel.
    pub(crate) fn accuracy_by_channel(&self, outputs: impl Iterator<Item = f64>) -> (Accuracy, Vec<f64>) {
        Accuracy::by_channel(outputs, &self.exact, &self.magnitudes)
    }
}

/// All heads of a folder.
#[derive(Clone, Debug)]
pub struct Heads {
    /// Sorted by name.
    pub heads: Vec<HeadSample>,
}

/// Vector lengths of synthetic heads.
pub const SYNTHETIC_D: [usize; 3] = [16, 64, 128];
/// Synthetic heads of each vector length.
pub const SYNTHETIC_HEADS: u64 = 4;
/// Queries and keys of a synthetic head.
pub const SYNTHETIC_KEYS: usize = 256;

/// Scores with a cap, if there is one.
pub(crate) fn capped(mut s: Vec<f64>, softcap: Option<f64>) -> Vec<f64> {
    if let Some(cap) = softcap {
        s.iter_mut().for_each(|s| *s = cap_score(*s, cap));
    }
    s
}

/// Safe softmax of scores over values; a sink has a weight and no value.
pub(crate) fn with_sink(mut s: Vec<f64>, v: &[f64], dv: usize, sink: Option<f32>) -> Vec<f64> {
    match sink {
        Some(sink) => {
            s.push(sink.into());
            safe_softmax_of_scores(&s, &[v, &vec![0.0; dv]].concat(), dv)
        }
        None => safe_softmax_of_scores(&s, v, dv),
    }
}

/// The cap of cores that are measured together, which have one.
pub(crate) fn softcap_of(cores: &[CoreConfig]) -> Option<f64> {
    cores.first().and_then(|core| core.softcap)
}

impl Heads {
    /// Each of them by [`HeadSample::with_scores`].
    #[must_use]
    pub fn with_scores(self, scores: Scores) -> Heads {
        Heads { heads: self.heads.into_iter().map(|head| head.with_scores(scores)).collect() }
    }

    /// The same heads with K minus its mean over the keys ([`flashd_workload::Attention::smooth_k`]); the exact results still use the original
    /// K.
    #[must_use]
    pub fn smooth_k(&self) -> Heads {
        let smooth = |head: &HeadSample| {
            let seen = head.trace.visible().seen(&head.trace.attention).keys;
            let trace = Trace { attention: head.trace.attention.smooth_k(&seen), ..head.trace.clone() };
            HeadSample { trace, ..head.clone() }
        };
        Heads { heads: self.heads.iter().map(smooth).collect() }
    }

    /// Causal heads made by [`attention_like`]: [`SYNTHETIC_HEADS`] of each length in [`SYNTHETIC_D`], with the seeds
    /// from `seed` on (modulo 2^64) for each length. `every` as in [`Heads::load`].
    pub fn synthetic(seed: u64, every: usize) -> Heads {
        let shapes: Vec<(usize, u64)> =
            SYNTHETIC_D.iter().flat_map(|&d| (0..SYNTHETIC_HEADS).map(move |head| (d, head))).collect();
        let head = |(d, head): (usize, u64)| {
            let group = format!("synthetic-d{d}");
            let attention = attention_like(seed.wrapping_add(head), SYNTHETIC_KEYS, SYNTHETIC_KEYS, d);
            HeadSample::new(
                Trace { name: format!("{group}-head{head:02}"), group, d, causal: true, attention },
                every,
            )
        };
        Heads { heads: shapes.into_par_iter().map(head).collect() }
    }

    /// Loads a folder of traces and takes every `every`-th query of each head, counted from the last; 1 (or 0) takes
    /// all.
    ///
    /// # Errors
    /// A folder that cannot be read or holds no traces, and heads whose shape no core can take.
    pub fn load(folder: &Path, every: usize) -> Result<Heads, HeadsError> {
        let traces = load_dir(folder)?;
        let (least, most) = D_RANGE;
        for trace in &traces {
            let a = &trace.attention;
            let unfit =
                |problem| HeadsError::Unfit { folder: folder.into(), name: trace.name.clone(), problem };
            if let Some(d) = [a.d, a.dv].into_iter().find(|d| !(least..=most).contains(d)) {
                return Err(unfit(format!("rows of {d} elements; cores take {least} to {most}")));
            }
            if a.queries == 0 || a.keys == 0 {
                return Err(unfit("no rows; at least one query and one key are needed".into()));
            }
        }
        Ok(Heads { heads: traces.into_par_iter().map(|trace| HeadSample::new(trace, every)).collect() })
    }
}

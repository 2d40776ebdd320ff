//! From a head of attention to a core's input, and from its results to errors.
//!
//! The reference is safe softmax in f64 on the data as given, before any rounding.

use crate::accuracy::{Accuracy, Magnitudes};
use crate::core::vectors::Vectors;
use crate::core::workload::Workload;
use flashd_golden::f64_attention::{safe_softmax_of_rows, softcap};
use flashd_golden::{Monitor, QueryResult, VectorModel, VectorSource};
use flashd_spec::config::{CoreConfig, SCORE_INTEGER_RANGE};
use flashd_spec::numerics::{BIAS, SCORE_BITS};
use flashd_workload::{
    Attention, Bias, Channels, Quantiser, Rounded, ScaleRule, Scaling, ScalingError, ScoreScale, TensorScale,
    Trace, Visible, choose_scaling, round_to, v_candidates,
};
use std::ops::Range;
use std::sync::Arc;

/// A head and how it is to be used.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Q, K, V, shared with the encodings that are made on demand.
    pub attention: Arc<Attention>,
    /// Which keys the queries see.
    pub visible: Visible,
    /// What scores are capped by: `c tanh(s / c)`, before a bias is added.
    pub softcap: Option<f64>,
    /// Bias of the scores, in natural units.
    pub bias: Bias,
    /// The score of a sink, which has a weight and no value; natural units, without a cap.
    pub sink: Option<f32>,
    /// Factor between `q . k` and the score.
    pub score_scale: ScoreScale,
    /// Powers of two for narrow formats.
    pub tensor_scale: TensorScale,
    /// Which powers of two scales are, where they are such.
    pub scale_rule: ScaleRule,
}

/// The exact results of a scenario.
#[derive(Clone, Debug)]
pub struct ExactResults {
    o: Vec<f64>,
    /// What errors are fractions of.
    pub magnitudes: Magnitudes,
}

/// A scenario in the encodings of a core.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The configuration with the score shift that the scaling needs.
    pub config: CoreConfig,
    /// Scaling of the tensors.
    pub scaling: Scaling,
    /// The stream.
    pub workload: Workload,
    /// Elements of q, k and v that saturated when they were rounded.
    pub saturated_inputs: [usize; 3],
    /// Divisors of V's channels.
    pub channels: Channels,
}

impl ExactResults {
    /// Safe softmax in f64. A query that sees no key gives zeros.
    pub fn new(scenario: &Scenario) -> Self {
        ExactResults::watched(scenario, &|_| ())
    }

    /// The same; `met` hears of each query the number of keys that it has met.
    pub fn watched(scenario: &Scenario, met: &dyn Fn(u64)) -> Self {
        let a = &scenario.attention;
        let scale = scenario.score_scale.factor(a.d);
        let mut o = Vec::with_capacity(a.queries * a.dv);
        let zeros = vec![0f32; a.dv];
        for (i, (q, range)) in a.q.chunks_exact(a.d).zip(scenario.ranges()).enumerate() {
            met(range.len() as u64);
            let sees = |key: &usize| !scenario.visible.hides(i, *key, a.keys);
            let seen = || range.clone().filter(sees);
            // The sums of `scores` and `safe_softmax`: each element becomes f64 when it is read.
            let dot = |key: usize| -> f64 {
                q.iter().zip(a.key(key)).map(|(&q, &k)| f64::from(q) * f64::from(k)).sum()
            };
            let mut s: Vec<f64> = seen().map(|key| dot(key) * scale).collect();
            scenario.softcap.into_iter().for_each(|cap| s.iter_mut().for_each(|s| *s = softcap(*s, cap)));
            s.iter_mut().zip(seen()).for_each(|(s, key)| *s += f64::from(scenario.bias.of(i, key)));
            let rows = seen().map(|key| a.value(key));
            match scenario.sink {
                Some(sink) => {
                    s.push(sink.into());
                    o.extend(safe_softmax_of_rows(&s, rows.chain([&zeros[..]]), a.dv));
                }
                None => o.extend(safe_softmax_of_rows(&s, rows, a.dv)),
            }
        }
        ExactResults { o, magnitudes: Magnitudes::of(a) }
    }

    /// Empty: for [`prepare`] where there is no power of two to choose.
    pub fn none() -> Self {
        ExactResults { o: Vec::new(), magnitudes: Magnitudes::of_channels(Vec::new()) }
    }

    /// Errors of a core's results.
    pub fn accuracy(&self, prepared: &Prepared, results: &[QueryResult]) -> Accuracy {
        // Padding beyond the head's own dimension is zero in both.
        let own = self.magnitudes.channels.len().min(prepared.config.dv());
        let rows = results.iter().map(|result| &result.o[..own]);
        let elements = rows.flat_map(|row| row.iter().enumerate());
        Accuracy::of(elements.map(|(i, &o)| prepared.result(i, o)), &self.o, &self.magnitudes)
    }
}

/// A head of a folder as a core gets it: with the mask and the scale that it comes with.
impl From<&Trace> for Scenario {
    fn from(trace: &Trace) -> Scenario {
        Scenario {
            attention: trace.attention.clone().into(),
            visible: trace.visible(),
            softcap: None,
            bias: Bias::None,
            sink: None,
            score_scale: trace.score_scale(),
            tensor_scale: TensorScale::Auto,
            scale_rule: ScaleRule::default(),
        }
    }
}

impl Scenario {
    /// The same with K minus its mean over the keys ([`Attention::smooth_k`]).
    #[must_use]
    pub fn smooth_k(&self) -> Scenario {
        let Scenario { visible, bias, .. } = self.clone();
        let seen = visible.seen(&self.attention).keys;
        Scenario { attention: self.attention.smooth_k(&seen).into(), visible, bias, ..*self }
    }

    /// The keys that each query sees.
    pub fn ranges(&self) -> Vec<Range<usize>> {
        self.visible.ranges(&self.attention)
    }

    /// The powers of two to try for V in a core.
    pub fn v_exponents(&self, config: &CoreConfig) -> Vec<i32> {
        match self.tensor_scale {
            TensorScale::Auto => v_candidates(self.attention.max_abs_v(), config.encodings()),
            TensorScale::None => vec![0],
        }
    }

    /// The workload with biases, with the sink, and with the keys that each query sees.
    fn restrict(&self, config: &CoreConfig, all: Workload) -> Workload {
        let ranges = self.ranges();
        let hides = !self.visible.hidden.is_empty();
        let masked = hides || config.masks || ranges.iter().any(|range| range.start > 0);
        let all = match self.bias {
            Bias::None => all,
            _ => all.with_biases(|i, key| round_to(BIAS, self.bias.of(i, key).into())),
        };
        let all = match masked {
            true if hides => {
                let hides = |i, key| self.visible.hides(i, key, self.attention.keys);
                all.with_ranges(&ranges).with_hidden(hides)
            }
            true => all.with_ranges(&ranges),
            false => all.with_lengths(ranges.iter().map(|range| range.end)),
        };
        match self.sink {
            Some(sink) => all.with_sink(round_to(BIAS, sink.into())),
            None => all,
        }
    }
}

impl Prepared {
    /// Results as numbers, `[queries, d_v]`.
    pub fn values(&self, results: &[QueryResult]) -> Vec<f32> {
        let rows = results.iter().map(|result| result.o.iter().enumerate());
        rows.flat_map(|row| row.map(|(i, &bits)| self.result(i, bits) as f32)).collect()
    }

    /// Decodes an element of a result, given its place in the result.
    pub fn result(&self, channel: usize, bits: u64) -> f64 {
        self.channels.result(&self.scaling, self.config.formats().o, channel, bits)
    }
}

/// Which tensor is rounded.
#[derive(Clone, Copy, Debug)]
enum RoundedTensor {
    Keys,
    Values,
}

/// K or V of a head, rounded when it is read.
struct TensorRounding {
    role: RoundedTensor,
    quantiser: Quantiser,
    attention: Arc<Attention>,
}

/// Elements of a tensor from which on it is rounded again each time that it is read: the words of more would need more memory than
/// the tensor itself.
const MADE_FROM: usize = 1 << 21;

impl TensorRounding {
    fn rounded(&self, rows: Range<usize>) -> Rounded {
        let a = &self.attention;
        match self.role {
            RoundedTensor::Keys => self.quantiser.keys(&a.k[rows.start * a.d..rows.end * a.d]),
            RoundedTensor::Values => self.quantiser.values(&a.v[rows.start * a.dv..rows.end * a.dv]),
        }
    }

    /// The vectors, and how many of their elements saturated.
    fn vectors(self, config: &CoreConfig) -> (Vectors, usize) {
        let a = &self.attention;
        let (words, elements) = match self.role {
            RoundedTensor::Keys => (config.port_words().k, a.k.len()),
            RoundedTensor::Values => (config.port_words().v, a.v.len()),
        };
        if elements < MADE_FROM {
            let Rounded { words, saturated, .. } = self.rounded(0..a.keys);
            return (words.into(), saturated);
        }
        const TOGETHER: usize = 256;
        let pieces = (0..a.keys).step_by(TOGETHER).map(|start| start..(start + TOGETHER).min(a.keys));
        let saturated = pieces.map(|rows| self.rounded(rows).saturated).sum();
        (Vectors::Made(words, Arc::new(self)), saturated)
    }
}

impl VectorSource for TensorRounding {
    fn vectors(&self) -> usize {
        self.attention.keys
    }

    fn read(&self, vectors: Range<usize>, words: &mut Vec<u64>) {
        words.extend(self.rounded(vectors).words);
    }
}

/// Scales and rounds a scenario for a core. In narrow formats the power of two of V is the one with which
/// this design's own results come out best: FLASH-D can fill the range, an unnormalised accumulator cannot.
///
/// With masks every query meets all keys and has those masked that it does not see; without, it is sent the keys that it
/// sees, which have to be the first ones. Where they are not, only the model takes the workload.
///
/// # Errors
/// If the score scale is not one a core can apply.
pub fn prepare(
    config: &CoreConfig,
    scenario: &Scenario,
    reference: &ExactResults,
) -> Result<Prepared, ScalingError> {
    prepare_watched(config, scenario, reference, Monitor::default())
}

/// The same; the monitor sees the runs by which the power of two of V is chosen.
///
/// # Errors
/// As there.
pub fn prepare_watched(
    config: &CoreConfig,
    scenario: &Scenario,
    reference: &ExactResults,
    monitor: Monitor,
) -> Result<Prepared, ScalingError> {
    let a = &scenario.attention;
    let scaling = choose_scaling(config.encodings(), a, scenario.score_scale, scenario.tensor_scale)?
        .with_rule(scenario.scale_rule);
    let with = |scaling: Scaling| -> Prepared {
        let quantiser = Quantiser::new(config.encodings(), scaling, a).pad_to(config.lengths());
        let channels = quantiser.channels().clone();
        let q = quantiser.queries(&a.q);
        let [(k, in_k), (v, in_v)] = [RoundedTensor::Keys, RoundedTensor::Values].map(|role| {
            TensorRounding { role, quantiser: quantiser.clone(), attention: Arc::clone(a) }.vectors(config)
        });
        Prepared {
            config: CoreConfig { score_shift: Some(scaling.score_shift), ..config.clone() },
            scaling,
            workload: scenario.restrict(config, Workload::of_vectors(config, &q.words, k, v)),
            saturated_inputs: [q.saturated, in_k, in_v],
            channels,
        }
    };
    let candidates = scenario.v_exponents(config);
    if let [v_exponent] = candidates[..] {
        return Ok(with(scaling.with_v_exponent(v_exponent)));
    }
    // They differ in V alone: one model is that of all.
    let model = VectorModel::new(&CoreConfig { score_shift: Some(scaling.score_shift), ..config.clone() });
    let mut best: Option<(f64, Prepared)> = None;
    for v_exponent in candidates {
        let prepared = with(scaling.with_v_exponent(v_exponent));
        let results = prepared.workload.run_model(&model, monitor).results;
        let mean = reference.accuracy(&prepared, &results).mean;
        if best.as_ref().is_none_or(|(least, _)| mean < *least) {
            best = Some((mean, prepared));
        }
    }
    Ok(best.map_or_else(|| with(scaling), |(_, prepared)| prepared))
}

/// The bit-exact model's results.
pub fn model_results(prepared: &Prepared) -> Vec<QueryResult> {
    prepared.workload.run_model(&VectorModel::new(&prepared.config), Monitor::default()).results
}

/// Queries with saturated scores, and the integer bits of the score that would hold them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaturatedScores {
    /// How many queries.
    pub queries: usize,
    /// The fewest integer bits with which no score saturates, [`SCORE_INTEGER_RANGE`] permitting.
    pub enough: Option<u32>,
}

impl SaturatedScores {
    /// Those in the results of a core. `saturates` says whether the same operands saturate in a core with other integer bits.
    pub fn of(
        config: &CoreConfig,
        results: &[QueryResult],
        saturates: impl Fn(&CoreConfig) -> bool,
    ) -> Option<SaturatedScores> {
        let queries = results.iter().filter(|result| result.score_saturated).count();
        let most = SCORE_INTEGER_RANGE.1.min(SCORE_BITS - config.score_fraction());
        let holds = |bits: u32| !saturates(&CoreConfig { score_integer_bits: bits, ..config.clone() });
        (queries > 0).then(|| {
            // Wider scores hold what narrower ones hold.
            let (mut below, mut enough) = (config.score_integer_bits, most + 1);
            while below + 1 < enough {
                let middle = (below + enough) / 2;
                *(if holds(middle) { &mut enough } else { &mut below }) = middle;
            }
            SaturatedScores { queries, enough: (enough <= most).then_some(enough) }
        })
    }

    /// The warning. `options` are the names of: smoothing K, a cap, the score's integer bits.
    pub fn warning(&self, [smooth, cap, integer]: [&str; 3]) -> String {
        let queries = match self.queries {
            1 => "1 query has".to_string(),
            n => format!("{n} queries have"),
        };
        let enough = match self.enough {
            Some(bits) => format!("{integer} {bits} holds them"),
            None => format!("no {integer} holds them"),
        };
        format!(
            "{queries} scores beyond the core's range (o_saturated), and results may be wrong: {enough}; \
             {smooth} or {cap} makes scores smaller"
        )
    }
}

impl Prepared {
    /// The saturated scores in the results of this run; the model says how many bits would do.
    pub fn saturated_scores(&self, results: &[QueryResult]) -> Option<SaturatedScores> {
        SaturatedScores::of(&self.config, results, |wider| {
            let run = self.workload.run_model(&VectorModel::new(wider), Monitor::default());
            run.results.iter().any(|result| result.score_saturated)
        })
    }
}

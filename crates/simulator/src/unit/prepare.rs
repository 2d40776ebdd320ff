//! From tensors in f32 to jobs, and from results to errors.

use super::workload::{ExpectedJobBlock, UnitJob};
use crate::accuracy::{Accuracy, Magnitudes};
use flashd_golden::f64_attention::{safe_softmax_of_rows, softcap};
use flashd_golden::values_exponent;
use flashd_spec::config::CoreConfig;
use flashd_spec::unit::descriptor::Descriptor;
use flashd_spec::unit::{Job, Place, UnitConfig};
use flashd_workload::{
    Attention, Channels, Quantiser, ScaleRule, Scaling, ScalingError, ScoreScale, TensorScale, choose_scaling,
};

/// The tensors of a job: heads one after another.
#[derive(Clone, Debug, PartialEq)]
pub struct JobTensors {
    /// Queries, `[query heads, queries, d_k]`.
    pub q: Vec<f32>,
    /// Keys, `[key heads, keys, d_k]`.
    pub k: Vec<f32>,
    /// Values, `[key heads, keys, d_v]`.
    pub v: Vec<f32>,
}

/// Jobs in the encodings of a unit. All have one scaling, because a unit has one score shift.
#[derive(Clone, Debug)]
pub struct PreparedJobs {
    /// The configuration with the score shift that the scaling needs.
    pub config: UnitConfig,
    /// Scaling of the tensors.
    pub scaling: Scaling,
    /// The jobs.
    pub jobs: Vec<UnitJob>,
    /// Elements of q, k and v that saturated when they were rounded.
    pub saturated_inputs: [usize; 3],
    channels: Channels,
    tensors: Vec<JobTensors>,
    /// All tensors of all jobs as one head.
    all: Attention,
}

impl PreparedJobs {
    /// Scales and rounds the tensors of jobs whose fields are complete, but for V_EXPONENT, which is set here if it is 0. `tables` are
    /// their block tables, empty without pages.
    ///
    /// # Errors
    /// If the score scale is not one a core can apply.
    ///
    /// # Panics
    /// If tensors do not fit their jobs.
    pub fn new(
        config: &UnitConfig,
        jobs: Vec<(Descriptor, JobTensors, Vec<u32>)>,
        (score, tensor, rule): (ScoreScale, TensorScale, ScaleRule),
    ) -> Result<PreparedJobs, ScalingError> {
        let core = &config.array.core;
        let joined = |of: fn(&JobTensors) -> &Vec<f32>| -> Vec<f32> {
            jobs.iter().flat_map(|(_, tensors, _)| of(tensors).iter().copied()).collect()
        };
        let (q, k, v) = (joined(|t| &t.q), joined(|t| &t.k), joined(|t| &t.v));
        let all = Attention { dv: core.dv(), ..Attention::new(core.d, q, k, Vec::new()) };
        let all = Attention { v, ..all };
        let scaling = choose_scaling(core.encodings(), &all, score, tensor)?.with_rule(rule);
        let quantiser = Quantiser::new(core.encodings(), scaling, &all);
        let mut config = config.clone();
        config.array.core = CoreConfig { score_shift: Some(scaling.score_shift), ..core.clone() };
        let mut saturated_inputs = [0; 3];
        let mut tensors = Vec::new();
        let mut rounded = Vec::new();
        for (mut descriptor, of_job, table) in jobs {
            let words =
                [quantiser.queries(&of_job.q), quantiser.keys(&of_job.k), quantiser.values(&of_job.v)];
            saturated_inputs.iter_mut().zip(&words).for_each(|(sum, words)| *sum += words.saturated);
            let [q, k, v] = words.map(|rounded| rounded.words);
            if descriptor.get("V_EXPONENT") == 0 && config.array.core.has_value_exponent() {
                descriptor.set("V_EXPONENT", values_exponent(&config.array.core, &v));
            }
            rounded.push(UnitJob { descriptor, q, k, v, table });
            tensors.push(of_job);
        }
        let channels = quantiser.channels().clone();
        Ok(PreparedJobs { config, scaling, jobs: rounded, saturated_inputs, channels, tensors, all })
    }

    /// The results of a job as numbers, `[query heads, queries, d_v]`.
    pub fn values(&self, job: usize, expected: &[ExpectedJobBlock]) -> Vec<f32> {
        let (dv, job) = (self.config.array.core.dv(), self.jobs[job].job());
        let mut values = vec![0.0; job.query_heads() as usize * job.queries as usize * dv];
        for (place, o) in results(expected) {
            let row = place.head as usize * job.queries as usize + place.token as usize;
            let numbers = o.iter().enumerate().map(|(channel, &bits)| self.result(channel, bits) as f32);
            values[row * dv..][..dv].iter_mut().zip(numbers).for_each(|(value, number)| *value = number);
        }
        values
    }

    /// Decodes an element of a result.
    fn result(&self, channel: usize, bits: u64) -> f64 {
        let format = self.config.array.core.formats().o;
        self.channels.result(&self.scaling, format, channel, bits)
    }

    /// Errors of the results of all jobs against safe softmax in f64 on the tensors as given.
    pub fn accuracy(&self, expected: &[Vec<ExpectedJobBlock>]) -> Accuracy {
        let all = || self.jobs.iter().zip(&self.tensors).zip(expected);
        let exact: Vec<f64> = all()
            .flat_map(|((job, tensors), expected)| {
                let job = job.job();
                results(expected).flat_map(move |(place, _)| self.exact(&job, tensors, place))
            })
            .collect();
        let decoded = expected
            .iter()
            .flat_map(|expected| results(expected))
            .flat_map(|(_, o)| o.iter().enumerate().map(|(channel, &bits)| self.result(channel, bits)));
        Accuracy::of(decoded, &exact, &Magnitudes::of(&self.all))
    }

    /// The exact result of a query.
    fn exact(&self, job: &Job, tensors: &JobTensors, place: &Place) -> Vec<f64> {
        let core = &self.config.array.core;
        let row = place.head as usize * job.queries as usize + place.token as usize;
        let q = &tensors.q[row * core.d..][..core.d];
        let first = (place.head / job.group) as usize * job.keys as usize;
        let keys = || place.keys.clone().map(|key| first + key as usize);
        let score = |key: usize| -> f64 {
            let k = &tensors.k[key * core.d..][..core.d];
            let dot: f64 = q.iter().zip(k).map(|(&q, &k)| f64::from(q) * f64::from(k)).sum();
            let s = dot * self.scaling.score_scale;
            core.softcap.map_or(s, |cap| softcap(s, cap))
        };
        let s: Vec<f64> = keys().map(score).collect();
        let dv = core.dv();
        safe_softmax_of_rows(&s, keys().map(|key| &tensors.v[key * dv..][..dv]), dv)
    }
}

/// Queries and their results.
fn results(expected: &[ExpectedJobBlock]) -> impl Iterator<Item = (&Place, &Vec<u64>)> {
    expected
        .iter()
        .flat_map(|block| block.block.places.iter().zip(block.results.iter().map(|result| &result.o)))
}

//! From tensors in f32 to jobs, and from results to errors.

use super::workload::{ExpectedJobBlock, UnitJob, log_sum_exp_of};
use crate::accuracy::{Accuracy, Magnitudes};
use flashd_golden::f64_attention::{safe_softmax_of_rows, softcap};
use flashd_golden::values_exponent;
use flashd_spec::config::CoreConfig;
use flashd_spec::format::ScaleFormat;
use flashd_spec::numerics::Numerics;
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

/// A job of a file, for [`PreparedJobs`].
#[derive(Clone, Debug)]
pub struct FileJob {
    /// Its fields, complete.
    pub descriptor: Descriptor,
    /// Its tensors.
    pub tensors: JobTensors,
    /// Its block table, empty without pages.
    pub table: Vec<u32>,
    /// The number of the job whose states it starts from.
    pub states_of: Option<usize>,
}

/// Jobs in the encodings of a unit. All have one scaling, because a unit has one score shift; jobs of a unit with a run-time scale may have SCALEs of
/// their own.
#[derive(Clone, Debug)]
pub struct PreparedJobs {
    /// The configuration with the score shift that the scaling needs, or its own with a run-time scale.
    pub config: UnitConfig,
    /// Scaling of the tensors.
    pub scaling: Scaling,
    /// The jobs.
    pub jobs: Vec<UnitJob>,
    /// Elements of q, k and v that saturated when they were rounded.
    pub saturated_inputs: [usize; 3],
    channels: Channels,
    tensors: Vec<JobTensors>,
    /// For each job the one whose states it starts from.
    states_of: Vec<Option<usize>>,
    /// All tensors of all jobs as one head.
    all: Attention,
}

impl PreparedJobs {
    /// Scales and rounds the tensors of jobs whose fields are complete, but for V_EXPONENT and a run-time SCALE, which are set here if
    /// they are 0.
    ///
    /// # Errors
    /// If the score scale is not one a core can apply.
    ///
    /// # Panics
    /// If tensors do not fit their jobs.
    pub fn new(
        config: &UnitConfig,
        jobs: Vec<FileJob>,
        (score, tensor, rule): (ScoreScale, TensorScale, ScaleRule),
    ) -> Result<PreparedJobs, ScalingError> {
        let core = &config.array.core;
        let joined = |of: fn(&JobTensors) -> &Vec<f32>| -> Vec<f32> {
            jobs.iter().flat_map(|job| of(&job.tensors).iter().copied()).collect()
        };
        let (q, k, v) = (joined(|t| &t.q), joined(|t| &t.k), joined(|t| &t.v));
        let all = Attention { dv: core.dv(), ..Attention::new(core.d, q, k, Vec::new()) };
        let all = Attention { v, ..all };
        let encodings = config.encodings();
        let scaling = choose_scaling(encodings, &all, score, tensor)?.with_rule(rule);
        let scaling = match config.has_scale() {
            true => scaling.with_run_time_scale(encodings.formats, core.score_shift()),
            false => scaling,
        };
        let quantiser = Quantiser::new(encodings, scaling, &all);
        let mut config = config.clone();
        config.array.core = CoreConfig { score_shift: Some(scaling.score_shift), ..core.clone() };
        let mut saturated_inputs = [0; 3];
        let states_of: Vec<Option<usize>> = jobs.iter().map(|job| job.states_of).collect();
        let (mut tensors, mut rounded) = (Vec::new(), Vec::new());
        for FileJob { mut descriptor, tensors: of_job, table, .. } in jobs {
            let words =
                [quantiser.queries(&of_job.q), quantiser.keys(&of_job.k), quantiser.values(&of_job.v)];
            saturated_inputs.iter_mut().zip(&words).for_each(|(sum, words)| *sum += words.saturated);
            let [q, k, v] = words.map(|rounded| rounded.words);
            if descriptor.get("SCALE") == 0 && config.has_scale() {
                descriptor.set("SCALE", scaling.run_time_scale()?);
            }
            rounded.push(UnitJob { descriptor, q, k, v, table, ..UnitJob::default() });
            tensors.push(of_job);
        }
        set_exponents(&config.array.core, &mut rounded, states_of.iter().any(Option::is_some));
        for (n, of) in states_of.iter().enumerate() {
            if let Some(of) = of {
                rounded[n].states = rounded[*of].states_after(&rounded[*of].expected(&config));
            }
        }
        let channels = quantiser.channels().clone();
        Ok(PreparedJobs {
            config,
            scaling,
            jobs: rounded,
            saturated_inputs,
            channels,
            tensors,
            states_of,
            all,
        })
    }

    /// The log-sum-exps of a job that writes them, base 2, `[query heads, queries]`.
    pub fn log_sum_exps(&self, job: usize, expected: &[ExpectedJobBlock]) -> Option<Vec<f32>> {
        let (core, job) = (&self.config.array.core, self.jobs[job].job());
        let n = Numerics::new(core);
        job.lse?;
        let mut values = vec![0.0; (job.query_heads() * job.queries) as usize];
        for (place, result) in expected.iter().flat_map(|block| block.block.places.iter().zip(&block.results))
        {
            values[(place.head * job.queries + place.token) as usize] =
                f32::from_bits(log_sum_exp_of(core, &n, result));
        }
        Some(values)
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
        let all = expected.iter().enumerate();
        let exact: Vec<f64> = all
            .flat_map(|(n, expected)| results(expected).flat_map(move |(place, _)| self.exact(n, place)))
            .collect();
        let decoded = expected
            .iter()
            .flat_map(|expected| results(expected))
            .flat_map(|(_, o)| o.iter().enumerate().map(|(channel, &bits)| self.result(channel, bits)));
        Accuracy::of(decoded, &exact, &Magnitudes::of(&self.all))
    }

    /// The factor between `q . k` of a job's tensors and its scores: the scaling's, or exactly SCALE if the job has another.
    fn score_scale(&self, job: &UnitJob) -> f64 {
        let Scaling { q_exponent, k_exponent, score_shift, score_scale, .. } = self.scaling;
        let scale = job.descriptor.get("SCALE");
        match self.config.has_scale() && self.scaling.run_time_scale() != Ok(scale) {
            true => ScaleFormat::Q16.value(scale).0 * f64::from(q_exponent + k_exponent + score_shift).exp2(),
            false => score_scale,
        }
    }

    /// The exact result of a query of a job: over its keys, and over the keys of the jobs whose states it starts from.
    fn exact(&self, job: usize, place: &Place) -> Vec<f64> {
        let dv = self.config.array.core.dv();
        let chain = std::iter::successors(Some(job), |&job| self.states_of[job]);
        let (mut s, mut v) = (Vec::new(), Vec::new());
        for (unit_job, tensors) in chain.map(|n| (&self.jobs[n], &self.tensors[n])) {
            let (job, scale) = (unit_job.job(), self.score_scale(unit_job));
            let first = (place.head / job.group) as usize * job.keys as usize;
            let keys = job.visible(place.token).map(|key| first + key as usize);
            let q = self.row_of_q(&job, tensors, place);
            for key in keys {
                s.push(self.score(q, &tensors.k, key, scale));
                v.push(&tensors.v[key * dv..][..dv]);
            }
        }
        safe_softmax_of_rows(&s, v.into_iter(), dv)
    }

    fn row_of_q<'a>(&self, job: &Job, tensors: &'a JobTensors, place: &Place) -> &'a [f32] {
        let (d, row) =
            (self.config.array.core.d, place.head as usize * job.queries as usize + place.token as usize);
        &tensors.q[row * d..][..d]
    }

    fn score(&self, q: &[f32], k: &[f32], key: usize, scale: f64) -> f64 {
        let core = &self.config.array.core;
        let k = &k[key * core.d..][..core.d];
        let dot: f64 = q.iter().zip(k).map(|(&q, &k)| f64::from(q) * f64::from(k)).sum();
        let s = dot * scale;
        core.softcap.map_or(s, |cap| softcap(s, cap))
    }
}

/// Sets V_EXPONENT where it is 0 and the core uses it: the exponent of the job's values, or of all jobs if some share states.
fn set_exponents(core: &CoreConfig, jobs: &mut [UnitJob], shared: bool) {
    if !core.has_value_exponent() {
        return;
    }
    let of_all = jobs.iter().map(|job| values_exponent(core, &job.v)).max().unwrap_or(0);
    for job in jobs.iter_mut().filter(|job| job.descriptor.get("V_EXPONENT") == 0) {
        let exponent = if shared { of_all } else { values_exponent(core, &job.v) };
        job.descriptor.set("V_EXPONENT", exponent);
    }
}

/// Queries and their results.
fn results(expected: &[ExpectedJobBlock]) -> impl Iterator<Item = (&Place, &Vec<u64>)> {
    expected
        .iter()
        .flat_map(|block| block.block.places.iter().zip(block.results.iter().map(|result| &result.o)))
}

//! An attention unit with its memory: jobs on float32, cycle by cycle.

use crate::{Core, Error, guarded};
use flashd_generator::{Emission, GeneratedFile, Origin, machine_files};
use flashd_simulator::unit::{
    JobTensors, PreparedJobs, UnitDrive, UnitError, UnitReport, job_of, run_against,
};
use flashd_spec::config::{ArrayConfig, Values};
use flashd_spec::unit::UnitConfig;
use flashd_workload::{ScaleRule, ScoreScale, TensorScale};
use serde_json::Value;

/// A unit around an array of a core.
pub struct Unit(UnitConfig);

/// Options of a unit. `None` is the default of the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitOptions {
    /// Cores of the array.
    pub queries: usize,
    /// Bits of a beat.
    pub beat: Option<u32>,
    /// Bits of an address.
    pub address_bits: Option<u32>,
    /// Beats of keys, and of values, in flight.
    pub in_flight: Option<u32>,
    /// All values are fetched.
    pub all_values: bool,
    /// Tokens whose keys and values stay on chip.
    pub kv_buffer: Option<u32>,
}

/// Operands of a job: heads one after another.
#[derive(Clone, Copy, Debug)]
pub struct UnitOperands<'a> {
    /// Heads of queries, heads of keys, queries and keys.
    pub shape: [usize; 4],
    /// Queries, `[query heads, queries, d_k]`.
    pub q: &'a [f32],
    /// Keys, `[key heads, keys, d_k]`.
    pub k: &'a [f32],
    /// Values, `[key heads, keys, d_v]`.
    pub v: &'a [f32],
}

/// Results of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitResult {
    /// Results, `[query heads, queries, d_v]`.
    pub o: Vec<f32>,
    /// With the flag `lse`: log-sum-exps, base 2, `[query heads, queries]`.
    pub log_sum_exps: Option<Vec<f32>>,
    /// The report as JSON.
    pub report: String,
}

/// The surroundings of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitSurroundings {
    /// Cycles from a burst to its first beat.
    pub latency: u64,
    /// Cycles from a beat to the next, at least.
    pub gap: u64,
    /// Instead of these: memory and host by chance.
    pub random: Option<u64>,
    /// Factor between `q . k` and the score.
    pub score_scale: ScoreScale,
    /// Powers of two on the tensors.
    pub tensor_scale: TensorScale,
}

impl Unit {
    /// A unit.
    ///
    /// # Errors
    /// Names the option, the given value and the allowed ones.
    pub fn new(core: &Core, options: UnitOptions) -> Result<Unit, Error> {
        let plain = UnitConfig::new(ArrayConfig::new(core.config().clone(), options.queries));
        let config = UnitConfig {
            beat_bits: options.beat.unwrap_or(plain.beat_bits),
            address_bits: options.address_bits.unwrap_or(plain.address_bits),
            in_flight: options.in_flight.unwrap_or(plain.in_flight),
            values: if options.all_values { Values::All } else { Values::Requested },
            kv_buffer: options.kv_buffer.unwrap_or(plain.kv_buffer),
            ..plain
        };
        config.validate().map_err(Error::input)?;
        Ok(Unit(config))
    }

    /// The configuration.
    pub fn config(&self) -> &UnitConfig {
        &self.0
    }

    /// Runs a job. `fields` is a job of `simulate --job` without tensors. All of memory is compared with the model.
    ///
    /// # Errors
    /// Operands or fields that cannot be, and a difference, which is a mistake of ours.
    pub fn run(
        &self,
        operands: &UnitOperands,
        fields: &str,
        around: &UnitSurroundings,
    ) -> Result<UnitResult, Error> {
        guarded(|| {
            let prepared = self.prepared(operands, fields, around)?;
            let config = &prepared.config;
            let expected = vec![prepared.jobs[0].expected(config)];
            let drive = around.random.map_or(UnitDrive::fixed(around.latency, around.gap), UnitDrive::random);
            let drive = UnitDrive { queue: false, ..drive };
            let run = run_against(config, &prepared.jobs, &drive, &mut [], &expected);
            let run = run.map_err(|e| match e {
                UnitError::Config(e) => Error::input(e),
                other => Error::Internal(other.to_string()),
            })?;
            let timing = around.random.is_none().then_some(&drive.timing);
            let report = UnitReport::new(&prepared, run, &expected, timing);
            let report = serde_json::to_string(&report).map_err(|e| Error::Internal(e.to_string()))?;
            let log_sum_exps = prepared.log_sum_exps(0, &expected[0]);
            Ok(UnitResult { o: prepared.values(0, &expected[0]), log_sum_exps, report })
        })
    }

    fn prepared(
        &self,
        operands: &UnitOperands,
        fields: &str,
        around: &UnitSurroundings,
    ) -> Result<PreparedJobs, Error> {
        let UnitOperands { shape: [heads, key_heads, queries, keys], q, k, v } = *operands;
        let (core, all) = (&self.0.array.core, [q, k, v]);
        let sizes = [heads * queries * core.d, key_heads * keys * core.d, key_heads * keys * core.dv()];
        if all.map(<[f32]>::len) != sizes || key_heads == 0 || !heads.is_multiple_of(key_heads) {
            return Err(Error::Input(format!("q, k, v: no tensors of shape {:?}", operands.shape)));
        }
        if let Some(name) = ["q", "k", "v"]
            .into_iter()
            .zip(all)
            .find_map(|(name, x)| x.iter().any(|x| !x.is_finite()).then_some(name))
        {
            return Err(Error::Input(format!("{name}: has Inf or NaN")));
        }
        let fields: Value = flashd_files::from_json(fields).map_err(Error::input)?;
        let tensors = JobTensors { q: q.to_vec(), k: k.to_vec(), v: v.to_vec() };
        let sizes = [queries, keys, heads / key_heads, key_heads].map(|n| n as u64);
        let job = job_of(&fields, &self.0, tensors, sizes).map_err(Error::Input)?;
        let scales = (around.score_scale, around.tensor_scale, ScaleRule::default());
        PreparedJobs::new(&self.0, vec![job], scales).map_err(|e| Error::input(format!("scale: {e}")))
    }

    /// The files that `flashd generate` writes.
    ///
    /// # Errors
    /// As the generator's.
    pub fn files(&self) -> Result<Vec<GeneratedFile>, Error> {
        let revision = if flashd_files::reproducible() { "" } else { flashd_revision::REVISION };
        let origin = Origin { revision: revision.into(), command: None };
        machine_files(&self.0, &Emission::of(origin)).map_err(Error::input)
    }
}

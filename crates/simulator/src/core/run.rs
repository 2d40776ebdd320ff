//! Runs of a core in lock-step with the model, and of the model alone.

use super::protocol::{CoreProtocol, Counters};
use super::workload::Workload;
use crate::bench::{Device, Observer, Protocol, RESET_CYCLES, RunError};
use crate::expected::{Decided, ExpectedQueries, GivenResults, alongside, groups};
use crate::gaps::Gaps;
use crate::running::Drive;
use flashd_golden::{Model, Monitor, QueryResult, StepCounts, VectorModel};
use flashd_spec::config::{ConfigError, CoreConfig};

/// A finished run without differences.
#[derive(Clone, Debug)]
pub struct CoreRun {
    /// Counts.
    pub counters: Counters,
    /// The model's results, equal to the core's; without steps.
    pub results: Vec<QueryResult>,
}

/// Runs a workload through core and model; `observers` see every cycle.
///
/// # Errors
/// The first difference, an invalid configuration, or an observer's I/O error.
pub fn run(
    config: &CoreConfig,
    workload: &Workload,
    drive: impl Into<Drive>,
    observers: &mut [&mut dyn Observer],
) -> Result<CoreRun, RunError> {
    check(config, workload)?;
    let queries = workload.queries.iter().map(|query| (1, query.steps())).collect();
    let (counters, results) =
        alongside(&Model::new(config).with_sums(), workload, groups(queries), |expected| {
            run_expected(config, workload, drive.into(), observers, expected)
        })?;
    Ok(CoreRun { counters, results })
}

/// [`run`] against given results (with steps): the check itself, apart from the model.
///
/// # Errors
/// As [`run`].
pub fn run_against(
    config: &CoreConfig,
    workload: &Workload,
    drive: impl Into<Drive>,
    observers: &mut [&mut dyn Observer],
    results: &[QueryResult],
) -> Result<Counters, RunError> {
    run_expected(config, workload, drive.into(), observers, &mut GivenResults(results))
}

fn run_expected(
    config: &CoreConfig,
    workload: &Workload,
    Drive { gaps, engine }: Drive,
    observers: &mut [&mut dyn Observer],
    expected: &mut impl ExpectedQueries,
) -> Result<Counters, RunError> {
    let device = Device::hardware(config.into(), engine)?;
    let mut protocol = CoreProtocol::new(config, workload, gaps, expected);
    let comparisons = device.run(&mut protocol, observers)?;
    Ok(Counters { comparisons, ..protocol.counters })
}

/// Checks a configuration, and that its core can run a workload: it must have masks, a bias and partial results if the workload has.
pub(crate) fn check(config: &CoreConfig, workload: &Workload) -> Result<(), ConfigError> {
    let masked = workload.masked();
    let restored = workload.queries.iter().filter(|query| query.restore.is_some()).count();
    let lacks = [
        (
            "masks",
            masked > 0 && !config.masks,
            format!("{masked} keys are masked, but the core has no masks"),
        ),
        (
            "bias",
            workload.is_biased() && !config.bias,
            "scores have biases, but the core has no bias port".into(),
        ),
        (
            "partial",
            restored > 0 && !config.partial,
            format!("{restored} queries start from a partial result, which the core cannot load"),
        ),
    ];
    match lacks.into_iter().find(|(_, lacks, _)| *lacks) {
        Some((field, _, problem)) => Err(ConfigError { field, problem }),
        None => config.validate(),
    }
}

/// The inputs and the outputs that are due of a run without gaps, for devices outside this crate.
pub fn protocol<'a>(config: &'a CoreConfig, workload: &'a Workload) -> Box<dyn Protocol + Send + 'a> {
    let results = workload.results(&Model::new(config), true);
    Box::new(CoreProtocol::new(config, workload, Gaps::None, GivenResults(results)))
}

/// A finished run of the model.
#[derive(Clone, Debug)]
pub struct ModelRun {
    /// The counts that [`run`] gives, with 0 comparisons.
    pub counters: Counters,
    /// Results without steps.
    pub results: Vec<QueryResult>,
    /// Counts of steps by action, query by query.
    pub counts: Vec<StepCounts>,
}

/// Runs a workload through the model and counts the cycles that the core would take.
///
/// # Errors
/// An invalid configuration, masked keys for a core without masks, or a partial result for one without partial results.
pub fn run_model(
    config: &CoreConfig,
    workload: &Workload,
    gaps: Gaps,
    monitor: Monitor,
) -> Result<ModelRun, ConfigError> {
    config.validate()?;
    run_model_with(&VectorModel::new(config), workload, gaps, monitor)
}

/// [`run_model`] with a model made before, for many small workloads.
///
/// # Errors
/// As there; the model's configuration is valid.
pub fn run_model_with(
    model: &VectorModel,
    workload: &Workload,
    gaps: Gaps,
    monitor: Monitor,
) -> Result<ModelRun, ConfigError> {
    let config = model.config();
    check(config, workload)?;
    let queries = workload.queries.iter().filter(|query| query.is_sent()).count() as u64;
    let latency = if queries > 0 { u64::from(model.numerics().latency()) } else { 0 };
    let (run, cycles, bubbles) = match gaps {
        // A key a cycle: queries are loaded with the last key of the one before.
        Gaps::None => {
            let run = workload.run_model(model, monitor);
            (run, if queries > 0 { workload.steps() as u64 + latency } else { 0 }, 0)
        }
        Gaps::Random(_) => {
            let mut decided = Decided::new(workload, model, monitor);
            let mut protocol = CoreProtocol::new(config, workload, gaps, &mut decided);
            Device::model(config.into()).count(&mut protocol);
            let Counters { cycles, bubbles, .. } = protocol.counters;
            (decided.run, cycles, bubbles)
        }
    };
    let mut all = StepCounts::default();
    run.counts.iter().for_each(|counts| all.add(counts));
    let counters = Counters {
        cycles,
        keys: all.keys,
        restored: all.restored,
        queries,
        bubbles,
        held: all.held,
        masked: all.masked,
        loads: all.loads,
        v_reads: all.value_reads(),
        latency,
        comparisons: 0,
    };
    Ok(ModelRun { counters, results: run.results, counts: run.counts })
}

/// A core's ports from the model alone, for observers; the counts of the run.
pub(crate) fn predict(
    config: &CoreConfig,
    workload: &Workload,
    gaps: Gaps,
    observers: &mut [&mut dyn Observer],
) -> Result<Counters, RunError> {
    let results = workload.results(&Model::new(config), true);
    let mut protocol = CoreProtocol::new(config, workload, gaps, GivenResults(&results));
    protocol.quiet = RESET_CYCLES as u64;
    Device::model(config.into()).run(&mut protocol, observers)?;
    Ok(protocol.counters)
}

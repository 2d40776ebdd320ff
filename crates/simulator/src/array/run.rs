//! Runs of an array in lock-step with the model, and of the model alone.

use super::protocol::{ArrayCounters, ArrayProtocol};
use super::stimulus::Disturbance;
use super::workload::{ArrayWorkload, QueryBlock};
use crate::bench::{Device, Observer, Protocol, RunError};
use crate::core::run::check;
use crate::core::workload::{Query, Workload};
use crate::expected::{Decided, ExpectedQueries, GivenResults, alongside, groups};
use crate::gaps::Gaps;
use flashd_golden::{Model, Monitor, QueryResult, VectorModel};
use flashd_spec::bits::ones;
use flashd_spec::config::{ArrayConfig, ConfigError};

/// A finished run without differences.
#[derive(Clone, Debug)]
pub struct ArrayRun {
    /// Counts.
    pub counters: ArrayCounters,
    /// Cycles from each block's last key to the next one's; a reset starts afresh.
    pub periods: Vec<u64>,
    /// The model's results in the order of the queries, equal to the array's; without steps.
    pub results: Vec<QueryResult>,
}

/// Runs a workload through array and model; `observers` see every cycle.
///
/// # Errors
/// The first difference, an invalid configuration, or an observer's I/O error.
pub fn run(
    config: &ArrayConfig,
    workload: &ArrayWorkload,
    disturbance: &Disturbance,
    observers: &mut [&mut dyn Observer],
) -> Result<ArrayRun, RunError> {
    config.validate()?;
    let single = workload_alone(config, workload);
    check(&config.core, &single)?;
    // Queries of a block meet its keys together.
    let mut queries = single.queries.iter();
    let of_block = |block: &QueryBlock| {
        let own = queries.by_ref().take(block.queries.len());
        (block.queries.len(), own.map(Query::steps).max().unwrap_or(0))
    };
    let together = workload.blocks.iter().map(of_block).collect();
    let model = Model::new(&config.core).with_sums();
    let ((counters, periods), results) = alongside(&model, &single, groups(together), |expected| {
        run_expected(config, workload, disturbance, observers, expected)
    })?;
    Ok(ArrayRun { counters, periods, results })
}

/// The queries of a workload one by one, as the array's cores see them.
pub(crate) fn workload_alone(config: &ArrayConfig, workload: &ArrayWorkload) -> Workload {
    match config.core.masks {
        true => workload.single_up_to(ones(config.key_index_bits()) as usize),
        false => workload.single(),
    }
}

/// [`run`] against given results (with steps), one for each query in order: the check itself, apart from the model.
///
/// # Errors
/// As [`run`].
pub fn run_against(
    config: &ArrayConfig,
    workload: &ArrayWorkload,
    disturbance: &Disturbance,
    observers: &mut [&mut dyn Observer],
    results: &[QueryResult],
) -> Result<(ArrayCounters, Vec<u64>), RunError> {
    run_expected(config, workload, disturbance, observers, &mut GivenResults(results))
}

fn run_expected(
    config: &ArrayConfig,
    workload: &ArrayWorkload,
    disturbance: &Disturbance,
    observers: &mut [&mut dyn Observer],
    expected: &mut impl ExpectedQueries,
) -> Result<(ArrayCounters, Vec<u64>), RunError> {
    let device = Device::hardware(config.into(), disturbance.engine)?;
    let mut protocol = ArrayProtocol::new(config, workload, disturbance, expected);
    let comparisons = device.run(&mut protocol, observers)?;
    Ok((ArrayCounters { comparisons, ..protocol.counters }, protocol.periods))
}

/// The inputs and the outputs that are due of a run without gaps, for devices outside this crate.
pub fn protocol<'a>(config: &'a ArrayConfig, workload: &'a ArrayWorkload) -> Box<dyn Protocol + Send + 'a> {
    let results = workload_alone(config, workload).results(&Model::new(&config.core), true);
    Box::new(ArrayProtocol::new(config, workload, &Disturbance::gaps(Gaps::None), GivenResults(results)))
}

/// Runs a workload through the model and counts what [`run`] counts, but for the comparisons.
///
/// # Errors
/// An invalid configuration, or masked keys for cores without masks.
pub fn run_model(
    config: &ArrayConfig,
    workload: &ArrayWorkload,
    gaps: Gaps,
    monitor: Monitor,
) -> Result<ArrayRun, ConfigError> {
    config.validate()?;
    let alone = workload_alone(config, workload);
    check(&config.core, &alone)?;
    let mut decided = Decided::new(&alone, &VectorModel::new(&config.core), monitor);
    let mut protocol = ArrayProtocol::new(config, workload, &Disturbance::gaps(gaps), &mut decided);
    Device::model(config.into()).count(&mut protocol);
    let (counters, periods) = (protocol.counters, protocol.periods);
    Ok(ArrayRun { counters, periods, results: decided.run.results })
}

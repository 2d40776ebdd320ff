//! Runs of split keys in lock-step with the model, and of the model alone.

use super::protocol::{SplitCounters, SplitProtocol};
use super::workload::SplitWorkload;
use crate::bench::{Device, Observer, RunError};
use crate::core::run::check;
use crate::core::workload::Workload;
use crate::expected::{Decided, ExpectedQueries, GivenResults, alongside, groups};
use crate::gaps::Gaps;
use crate::running::Drive;
use flashd_golden::{Model, Monitor, QueryResult, VectorModel};
use flashd_spec::config::{ConfigError, SplitConfig};

/// A finished run without differences.
#[derive(Clone, Debug)]
pub struct SplitRun {
    /// Counts.
    pub counters: SplitCounters,
    /// The model's results, equal to the hardware's.
    pub results: Vec<QueryResult>,
}

/// Runs a workload through cores and tree, and compares every output in every cycle with the model.
///
/// # Errors
/// The first difference, or an invalid configuration.
pub fn run(
    config: &SplitConfig,
    workload: &Workload,
    drive: impl Into<Drive>,
    observers: &mut [&mut dyn Observer],
) -> Result<SplitRun, RunError> {
    config.validate()?;
    let parts = SplitWorkload::new(workload, config.parts);
    // The parts of a query meet their keys together.
    let together = parts.lengths().iter().map(|&steps| (config.parts, steps)).collect();
    let model = Model::new(&config.core).with_sums();
    let ((counters, results), _) = alongside(&model, parts.workload(), groups(together), |expected| {
        run_expected(config, &parts, drive.into(), observers, expected, None)
    })?;
    Ok(SplitRun { counters, results })
}

/// [`run`] against given results of the parts, with steps, and of the tree.
///
/// # Errors
/// As [`run`].
pub fn run_against(
    config: &SplitConfig,
    workload: &Workload,
    drive: impl Into<Drive>,
    partial: &[Vec<QueryResult>],
    results: &[QueryResult],
    observers: &mut [&mut dyn Observer],
) -> Result<SplitCounters, RunError> {
    let parts = SplitWorkload::new(workload, config.parts);
    let partial = partial.concat();
    let mut expected = GivenResults(&partial);
    Ok(run_expected(config, &parts, drive.into(), observers, &mut expected, Some(results))?.0)
}

fn run_expected(
    config: &SplitConfig,
    parts: &SplitWorkload,
    Drive { gaps, engine }: Drive,
    observers: &mut [&mut dyn Observer],
    expected: &mut impl ExpectedQueries,
    results: Option<&[QueryResult]>,
) -> Result<(SplitCounters, Vec<QueryResult>), RunError> {
    let device = Device::hardware(config.into(), engine)?;
    let mut protocol = SplitProtocol::new(config, parts, gaps, expected, results);
    let comparisons = device.run(&mut protocol, observers)?;
    Ok((SplitCounters { comparisons, ..protocol.counters }, protocol.merged))
}

/// Runs a workload through the models of cores and tree, and counts what [`run`] counts, but for the comparisons.
///
/// # Errors
/// An invalid configuration.
pub fn run_model(
    config: &SplitConfig,
    workload: &Workload,
    gaps: Gaps,
    monitor: Monitor,
) -> Result<SplitRun, ConfigError> {
    config.validate()?;
    check(&config.core, workload)?;
    let parts = SplitWorkload::new(workload, config.parts);
    let model = VectorModel::new(&config.core);
    let steps: usize = parts.lengths().iter().sum();
    let latency = if parts.lengths().is_empty() { 0 } else { u64::from(config.latency()) };
    let (run, cycles) = match gaps {
        // Steps follow each other: queries are loaded with the last keys of the one before.
        Gaps::None => (parts.workload().run_model(&model, monitor), steps as u64 + latency),
        Gaps::Random(_) => {
            let mut decided = Decided::new(parts.workload(), &model, monitor);
            let mut protocol = SplitProtocol::new(config, &parts, gaps, &mut decided, None);
            Device::model(config.into()).count(&mut protocol);
            let cycles = protocol.counters.cycles;
            (decided.run, cycles)
        }
    };
    let partial: Vec<Vec<QueryResult>> = run.results.chunks(config.parts).map(<[_]>::to_vec).collect();
    let results = parts.results(config, &partial);
    let counters = SplitCounters {
        cycles,
        steps: steps as u64,
        v_reads: run.counts.iter().map(|counts| counts.value_reads()).sum(),
        queries: results.len() as u64,
        latency,
        comparisons: 0,
    };
    Ok(SplitRun { counters, results })
}

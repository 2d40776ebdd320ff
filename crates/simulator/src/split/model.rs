//! Split keys in the bit-exact model alone, and the counts of a run without clocking any hardware.

use super::lockstep::{SplitCounters, SplitRun};
use super::stream::SplitDriver;
use super::workload::SplitWorkload;
use crate::core::lockstep::{require_bias, require_partial};
use crate::core::model::Decisions;
use crate::core::workload::Workload;
use crate::gaps::Gaps;
use flashd_golden::{Monitor, QueryResult, VectorModel};
use flashd_hwmodel::catalogue::v_step_latency;
use flashd_spec::config::{ConfigError, SplitConfig};
use std::collections::VecDeque;

/// Runs a workload through the models of cores and tree, and counts what [`super::run`] counts, but for the comparisons.
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
    require_partial(&config.core, workload)?;
    require_bias(&config.core, workload)?;
    let parts = SplitWorkload::new(workload, config.parts);
    let model = VectorModel::new(&config.core);
    let (run, cycles) = match gaps {
        // Steps follow each other: queries are loaded with the last keys of the one before.
        Gaps::None => {
            let steps: usize = parts.lengths().iter().sum();
            (parts.workload.run_model(&model, monitor), steps as u64)
        }
        Gaps::Random(_) => {
            let (run, decisions) = parts.workload.run_decisions(&model, monitor);
            (run, driven(config, &parts, gaps, &decisions))
        }
    };
    let partial: Vec<Vec<QueryResult>> = run.results.chunks(config.parts).map(<[_]>::to_vec).collect();
    let results = parts.results(config, &partial);
    let latency = if results.is_empty() { 0 } else { u64::from(config.latency()) };
    let counters = SplitCounters {
        cycles: cycles + latency,
        steps: parts.lengths().iter().sum::<usize>() as u64,
        v_reads: run.counts.iter().map(|counts| counts.value_reads()).sum(),
        queries: results.len() as u64,
        latency,
        comparisons: 0,
    };
    Ok(SplitRun { counters, results })
}

/// Cycles from the first keys to the last ones, both included: asks the driver, and answers as the cores would.
fn driven(config: &SplitConfig, parts: &SplitWorkload, gaps: Gaps, decisions: &Decisions) -> u64 {
    let stage = u64::from(v_step_latency(&config.core));
    let mut driver = SplitDriver::new(config, parts, gaps);
    let mut values = VecDeque::new();
    let (mut first, mut last) = (None, None);
    for cycle in 0u64.. {
        if driver.finished() {
            break;
        }
        let offer = driver.next();
        if offer.step.is_some() {
            first.get_or_insert(cycle);
            last = Some(cycle);
        }
        values.push_back(offer.step);
        let due = if cycle < stage { None } else { values.pop_front().flatten() };
        if offer.inputs.core.rst {
            continue;
        }
        let asked = |part: usize| {
            let (query, step) = due?;
            let decision = decisions.get(query * config.parts + part, step)?;
            decision.reads.then(|| parts.query(query, part).from + step)
        };
        driver.ask((0..config.parts).map(asked).collect());
    }
    first.zip(last).map_or(0, |(first, last)| last - first + 1)
}

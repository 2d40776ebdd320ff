//! An array's counts from the model's decisions and the protocol's rules, without clocking any hardware.

use super::engine::{ArrayInputs, ArrayOutputs};
use super::lockstep::{ArrayCounters, ArrayRun, workload_alone};
use super::rules::ArrayRules;
use super::stream::{ArrayDriver, Disturbance};
use super::workload::{ArrayWorkload, BlockStep};
use crate::core::lockstep::{require_bias, require_masks, require_partial};
use crate::core::model::{Decision, Decisions};
use crate::gaps::Gaps;
use flashd_golden::{Monitor, VectorModel};
use flashd_hwmodel::catalogue::v_step_latency;
use flashd_spec::config::{ArrayConfig, ConfigError};
use std::collections::VecDeque;

/// Runs a workload through the model and counts what [`super::run`] counts, but for the comparisons.
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
    require_masks(&config.core, &alone)?;
    require_bias(&config.core, &alone)?;
    require_partial(&config.core, &alone)?;
    let (run, decisions) = alone.run_decisions(&VectorModel::new(&config.core), monitor);
    let (counters, periods) = count(config, workload, gaps, &decisions);
    Ok(ArrayRun { counters, periods, results: run.results })
}

fn count(
    config: &ArrayConfig,
    workload: &ArrayWorkload,
    gaps: Gaps,
    decisions: &Decisions,
) -> (ArrayCounters, Vec<u64>) {
    // Index of each block's first query.
    let mut first = Vec::with_capacity(workload.blocks.len());
    let mut queries = 0;
    for block in &workload.blocks {
        first.push(queries);
        queries += block.queries.len();
    }
    let latency = u64::from(config.latency());
    let value = u64::from(v_step_latency(&config.core));
    let mut driver = ArrayDriver::new(config, workload, &Disturbance::gaps(gaps));
    let mut rules = ArrayRules::new(config.queries);
    let (mut inputs, mut outputs) = (ArrayInputs::default(), ArrayOutputs::default());
    let mut counters = ArrayCounters { latency, queries: queries as u64, ..ArrayCounters::default() };
    let mut periods = Vec::new();
    let mut steps = VecDeque::new();
    let (mut first_key, mut last_end) = (None, None);
    for cycle in 0.. {
        if driver.finished() {
            break;
        }
        let offer = driver.next(cycle, &outputs, &mut inputs);
        let due = steps.front().copied().filter(|&(at, _): &(u64, bool)| at == cycle);
        (outputs.core.v_step, outputs.core.v_ren) = (due.is_some(), due.is_some_and(|(_, reads)| reads));
        if due.is_some() {
            steps.pop_front();
        }
        if inputs.core.rst {
            continue;
        }
        let taken = rules.advance(cycle, offer.query, offer.key.map(|(_, last)| last));
        if let (Some(((block, key), _)), Some(ids)) = (offer.key, &taken.key) {
            let begin = *first_key.get_or_insert(cycle);
            let of = &workload.blocks[block];
            let reads = match of.step(key) {
                // Of one query, which takes it.
                BlockStep::State(_) => {
                    counters.restored += 1;
                    true
                }
                BlockStep::Key(place) => {
                    let decision = |&(block, query): &(usize, usize)| {
                        let restores = usize::from(of.state(query).is_some());
                        decisions.of(first[block] + query, restores + of.first_key + place)
                    };
                    let met: Vec<Decision> = ids.iter().map(decision).collect();
                    let readers = met.iter().filter(|decision| decision.reads).count() as u64;
                    let masked = met.iter().filter(|decision| decision.masked).count() as u64;
                    counters.keys += 1;
                    counters.steps += met.len() as u64;
                    counters.masked += masked;
                    counters.unseen += u64::from(masked == met.len() as u64);
                    counters.v_reads += u64::from(readers > 0);
                    counters.v_reads_alone += readers;
                    readers > 0
                }
            };
            steps.push_back((cycle + value, reads));
            if taken.end {
                counters.blocks += 1;
                periods.extend(last_end.replace(cycle).map(|end: u64| cycle - end));
                // Results leave one a cycle.
                counters.cycles = cycle + latency + ids.len() as u64 - begin;
            }
        }
        driver.advance(taken.query, taken.key.is_some());
    }
    (counters, periods)
}

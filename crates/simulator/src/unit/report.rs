//! The report of a run.

use super::prepare::PreparedJobs;
use super::run::UnitRun;
use super::slave::MemoryTiming;
use super::workload::ExpectedJobBlock;
use crate::accuracy::Accuracy;
use flashd_spec::unit::UnitConfig;
use flashd_workload::Scaling;
use serde::Serialize;

/// The report of a run without differences.
#[derive(Clone, Debug, Serialize)]
pub struct UnitReport {
    /// Name of the unit.
    pub name: String,
    /// Its configuration.
    pub configuration: UnitConfig,
    /// Scaling of the tensors.
    pub scaling: Scaling,
    /// Number of jobs.
    pub jobs: usize,
    /// Queries of all heads of all jobs.
    pub queries: usize,
    /// Cycles from a burst of reads to its first beat, if it is constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_latency: Option<u64>,
    /// Cycles from a beat of a read to the next, at least, if they are constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_gap: Option<u64>,
    /// Cycles, registers and counts.
    #[serde(flatten)]
    pub run: UnitRun,
    /// Cycles that the array needs at least: one for each key of a block.
    pub key_roof: u64,
    /// Cycles that the port to the memory needs at least: one for each beat of reads, or of writes.
    pub beat_roof: u64,
    /// The larger roof over the cycles in which the unit was busy.
    pub utilisation: f64,
    /// Differences from the model: a run with one has no report.
    pub mismatches: u64,
    /// Elements of q, k and v that saturated when they were rounded.
    pub saturated_inputs: [usize; 3],
    /// Errors against safe softmax in f64.
    pub accuracy: Accuracy,
}

impl UnitReport {
    /// The report of a run; `memory` is the memory's timing, if it is constant.
    pub fn new(
        prepared: &PreparedJobs,
        run: UnitRun,
        expected: &[Vec<ExpectedJobBlock>],
        memory: Option<&MemoryTiming>,
    ) -> UnitReport {
        let (key_roof, beat_roof) = run.roofs();
        UnitReport {
            name: prepared.config.name(),
            configuration: prepared.config.clone(),
            scaling: prepared.scaling,
            jobs: prepared.jobs.len(),
            queries: expected.iter().flatten().map(|block| block.results.len()).sum(),
            memory_latency: memory.map(|timing| timing.latency),
            memory_gap: memory.map(|timing| timing.gap),
            key_roof,
            beat_roof,
            utilisation: run.utilisation(),
            run,
            mismatches: 0,
            saturated_inputs: prepared.saturated_inputs,
            accuracy: prepared.accuracy(expected),
        }
    }
}

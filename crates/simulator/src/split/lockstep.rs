//! The lock-step run of a split: every output port in every cycle.

use super::engine::{SplitEngine, SplitInputs, SplitOutputs};
use super::rules::SplitRules;
use super::stream::SplitDriver;
use super::workload::SplitWorkload;
use crate::core::lockstep::{Divergence, RunError};
use crate::core::workload::Workload;
use crate::expected::{Expected, Recorded, alongside, groups};
use crate::inside::InsideSchedule;
use crate::running::{Drive, Running};
use flashd_golden::{Action, Merge, Model, QueryResult};
use flashd_spec::config::{ConfigError, SplitConfig};
use serde::Serialize;
use std::collections::VecDeque;

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SplitCounters {
    /// Cycles from the first accepted keys to the last result, both included.
    pub cycles: u64,
    /// Steps, of a key for each part.
    pub steps: u64,
    /// Values read.
    pub v_reads: u64,
    /// Queries with a result.
    pub queries: u64,
    /// Cycles from the acceptance of the last keys to the result.
    pub latency: u64,
    /// Single comparisons made.
    pub comparisons: u64,
}

/// Sees every settled cycle.
pub trait SplitObserver {
    /// Called once a cycle, before the clock rises.
    ///
    /// # Errors
    /// An I/O error ends the run.
    fn cycle(&mut self, split: &Running, inputs: &SplitInputs, outputs: &SplitOutputs)
    -> std::io::Result<()>;
}

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
    observers: &mut [&mut dyn SplitObserver],
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
    observers: &mut [&mut dyn SplitObserver],
) -> Result<SplitCounters, RunError> {
    let parts = SplitWorkload::new(workload, config.parts);
    let partial = partial.concat();
    let mut expected = Recorded(&partial);
    Ok(run_expected(config, &parts, drive.into(), observers, &mut expected, Some(results))?.0)
}

/// The run against the steps and results of parts; where the results of the tree are not given, they are merged from those.
fn run_expected(
    config: &SplitConfig,
    parts: &SplitWorkload,
    drive: Drive,
    observers: &mut [&mut dyn SplitObserver],
    expected: &mut dyn Expected,
    results: Option<&[QueryResult]>,
) -> Result<(SplitCounters, Vec<QueryResult>), RunError> {
    let mut bench = SplitBench::new(config, parts, drive, expected, results)?;
    let mut drain = u64::from(config.latency()) + 4;
    while drain > 0 {
        drain -= u64::from(bench.driver.finished());
        bench.drive();
        for observer in &mut *observers {
            observer.cycle(bench.engine.running(), &bench.inputs, &bench.outputs)?;
        }
        bench.compare_and_clock().map_err(RunError::Divergence)?;
    }
    Ok((bench.counters, bench.merged))
}

struct SplitBench<'a> {
    config: &'a SplitConfig,
    parts: &'a SplitWorkload,
    expected: &'a mut dyn Expected,
    results: Option<&'a [QueryResult]>,
    tree: Merge,
    /// Results so far.
    merged: Vec<QueryResult>,
    engine: SplitEngine,
    driver: SplitDriver<'a>,
    rules: SplitRules,
    inside: InsideSchedule,
    first_key: Option<u64>,
    counters: SplitCounters,
    inputs: SplitInputs,
    outputs: SplitOutputs,
}

impl<'a> SplitBench<'a> {
    fn new(
        config: &'a SplitConfig,
        parts: &'a SplitWorkload,
        drive: Drive,
        expected: &'a mut dyn Expected,
        results: Option<&'a [QueryResult]>,
    ) -> Result<Self, ConfigError> {
        let engine = SplitEngine::new(config, drive.engine)?;
        Ok(SplitBench {
            inside: InsideSchedule::new(&config.core, engine.inside(), config.parts),
            engine,
            driver: SplitDriver::new(config, parts, drive.gaps),
            rules: SplitRules::new(config),
            first_key: None,
            counters: SplitCounters::default(),
            inputs: SplitInputs::default(),
            outputs: SplitOutputs::default(),
            config,
            parts,
            expected,
            results,
            tree: Merge::new(&config.core),
            merged: Vec::new(),
        })
    }

    /// The inputs of a cycle, and what the hardware makes of them.
    fn drive(&mut self) {
        let cycle = self.engine.cycle();
        let offer = self.driver.next();
        self.inputs = offer.inputs;
        self.engine.settle(&self.inputs, &mut self.outputs);
        if let Some((query, step)) = offer.step {
            self.first_key.get_or_insert(cycle);
            self.counters.steps += 1;
            let mut read = vec![None; self.config.parts];
            for (p, read) in read.iter_mut().enumerate() {
                let of_part = self.parts.query(query, p);
                // Of a part that has ended before, the rest is masked.
                if step < of_part.steps() {
                    let met = self.expected.step(query * self.config.parts + p, step);
                    self.inside.accept(cycle, p, &met, false);
                    let reads = !matches!(met.action, Action::Hold | Action::Masked);
                    *read = reads.then_some(of_part.from + step);
                }
            }
            self.rules.accept(cycle, query, read, self.inputs.core.k_last);
        }
        self.inside.due(cycle, &mut self.outputs.core.inside);
    }

    fn compare_and_clock(&mut self) -> Result<(), Box<Divergence>> {
        if !self.inputs.core.rst {
            let outputs = std::mem::take(&mut self.outputs);
            self.compare(&outputs)?;
            self.outputs = outputs;
        }
        self.engine.clock();
        Ok(())
    }

    fn compare(&mut self, outputs: &SplitOutputs) -> Result<(), Box<Divergence>> {
        let SplitOutputs { core: o, v_ren } = outputs;
        self.counters.comparisons += o.inside.iter().flatten().count() as u64;
        if let Some((signal, values)) = self.inside.differs(&o.inside, self.engine.inside()) {
            let name = self.config.name();
            return Err(Box::new(Divergence::new(
                name,
                self.engine.cycle(),
                &signal,
                values,
                &VecDeque::new(),
            )));
        }
        let cycle = self.engine.cycle();
        let due = self.rules.value(cycle);
        self.check("v_step", due.is_some().into(), o.v_step.into())?;
        let asked = due.unwrap_or_else(|| vec![None; self.config.parts]);
        for (p, asked) in asked.iter().enumerate() {
            let reads = asked.is_some();
            self.check(&format!("v_ren[{p}]"), reads.into(), v_ren[p].into())?;
            self.counters.v_reads += u64::from(reads);
        }
        self.driver.ask(asked);
        let due = self.rules.result(cycle);
        self.check("o_valid", due.is_some().into(), o.o_valid.into())?;
        let Some(query) = due else {
            return Ok(());
        };
        let result = match self.results {
            Some(results) => results[query].clone(),
            None => self.merge(query),
        };
        self.check("o_invalid", result.invalid.into(), o.o_invalid.into())?;
        self.check("o_saturated", result.score_saturated.into(), o.o_saturated.into())?;
        self.check("o_empty", result.empty.into(), o.o_empty.into())?;
        self.check("o_overflow", result.overflow.into(), o.o_overflow.into())?;
        for (j, (expected, actual)) in result.o.iter().zip(&o.o).enumerate() {
            self.check(&format!("o[{j}]"), *expected, *actual)?;
        }
        if let Some(expected) = &result.state {
            let names = self.config.core.state_scalars();
            for ((expected, actual), name) in expected.scalars.iter().zip(&o.o_scalars).zip(names) {
                self.check(&format!("o_{name}"), *expected, *actual)?;
            }
            for (j, (expected, actual)) in expected.o.iter().zip(&o.o_state).enumerate() {
                self.check(&format!("o_state[{j}]"), *expected, *actual)?;
            }
        }
        self.counters.queries += 1;
        self.counters.latency = self.rules.latency();
        self.counters.cycles = cycle - self.first_key.unwrap_or(cycle) + 1;
        self.merged.push(result);
        Ok(())
    }

    /// The result of a query from those of its parts.
    fn merge(&mut self, query: usize) -> QueryResult {
        let parts = (0..self.config.parts).map(|p| query * self.config.parts + p);
        let partial: Vec<QueryResult> = parts.map(|part| self.expected.result(part).clone()).collect();
        self.parts.result(&self.tree, query, partial)
    }

    fn check(&mut self, signal: &str, expected: u64, actual: u64) -> Result<(), Box<Divergence>> {
        self.counters.comparisons += 1;
        if expected == actual {
            return Ok(());
        }
        let values = [expected, actual].map(|bits| (bits, bits.to_string()));
        let name = self.config.name();
        Err(Box::new(Divergence::new(name, self.engine.cycle(), signal, values, &VecDeque::new())))
    }
}

//! Split keys: cores that share a query, and the tree that merges their parts, in lock-step with the model.

mod driver;
mod model;

use crate::array::lockstep::pop_if;
use crate::engine::{Inputs, Outputs};
use crate::inside::InsideSchedule;
use crate::lockstep::{Divergence, RunError};
use crate::stream::{Gaps, Query, Workload};
use driver::SplitDriver;
use flashd_golden::{Action, Merge, Model, QueryResult};
use flashd_hwmodel::attention::inside::Inside;
use flashd_hwmodel::rtl::SimulatedCircuit;
use flashd_hwmodel::split::{SplitConfig, build};
use flashd_spec::config::ConfigError;
pub use model::run_model;
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

/// What cores and tree have at their inputs in one cycle.
#[derive(Clone, Debug, Default)]
pub struct SplitInputs {
    /// As of a core; `k` and `v` have the vectors of all parts, `parts * d` encodings.
    pub core: Inputs,
    /// Whether the key of each part is hidden.
    pub k_mask: Vec<bool>,
}

/// What they have at their outputs.
#[derive(Clone, Debug, Default)]
pub struct SplitOutputs {
    /// As of a core, the result being that of all parts.
    pub core: Outputs,
    /// Whether each part reads its value.
    pub v_ren: Vec<bool>,
}

/// Sees every settled cycle.
pub trait SplitObserver {
    /// Called once a cycle, before the clock rises.
    ///
    /// # Errors
    /// An I/O error ends the run.
    fn cycle(&mut self, inputs: &SplitInputs, outputs: &SplitOutputs) -> std::io::Result<()>;
}

/// A finished run without differences.
#[derive(Clone, Debug)]
pub struct SplitRun {
    /// Counts.
    pub counters: SplitCounters,
    /// The model's results, equal to the hardware's.
    pub results: Vec<QueryResult>,
}

/// Queries whose keys are in parts of one length: part p has the keys `p n .. (p + 1) n`, as far as there are.
pub struct SplitWorkload {
    /// A query each part, all parts of a query one after another.
    workload: Workload,
    parts: usize,
    /// Steps of each query.
    lengths: Vec<usize>,
}

impl SplitWorkload {
    /// The keys of every query in so many parts.
    pub fn new(workload: &Workload, parts: usize) -> Self {
        let length = |query: &Query| (query.keys - query.from).div_ceil(parts).max(1);
        let of_query = |query: &Query| -> Vec<Query> {
            let n = length(query);
            let range = |p: usize| (query.from + p * n).min(query.keys);
            (0..parts).map(|p| Query { from: range(p), keys: range(p + 1), ..query.clone() }).collect()
        };
        SplitWorkload {
            lengths: workload.queries.iter().map(length).collect(),
            workload: Workload {
                queries: workload.queries.iter().flat_map(of_query).collect(),
                ..workload.clone()
            },
            parts,
        }
    }

    /// What the cores make of the parts, for each query.
    pub(crate) fn partial_results(&self, model: &Model, record: bool) -> Vec<Vec<QueryResult>> {
        let results = self.workload.results(model, record);
        results.chunks(self.parts).map(<[QueryResult]>::to_vec).collect()
    }

    /// What the tree makes of that.
    pub fn results(&self, config: &SplitConfig, partial: &[Vec<QueryResult>]) -> Vec<QueryResult> {
        let exponents: Vec<u64> =
            self.workload.queries.iter().step_by(self.parts).map(|q| q.v_exponent).collect();
        Merge::new(&config.core).results(partial, &exponents)
    }

    /// The parts as queries of their own, all parts of a query one after another.
    pub(crate) fn workload(&self) -> &Workload {
        &self.workload
    }

    fn query(&self, query: usize, part: usize) -> &Query {
        &self.workload.queries[query * self.parts + part]
    }
}

/// The model's results of queries whose keys are split, without the hardware.
pub fn split_results(config: &SplitConfig, workload: &Workload) -> Vec<QueryResult> {
    let parts = SplitWorkload::new(workload, config.parts);
    parts.results(config, &parts.partial_results(&Model::new(&config.core), false))
}

/// Runs a workload through cores and tree, and compares every output in every cycle with the model.
///
/// # Errors
/// The first difference, or an invalid configuration.
pub fn run(
    config: &SplitConfig,
    workload: &Workload,
    gaps: Gaps,
    observers: &mut [&mut dyn SplitObserver],
) -> Result<SplitRun, RunError> {
    let parts = SplitWorkload::new(workload, config.parts);
    let partial = parts.partial_results(&Model::new(&config.core).with_sums(), true);
    let results = parts.results(config, &partial);
    let counters = run_against(config, workload, gaps, &partial, &results, observers)?;
    Ok(SplitRun { counters, results })
}

/// [`run`] against given results of the parts, with steps, and of the tree.
///
/// # Errors
/// As [`run`].
pub fn run_against(
    config: &SplitConfig,
    workload: &Workload,
    gaps: Gaps,
    partial: &[Vec<QueryResult>],
    results: &[QueryResult],
    observers: &mut [&mut dyn SplitObserver],
) -> Result<SplitCounters, RunError> {
    let parts = SplitWorkload::new(workload, config.parts);
    let mut bench = SplitBench::new(config, &parts, gaps, partial, results)?;
    let mut drain = u64::from(config.latency()) + 4;
    while drain > 0 {
        drain -= u64::from(bench.driver.finished());
        bench.drive();
        for observer in &mut *observers {
            observer.cycle(&bench.inputs, &bench.outputs)?;
        }
        bench.compare_and_clock().map_err(RunError::Divergence)?;
    }
    Ok(bench.counters)
}

struct SplitBench<'a> {
    config: &'a SplitConfig,
    parts: &'a SplitWorkload,
    partial: &'a [Vec<QueryResult>],
    results: &'a [QueryResult],
    core: SimulatedCircuit,
    /// What is watched inside the cores, one after another.
    watched: Vec<Inside>,
    driver: SplitDriver<'a>,
    cycle: u64,
    /// Steps on their way to the value stage, and queries to the result: cycle, query, step.
    values: VecDeque<(u64, usize, usize)>,
    outputs_due: VecDeque<(u64, usize)>,
    value_stage: u64,
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
        gaps: Gaps,
        partial: &'a [Vec<QueryResult>],
        results: &'a [QueryResult],
    ) -> Result<Self, ConfigError> {
        let core = SimulatedCircuit::new(build(config)?);
        let watched = Inside::of(core.circuit());
        Ok(SplitBench {
            inside: InsideSchedule::new(&config.core, &Inside::by_core(&watched, config.parts)),
            core,
            watched,
            driver: SplitDriver::new(config, parts, gaps),
            cycle: 0,
            values: VecDeque::new(),
            outputs_due: VecDeque::new(),
            value_stage: flashd_hwmodel::catalogue::v_step_latency(&config.core).into(),
            first_key: None,
            counters: SplitCounters::default(),
            inputs: SplitInputs::default(),
            outputs: SplitOutputs::default(),
            config,
            parts,
            partial,
            results,
        })
    }

    /// The inputs of a cycle, and what the hardware makes of them.
    fn drive(&mut self) {
        let offer = self.driver.next();
        self.inputs = offer.inputs;
        self.settle();
        if let Some((query, step)) = offer.step {
            self.first_key.get_or_insert(self.cycle);
            self.counters.steps += 1;
            self.values.push_back((self.cycle, query, step));
            let last = self.inputs.core.k_last;
            for (p, part) in self.partial[query].iter().enumerate() {
                // Of a part that has ended before, the rest is masked.
                if let Some(step) = part.steps.get(step) {
                    self.inside.accept(self.cycle, p, step, false);
                }
            }
            if last {
                self.outputs_due.push_back((self.cycle, query));
            }
        }
        self.inside.due(self.cycle, &mut self.outputs.core.inside);
    }

    fn compare_and_clock(&mut self) -> Result<(), Box<Divergence>> {
        if !self.inputs.core.rst {
            let outputs = std::mem::take(&mut self.outputs);
            self.compare(&outputs)?;
            self.outputs = outputs;
        }
        self.core.clock();
        self.cycle += 1;
        Ok(())
    }

    /// Inputs to the ports, logic, and outputs from the ports.
    fn settle(&mut self) {
        let SplitInputs { core: i, k_mask } = &self.inputs;
        i.drive(&mut self.core);
        let k_mask: Vec<u64> = k_mask.iter().map(|&masked| masked.into()).collect();
        self.core.set_words("k_mask", &k_mask);
        self.core.settle();
        Inside::refresh(&mut self.watched, self.core.circuit());
        let SplitOutputs { core: o, v_ren } = &mut self.outputs;
        o.read(&self.core);
        o.o_scalars =
            self.config.core.state_scalars().iter().map(|name| self.core.get(&format!("o_{name}"))).collect();
        *v_ren = self.core.words("v_ren").map(|high| high != 0).collect();
    }

    fn compare(&mut self, outputs: &SplitOutputs) -> Result<(), Box<Divergence>> {
        let SplitOutputs { core: o, v_ren } = outputs;
        self.counters.comparisons += o.inside.iter().flatten().count() as u64;
        if let Some((signal, values)) =
            self.inside.differs(&o.inside, &Inside::by_core(&self.watched, self.config.parts))
        {
            let name = self.config.name();
            return Err(Box::new(Divergence::new(name, self.cycle, &signal, values, &VecDeque::new())));
        }
        let cycle = self.cycle;
        let stage = self.value_stage;
        let due = pop_if(&mut self.values, |&(at, ..)| at + stage == cycle);
        self.check("v_step", due.is_some().into(), o.v_step.into())?;
        let mut asked = vec![None; self.config.parts];
        for (p, asked) in asked.iter_mut().enumerate() {
            let reads = due.is_some_and(|(_, query, step)| {
                let steps = &self.partial[query][p].steps;
                steps.get(step).is_some_and(|s| !matches!(s.action, Action::Hold | Action::Masked))
            });
            self.check(&format!("v_ren[{p}]"), reads.into(), v_ren[p].into())?;
            self.counters.v_reads += u64::from(reads);
            *asked = due.filter(|_| reads).map(|(_, query, step)| self.parts.query(query, p).from + step);
        }
        self.driver.ask(asked);
        let latency = u64::from(self.config.latency());
        let due = pop_if(&mut self.outputs_due, |&(at, _)| at + latency == cycle);
        self.check("o_valid", due.is_some().into(), o.o_valid.into())?;
        let Some((_, query)) = due else {
            return Ok(());
        };
        let results = self.results;
        let result = &results[query];
        self.check("o_invalid", result.invalid.into(), o.o_invalid.into())?;
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
        self.counters.latency = latency;
        self.counters.cycles = cycle - self.first_key.unwrap_or(cycle) + 1;
        Ok(())
    }

    fn check(&mut self, signal: &str, expected: u64, actual: u64) -> Result<(), Box<Divergence>> {
        self.counters.comparisons += 1;
        if expected == actual {
            return Ok(());
        }
        let values = [expected, actual].map(|bits| (bits, bits.to_string()));
        let name = self.config.name();
        Err(Box::new(Divergence::new(name, self.cycle, signal, values, &VecDeque::new())))
    }
}

//! The lock-step run of an array: every output port in every cycle.
//!
//! Results, and which query reads which value, are those of the model for each query alone; when they are due, and
//! what is ready, is what [`ArrayRules`] say.

use super::engine::{ArrayEngine, ArrayInputs, ArrayOutputs};
use super::rules::{ArrayRules, QueryId};
use super::stream::{ArrayDriver, ArrayOffer, Disturbance};
use super::workload::{ArrayWorkload, BlockStep, QueryBlock};
use crate::core::lockstep::{Divergence, RunError, is_zero, require_bias, require_masks, require_partial};
use crate::core::workload::{Query, Workload};
use crate::expected::{Expected, Recorded, alongside, groups};
use crate::inside::InsideSchedule;
use crate::running::Running;
use flashd_golden::{Action, Model, QueryResult, Step};
use flashd_hwmodel::attention::inside::Inside;
use flashd_hwmodel::catalogue::{Stages, v_step_latency};
use flashd_spec::bits::ones;
use flashd_spec::config::ArrayConfig;
use serde::Serialize;
use std::collections::VecDeque;

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ArrayCounters {
    /// Cycles from the first key to the last result, both included.
    pub cycles: u64,
    /// Blocks whose last key was taken.
    pub blocks: u64,
    /// Queries with a result.
    pub queries: u64,
    /// Keys taken, each counted once however many queries it met.
    pub keys: u64,
    /// States taken, each for one query.
    #[serde(skip_serializing_if = "is_zero")]
    pub restored: u64,
    /// Steps: keys taken, counted for each query that met them.
    pub steps: u64,
    /// Values read.
    pub v_reads: u64,
    /// Values that the queries would have read one by one.
    pub v_reads_alone: u64,
    /// Steps whose key was masked.
    #[serde(skip_serializing_if = "is_zero")]
    pub masked: u64,
    /// Keys that no query of their block saw.
    #[serde(skip_serializing_if = "is_zero")]
    pub unseen: u64,
    /// Cycles from a block's last key to its first result.
    pub latency: u64,
    /// Single comparisons made.
    pub comparisons: u64,
}

/// Sees every settled cycle.
pub trait ArrayObserver {
    /// Called once a cycle, before the clock rises.
    ///
    /// # Errors
    /// An I/O error ends the run.
    fn cycle(&mut self, array: &Running, inputs: &ArrayInputs, outputs: &ArrayOutputs)
    -> std::io::Result<()>;
}

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
    observers: &mut [&mut dyn ArrayObserver],
) -> Result<ArrayRun, RunError> {
    config.validate()?;
    let single = workload_alone(config, workload);
    require_masks(&config.core, &single)?;
    require_bias(&config.core, &single)?;
    require_partial(&config.core, &single)?;
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
    observers: &mut [&mut dyn ArrayObserver],
    results: &[QueryResult],
) -> Result<(ArrayCounters, Vec<u64>), RunError> {
    run_expected(config, workload, disturbance, observers, &mut Recorded(results))
}

fn run_expected(
    config: &ArrayConfig,
    workload: &ArrayWorkload,
    disturbance: &Disturbance,
    observers: &mut [&mut dyn ArrayObserver],
    expected: &mut dyn Expected,
) -> Result<(ArrayCounters, Vec<u64>), RunError> {
    let mut engine = ArrayEngine::new(config, disturbance.engine)?;
    let mut driver = ArrayDriver::new(config, workload, disturbance);
    let mut checker = ArrayChecker::new(config, workload, expected, engine.inside());
    let (mut inputs, mut outputs) = (ArrayInputs::default(), ArrayOutputs::default());
    // After the last key: all results, and some cycles in which nothing more may come out.
    let mut drain = checker.latency + config.queries as u64 + HISTORY as u64;
    while drain > 0 {
        if driver.finished() {
            drain -= 1;
        }
        let cycle = engine.cycle();
        let offer = driver.next(cycle, &outputs, &mut inputs);
        engine.settle(&inputs, &mut outputs);
        if !inputs.core.rst {
            checker.look_inside(cycle, &offer);
        }
        checker.inside.due(cycle, &mut outputs.core.inside);
        for observer in observers.iter_mut() {
            observer.cycle(engine.running(), &inputs, &outputs)?;
        }
        if inputs.core.rst {
            checker.reset();
        } else {
            checker
                .compare(cycle, inputs.core.k_last, &outputs, engine.inside())
                .map_err(RunError::Divergence)?;
            let (query, key) = checker.advance(cycle, offer);
            driver.advance(query, key);
        }
        engine.clock();
    }
    Ok((checker.counters, checker.periods))
}

/// What the state of another query is to a query: nothing.
const PASSES: Step = Step { s: 0, x: 0, w: 0, upper: false, action: Action::Masked, l: None };

/// How many events a divergence reports.
const HISTORY: usize = 6;

/// A step on its way to the value stage: its cycle, its kind, and its action for each query of the block.
type MetStep = (u64, BlockStep, Vec<Option<Action>>);

/// The first entry, if it is the one.
fn pop_if<T>(queue: &mut VecDeque<T>, is_it: impl Fn(&T) -> bool) -> Option<T> {
    if queue.front().is_some_and(is_it) { queue.pop_front() } else { None }
}

struct ArrayChecker<'a> {
    config: &'a ArrayConfig,
    expected: &'a mut dyn Expected,
    /// Index of each block's first query among all.
    first: Vec<usize>,
    workload: &'a ArrayWorkload,
    rules: ArrayRules,
    inside: InsideSchedule,
    latency: u64,
    value: u64,
    /// Cycles from a state to the cycle in which its scalars are asked for, and when that is.
    asks: u64,
    states: VecDeque<u64>,
    steps: VecDeque<MetStep>,
    /// When a result is due, whose it is, its place in the block, and whether it is the last.
    due: VecDeque<(u64, QueryId, usize, bool)>,
    last_end: Option<u64>,
    first_key: Option<u64>,
    history: VecDeque<String>,
    counters: ArrayCounters,
    periods: Vec<u64>,
}

impl<'a> ArrayChecker<'a> {
    fn new(
        config: &'a ArrayConfig,
        workload: &'a ArrayWorkload,
        expected: &'a mut dyn Expected,
        inside: &[Inside],
    ) -> Self {
        let mut queries = 0;
        let first = workload.blocks.iter().map(|b| {
            queries += b.queries.len();
            queries - b.queries.len()
        });
        ArrayChecker {
            config,
            expected,
            first: first.collect(),
            workload,
            rules: ArrayRules::new(config.queries),
            inside: InsideSchedule::new(&config.core, inside, config.queries),
            latency: config.latency().into(),
            value: v_step_latency(&config.core).into(),
            asks: u64::from(Stages::of(&config.core).score).saturating_sub(1),
            states: VecDeque::new(),
            steps: VecDeque::new(),
            due: VecDeque::new(),
            last_end: None,
            first_key: None,
            history: VecDeque::new(),
            counters: ArrayCounters { latency: config.latency().into(), ..ArrayCounters::default() },
            periods: Vec::new(),
        }
    }

    fn result(&mut self, (block, place): QueryId) -> QueryResult {
        self.expected.result(self.first[block] + place).clone()
    }

    /// What a block's step does to one of its queries; None where it is the state of another one, which passes like a masked key.
    fn step(&mut self, id: QueryId, step: BlockStep) -> Option<Step> {
        let block = &self.workload.blocks[id.0];
        let restores = usize::from(block.state(id.1).is_some());
        let place = match step {
            BlockStep::State(place) if place == id.1 => 0,
            BlockStep::State(_) => return None,
            BlockStep::Key(place) => restores + block.first_key + place,
        };
        Some(self.expected.step(self.first[id.0] + id.1, place))
    }

    fn reset(&mut self) {
        self.rules = ArrayRules::new(self.config.queries);
        self.inside.reset();
        self.steps.clear();
        self.states.clear();
        self.due.clear();
        self.last_end = None;
    }

    fn remember(&mut self, event: String) {
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(event);
    }

    /// What the key that the cycle takes, if it takes one, brings inside the cores: there it may be seen in the same cycle.
    fn look_inside(&mut self, cycle: u64, offer: &ArrayOffer) {
        let taken = self.rules.clone().advance(cycle, offer.query, offer.key.map(|(_, last)| last));
        let (Some(((block, key), _)), Some(queries)) = (offer.key, taken.key) else { return };
        let step = self.workload.blocks[block].step(key);
        if matches!(step, BlockStep::State(_)) {
            // Of short vectors in the same cycle.
            self.states.push_back(cycle + self.asks);
        }
        for (core, id) in queries.into_iter().enumerate() {
            let step = self.step(id, step).unwrap_or(PASSES);
            self.inside.accept(cycle, core, &step, taken.end);
        }
    }

    /// What of an offer is taken: query, key.
    fn advance(&mut self, cycle: u64, offer: ArrayOffer) -> (bool, bool) {
        let taken = self.rules.advance(cycle, offer.query, offer.key.map(|(_, last)| last));
        if let (Some(((block, place), last)), true) = (offer.query, taken.query) {
            let last = if last { ", last" } else { "" };
            self.remember(format!("cycle {cycle}: query {place} of block {block} taken{last}"));
        }
        let key_taken = taken.key.is_some();
        if let (Some(((block, key), _)), Some(queries)) = (offer.key, taken.key) {
            let last = if taken.end { ", last" } else { "" };
            let step = self.workload.blocks[block].step(key);
            let what = match step {
                BlockStep::Key(place) => format!("key {place}"),
                BlockStep::State(place) => format!("state of query {place}"),
            };
            self.remember(format!("cycle {cycle}: {what} of block {block} taken{last}"));
            self.first_key.get_or_insert(cycle);
            match step {
                BlockStep::Key(_) => {
                    self.counters.keys += 1;
                    self.counters.steps += queries.len() as u64;
                }
                BlockStep::State(_) => self.counters.restored += 1,
            }
            if taken.end {
                self.counters.blocks += 1;
                self.periods.extend(self.last_end.replace(cycle).map(|end| cycle - end));
                let n = queries.len();
                let due = queries.iter().enumerate();
                self.due.extend(due.map(|(i, id)| (cycle + self.latency + i as u64, *id, i, i + 1 == n)));
            }
            let actions = queries.iter().map(|&id| self.step(id, step).map(|step| step.action)).collect();
            self.steps.push_back((cycle + self.value, step, actions));
        }
        (taken.query, key_taken)
    }

    fn compare(
        &mut self,
        cycle: u64,
        k_last: bool,
        out: &ArrayOutputs,
        inside: &[Inside],
    ) -> Result<(), Box<Divergence>> {
        self.counters.comparisons += out.core.inside.iter().flatten().count() as u64;
        if let Some((signal, values)) = self.inside.differs(&out.core.inside, inside) {
            return Err(Box::new(Divergence::new(self.config.name(), cycle, &signal, values, &self.history)));
        }
        let (q_ready, k_ready) = self.rules.ready(cycle, k_last);
        self.check(cycle, "q_ready", q_ready as u64, out.q_ready as u64)?;
        self.check(cycle, "k_ready", k_ready as u64, out.k_ready as u64)?;

        let step = pop_if(&mut self.steps, |(at, ..)| *at == cycle);
        let restores = matches!(step, Some((_, BlockStep::State(_), _)));
        let (mut readers, mut masked, mut met) = (0, 0, 0);
        for action in step.iter().flat_map(|(.., actions)| actions).flatten() {
            met += u64::from(!restores);
            match action {
                Action::Masked => masked += 1,
                Action::Hold => {}
                Action::Load | Action::Update | Action::Restore => readers += 1,
            }
        }
        self.counters.masked += masked;
        self.counters.unseen += (met > 0 && masked == met) as u64;
        self.check(cycle, "v_step", step.is_some() as u64, out.core.v_step as u64)?;
        self.check(cycle, "v_ren", (readers > 0) as u64, out.core.v_ren as u64)?;
        if self.config.core.partial {
            let asked = pop_if(&mut self.states, |at| *at == cycle);
            self.check(cycle, "state_ren", asked.is_some() as u64, out.core.state_ren as u64)?;
            if readers > 0 {
                self.check(cycle, "v_state", restores as u64, out.core.v_state as u64)?;
            }
        }
        if !restores {
            self.counters.v_reads += (readers > 0) as u64;
            self.counters.v_reads_alone += readers;
        }

        let due = pop_if(&mut self.due, |(at, ..)| *at == cycle);
        self.check(cycle, "o_valid", due.is_some() as u64, out.core.o_valid as u64)?;
        self.check(cycle, "o_last", due.is_some_and(|d| d.3) as u64, out.o_last as u64)?;
        if let Some((_, id, place, _)) = due {
            let result = self.result(id);
            self.check(cycle, "o_index", place as u64, out.o_index)?;
            self.check(cycle, "o_invalid", result.invalid as u64, out.core.o_invalid as u64)?;
            self.check(cycle, "o_saturated", result.score_saturated as u64, out.core.o_saturated as u64)?;
            self.check(cycle, "o_overflow", result.overflow as u64, out.core.o_overflow as u64)?;
            if self.config.core.masks {
                self.check(cycle, "o_empty", result.empty as u64, out.core.o_empty as u64)?;
            }
            for (j, (expected, actual)) in result.o.iter().zip(&out.core.o).enumerate() {
                if expected != actual {
                    self.check(
                        cycle,
                        &format!("o[{j}] of query {} of block {}", id.1, id.0),
                        *expected,
                        *actual,
                    )?;
                }
            }
            self.counters.comparisons += result.o.len() as u64;
            if let (true, Some(state)) = (self.config.core.partial, &result.state) {
                let of = |name: &str| format!("{name} of query {} of block {}", id.1, id.0);
                let scalars =
                    state.scalars.iter().zip(&out.core.o_scalars).zip(self.config.core.state_scalars());
                for ((expected, actual), name) in scalars {
                    self.check(cycle, &of(&format!("o_{name}")), *expected, *actual)?;
                }
                for (j, (expected, actual)) in state.o.iter().zip(&out.core.o_state).enumerate() {
                    if expected != actual {
                        self.check(cycle, &of(&format!("o_state[{j}]")), *expected, *actual)?;
                    }
                }
                self.counters.comparisons += state.o.len() as u64;
            }
            self.counters.queries += 1;
            self.counters.cycles = cycle - self.first_key.unwrap_or(cycle) + 1;
        }
        Ok(())
    }

    fn check(&mut self, cycle: u64, signal: &str, expected: u64, actual: u64) -> Result<(), Box<Divergence>> {
        self.counters.comparisons += 1;
        if expected == actual {
            return Ok(());
        }
        let text = |bits: u64| match signal.starts_with("o[") {
            true => self.config.core.formats().o.value(bits).to_string(),
            false => bits.to_string(),
        };
        let values = [expected, actual].map(|bits| (bits, text(bits)));
        Err(Box::new(Divergence::new(self.config.name(), cycle, signal, values, &self.history)))
    }
}

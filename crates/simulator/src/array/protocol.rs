//! The outputs of an array. Results, and which query reads which value, are the model's for each query alone; [`ArrayRules`] say when
//! they are due, and when the array is ready.

use super::rules::{ArrayRules, QueryId};
use super::stimulus::{ArrayOffer, ArrayStimulus, Disturbance};
use super::workload::{ArrayWorkload, BlockStep};
use crate::bench::{Due, Frame, History, Pending, Protocol};
use crate::core::protocol::{is_zero, reads};
use crate::expected::ExpectedQueries;
use flashd_golden::{Action, Step};
use flashd_hwmodel::catalogue::{Stages, v_step_latency};
use flashd_spec::config::ArrayConfig;
use flashd_spec::ports::Port;
use serde::Serialize;

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
    /// Words compared.
    pub comparisons: u64,
}

/// The step of a query that meets the state of another one.
const PASSES: Step = Step { s: 0, x: 0, w: 0, upper: false, action: Action::Masked, l: None };

/// A result on its way.
struct Ending {
    query: QueryId,
    /// Place in its block.
    place: usize,
    /// It is the block's last.
    last: bool,
}

/// An array's run of a workload.
pub(crate) struct ArrayProtocol<'a, E> {
    config: &'a ArrayConfig,
    workload: &'a ArrayWorkload,
    stimulus: ArrayStimulus<'a>,
    offer: ArrayOffer,
    expected: E,
    /// Index of each block's first query among all.
    first: Vec<usize>,
    rules: ArrayRules,
    /// Cycles from the first turn of a block's last key to its first result.
    latency: u64,
    /// Cycles from the first turn of a key to the cycle in which its value is asked for.
    value: u64,
    /// Cycles from a state to the cycle in which its scalars are asked for.
    asks: u64,
    states: Pending<()>,
    /// Steps on their way to the value stage, with their actions for each query of the block; without for the state of another one.
    steps: Pending<(BlockStep, Vec<Option<Action>>)>,
    endings: Pending<Ending>,
    last_end: Option<u64>,
    first_key: Option<u64>,
    query: QueryId,
    history: History<String>,
    pub(crate) counters: ArrayCounters,
    /// Cycles from each block's last key to the next one's; a reset starts afresh.
    pub(crate) periods: Vec<u64>,
}

impl<'a, E: ExpectedQueries> ArrayProtocol<'a, E> {
    /// The start of a run.
    pub(crate) fn new(
        config: &'a ArrayConfig,
        workload: &'a ArrayWorkload,
        disturbance: &Disturbance,
        expected: E,
    ) -> Self {
        let mut queries = 0;
        let first = workload.blocks.iter().map(|b| {
            queries += b.queries.len();
            queries - b.queries.len()
        });
        let latency = config.latency().into();
        let turns = config.interleave as u64;
        ArrayProtocol {
            config,
            workload,
            stimulus: ArrayStimulus::new(config, workload, disturbance),
            offer: ArrayOffer::default(),
            expected,
            first: first.collect(),
            rules: ArrayRules::new(config.queries, config.interleave),
            latency: latency + turns - 1,
            value: turns * u64::from(v_step_latency(&config.core)) + turns - 1,
            asks: u64::from(Stages::of(&config.core).score).saturating_sub(1),
            states: Pending::default(),
            steps: Pending::default(),
            endings: Pending::default(),
            last_end: None,
            first_key: None,
            query: (0, 0),
            history: History::default(),
            counters: ArrayCounters { latency, ..ArrayCounters::default() },
            periods: Vec::new(),
        }
    }

    /// A query's step in a step of its block. `None` for another query's state, which passes like a masked key.
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

    /// Accepts the cycle's offers.
    fn take(&mut self, cycle: u64, due: &mut Due) {
        let ArrayOffer { query, key } = self.offer;
        let taken = self.rules.advance(cycle, query, key.map(|(_, last)| last));
        self.stimulus.advance(taken.query, taken.key_taken);
        if let (Some(((block, place), last)), true) = (query, taken.query) {
            let last = if last { ", last" } else { "" };
            self.history.push(format!("cycle {cycle}: query {place} of block {block} taken{last}"));
        }
        if let (Some(((block, key), _)), Some(queries)) = (key, taken.key) {
            self.take_key(cycle, (block, key), &queries, taken.end, due);
        }
    }

    fn take_key(&mut self, cycle: u64, (block, key): QueryId, queries: &[QueryId], end: bool, due: &mut Due) {
        let step = self.workload.blocks[block].step(key);
        let what = match step {
            BlockStep::Key(place) => format!("key {place}"),
            BlockStep::State(place) => format!("state of query {place}"),
        };
        let last = if end { ", last" } else { "" };
        self.history.push(format!("cycle {cycle}: {what} of block {block} taken{last}"));
        self.first_key.get_or_insert(cycle);
        match step {
            BlockStep::Key(_) => {
                self.counters.keys += 1;
                self.counters.steps += queries.len() as u64;
            }
            BlockStep::State(_) => {
                self.counters.restored += 1;
                self.states.push(cycle + self.asks, ());
            }
        }
        if end {
            self.counters.blocks += 1;
            self.periods.extend(self.last_end.replace(cycle).map(|end| cycle - end));
            for (place, &query) in queries.iter().enumerate() {
                let last = place + 1 == queries.len();
                self.endings.push(cycle + self.latency + place as u64, Ending { query, place, last });
            }
        }
        let mut actions = Vec::with_capacity(queries.len());
        for (core, &id) in queries.iter().enumerate() {
            let step = self.step(id, step);
            let (core, turn) = (core / self.config.interleave, core % self.config.interleave);
            due.inside.accept(cycle + turn as u64, core, &step.unwrap_or(PASSES), end);
            actions.push(step.map(|step| step.action));
        }
        self.steps.push(cycle + self.value, (step, actions));
    }

    /// The step at the value stage.
    fn value(&mut self, cycle: u64, frame: &mut Frame) {
        let step = self.steps.due(cycle);
        let restores = matches!(step, Some((BlockStep::State(_), _)));
        let (mut readers, mut masked, mut met) = (0, 0, 0);
        for &action in step.iter().flat_map(|(_, actions)| actions).flatten() {
            met += u64::from(!restores);
            masked += u64::from(action == Action::Masked);
            readers += u64::from(reads(action));
        }
        self.counters.masked += masked;
        self.counters.unseen += u64::from(met > 0 && masked == met);
        if !restores {
            self.counters.v_reads += u64::from(readers > 0);
            self.counters.v_reads_alone += readers;
        }
        frame.set(Port::VStep, step.is_some());
        frame.set(Port::VRen, readers > 0);
        frame.set(Port::VState, restores);
    }
}

impl<E: ExpectedQueries> Protocol for ArrayProtocol<'_, E> {
    fn drive(&mut self, cycle: u64, frame: &mut Frame) {
        self.offer = self.stimulus.drive(cycle, frame);
    }

    fn is_finished(&self) -> bool {
        self.stimulus.is_finished()
    }

    fn drain(&self) -> u64 {
        self.latency + (self.config.queries + self.config.interleave) as u64 + 5
    }

    fn due(&mut self, cycle: u64, inputs: &Frame, due: &mut Due) {
        let (q_ready, k_ready) = self.rules.ready(cycle, inputs.is_high(Port::KLast));
        self.take(cycle, due);
        let frame = &mut due.frame;
        frame.set(Port::QReady, q_ready);
        frame.set(Port::KReady, k_ready);
        frame.set(Port::StateRen, self.states.due(cycle).is_some());
        self.value(cycle, frame);
        let ending = self.endings.due(cycle);
        frame.set(Port::OValid, ending.is_some());
        frame.set(Port::OLast, ending.as_ref().is_some_and(|ending| ending.last));
        if let Some(Ending { query, place, .. }) = ending {
            due.result(self.expected.result(self.first[query.0] + query.1));
            due.frame.set(Port::OIndex, place as u64);
            self.query = query;
            self.counters.queries += 1;
            self.counters.cycles = cycle - self.first_key.unwrap_or(cycle) + 1;
        }
    }

    fn reset(&mut self) {
        self.rules = ArrayRules::new(self.config.queries, self.config.interleave);
        self.steps.clear();
        self.states.clear();
        self.endings.clear();
        self.last_end = None;
    }

    fn of_query(&self) -> String {
        format!(" of query {} of block {}", self.query.1, self.query.0)
    }

    fn history(&self) -> Vec<String> {
        self.history.texts(String::clone)
    }
}

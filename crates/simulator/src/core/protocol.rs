//! The outputs of a core, predicted from the model's steps and the cycles in which keys are accepted.

use super::stimulus::{Accepted, CoreStimulus};
use super::workload::Workload;
use crate::bench::{Due, Frame, History, Pending, Protocol};
use crate::expected::ExpectedQueries;
use crate::gaps::Gaps;
use flashd_golden::{Action, Step};
use flashd_hwmodel::catalogue::Stages;
use flashd_spec::config::{CoreConfig, WeightUnit};
use flashd_spec::machine::Machine;
use flashd_spec::numerics::Numerics;
use flashd_spec::ports::Port;
use serde::{Deserialize, Serialize};

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Cycles from the first accepted key to the last result, both included.
    pub cycles: u64,
    /// Keys accepted.
    pub keys: u64,
    /// Partial results accepted.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[serde(rename = "starts")]
    pub restored: u64,
    /// Queries with a result.
    pub queries: u64,
    /// Cycles without a key between a query's first and last.
    pub bubbles: u64,
    /// Steps that held `o`.
    #[serde(rename = "skips")]
    pub held: u64,
    /// Steps whose key was masked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub masked: u64,
    /// Steps that loaded v.
    pub loads: u64,
    /// Values read.
    pub v_reads: u64,
    /// Cycles from the acceptance of a last key to its result.
    pub latency: u64,
    /// Words compared.
    pub comparisons: u64,
}

pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Whether a step reads a value or accumulators.
pub(crate) fn reads(action: Action) -> bool {
    !matches!(action, Action::Hold | Action::Masked)
}

/// A core's run of a workload.
pub(crate) struct CoreProtocol<'a, E> {
    config: &'a CoreConfig,
    stimulus: CoreStimulus<'a>,
    expected: E,
    accepted: Accepted,
    stages: Stages,
    latency: u64,
    /// Cycles after the last result in which nothing more may come out.
    pub(crate) quiet: u64,
    restores: Pending<()>,
    values: Pending<Action>,
    ends: Pending<usize>,
    history: History<(usize, usize, Step)>,
    first_key: Option<u64>,
    query: usize,
    pub(crate) counters: Counters,
}

impl<'a, E: ExpectedQueries> CoreProtocol<'a, E> {
    /// The start of a run.
    pub(crate) fn new(config: &'a CoreConfig, workload: &'a Workload, gaps: Gaps, expected: E) -> Self {
        CoreProtocol {
            config,
            stimulus: CoreStimulus::new(config, workload, gaps),
            expected,
            accepted: Accepted::default(),
            stages: Stages::of(config),
            latency: Machine::from(config).latency().into(),
            quiet: 6,
            restores: Pending::default(),
            values: Pending::default(),
            ends: Pending::default(),
            history: History::default(),
            first_key: None,
            query: 0,
            counters: Counters::default(),
        }
    }

    /// A step is accepted.
    fn accept(&mut self, cycle: u64, (query, place): (usize, usize), last: bool, due: &mut Due) {
        self.first_key.get_or_insert(cycle);
        let step = self.expected.step(query, place);
        match step.action {
            Action::Restore => {
                self.counters.restored += 1;
                self.restores.push(cycle + u64::from(self.stages.score).saturating_sub(1), ());
            }
            _ => self.counters.keys += 1,
        }
        self.history.push((query, place, step));
        due.inside.accept(cycle, 0, &step, last);
        self.values.push(cycle + u64::from(self.stages.value), step.action);
        if last {
            self.ends.push(cycle + self.latency, query);
        }
    }

    fn step_text(&self, &(query, key, s): &(usize, usize, Step)) -> String {
        let n = Numerics::new(self.config);
        let is_lse = self.config.weight() == Some(WeightUnit::Lse);
        let argument = if is_lse { n.state_fraction } else { n.score_fraction };
        let number = |value: i64, fraction: u32| match self.config.follows_the_paper() {
            false => format!("{}", value as f64 / f64::from(fraction).exp2()),
            true => format!("{}", self.config.format.value(value as u64)),
        };
        format!(
            "query {query} step {key}: s = {}, x = {}, w = {:#x} ({}), {:?}",
            number(s.s, n.score_fraction),
            number(s.x, argument),
            s.w,
            self.config.weight_format().value(s.w),
            s.action
        )
    }
}

impl<E: ExpectedQueries> Protocol for CoreProtocol<'_, E> {
    fn drive(&mut self, _cycle: u64, frame: &mut Frame) {
        self.accepted = self.stimulus.drive(frame);
    }

    fn is_finished(&self) -> bool {
        self.stimulus.is_finished()
    }

    fn drain(&self) -> u64 {
        self.latency + self.quiet
    }

    fn due(&mut self, cycle: u64, _inputs: &Frame, due: &mut Due) {
        let accepted = self.accepted;
        self.counters.bubbles += u64::from(accepted.bubble);
        if let Some(id) = accepted.step {
            self.accept(cycle, id, accepted.last, due);
        }
        let frame = &mut due.frame;
        frame.set(Port::StateRen, self.restores.due(cycle).is_some());
        let value = self.values.due(cycle);
        let (reads, restores) = (value.is_some_and(reads), value == Some(Action::Restore));
        frame.set(Port::VStep, value.is_some());
        frame.set(Port::VRen, reads);
        frame.set(Port::VState, restores);
        if let Some(action) = value {
            let masked = action == Action::Masked;
            self.counters.v_reads += u64::from(reads && !restores);
            self.counters.masked += u64::from(masked);
            self.counters.held += u64::from(!reads && !masked);
            self.counters.loads += u64::from(action == Action::Load);
        }
        let end = self.ends.due(cycle);
        frame.set(Port::OValid, end.is_some());
        if let Some(query) = end {
            due.result(self.expected.result(query));
            self.query = query;
            self.counters.queries += 1;
            self.counters.latency = self.latency;
            self.counters.cycles = cycle - self.first_key.unwrap_or(cycle) + 1;
        }
    }

    fn reset(&mut self) {}

    fn of_query(&self) -> String {
        format!(" of query {}", self.query)
    }

    fn history(&self) -> Vec<String> {
        self.history.texts(|step| self.step_text(step))
    }
}

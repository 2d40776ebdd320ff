//! The outputs of split keys, predicted from the model's steps of the parts and the cycles in which keys are accepted.

use super::stimulus::SplitStimulus;
use super::workload::SplitWorkload;
use crate::bench::{Due, Frame, Pending, Protocol};
use crate::core::protocol::reads;
use crate::expected::ExpectedQueries;
use crate::gaps::Gaps;
use flashd_golden::{Merge, QueryResult};
use flashd_hwmodel::catalogue::v_step_latency;
use flashd_spec::config::SplitConfig;
use flashd_spec::ports::Port;
use serde::Serialize;

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
    /// Words compared.
    pub comparisons: u64,
}

/// The run of split keys.
pub(super) struct SplitProtocol<'a, E> {
    config: &'a SplitConfig,
    parts: &'a SplitWorkload,
    stimulus: SplitStimulus<'a>,
    /// The query and step whose keys are accepted, and whether they are its last.
    step: Option<((usize, usize), bool)>,
    expected: E,
    /// Results of the tree; if absent, merged from the results of the parts.
    results: Option<&'a [QueryResult]>,
    tree: Merge,
    /// Results so far.
    pub(super) merged: Vec<QueryResult>,
    /// Whether each part reads its value, on its way to the value stage.
    values: Pending<Vec<bool>>,
    ends: Pending<usize>,
    /// Cycles from the acceptance of keys to the cycle in which their values are asked for, and to the result.
    value: u64,
    latency: u64,
    first_key: Option<u64>,
    query: usize,
    pub(super) counters: SplitCounters,
}

impl<'a, E: ExpectedQueries> SplitProtocol<'a, E> {
    /// The start of a run.
    pub(super) fn new(
        config: &'a SplitConfig,
        parts: &'a SplitWorkload,
        gaps: Gaps,
        expected: E,
        results: Option<&'a [QueryResult]>,
    ) -> Self {
        SplitProtocol {
            stimulus: SplitStimulus::new(config, parts, gaps),
            step: None,
            tree: Merge::new(&config.core),
            merged: Vec::new(),
            values: Pending::default(),
            ends: Pending::default(),
            value: v_step_latency(&config.core).into(),
            latency: config.latency().into(),
            first_key: None,
            query: 0,
            counters: SplitCounters::default(),
            config,
            parts,
            expected,
            results,
        }
    }

    /// Keys are accepted.
    fn accept(&mut self, cycle: u64, (query, step): (usize, usize), last: bool, due: &mut Due) {
        self.first_key.get_or_insert(cycle);
        self.counters.steps += 1;
        let mut read = vec![false; self.config.parts];
        for (p, read) in read.iter_mut().enumerate() {
            // A part that has ended is masked.
            if step < self.parts.query(query, p).steps() {
                let met = self.expected.step(query * self.config.parts + p, step);
                due.inside.accept(cycle, p, &met, false);
                *read = reads(met.action);
            }
        }
        self.values.push(cycle + self.value, read);
        if last {
            self.ends.push(cycle + self.latency, query);
        }
    }

    /// Merges a query's result from the results of its parts.
    fn merge(&mut self, query: usize) -> QueryResult {
        if let Some(results) = self.results {
            return results[query].clone();
        }
        let parts = (0..self.config.parts).map(|p| query * self.config.parts + p);
        let partial: Vec<QueryResult> = parts.map(|part| self.expected.result(part).clone()).collect();
        self.parts.result(&self.tree, query, partial)
    }
}

impl<E: ExpectedQueries> Protocol for SplitProtocol<'_, E> {
    fn drive(&mut self, _cycle: u64, frame: &mut Frame) {
        self.step = self.stimulus.drive(frame);
    }

    fn is_finished(&self) -> bool {
        self.stimulus.is_finished()
    }

    fn drain(&self) -> u64 {
        self.latency + 4
    }

    fn due(&mut self, cycle: u64, _inputs: &Frame, due: &mut Due) {
        if let Some((step, last)) = self.step {
            self.accept(cycle, step, last, due);
        }
        let value = self.values.due(cycle);
        due.frame.set(Port::VStep, value.is_some());
        due.frame[Port::VRen].fill(0);
        for (port, read) in due.frame[Port::VRen].iter_mut().zip(value.unwrap_or_default()) {
            *port = read.into();
            self.counters.v_reads += u64::from(read);
        }
        let end = self.ends.due(cycle);
        due.frame.set(Port::OValid, end.is_some());
        if let Some(query) = end {
            let merged = self.merge(query);
            due.result(&merged);
            self.merged.push(merged);
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
        Vec::new()
    }
}

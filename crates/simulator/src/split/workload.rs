//! Queries whose keys are in parts, and what model and tree make of them.

use crate::core::workload::{Query, Workload};
use flashd_golden::{Merge, Model, QueryResult};
use flashd_spec::config::SplitConfig;

/// Queries whose keys are in parts of one length: part p has the keys `p n .. (p + 1) n`, as far as there are.
pub struct SplitWorkload {
    /// A query each part, all parts of a query one after another.
    pub(super) workload: Workload,
    parts: usize,
    /// Steps of each query.
    lengths: Vec<usize>,
}

impl SplitWorkload {
    /// Splits the keys of every query into `parts` parts.
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

    /// The cores' results of the parts, for each query.
    pub(crate) fn partial_results(&self, model: &Model, record: bool) -> Vec<Vec<QueryResult>> {
        let results = self.workload.results(model, record);
        results.chunks(self.parts).map(<[QueryResult]>::to_vec).collect()
    }

    /// The tree's results from these.
    pub fn results(&self, config: &SplitConfig, partial: &[Vec<QueryResult>]) -> Vec<QueryResult> {
        let exponents: Vec<u64> =
            self.workload.queries.iter().step_by(self.parts).map(|q| q.v_exponent).collect();
        Merge::new(&config.core).results(partial, &exponents)
    }

    /// The same for one query.
    pub(crate) fn result(&self, tree: &Merge, query: usize, partial: Vec<QueryResult>) -> QueryResult {
        tree.results(&[partial], &[self.query(query, 0).v_exponent]).swap_remove(0)
    }

    /// Each part as a query; a query's parts follow each other.
    pub(crate) fn workload(&self) -> &Workload {
        &self.workload
    }

    /// Steps of each query.
    pub(crate) fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    pub(crate) fn query(&self, query: usize, part: usize) -> &Query {
        &self.workload.queries[query * self.parts + part]
    }
}

/// The model's results of queries whose keys are split, without the hardware.
pub fn split_results(config: &SplitConfig, workload: &Workload) -> Vec<QueryResult> {
    let parts = SplitWorkload::new(workload, config.parts);
    parts.results(config, &parts.partial_results(&Model::new(&config.core), false))
}

//! Blocks of queries, and what each query sees of its block's keys.

use crate::core::workload::{Query, Workload};
use std::ops::Range;

/// Queries that meet the same keys at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryBlock {
    /// Queries with their exponents, at least one.
    pub queries: Vec<(Vec<u64>, u64)>,
    /// How many keys, at least one.
    pub keys: usize,
    /// The first of them; other than 0 only for cores with masks.
    pub first_key: usize,
    /// For cores with masks: which places of the block's key sequence each query sees; without, all.
    pub ranges: Vec<Range<usize>>,
    /// For cores with a bias: what each query has added to the scores of keys, by places of the block's key sequence; nothing where
    /// nothing is said.
    pub biases: Vec<Vec<u64>>,
}

impl QueryBlock {
    /// Queries that all see the first `keys` keys.
    pub fn new(queries: Vec<(Vec<u64>, u64)>, keys: usize) -> Self {
        QueryBlock { queries, keys, first_key: 0, ranges: Vec::new(), biases: Vec::new() }
    }

    /// What a query has added to the score of the key at a place.
    pub fn bias(&self, query: usize, place: usize) -> u64 {
        self.biases.get(query).and_then(|biases| biases.get(place)).copied().unwrap_or(0)
    }

    /// The places that a query sees.
    pub fn range(&self, place: usize) -> Range<usize> {
        self.ranges.get(place).cloned().unwrap_or(0..self.keys)
    }
}

/// What a run streams through an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayWorkload {
    /// Elements of a query and of a key.
    pub d: usize,
    /// Elements of a value.
    pub dv: usize,
    /// Blocks, one after another.
    pub blocks: Vec<QueryBlock>,
    /// Keys, `[keys, d_k]` encodings.
    pub k: Vec<u64>,
    /// Values, `[keys, d_v]` encodings.
    pub v: Vec<u64>,
    /// For cores with masks: keys that no query sees, from the first; those for which nothing is said are seen.
    pub padding: Vec<bool>,
}

impl ArrayWorkload {
    /// A workload's queries in blocks of at most `most`: neighbours with the same number of keys share a block.
    pub fn new(workload: &Workload, most: usize) -> Self {
        let equal_keys = workload.queries.chunk_by(|a, b| a.keys == b.keys);
        let block = |queries: &[Query]| QueryBlock {
            biases: biases(queries, 0),
            ..QueryBlock::new(queries.iter().map(operands).collect(), queries[0].keys)
        };
        let blocks = equal_keys.flat_map(|run| run.chunks(most.max(1)).map(block)).collect();
        let (k, v) = (workload.k.clone(), workload.v.clone());
        ArrayWorkload { d: workload.d, dv: workload.dv, blocks, k, v, padding: Vec::new() }
    }

    /// A workload's queries in blocks of `most`, each with its own range of the keys. A block has the keys
    /// from the first to the last one that any of its queries sees, and at least one.
    ///
    /// # Panics
    /// If there is not one range for each query or one goes beyond the keys.
    pub fn windows(workload: &Workload, most: usize, ranges: &[Range<usize>]) -> Self {
        assert_eq!(ranges.len(), workload.queries.len(), "there must be one range for each query");
        let total = workload.k.len() / workload.d;
        assert!(ranges.iter().all(|r| r.end <= total), "a range goes beyond the keys");
        let most = most.max(1);
        let block = |(queries, ranges): (&[Query], &[Range<usize>])| {
            let seen = || ranges.iter().filter(|r| !r.is_empty());
            let first_key = seen().map(|r| r.start).min().unwrap_or(0);
            let end = seen().map(|r| r.end).max().unwrap_or(0).max(first_key + 1);
            let relative = |r: &Range<usize>| match r.is_empty() {
                true => 0..0,
                false => r.start - first_key..r.end - first_key,
            };
            QueryBlock {
                queries: queries.iter().map(operands).collect(),
                keys: end - first_key,
                first_key,
                ranges: ranges.iter().map(relative).collect(),
                biases: biases(queries, first_key),
            }
        };
        let blocks = workload.queries.chunks(most).zip(ranges.chunks(most)).map(block).collect();
        let (k, v) = (workload.k.clone(), workload.v.clone());
        ArrayWorkload { d: workload.d, dv: workload.dv, blocks, k, v, padding: Vec::new() }
    }

    /// Its queries one by one, in order.
    pub fn single(&self) -> Workload {
        self.single_up_to(usize::MAX)
    }

    /// The same for an array whose queries do not see places from `limit` on.
    pub(super) fn single_up_to(&self, limit: usize) -> Workload {
        let padding = |key: usize| self.padding.get(key).is_some_and(|&masked| masked);
        let query = |block: &QueryBlock, place: usize| {
            let (range, end) = (block.range(place), block.first_key + block.keys);
            let sees = |key: usize| {
                let place = key.checked_sub(block.first_key);
                place.is_some_and(|place| range.contains(&place) && place < limit) && !padding(key)
            };
            let masked: Vec<bool> = (0..end).map(|key| !sees(key)).collect();
            let (q, v_exponent) = block.queries[place].clone();
            let masked = if masked.contains(&true) { masked } else { Vec::new() };
            let biases = match block.biases.is_empty() {
                true => Vec::new(),
                false => {
                    let of_key = |key: usize| Some(block.bias(place, key.checked_sub(block.first_key)?));
                    (0..end).map(|key| of_key(key).unwrap_or(0)).collect()
                }
            };
            Query { q, keys: end, v_exponent, masked, biases, ..Query::default() }
        };
        let queries = self.blocks.iter().flat_map(|b| (0..b.queries.len()).map(move |i| query(b, i)));
        let (k, v) = (self.k.clone(), self.v.clone());
        Workload { d: self.d, dv: self.dv, queries: queries.collect(), k, v }
    }

    /// Keys over all blocks.
    pub fn keys(&self) -> usize {
        self.blocks.iter().map(|b| b.keys).sum()
    }
}

/// What a block, which begins with a key, has of its queries' biases.
fn biases(queries: &[Query], first_key: usize) -> Vec<Vec<u64>> {
    match queries.iter().any(|query| !query.biases.is_empty()) {
        true => queries.iter().map(|query| query.biases.iter().skip(first_key).copied().collect()).collect(),
        false => Vec::new(),
    }
}

/// What a block has of a query.
fn operands(query: &Query) -> (Vec<u64>, u64) {
    (query.q.clone(), query.v_exponent)
}

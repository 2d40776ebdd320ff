//! Blocks of queries, and the keys that each query sees.

use crate::core::vectors::Vectors;
use crate::core::workload::{Query, Workload};
use flashd_golden::{PartialState, QueryResult};
use flashd_spec::format::Words;
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
    /// For cores with a bias: biases of each query's scores, by places in the block's key sequence; zero where none is given.
    pub biases: Vec<Vec<u64>>,
    /// For cores with partial results: each query's initial state; `None` or a missing entry is the empty state.
    pub states: Vec<Option<PartialState>>,
}

/// A step of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockStep {
    /// The state that the query at this place starts from.
    State(usize),
    /// The key at this place of the block's key sequence.
    Key(usize),
}

impl QueryBlock {
    /// Queries that all see the first `keys` keys.
    pub fn new(queries: Vec<(Vec<u64>, u64)>, keys: usize) -> Self {
        QueryBlock { queries, keys, first_key: 0, ranges: Vec::new(), biases: Vec::new(), states: Vec::new() }
    }

    /// The bias of a query's score with the key at a place.
    pub fn bias(&self, query: usize, place: usize) -> u64 {
        self.biases.get(query).and_then(|biases| biases.get(place)).copied().unwrap_or(0)
    }

    /// A query's initial state.
    pub fn state(&self, place: usize) -> Option<&PartialState> {
        self.states.get(place)?.as_ref()
    }

    /// Places of the queries that start from a state, whose states come before the block's keys.
    fn restored(&self) -> impl Iterator<Item = usize> {
        self.states.iter().enumerate().filter(|(_, state)| state.is_some()).map(|(place, _)| place)
    }

    /// Steps of the block: its states, and its keys.
    pub fn steps(&self) -> usize {
        self.restored().count() + self.keys
    }

    /// A step.
    pub fn step(&self, step: usize) -> BlockStep {
        match self.restored().nth(step) {
            Some(place) => BlockStep::State(place),
            None => BlockStep::Key(step - self.restored().count()),
        }
    }

    /// The places that a query sees.
    pub fn range(&self, place: usize) -> Range<usize> {
        self.ranges.get(place).cloned().unwrap_or(0..self.keys)
    }
}

/// Stimulus of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayWorkload {
    /// Words of a query, a key and a value.
    pub words: Words,
    /// Blocks, one after another.
    pub blocks: Vec<QueryBlock>,
    /// Keys, `[keys, words.k]`.
    pub k: Vectors,
    /// Values, `[keys, words.v]`.
    pub v: Vectors,
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
        ArrayWorkload { words: workload.words, blocks, k, v, padding: Vec::new() }
    }

    /// A workload's queries in blocks of `most`, each with its own range of the keys. A block has the keys
    /// from the first to the last one that any of its queries sees, and at least one.
    ///
    /// # Panics
    /// If there is not one range for each query or one goes beyond the keys.
    pub fn windows(workload: &Workload, most: usize, ranges: &[Range<usize>]) -> Self {
        assert_eq!(ranges.len(), workload.queries.len(), "there must be one range for each query");
        let total = workload.k.len() / workload.words.k;
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
                states: queries.iter().map(|query| query.restore.clone()).collect(),
            }
        };
        let blocks = workload.queries.chunks(most).zip(ranges.chunks(most)).map(block).collect();
        let (k, v) = (workload.k.clone(), workload.v.clone());
        ArrayWorkload { words: workload.words, blocks, k, v, padding: Vec::new() }
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
            let restore = block.state(place).cloned();
            Query { q, keys: end, v_exponent, masked, biases, restore, ..Query::default() }
        };
        let queries = self.blocks.iter().flat_map(|b| (0..b.queries.len()).map(move |i| query(b, i)));
        let (k, v) = (self.k.clone(), self.v.clone());
        Workload { words: self.words, queries: queries.collect(), k, v }
    }

    /// Splits the keys of each block into tiles of at most `tile` keys: each tile is a block whose queries start from the states of the
    /// previous tile. Also returns the places of each query's tiles among the results. `run` gives the results of queries one by one.
    ///
    /// # Panics
    /// If `tile` is 0 or the cores have no masks and partial results.
    #[must_use]
    pub fn tiled_by(
        &self,
        tile: usize,
        run: impl Fn(&Workload) -> Vec<QueryResult>,
    ) -> (ArrayWorkload, Vec<Vec<usize>>) {
        assert!(tile > 0, "a tile must have keys");
        let most = self.blocks.iter().map(|block| block.keys.div_ceil(tile)).max().unwrap_or(0);
        let mut states: Vec<Vec<Option<PartialState>>> = self
            .blocks
            .iter()
            .map(|block| (0..block.queries.len()).map(|i| block.state(i).cloned()).collect())
            .collect();
        let mut tiles: Vec<Vec<QueryBlock>> = vec![Vec::new(); self.blocks.len()];
        for n in 0..most {
            let going: Vec<usize> =
                (0..self.blocks.len()).filter(|&b| n * tile < self.blocks[b].keys).collect();
            let of_block = |&b: &usize| {
                let block = &self.blocks[b];
                let (from, to) = (n * tile, (n * tile + tile).min(block.keys));
                let range = |place: usize| {
                    let Range { start, end } = block.range(place);
                    let (start, end) = (start.max(from), end.min(to));
                    if start < end { start - from..end - from } else { 0..0 }
                };
                QueryBlock {
                    queries: block.queries.clone(),
                    keys: to - from,
                    first_key: block.first_key + from,
                    ranges: (0..block.queries.len()).map(range).collect(),
                    biases: (block.biases.iter())
                        .map(|biases| biases[from.min(biases.len())..to.min(biases.len())].to_vec())
                        .collect(),
                    states: states[b].clone(),
                }
            };
            let round = ArrayWorkload { blocks: going.iter().map(of_block).collect(), ..self.clone() };
            let mut results = run(&round.single()).into_iter();
            for (b, block) in going.into_iter().zip(round.blocks) {
                states[b] = results.by_ref().take(block.queries.len()).map(|result| result.state).collect();
                tiles[b].push(block);
            }
        }
        let (mut places, mut next) = (Vec::new(), 0);
        for tiles in &tiles {
            let queries = tiles.first().map_or(0, |block| block.queries.len());
            places.extend((0..queries).map(|i| (0..tiles.len()).map(|n| next + n * queries + i).collect()));
            next += tiles.len() * queries;
        }
        (ArrayWorkload { blocks: tiles.into_iter().flatten().collect(), ..self.clone() }, places)
    }

    /// Steps over all blocks: keys, and states that queries start from.
    pub fn steps(&self) -> usize {
        self.blocks.iter().map(QueryBlock::steps).sum()
    }

    /// Keys over all blocks.
    pub fn keys(&self) -> usize {
        self.blocks.iter().map(|b| b.keys).sum()
    }
}

/// Biases of a block's queries, from the block's first key on.
fn biases(queries: &[Query], first_key: usize) -> Vec<Vec<u64>> {
    match queries.iter().any(|query| !query.biases.is_empty()) {
        true => queries.iter().map(|query| query.biases.iter().skip(first_key).copied().collect()).collect(),
        false => Vec::new(),
    }
}

/// A query's operands in its block: elements and exponent.
fn operands(query: &Query) -> (Vec<u64>, u64) {
    (query.q.clone(), query.v_exponent)
}

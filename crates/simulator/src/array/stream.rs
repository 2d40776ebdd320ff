//! Blocks of queries as port activity.

use super::engine::{ArrayInputs, ArrayOutputs};
use super::rules::QueryId;
use crate::engine::Inputs;
use crate::stream::{Gaps, Query, RESET_CYCLES, Workload};
use flashd_hwmodel::array::ArrayConfig;
use flashd_spec::bits::ones;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;
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
}

impl QueryBlock {
    /// Queries that all see the first `keys` keys.
    pub fn new(queries: Vec<(Vec<u64>, u64)>, keys: usize) -> Self {
        QueryBlock { queries, keys, first_key: 0, ranges: Vec::new() }
    }

    /// The places that a query sees.
    pub fn range(&self, place: usize) -> Range<usize> {
        self.ranges.get(place).cloned().unwrap_or(0..self.keys)
    }
}

/// What a run streams through an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayWorkload {
    /// Vector length.
    pub d: usize,
    /// Blocks, one after another.
    pub blocks: Vec<QueryBlock>,
    /// Keys, `[keys, d]` encodings.
    pub k: Vec<u64>,
    /// Values, `[keys, d]` encodings.
    pub v: Vec<u64>,
    /// For cores with masks: keys that no query sees, from the first; those for which nothing is said are seen.
    pub padding: Vec<bool>,
}

impl ArrayWorkload {
    /// A workload's queries in blocks of at most `most`: neighbours with the same number of keys share a block.
    pub fn new(workload: &Workload, most: usize) -> Self {
        let equal_keys = workload.queries.chunk_by(|a, b| a.keys == b.keys);
        let block =
            |queries: &[Query]| QueryBlock::new(queries.iter().map(operands).collect(), queries[0].keys);
        let blocks = equal_keys.flat_map(|run| run.chunks(most.max(1)).map(block)).collect();
        let (k, v) = (workload.k.clone(), workload.v.clone());
        ArrayWorkload { d: workload.d, blocks, k, v, padding: Vec::new() }
    }

    /// A workload's queries in blocks of `most` queries of which each sees a range of the keys. A block has the keys
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
            }
        };
        let blocks = workload.queries.chunks(most).zip(ranges.chunks(most)).map(block).collect();
        let (k, v) = (workload.k.clone(), workload.v.clone());
        ArrayWorkload { d: workload.d, blocks, k, v, padding: Vec::new() }
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
            Query { q, keys: end, v_exponent, masked, ..Query::default() }
        };
        let queries = self.blocks.iter().flat_map(|b| (0..b.queries.len()).map(move |i| query(b, i)));
        Workload { d: self.d, queries: queries.collect(), k: self.k.clone(), v: self.v.clone() }
    }

    /// Keys over all blocks.
    pub fn keys(&self) -> usize {
        self.blocks.iter().map(|b| b.keys).sum()
    }
}

/// What a block has of a query.
fn operands(query: &Query) -> (Vec<u64>, u64) {
    (query.q.clone(), query.v_exponent)
}

/// What makes a stream irregular.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disturbance {
    /// Pauses of both sources, offers that are withdrawn, noise on ports that carry nothing.
    pub gaps: Gaps,
    /// Cycles in which a reset begins. It lasts two cycles and drops every block of which a query has been taken.
    pub resets: Vec<u64>,
}

impl Disturbance {
    /// No resets but that at the start.
    pub fn gaps(gaps: Gaps) -> Self {
        Disturbance { gaps, resets: Vec::new() }
    }
}

/// What the driver offers in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrayOffer {
    /// A query, and `q_last`.
    pub query: Option<(QueryId, bool)>,
    /// A key by block and place, and `k_last`.
    pub key: Option<(QueryId, bool)>,
}

/// Drives an array's inputs.
pub struct ArrayDriver<'a> {
    workload: &'a ArrayWorkload,
    most: usize,
    rng: Option<ChaCha8Rng>,
    mask: u64,
    exponent_mask: u64,
    /// With masks: the largest place of a key.
    last_place: Option<u64>,
    /// The next query, key and value by block and place.
    query: QueryId,
    key: QueryId,
    value: QueryId,
    /// Keys whose values were asked for in the cycles before, the oldest first.
    asked: VecDeque<Option<usize>>,
    resets: Vec<u64>,
    reset_cycles: usize,
}

impl<'a> ArrayDriver<'a> {
    /// A driver at the start of a workload.
    pub fn new(config: &ArrayConfig, workload: &'a ArrayWorkload, disturbance: &Disturbance) -> Self {
        let format = config.core.format;
        ArrayDriver {
            workload,
            most: config.queries,
            rng: match disturbance.gaps {
                Gaps::None => None,
                Gaps::Random(seed) => Some(ChaCha8Rng::seed_from_u64(seed)),
            },
            mask: ones(format.width()),
            exponent_mask: format.exponent_mask(),
            last_place: config.core.masks.then(|| ones(config.key_index_bits())),
            query: (0, 0),
            key: (0, 0),
            value: (0, 0),
            asked: (1..config.core.value_latency).map(|_| None).collect(),
            resets: disturbance.resets.clone(),
            reset_cycles: RESET_CYCLES,
        }
    }

    /// Whether every key has been taken.
    pub fn finished(&self) -> bool {
        self.key.0 == self.workload.blocks.len()
    }

    fn chance(&mut self, one_in: u32) -> bool {
        self.rng.as_mut().is_some_and(|rng| rng.random_ratio(1, one_in))
    }

    fn noise(&mut self, bus: &mut Vec<u64>) {
        if let Some(rng) = &mut self.rng {
            let mask = self.mask;
            bus.clear();
            bus.extend((0..self.workload.d).map(|_| rng.random::<u64>() & mask));
        }
    }

    /// The inputs of a cycle, `previous` being the outputs of the last one.
    pub fn next(&mut self, cycle: u64, previous: &ArrayOutputs, inputs: &mut ArrayInputs) -> ArrayOffer {
        let (w, d) = (self.workload, self.workload.d);
        let mut i = std::mem::take(&mut inputs.core);
        for bus in [&mut i.q, &mut i.k, &mut i.v] {
            bus.resize(d, 0);
        }
        *inputs = ArrayInputs {
            core: Inputs { q: i.q, k: i.k, v: i.v, ..Inputs::default() },
            q_last: self.chance(2),
            ..ArrayInputs::default()
        };
        let i = &mut inputs.core;
        if self.resets.contains(&cycle) {
            self.reset_cycles = RESET_CYCLES;
            self.asked.iter_mut().for_each(|asked| *asked = None);
            let next = self.query.0 + (self.query.1 > 0) as usize;
            (self.query, self.key, self.value) = ((next, 0), (next, 0), (next, 0));
        }
        self.noise(&mut i.q);
        self.noise(&mut i.k);
        i.k_last = self.chance(2);
        if let Some(rng) = &mut self.rng {
            i.v_exponent = rng.random::<u64>() & self.exponent_mask;
            if let Some(mask) = self.last_place {
                i.k_mask = rng.random();
                (inputs.q_from, inputs.q_to) = (rng.random::<u64>() & mask, rng.random::<u64>() & mask);
            }
        }
        if self.reset_cycles > 0 {
            self.reset_cycles -= 1;
            i.rst = true;
            (i.q_valid, i.k_valid) = (self.chance(2), self.chance(2));
            return ArrayOffer::default();
        }
        let wanted = previous.core.v_ren && self.value.0 < w.blocks.len();
        self.asked.push_back(wanted.then(|| w.blocks[self.value.0].first_key + self.value.1));
        if let Some(key) = self.asked.pop_front().flatten() {
            i.v.clear();
            i.v.extend_from_slice(&w.v[key * d..(key + 1) * d]);
        } else {
            self.noise(&mut i.v);
        }
        if previous.core.v_step && self.value.0 < w.blocks.len() {
            self.value = following(self.value, w.blocks[self.value.0].keys);
        }
        let mut offer = ArrayOffer::default();
        if self.query.0 < w.blocks.len() && !self.chance(3) {
            let queries = &w.blocks[self.query.0].queries;
            let (q, v_exponent) = &queries[self.query.1];
            i.q.clear();
            i.q.extend_from_slice(q);
            (i.q_valid, i.v_exponent) = (true, *v_exponent);
            if let Some(last) = self.last_place {
                let range = w.blocks[self.query.0].range(self.query.1);
                (inputs.q_from, inputs.q_to) = (last.min(range.start as u64), last.min(range.end as u64));
            }
            // A block of B queries is complete without q_last.
            let last = self.query.1 + 1 == queries.len();
            inputs.q_last = last && (queries.len() < self.most || !self.chance(2));
            offer.query = Some((self.query, inputs.q_last));
        }
        if !self.finished() && !self.chance(3) {
            i.k.clear();
            let key = w.blocks[self.key.0].first_key + self.key.1;
            i.k.extend_from_slice(&w.k[key * d..(key + 1) * d]);
            i.k_valid = true;
            i.k_mask = w.padding.get(key).is_some_and(|&masked| masked);
            i.k_last = self.key.1 + 1 == w.blocks[self.key.0].keys;
            offer.key = Some((self.key, i.k_last));
        }
        offer
    }

    /// What of an offer was taken.
    pub fn advance(&mut self, query: bool, key: bool) {
        let blocks = &self.workload.blocks;
        if query {
            self.query = following(self.query, blocks[self.query.0].queries.len());
        }
        if key {
            self.key = following(self.key, blocks[self.key.0].keys);
        }
    }
}

/// The place after this one in blocks of which this has `count` places.
fn following((block, place): QueryId, count: usize) -> QueryId {
    if place + 1 == count { (block + 1, 0) } else { (block, place + 1) }
}

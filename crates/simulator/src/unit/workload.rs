//! Jobs in memory, and the model's expectations.

use super::memory::Memory;
use super::rows::RowPacking;
use flashd_golden::{Action, Biases, Head, Model, PartialState, QueryResult};
use flashd_hwmodel::unit::lse::log_sum_exp;
use flashd_spec::bits::pack;
use flashd_spec::config::{Carried, CoreConfig};
use flashd_spec::format::Scales;
use flashd_spec::numerics::Numerics;
use flashd_spec::unit::descriptor::{DESCRIPTOR_BYTES, Descriptor};
use flashd_spec::unit::{Block, Flag, Job, Pages, Place, Rows, UnitConfig};
use std::ops::Range;

/// A job and its operands, in the words of [`UnitConfig::words`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnitJob {
    /// Its fields.
    pub descriptor: Descriptor,
    /// Queries, `[query heads, queries, words.q]`.
    pub q: Vec<u64>,
    /// Keys, `[key heads, keys, words.k]`.
    pub k: Vec<u64>,
    /// Values, `[key heads, keys, words.v]`.
    pub v: Vec<u64>,
    /// With pages: the block table.
    pub table: Vec<u32>,
    /// Cores with biases: a bias for each place of a block, `[key heads, keys, cores of the array]`; empty for zeros.
    pub biases: Vec<u64>,
    /// With STATE_IN: the states that queries start from, `[query heads, queries]`; `None` is that of no key.
    pub states: Vec<Option<PartialState>>,
}

/// Expectations of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedJobBlock {
    /// The block.
    pub block: Block,
    /// Results of its queries, with steps.
    pub results: Vec<QueryResult>,
    /// Keys whose value some query needs.
    pub needed: Vec<u32>,
}

/// The addresses that a job may read with one ID, in ascending order, without overlaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readable(Vec<Range<u64>>);

impl Readable {
    /// From ranges in any order.
    pub(super) fn new(mut ranges: Vec<Range<u64>>) -> Readable {
        ranges.sort_by_key(|range| (range.start, range.end));
        let mut merged: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        Readable(merged)
    }

    /// Whether some of these addresses may be read.
    pub fn has_some(&self, addresses: &Range<u64>) -> bool {
        let next = self.0.partition_point(|range| range.end <= addresses.start);
        self.0.get(next).is_some_and(|range| range.start < addresses.end)
    }
}

impl UnitJob {
    /// The job.
    pub fn job(&self) -> Job {
        self.descriptor.job()
    }

    /// The address of a key's or a value's row.
    fn row(&self, job: &Job, rows: &Rows, stride: fn(&Pages) -> u32, head: u32, token: u32) -> u64 {
        let Some(pages) = &job.pages else { return Job::row(rows, head, token) };
        let (page, token) = (token >> pages.tokens, token & ((1 << pages.tokens) - 1));
        let page = u64::from(self.table.get(page as usize).copied().unwrap_or(0));
        Job::row(rows, head, token).wrapping_add(page.wrapping_mul(stride(pages).into()))
    }

    /// The address of a key.
    pub fn key_row(&self, head: u32, token: u32) -> u64 {
        let job = self.job();
        self.row(&job, &job.k, |pages| pages.key_stride, head, token)
    }

    /// The address of a value.
    pub fn value_row(&self, head: u32, token: u32) -> u64 {
        let job = self.job();
        self.row(&job, &job.v, |pages| pages.value_stride, head, token)
    }

    /// The words of a key's row: its elements, and the biases of the places of a block.
    fn key_words(&self, config: &UnitConfig, row: usize) -> Vec<u64> {
        let (words, places) = (config.array.core.port_words().k, config.array.queries);
        let biases = self.biases.chunks(places).nth(row).unwrap_or_default();
        [&self.k[row * words..(row + 1) * words], biases].concat()
    }

    /// The words of a state's row.
    fn state_words(config: &UnitConfig, n: &Numerics, state: Option<&PartialState>) -> Vec<u64> {
        let core = &config.array.core;
        let none = PartialState::no_key(core, n);
        let state = state.or(none.as_ref()).unwrap_or_else(|| unreachable!("a core with partial results"));
        [&state.o[..], &state.scalars[..core.state_scalars().len()]].concat()
    }

    /// Writes operands and block table.
    ///
    /// # Panics
    /// If the operands do not fit the job.
    pub fn place(&self, config: &UnitConfig, memory: &mut Memory) {
        let (job, words) = (self.job(), config.words());
        let [of_q, of_k, of_v] =
            [Carried::Query, Carried::Key, Carried::Value].map(|carried| RowPacking::of(config, carried));
        let places = |heads: u32, tokens: u32| {
            (0..heads).flat_map(move |head| (0..tokens).map(move |token| (head, token)))
        };
        let queries = job.query_heads() as usize * job.queries as usize;
        let keys = job.key_heads as usize * job.keys as usize;
        assert_eq!(self.q.len(), queries * words.q, "queries of the job");
        assert_eq!(
            (self.k.len(), self.v.len()),
            (keys * words.k, keys * words.v),
            "keys and values of the job"
        );
        for ((head, token), q) in places(job.query_heads(), job.queries).zip(self.q.chunks(words.q)) {
            memory.write(Job::row(&job.q, head, token), &of_q.pack(q));
        }
        for ((head, token), (row, v)) in
            places(job.key_heads, job.keys).zip(self.v.chunks(words.v).enumerate())
        {
            memory.write(self.key_row(head, token), &of_k.pack(&self.key_words(config, row)));
            memory.write(self.value_row(head, token), &of_v.pack(v));
        }
        if let Some(rows) = &job.state_in {
            let (of_s, n) = (RowPacking::of(config, Carried::State), Numerics::new(&config.array.core));
            assert_eq!(self.states.len(), queries, "states of the job");
            for ((head, token), state) in places(job.query_heads(), job.queries).zip(&self.states) {
                let state = UnitJob::state_words(config, &n, state.as_ref());
                memory.write(Job::row(rows, head, token), &of_s.pack(&state));
            }
        }
        if let Some(pages) = &job.pages {
            let table: Vec<u8> = self.table.iter().flat_map(|page| page.to_le_bytes()).collect();
            memory.write(pages.table, &table);
        }
    }

    /// Writes the results, states and log-sum-exps of the job.
    pub fn place_results(&self, config: &UnitConfig, expected: &[ExpectedJobBlock], memory: &mut Memory) {
        let job = self.job();
        let (core, n) = (&config.array.core, Numerics::new(&config.array.core));
        let [of_o, of_s] = [Carried::Result, Carried::State].map(|carried| RowPacking::of(config, carried));
        let queries = expected.iter().flat_map(|block| block.block.places.iter().zip(&block.results));
        for (place, result) in queries {
            let row = |rows: &Rows| Job::row(rows, place.head, place.token);
            memory.write(row(&job.o), &of_o.pack(&result.o));
            if let Some(rows) = &job.state_out {
                let state = UnitJob::state_words(config, &n, result.state.as_ref());
                memory.write(row(rows), &of_s.pack(&state));
            }
            if let Some(rows) = &job.lse {
                memory.write(row(rows), &log_sum_exp_of(core, &n, result).to_le_bytes());
            }
        }
    }

    /// The states that the queries of a block start from; empty without STATE_IN.
    pub fn states_of(&self, block: &Block) -> Vec<Option<PartialState>> {
        let queries = self.job().queries;
        let state = |place: &Place| self.states[(place.head * queries + place.token) as usize].clone();
        if self.states.is_empty() { Vec::new() } else { block.places.iter().map(state).collect() }
    }

    /// The states that a job of the same queries starts from when this one has left them, `[query heads, queries]`.
    pub fn states_after(&self, expected: &[ExpectedJobBlock]) -> Vec<Option<PartialState>> {
        let job = self.job();
        let mut states = vec![None; (job.query_heads() * job.queries) as usize];
        for (place, result) in expected.iter().flat_map(|block| block.block.places.iter().zip(&block.results))
        {
            states[(place.head * job.queries + place.token) as usize] = result.state.clone();
        }
        states
    }

    /// The words of the job's SCALE after each query at the array's port, if it is the queries' scale.
    fn scale_words(&self, config: &UnitConfig) -> Vec<u64> {
        let Scales { q: scale, .. } = config.array.core.scales();
        let Some(format) = scale.format().filter(|_| config.has_scale()) else { return Vec::new() };
        pack(&[self.descriptor.get("SCALE")], format.bits(), config.array.core.formats().q.width())
    }

    /// The model's results, block by block, each query by itself.
    pub fn expected(&self, config: &UnitConfig) -> Vec<ExpectedJobBlock> {
        let (job, core) = (self.job(), &config.array.core);
        let (model, words) = (Model::new(core), config.words());
        let scale = self.scale_words(config);
        let rows = |x: &'_ [u64], words: usize, first: usize, count: usize| -> Vec<u64> {
            x[first * words..(first + count) * words].to_vec()
        };
        let block = |block: Block| {
            let keys = job.keys as usize;
            let first = block.key_head as usize * keys;
            let (k, v) = (rows(&self.k, words.k, first, keys), rows(&self.v, words.v, first, keys));
            let q_row = |head: u32, token: u32| head as usize * job.queries as usize + token as usize;
            let q = |place: &Place| {
                let mut row = rows(&self.q, words.q, q_row(place.head, place.token), 1);
                row.extend(&scale);
                row
            };
            let q: Vec<u64> = block.places.iter().flat_map(q).collect();
            let from: Vec<usize> = block.places.iter().map(|place| place.keys.start as usize).collect();
            let lengths: Vec<usize> = block.places.iter().map(|place| place.keys.end as usize).collect();
            let states = self.states_of(&block);
            let places = config.array.queries;
            let bias = |place: usize, key: usize| self.biases[(first + key) * places + place];
            let biases: Option<Biases> = if self.biases.is_empty() { None } else { Some(&bias) };
            let head = Head { from: &from, restored: &states, biases, ..Head::new(&q, &k, &v, &lengths) };
            let exponents = vec![self.descriptor.get("V_EXPONENT"); lengths.len()];
            let head = head.with_exponents(if core.has_value_exponent() { &exponents } else { &[] });
            let results = model.run(head.with_steps());
            let reads = |key: &u32| {
                results.iter().zip(&block.places).enumerate().any(|(n, (result, place))| {
                    // A state is the first step of its query.
                    let before = usize::from(states.get(n).is_some_and(Option::is_some));
                    let step = place.keys.contains(key).then(|| before + (key - place.keys.start) as usize);
                    let action = step.map(|step| result.steps[step].action);
                    matches!(action, Some(Action::Load | Action::Update))
                })
            };
            let needed = block.keys.clone().filter(reads).collect();
            ExpectedJobBlock { block, results, needed }
        };
        job.blocks(config.array.queries as u32).map(block).collect()
    }

    /// The addresses of operands and block table, and the addresses of results.
    pub fn footprint(&self, config: &UnitConfig) -> [Vec<Range<u64>>; 2] {
        let job = self.job();
        let row = |address: u64, carried| address..address.wrapping_add(config.row_bytes(carried).into());
        let places = |heads: u32, tokens: u32| {
            (0..heads).flat_map(move |head| (0..tokens).map(move |token| (head, token)))
        };
        let queries = |rows: Rows, bytes: u32| {
            let row = move |(head, token)| {
                let address = Job::row(&rows, head, token);
                address..address.wrapping_add(bytes.into())
            };
            places(job.query_heads(), job.queries).map(row)
        };
        let q = queries(job.q, config.row_bytes(Carried::Query));
        let states =
            job.state_in.into_iter().flat_map(|rows| queries(rows, config.row_bytes(Carried::State)));
        let results = job.results(config).into_iter().flat_map(|(rows, bytes)| queries(rows, bytes));
        let kv = places(job.key_heads, job.keys).flat_map(|(head, token)| {
            let (key, value) = (self.key_row(head, token), self.value_row(head, token));
            [row(key, Carried::Key), row(value, Carried::Value)]
        });
        let table = job.pages.map(|pages| pages.table..pages.table + 4 * self.table.len() as u64);
        [q.chain(states).chain(kv).chain(table).collect(), results.collect()]
    }

    /// Addresses that may be read, by ID.
    pub fn readable(&self, config: &UnitConfig, expected: &[ExpectedJobBlock]) -> [Readable; 5] {
        let job = self.job();
        let row = |address: u64, carried| address..address + u64::from(config.row_bytes(carried));
        let places = || expected.iter().flat_map(|block| &block.block.places);
        let q = places().map(|place| row(Job::row(&job.q, place.head, place.token), Carried::Query));
        let state = |rows: Rows| {
            places().map(move |place| row(Job::row(&rows, place.head, place.token), Carried::State))
        };
        let states = job.state_in.into_iter().flat_map(state);
        let keys = || {
            let of_block = |block: &Block| {
                let head = block.key_head;
                block.keys.clone().map(move |token| (head, token))
            };
            expected.iter().flat_map(move |expected| of_block(&expected.block))
        };
        let k = keys().map(|(head, token)| row(self.key_row(head, token), Carried::Key));
        let v = keys().map(|(head, token)| row(self.value_row(head, token), Carried::Value));
        let table = job.pages.iter().map(|pages| pages.table..pages.table + 4 * self.table.len() as u64);
        let next = self.descriptor.has(Flag::Next).then(|| descriptor_at(self.descriptor.get("NEXT")));
        [
            Readable::new(table.chain(next).collect()),
            Readable::new(q.collect()),
            Readable::new(k.collect()),
            Readable::new(v.collect()),
            Readable::new(states.collect()),
        ]
    }
}

/// The log-sum-exp of a result, in binary32; minus infinity if it is empty.
pub(super) fn log_sum_exp_of(core: &CoreConfig, n: &Numerics, result: &QueryResult) -> u32 {
    let none = n.no_key(core).unwrap_or_default();
    log_sum_exp(core, n, result.state.as_ref().map_or(none, |state| state.scalars))
}

/// The addresses of a descriptor.
pub(super) fn descriptor_at(address: u64) -> Range<u64> {
    address..address + u64::from(DESCRIPTOR_BYTES)
}

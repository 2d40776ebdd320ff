//! Queries, keys and values as port activity.

use crate::engine::{Inputs, Outputs};
use flashd_golden::{Model, QueryResult, v_exponent};
use flashd_hwmodel::config::CoreConfig;
use flashd_hwmodel::format::Format;
use flashd_hwmodel::word::ones;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::Range;

/// One query and the number of keys it attends to (from the first).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// d encodings.
    pub q: Vec<u64>,
    /// Keys `0..keys`, at least one.
    pub keys: usize,
    /// Exponent field of the largest |v| that fixed-point lanes can hold in this query.
    pub v_exponent: u64,
    /// Keys that the query does not see, from the first; it sees those for which nothing is said.
    pub masked: Vec<bool>,
}

impl Query {
    /// Whether the query does not see a key.
    pub fn masks(&self, key: usize) -> bool {
        self.masked.get(key).is_some_and(|&masked| masked)
    }
}

/// What a run streams through a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Vector length.
    pub d: usize,
    /// Queries, one after another.
    pub queries: Vec<Query>,
    /// Keys, `[keys, d]` encodings.
    pub k: Vec<u64>,
    /// Values, `[keys, d]` encodings.
    pub v: Vec<u64>,
}

impl Workload {
    /// Every query against all keys, or, `causal`, query i against keys `0..=i` (the last queries of the
    /// sequence when there are fewer queries than keys).
    ///
    /// `v_exponent` is that of the values in `format`.
    pub fn new(format: Format, d: usize, q: &[u64], k: &[u64], v: &[u64], causal: bool) -> Self {
        let v_exponent = v_exponent(format, v);
        let (n, keys) = (q.len() / d, k.len() / d);
        let before = keys.saturating_sub(n);
        let visible = |i: usize| if causal { (before + i + 1).min(keys) } else { keys };
        let queries = q
            .chunks_exact(d)
            .enumerate()
            .map(|(i, q)| Query { q: q.to_vec(), keys: visible(i), v_exponent, masked: Vec::new() })
            .collect();
        Workload { d, queries, k: k.to_vec(), v: v.to_vec() }
    }

    /// The same keys for every query, of which each sees only those of a range.
    #[must_use]
    pub fn with_ranges(mut self, ranges: &[Range<usize>]) -> Self {
        for (query, range) in self.queries.iter_mut().zip(ranges) {
            query.masked = (0..query.keys).map(|key| !range.contains(&key)).collect();
        }
        self
    }

    /// Keys over all queries.
    pub fn steps(&self) -> usize {
        self.queries.iter().map(|q| q.keys).sum()
    }

    /// Keys per query.
    pub fn lengths(&self) -> Vec<usize> {
        self.queries.iter().map(|q| q.keys).collect()
    }

    /// Exponent field per query.
    pub fn v_exponents(&self) -> Vec<u64> {
        self.queries.iter().map(|q| q.v_exponent).collect()
    }

    /// Keys that queries do not see, over all queries.
    pub fn masked(&self) -> usize {
        self.queries.iter().map(|q| (0..q.keys).filter(|&key| q.masks(key)).count()).sum()
    }

    /// What a model makes of the workload.
    pub fn results(&self, model: &Model, record: bool) -> Vec<QueryResult> {
        let masked = |query: usize, key: usize| self.queries[query].masks(key);
        let (q, lengths, exponents) = (self.q(), self.lengths(), self.v_exponents());
        model.run_masked(&q, &self.k, &self.v, &lengths, &exponents, &masked, record)
    }

    /// All queries, `[queries, d]`.
    pub fn q(&self) -> Vec<u64> {
        self.queries.iter().flat_map(|q| q.q.iter().copied()).collect()
    }
}

/// Idle cycles in the key stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// One key a cycle; the next query is loaded with the last key of the one before.
    None,
    /// Random gaps, early and late query loads; ports that carry nothing carry noise.
    Random(u64),
}

/// What the driver did in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Position of the accepted key: (query, key).
    pub key: Option<(usize, usize)>,
    /// It was its query's last.
    pub last: bool,
    /// Idle although a query was under way.
    pub bubble: bool,
}

/// Drives a core's inputs by the port protocol.
pub struct Driver<'a> {
    workload: &'a Workload,
    rng: Option<ChaCha8Rng>,
    mask: u64,
    exponent_mask: u64,
    /// Whether the core has masks.
    masks: bool,
    /// The query whose keys are being sent, and its next key.
    query: usize,
    key: usize,
    /// Queries loaded so far.
    loaded: usize,
    /// The next value to read: (query, key).
    value: (usize, usize),
    reset_cycles: usize,
}

/// Cycles of reset at the start of a run.
pub const RESET_CYCLES: usize = 2;

impl<'a> Driver<'a> {
    /// A driver at the start of a workload.
    pub fn new(config: &CoreConfig, workload: &'a Workload, gaps: Gaps) -> Self {
        Driver {
            workload,
            rng: match gaps {
                Gaps::None => None,
                Gaps::Random(seed) => Some(ChaCha8Rng::seed_from_u64(seed)),
            },
            mask: ones(config.format.width()),
            exponent_mask: config.format.exponent_mask(),
            masks: config.masks,
            query: 0,
            key: 0,
            loaded: 0,
            value: (0, 0),
            reset_cycles: RESET_CYCLES,
        }
    }

    /// Whether every key has been sent.
    pub fn finished(&self) -> bool {
        self.query == self.workload.queries.len()
    }

    fn noise(&mut self, bus: &mut Vec<u64>) {
        if let Some(rng) = &mut self.rng {
            let mask = self.mask;
            bus.clear();
            bus.extend((0..self.workload.d).map(|_| rng.random::<u64>() & mask));
        }
    }

    fn chance(&mut self, one_in: u32) -> bool {
        self.rng.as_mut().is_some_and(|rng| rng.random_ratio(1, one_in))
    }

    /// The inputs of the next cycle, `previous` being the outputs of the last one.
    pub fn next(&mut self, previous: &Outputs, inputs: &mut Inputs) -> Accepted {
        let (w, d) = (self.workload, self.workload.d);
        for bus in [&mut inputs.q, &mut inputs.k, &mut inputs.v] {
            bus.resize(d, 0);
        }
        *inputs = Inputs {
            rst: self.reset_cycles > 0,
            q: std::mem::take(&mut inputs.q),
            k: std::mem::take(&mut inputs.k),
            v: std::mem::take(&mut inputs.v),
            ..Inputs::default()
        };
        if self.reset_cycles > 0 {
            self.reset_cycles -= 1;
            return Accepted::default();
        }
        self.drive_value(previous, inputs);
        let mut accepted = Accepted::default();
        let ready = self.query < self.loaded && !self.finished();
        self.noise(&mut inputs.k);
        if ready {
            if self.chance(3) {
                accepted.bubble = self.key > 0;
            } else {
                let query = &w.queries[self.query];
                inputs.k.clear();
                inputs.k.extend_from_slice(&w.k[self.key * d..(self.key + 1) * d]);
                inputs.k_valid = true;
                inputs.k_last = self.key + 1 == query.keys;
                inputs.k_mask = query.masks(self.key);
                accepted.key = Some((self.query, self.key));
                accepted.last = inputs.k_last;
                self.key += 1;
                if inputs.k_last {
                    (self.query, self.key) = (self.query + 1, 0);
                }
            }
        }
        if !inputs.k_valid && self.chance(2) {
            // Without k_valid, k_last means nothing.
            inputs.k_last = true;
        }
        if self.masks && !inputs.k_valid {
            inputs.k_mask = self.chance(2);
        }
        self.noise(&mut inputs.q);
        if let Some(rng) = &mut self.rng {
            inputs.v_exponent = rng.random::<u64>() & self.exponent_mask;
        }
        // The next query may be loaded from the cycle of the previous one's last key on.
        if self.query == self.loaded && self.loaded < w.queries.len() && !self.chance(3) {
            inputs.q.clear();
            inputs.q.extend_from_slice(&w.queries[self.loaded].q);
            inputs.q_valid = true;
            inputs.v_exponent = w.queries[self.loaded].v_exponent;
            self.loaded += 1;
        }
        accepted
    }

    /// The value that the previous cycle asked for; otherwise the bus keeps what it carries, or noise.
    fn drive_value(&mut self, previous: &Outputs, inputs: &mut Inputs) {
        let (w, d) = (self.workload, self.workload.d);
        if previous.v_ren && self.value.0 < w.queries.len() {
            let key = self.value.1;
            inputs.v.clear();
            inputs.v.extend_from_slice(&w.v[key * d..(key + 1) * d]);
        } else {
            self.noise(&mut inputs.v);
        }
        if previous.v_step && self.value.0 < w.queries.len() {
            self.value.1 += 1;
            if self.value.1 == w.queries[self.value.0].keys {
                self.value = (self.value.0 + 1, 0);
            }
        }
    }
}

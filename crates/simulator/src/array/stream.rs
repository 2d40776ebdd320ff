//! Blocks of queries as port activity.

use super::engine::{ArrayInputs, ArrayOutputs};
use super::rules::QueryId;
use super::workload::ArrayWorkload;
use crate::core::engine::Inputs;
use crate::core::stream::RESET_CYCLES;
use crate::gaps::Gaps;
use crate::running::{Drive, RtlEngine};
use flashd_spec::bits::ones;
use flashd_spec::config::ArrayConfig;
use flashd_spec::numerics::BIAS;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

/// What makes a stream irregular, and what computes its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disturbance {
    /// Pauses of both sources, offers that are withdrawn, noise on ports that carry nothing.
    pub gaps: Gaps,
    /// Cycles in which a reset begins. It lasts two cycles and drops every block that has begun to load.
    pub resets: Vec<u64>,
    /// What computes the cycles.
    pub engine: RtlEngine,
}

impl Disturbance {
    /// No resets but that at the start.
    pub fn gaps(drive: impl Into<Drive>) -> Self {
        let Drive { gaps, engine } = drive.into();
        Disturbance { gaps, resets: Vec::new(), engine }
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
    /// Widths of the elements of q, k and v.
    widths: [u32; 3],
    exponent_mask: u64,
    /// Cores with a bias, all or none.
    biased: usize,
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
        let formats = config.core.formats();
        ArrayDriver {
            workload,
            most: config.queries,
            rng: match disturbance.gaps {
                Gaps::None => None,
                Gaps::Random(seed) => Some(ChaCha8Rng::seed_from_u64(seed)),
            },
            widths: [formats.q, formats.k, formats.v].map(|format| format.width()),
            exponent_mask: formats.v.exponent_mask(),
            biased: if config.core.bias { config.queries } else { 0 },
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

    /// Noise on a bus of words of `width` bits, where there is noise.
    fn noise(&mut self, bus: &mut [u64], width: u32) {
        if let Some(rng) = &mut self.rng {
            bus.fill_with(|| rng.random::<u64>() & ones(width));
        }
    }

    /// The inputs of a cycle, `previous` being the outputs of the last one.
    pub fn next(&mut self, cycle: u64, previous: &ArrayOutputs, inputs: &mut ArrayInputs) -> ArrayOffer {
        let (w, d) = (self.workload, self.workload.d);
        let mut i = std::mem::take(&mut inputs.core);
        for (bus, elements) in [(&mut i.q, d), (&mut i.k, d), (&mut i.v, w.dv)] {
            bus.resize(elements, 0);
        }
        *inputs = ArrayInputs {
            core: Inputs { q: i.q, k: i.k, v: i.v, k_bias: i.k_bias, ..Inputs::default() },
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
        self.noise(&mut i.q, self.widths[0]);
        self.noise(&mut i.k, self.widths[1]);
        i.k_bias.resize(self.biased, 0);
        self.noise(&mut i.k_bias, BIAS.width());
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
            i.v.extend_from_slice(&w.v[key * w.dv..(key + 1) * w.dv]);
        } else {
            self.noise(&mut i.v, self.widths[2]);
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
            let block = &w.blocks[self.key.0];
            for (query, bias) in i.k_bias.iter_mut().enumerate().take(block.queries.len()) {
                *bias = block.bias(query, self.key.1);
            }
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

/// The place after this one, where this block has `count` places.
fn following((block, place): QueryId, count: usize) -> QueryId {
    if place + 1 == count { (block + 1, 0) } else { (block, place + 1) }
}

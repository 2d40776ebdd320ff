//! Blocks of queries as port activity.

use super::engine::{ArrayInputs, ArrayOutputs};
use super::rules::QueryId;
use super::workload::{ArrayWorkload, BlockStep};
use crate::core::engine::Inputs;
use crate::core::stream::RESET_CYCLES;
use crate::gaps::Gaps;
use crate::running::{Drive, RtlEngine};
use flashd_spec::bits::ones;
use flashd_spec::config::ArrayConfig;
use flashd_spec::numerics::{BIAS, Numerics};
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
    /// A key or state by block and step, and `k_last`.
    pub key: Option<(QueryId, bool)>,
}

/// What the cores ask for with `v_ren`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Nothing,
    /// The value of a key.
    Value(usize),
    /// The accumulators that a query, by block and place, starts from.
    Restore(QueryId),
}

/// Drives an array's inputs.
pub struct ArrayDriver<'a> {
    workload: &'a ArrayWorkload,
    most: usize,
    rng: Option<ChaCha8Rng>,
    /// Widths of the elements of q, k and v.
    widths: [u32; 3],
    exponent_mask: u64,
    /// Accumulators of a partial result.
    dv: usize,
    /// Cores with a bias, all or none.
    biased: usize,
    /// With masks: the largest place of a key.
    last_place: Option<u64>,
    /// The next query, key and value by block and place.
    query: QueryId,
    key: QueryId,
    value: QueryId,
    /// What was asked for in the cycles before, the oldest first.
    asked: VecDeque<Asked>,
    /// Of cores with partial results: widths of a state's scalars, of an accumulator and of a query's place.
    partial: Option<(Vec<u32>, u32, u32)>,
    /// The next step whose state's scalars may be asked for, by block and step.
    scalars: QueryId,
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
            exponent_mask: config.core.products().v.exponent_mask(),
            dv: config.core.dv(),
            biased: if config.core.bias { config.queries } else { 0 },
            last_place: config.core.masks.then(|| ones(config.key_index_bits())),
            query: (0, 0),
            key: (0, 0),
            value: (0, 0),
            asked: (1..config.core.value_latency).map(|_| Asked::Nothing).collect(),
            partial: config.core.partial.then(|| {
                let scalars = Numerics::new(&config.core).scalar_bits(&config.core);
                (scalars, config.core.accumulator_bits(), config.index_bits())
            }),
            scalars: (0, 0),
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
        let (w, words) = (self.workload, self.workload.words);
        let mut i = std::mem::take(&mut inputs.core);
        for (bus, elements) in [&mut i.q, &mut i.k, &mut i.v].into_iter().zip(words.all()) {
            bus.resize(elements, 0);
        }
        *inputs = ArrayInputs {
            core: Inputs {
                q: i.q,
                k: i.k,
                v: i.v,
                k_bias: i.k_bias,
                state: i.state,
                state_o: i.state_o,
                ..Inputs::default()
            },
            q_last: self.chance(2),
            ..ArrayInputs::default()
        };
        let i = &mut inputs.core;
        if self.resets.contains(&cycle) {
            self.reset_cycles = RESET_CYCLES;
            self.asked.iter_mut().for_each(|asked| *asked = Asked::Nothing);
            let next = self.query.0 + (self.query.1 > 0) as usize;
            (self.query, self.key, self.value, self.scalars) = ((next, 0), (next, 0), (next, 0), (next, 0));
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
        if let Some((scalars, accumulator, place)) = &self.partial {
            let mut noise = |width: u32| self.rng.as_mut().map_or(0, |rng| rng.random::<u64>() & ones(width));
            i.state.clear();
            i.state.extend(scalars.iter().map(|&width| noise(width)));
            i.state_o.clear();
            i.state_o.extend((0..self.dv).map(|_| noise(*accumulator)));
            (i.k_state, inputs.k_index) = (noise(1) == 1, noise(*place));
        }
        if self.reset_cycles > 0 {
            self.reset_cycles -= 1;
            i.rst = true;
            (i.q_valid, i.k_valid) = (self.chance(2), self.chance(2));
            return ArrayOffer::default();
        }
        let block = w.blocks.get(self.value.0).filter(|_| previous.core.v_ren);
        self.asked.push_back(match block.map(|block| (block, block.step(self.value.1))) {
            None => Asked::Nothing,
            Some((block, BlockStep::Key(place))) => Asked::Value(block.first_key + place),
            Some((_, BlockStep::State(place))) => Asked::Restore((self.value.0, place)),
        });
        let asked = self.asked.pop_front().unwrap_or(Asked::Nothing);
        if let Asked::Value(key) = asked {
            w.v.read(words.v, key, &mut i.v);
        } else {
            self.noise(&mut i.v, self.widths[2]);
        }
        if let Asked::Restore((block, place)) = asked
            && let Some(state) = w.blocks[block].state(place)
        {
            i.state_o.clear();
            i.state_o.extend_from_slice(&state.o);
        }
        if previous.core.v_step && self.value.0 < w.blocks.len() {
            self.value = following(self.value, w.blocks[self.value.0].steps());
        }
        if previous.core.state_ren {
            self.scalars_of_state(&mut i.state);
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
            let block = &w.blocks[self.key.0];
            i.k_valid = true;
            i.k_state = false;
            match block.step(self.key.1) {
                BlockStep::Key(place) => {
                    let key = block.first_key + place;
                    w.k.read(words.k, key, &mut i.k);
                    for (query, bias) in i.k_bias.iter_mut().enumerate().take(block.queries.len()) {
                        *bias = block.bias(query, place);
                    }
                    i.k_mask = w.padding.get(key).is_some_and(|&masked| masked);
                }
                // What the key port carries means nothing.
                BlockStep::State(place) => {
                    (i.k_state, i.k_mask, inputs.k_index) = (true, false, place as u64);
                }
            }
            i.k_last = self.key.1 + 1 == block.steps();
            offer.key = Some((self.key, i.k_last));
        }
        offer
    }

    /// The scalars of the next state, on the bus.
    fn scalars_of_state(&mut self, bus: &mut [u64]) {
        while let Some(block) = self.workload.blocks.get(self.scalars.0) {
            let step = block.step(self.scalars.1);
            self.scalars = following(self.scalars, block.steps());
            if let BlockStep::State(place) = step
                && let Some(state) = block.state(place)
            {
                bus.iter_mut().zip(state.scalars).for_each(|(bus, scalar)| *bus = scalar);
                return;
            }
        }
    }

    /// What of an offer was taken.
    pub fn advance(&mut self, query: bool, key: bool) {
        let blocks = &self.workload.blocks;
        if query {
            self.query = following(self.query, blocks[self.query.0].queries.len());
        }
        if key {
            self.key = following(self.key, blocks[self.key.0].steps());
        }
    }
}

/// The place after this one, where this block has `count` places.
fn following((block, place): QueryId, count: usize) -> QueryId {
    if place + 1 == count { (block + 1, 0) } else { (block, place + 1) }
}

//! Blocks of queries as port activity.

use super::rules::QueryId;
use super::workload::{ArrayWorkload, BlockStep};
use crate::bench::{Frame, Noise, RESET_CYCLES, Reads};
use crate::gaps::Gaps;
use crate::running::{Drive, RtlEngine};
use flashd_spec::bits::ones;
use flashd_spec::config::ArrayConfig;
use flashd_spec::machine::Machine;
use flashd_spec::ports::Port;

/// Irregularities of a stream, and the engine that runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disturbance {
    /// Pauses of both sources, offers that are withdrawn, noise on ports that carry nothing.
    pub gaps: Gaps,
    /// Cycles in which a reset begins. It lasts two cycles and drops every block that has begun to load.
    pub resets: Vec<u64>,
    /// The engine of the hardware.
    pub engine: RtlEngine,
}

impl Disturbance {
    /// No resets but that at the start.
    pub fn gaps(drive: impl Into<Drive>) -> Self {
        let Drive { gaps, engine } = drive.into();
        Disturbance { gaps, resets: Vec::new(), engine }
    }
}

/// The offers of a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ArrayOffer {
    /// A query, and `q_last`.
    pub(crate) query: Option<(QueryId, bool)>,
    /// A key or state by block and step, and `k_last`.
    pub(crate) key: Option<(QueryId, bool)>,
}

/// A read that the cores asked for with `v_ren`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArrayRead {
    /// The value of a key.
    Value(usize),
    /// The accumulators that a query, by block and place, starts from.
    Restore(QueryId),
}

/// Drives an array's inputs.
pub(crate) struct ArrayStimulus<'a> {
    workload: &'a ArrayWorkload,
    most: usize,
    noise: Noise,
    exponent_bits: u32,
    /// With masks: the largest place of a key.
    last_place: Option<u64>,
    /// Whether cores have partial results.
    partial: bool,
    /// Ports of a state's scalars.
    state_ports: Vec<Port>,
    /// The next query, key and value by block and place.
    query: QueryId,
    key: QueryId,
    value: QueryId,
    reads: Reads<ArrayRead>,
    /// Cycles that a value stays on its port and that a key at least does: the turns of the queries.
    turns: usize,
    /// The value on the port, and the cycles that it still stays.
    stays: Option<(ArrayRead, usize)>,
    /// The key on the port has been offered, and must stay.
    key_stays: bool,
    /// The next step whose state's scalars may be asked for, by block and step.
    scalars: QueryId,
    resets: Vec<u64>,
    reset_cycles: usize,
}

impl<'a> ArrayStimulus<'a> {
    /// The start of a workload.
    pub(crate) fn new(config: &ArrayConfig, workload: &'a ArrayWorkload, disturbance: &Disturbance) -> Self {
        let core = &config.core;
        let scalars = Port::state_scalars(&Machine::from(config));
        ArrayStimulus {
            workload,
            most: config.queries,
            noise: Noise::new(disturbance.gaps),
            exponent_bits: core.products().v.exponent_bits,
            last_place: core.masks.then(|| ones(config.key_index_bits())),
            partial: core.partial,
            state_ports: scalars.into_iter().map(|[state, _]| state).collect(),
            query: (0, 0),
            key: (0, 0),
            value: (0, 0),
            reads: Reads::new(config.value_latency()),
            turns: config.interleave,
            stays: None,
            key_stays: false,
            scalars: (0, 0),
            resets: disturbance.resets.clone(),
            reset_cycles: RESET_CYCLES,
        }
    }

    /// Whether every key has been taken.
    pub(crate) fn is_finished(&self) -> bool {
        self.key.0 == self.workload.blocks.len()
    }

    /// Writes the inputs of a cycle; the frame still has the outputs of the last one.
    pub(crate) fn drive(&mut self, cycle: u64, frame: &mut Frame) -> ArrayOffer {
        frame.clear(&[Port::QValid, Port::KValid, Port::KState]);
        frame.set(Port::QLast, self.noise.chance(2));
        if self.resets.contains(&cycle) {
            self.begin_reset();
        }
        self.drive_noise(frame);
        frame.set(Port::Rst, self.reset_cycles > 0);
        if self.reset_cycles > 0 {
            self.reset_cycles -= 1;
            frame.set(Port::QValid, self.noise.chance(2));
            frame.set(Port::KValid, self.noise.chance(2));
            return ArrayOffer::default();
        }
        self.drive_value(frame);
        if frame.is_high(Port::StateRen) {
            self.drive_scalars(frame);
        }
        ArrayOffer { query: self.offer_query(frame), key: self.offer_key(frame) }
    }

    /// Drops the block that has begun to load, and goes on with the next one.
    fn begin_reset(&mut self) {
        self.reset_cycles = RESET_CYCLES;
        self.reads.reset();
        (self.stays, self.key_stays) = (None, false);
        let next = self.query.0 + usize::from(self.query.1 > 0);
        (self.query, self.key, self.value, self.scalars) = ((next, 0), (next, 0), (next, 0), (next, 0));
    }

    /// Puts noise on all ports; offers replace it.
    fn drive_noise(&mut self, frame: &mut Frame) {
        for port in [Port::Q, Port::K, Port::KBias] {
            self.noise.fill(frame, port);
        }
        frame.set(Port::KLast, self.noise.chance(2));
        frame.set(Port::VExponent, self.noise.word(self.exponent_bits));
        if self.last_place.is_some() {
            frame.set(Port::KMask, self.noise.bit());
            self.noise.fill_or_clear(frame, Port::QFrom);
            self.noise.fill_or_clear(frame, Port::QTo);
        }
        if self.partial {
            for n in 0..self.state_ports.len() {
                self.noise.fill_or_clear(frame, self.state_ports[n]);
            }
            self.noise.fill_or_clear(frame, Port::StateO);
            frame.set(Port::KState, self.noise.word(1));
            self.noise.fill_or_clear(frame, Port::KIndex);
        }
    }

    /// The value or the accumulators that the device asked for; otherwise the bus keeps its words, or has noise.
    fn drive_value(&mut self, frame: &mut Frame) {
        let w = self.workload;
        let block = w.blocks.get(self.value.0).filter(|_| frame.is_high(Port::VRen));
        let read = block.map(|block| match block.step(self.value.1) {
            BlockStep::Key(place) => ArrayRead::Value(block.first_key + place),
            BlockStep::State(place) => ArrayRead::Restore((self.value.0, place)),
        });
        let before = self.stays.filter(|(_, left)| *left > 0);
        self.stays = self.reads.next(read).map(|read| (read, self.turns)).or(before);
        let read = self.stays.as_mut().map(|(read, left)| {
            *left -= 1;
            *read
        });
        if let Some(ArrayRead::Value(key)) = read {
            w.v.read(key, &mut frame[Port::V]);
        } else {
            self.noise.fill(frame, Port::V);
        }
        if let Some(ArrayRead::Restore((block, place))) = read
            && let Some(state) = w.blocks[block].state(place)
        {
            frame[Port::StateO].copy_from_slice(&state.o);
        }
        if frame.is_high(Port::VStep) && self.value.0 < w.blocks.len() {
            self.value = following(self.value, w.blocks[self.value.0].steps());
        }
    }

    /// The scalars of the next state.
    fn drive_scalars(&mut self, frame: &mut Frame) {
        while let Some(block) = self.workload.blocks.get(self.scalars.0) {
            let step = block.step(self.scalars.1);
            self.scalars = following(self.scalars, block.steps());
            if let BlockStep::State(place) = step
                && let Some(state) = block.state(place)
            {
                let scalars = self.state_ports.iter().zip(state.scalars);
                scalars.for_each(|(&port, scalar)| frame.set(port, scalar));
                return;
            }
        }
    }

    fn offer_query(&mut self, frame: &mut Frame) -> Option<(QueryId, bool)> {
        let block = self.workload.blocks.get(self.query.0)?;
        if self.noise.chance(3) {
            return None;
        }
        let (q, v_exponent) = &block.queries[self.query.1];
        frame[Port::Q].copy_from_slice(q);
        frame.set(Port::QValid, true);
        frame.set(Port::VExponent, *v_exponent);
        if let Some(last) = self.last_place {
            let range = block.range(self.query.1);
            frame.set(Port::QFrom, last.min(range.start as u64));
            frame.set(Port::QTo, last.min(range.end as u64));
        }
        // A block of B queries is complete without q_last.
        let last = self.query.1 + 1 == block.queries.len();
        let last = last && (block.queries.len() < self.most || !self.noise.chance(2));
        frame.set(Port::QLast, last);
        Some((self.query, last))
    }

    fn offer_key(&mut self, frame: &mut Frame) -> Option<(QueryId, bool)> {
        let block = self.workload.blocks.get(self.key.0)?;
        if !self.key_stays && self.noise.chance(3) {
            return None;
        }
        self.key_stays = self.turns > 1;
        frame.set(Port::KValid, true);
        match block.step(self.key.1) {
            BlockStep::Key(place) => {
                let key = block.first_key + place;
                self.workload.k.read(key, &mut frame[Port::K]);
                let biases = frame[Port::KBias].iter_mut().enumerate();
                biases.take(block.queries.len()).for_each(|(query, bias)| *bias = block.bias(query, place));
                frame.set(Port::KState, false);
                frame.set(Port::KMask, self.workload.padding.get(key).is_some_and(|&masked| masked));
            }
            // The key port carries nothing.
            BlockStep::State(place) => {
                frame.set(Port::KState, true);
                frame.set(Port::KMask, false);
                frame.set(Port::KIndex, place as u64);
            }
        }
        let last = self.key.1 + 1 == block.steps();
        frame.set(Port::KLast, last);
        Some((self.key, last))
    }

    /// The offers that were taken.
    pub(crate) fn advance(&mut self, query: bool, key: bool) {
        let blocks = &self.workload.blocks;
        if query {
            self.query = following(self.query, blocks[self.query.0].queries.len());
        }
        if key {
            self.key_stays = false;
            self.key = following(self.key, blocks[self.key.0].steps());
        }
    }
}

/// The place after this one, where this block has `count` places.
fn following((block, place): QueryId, count: usize) -> QueryId {
    if place + 1 == count { (block + 1, 0) } else { (block, place + 1) }
}

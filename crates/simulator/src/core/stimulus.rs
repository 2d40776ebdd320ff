//! Queries, keys and values as port activity.

use super::workload::Workload;
use crate::bench::{Frame, Noise, RESET_CYCLES, Reads};
use crate::gaps::Gaps;
use flashd_spec::config::CoreConfig;
use flashd_spec::machine::Machine;
use flashd_spec::ports::Port;

/// Transfers of a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// Position of the accepted key or partial result: (query, step).
    pub(crate) step: Option<(usize, usize)>,
    /// It was its query's last step.
    pub(crate) last: bool,
    /// Idle although a query was under way.
    pub(crate) bubble: bool,
}

/// A read that the core asked for with `v_ren`.
#[derive(Clone, Copy)]
enum CoreRead {
    /// The value of a key.
    Value(usize),
    /// The accumulators that a query starts from.
    Restore(usize),
}

/// Drives a core's inputs by the port protocol.
pub(crate) struct CoreStimulus<'a> {
    workload: &'a Workload,
    noise: Noise,
    exponent_bits: u32,
    /// Whether the core has masks.
    masks: bool,
    /// Whether it has partial results.
    partial: bool,
    /// Ports of a state's scalars.
    scalars: Vec<Port>,
    /// The query whose keys are being sent, and its next step. Here and below, queries that are not sent are left out.
    query: usize,
    step: usize,
    /// The next query to load.
    loaded: usize,
    /// The next value to read: (query, step).
    value: (usize, usize),
    reads: Reads<CoreRead>,
    /// Queries whose partial result's scalars may be asked for next, the first of them.
    restored: usize,
    reset_cycles: usize,
}

impl<'a> CoreStimulus<'a> {
    /// The start of a workload.
    pub(crate) fn new(config: &CoreConfig, workload: &'a Workload, gaps: Gaps) -> Self {
        let first = workload.sent_from(0);
        let scalars = Port::state_scalars(&Machine::from(config));
        CoreStimulus {
            workload,
            noise: Noise::new(gaps),
            exponent_bits: config.products().v.exponent_bits,
            masks: config.masks,
            partial: config.partial,
            scalars: scalars.into_iter().map(|[state, _]| state).collect(),
            query: first,
            step: 0,
            loaded: first,
            value: (first, 0),
            reads: Reads::new(config.value_latency),
            restored: 0,
            reset_cycles: RESET_CYCLES,
        }
    }

    /// Whether every key has been sent.
    pub(crate) fn is_finished(&self) -> bool {
        self.query == self.workload.queries.len()
    }

    /// Writes the inputs of the next cycle; the frame still has the outputs of the last one.
    pub(crate) fn drive(&mut self, frame: &mut Frame) -> Accepted {
        use Port::{K, KBias, KLast, KMask, KState, KValid, Q, QValid, Rst, VExponent};
        // Outputs of a reset cycle mean nothing.
        let quiet = frame.is_high(Rst);
        frame.clear(&[QValid, KValid, KLast, KMask, KState, VExponent]);
        self.noise.fill(frame, KBias);
        frame.set(Rst, self.reset_cycles > 0);
        if self.reset_cycles > 0 {
            self.reset_cycles -= 1;
            // Nothing that comes with a reset is taken.
            self.noise.fill(frame, Q);
            self.noise.fill(frame, K);
            for port in [QValid, KValid, KLast] {
                frame.set(port, self.noise.chance(2));
            }
            frame.set(KMask, self.masks && self.noise.chance(2));
            frame.set(KState, self.partial && self.noise.chance(2));
            return Accepted::default();
        }
        if self.partial {
            self.drive_scalars(!quiet && frame.is_high(Port::StateRen), frame);
        }
        self.drive_value(quiet, frame);
        self.noise.fill(frame, K);
        let accepted = self.drive_key(frame);
        let idle = accepted.step.is_none();
        if idle && self.noise.chance(2) {
            // Without k_valid, k_last means nothing.
            frame.set(KLast, true);
        }
        if idle && self.masks {
            frame.set(KMask, self.noise.chance(2));
        }
        if idle && self.partial {
            frame.set(KState, self.noise.chance(2));
        }
        self.noise.fill(frame, Q);
        frame.set(VExponent, self.noise.word(self.exponent_bits));
        // The next query may be loaded from the cycle of the previous one's last key on.
        let w = self.workload;
        if self.query == self.loaded && self.loaded < w.queries.len() && !self.noise.chance(3) {
            let query = &w.queries[self.loaded];
            frame[Q].copy_from_slice(&query.q);
            frame.set(QValid, true);
            frame.set(VExponent, query.v_exponent);
            self.loaded = w.sent_from(self.loaded + 1);
        }
        accepted
    }

    /// A key or a state, if one is sent.
    fn drive_key(&mut self, frame: &mut Frame) -> Accepted {
        let mut accepted = Accepted::default();
        if self.query >= self.loaded || self.is_finished() {
            return accepted;
        }
        if self.noise.chance(3) {
            accepted.bubble = self.step > 0;
            return accepted;
        }
        let query = &self.workload.queries[self.query];
        match query.key(self.step) {
            Some(key) => {
                self.workload.k.read(key, &mut frame[Port::K]);
                frame.set(Port::KMask, query.masks(key));
                frame.set(Port::KBias, query.bias(key));
            }
            None => frame.set(Port::KState, true),
        }
        accepted.step = Some((self.query, self.step));
        accepted.last = self.step + 1 == query.steps();
        frame.set(Port::KValid, true);
        frame.set(Port::KLast, accepted.last);
        self.step += 1;
        if accepted.last {
            (self.query, self.step) = (self.workload.sent_from(self.query + 1), 0);
        }
        accepted
    }

    /// The scalars of the partial result that the previous cycle asked for, or noise.
    fn drive_scalars(&mut self, asked: bool, frame: &mut Frame) {
        for &port in &self.scalars {
            self.noise.fill_or_clear(frame, port);
        }
        self.noise.fill_or_clear(frame, Port::StateO);
        let rest = &self.workload.queries[self.restored.min(self.workload.queries.len())..];
        let states = rest.iter().enumerate().filter_map(|(n, query)| Some((n, query.restore.as_ref()?)));
        if let Some((n, state)) = states.take(usize::from(asked)).next() {
            self.scalars.iter().zip(state.scalars).for_each(|(&port, scalar)| frame.set(port, scalar));
            self.restored += n + 1;
        }
    }

    /// The value or the accumulators that the device asked for; otherwise the bus keeps its words, or has noise.
    fn drive_value(&mut self, quiet: bool, frame: &mut Frame) {
        let w = self.workload;
        let is_read = !quiet && frame.is_high(Port::VRen);
        let query = w.queries.get(self.value.0).filter(|_| is_read);
        let read = query.map(|query| match query.key(self.value.1) {
            Some(key) => CoreRead::Value(key),
            None => CoreRead::Restore(self.value.0),
        });
        let read = self.reads.next(read);
        if let Some(CoreRead::Value(key)) = read {
            w.v.read(key, &mut frame[Port::V]);
        } else {
            self.noise.fill(frame, Port::V);
        }
        if let Some(CoreRead::Restore(query)) = read
            && let Some(state) = &w.queries[query].restore
        {
            frame[Port::StateO].copy_from_slice(&state.o);
        }
        if !quiet && frame.is_high(Port::VStep) && self.value.0 < w.queries.len() {
            self.value.1 += 1;
            if self.value.1 == w.queries[self.value.0].steps() {
                self.value = (w.sent_from(self.value.0 + 1), 0);
            }
        }
    }
}

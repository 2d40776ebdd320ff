//! Queries and the keys of their parts as port activity.

use super::workload::SplitWorkload;
use crate::bench::{Frame, Noise, RESET_CYCLES, Reads};
use crate::core::vectors::Vectors;
use crate::gaps::Gaps;
use flashd_spec::config::SplitConfig;
use flashd_spec::ports::Port;

/// Drives the inputs by the port protocol.
pub(super) struct SplitStimulus<'a> {
    config: &'a SplitConfig,
    parts: &'a SplitWorkload,
    noise: Noise,
    reset_cycles: usize,
    loaded: usize,
    query: usize,
    step: usize,
    /// The next values to read: (query, step).
    value: (usize, usize),
    /// Keys that the parts asked for.
    reads: Reads<Vec<Option<usize>>>,
}

impl<'a> SplitStimulus<'a> {
    pub(super) fn new(config: &'a SplitConfig, parts: &'a SplitWorkload, gaps: Gaps) -> Self {
        SplitStimulus {
            noise: Noise::new(gaps),
            reset_cycles: RESET_CYCLES,
            loaded: 0,
            query: 0,
            step: 0,
            value: (0, 0),
            reads: Reads::new(config.core.value_latency),
            config,
            parts,
        }
    }

    /// Whether every key has been sent.
    pub(super) fn is_finished(&self) -> bool {
        self.query == self.parts.lengths().len()
    }

    /// Writes the inputs of the next cycle; the frame still has the outputs of the last one. Returns the query and step whose keys are
    /// sent, and whether they are the query's last.
    pub(super) fn drive(&mut self, frame: &mut Frame) -> Option<((usize, usize), bool)> {
        use Port::{K, KBias, KLast, KMask, KValid, Q, QValid, Rst, V, VExponent};
        let (source, parts) = (self.parts, self.config.parts);
        let reset = self.reset_cycles > 0;
        let send = !reset && self.query < self.loaded && !self.is_finished() && !self.noise.chance(3);
        let mut keys = vec![None; parts];
        if send {
            for (p, k) in keys.iter_mut().enumerate() {
                let query = source.query(self.query, p);
                let key = query.from + self.step;
                *k = (key < query.keys && !query.masks(key)).then_some(key);
            }
        }
        let last = send && self.step + 1 == source.lengths()[self.query];
        // The next query may be loaded from the cycle of the previous one's last keys on.
        let idle = self.query + usize::from(last) == self.loaded;
        let load = !reset && idle && self.loaded < source.lengths().len() && !self.noise.chance(3);
        let values = self.values(frame);
        self.vectors(frame, K, &source.workload.k, &keys);
        self.vectors(frame, V, &source.workload.v, &values);
        let exponent = self.noise.word(self.config.core.products().v.exponent_bits);
        if load {
            let query = source.query(self.loaded, 0);
            frame[Q].copy_from_slice(&query.q);
            frame.set(VExponent, query.v_exponent);
        } else {
            self.noise.fill_or_clear(frame, Q);
            frame.set(VExponent, exponent);
        }
        let idle_last = !send && self.noise.chance(2);
        for (p, &key) in keys.iter().enumerate().take(frame[KBias].len()) {
            frame[KBias][p] = match key {
                Some(key) => source.query(self.query, p).bias(key),
                None => self.noise.word(frame.width(KBias)),
            };
        }
        for (p, key) in keys.iter().enumerate() {
            let masked = if send { key.is_none() } else { self.noise.chance(2) };
            frame[KMask][p] = masked.into();
        }
        frame.set(Rst, reset);
        // Nothing that comes with a reset is taken.
        frame.set(QValid, load || reset && self.noise.chance(2));
        frame.set(KValid, send || reset && self.noise.chance(2));
        frame.set(KLast, last || idle_last);
        self.reset_cycles -= usize::from(reset);
        self.loaded += usize::from(load);
        let step = send.then_some(((self.query, self.step), last));
        match last {
            true => (self.query, self.step) = (self.query + 1, 0),
            false => self.step += usize::from(send),
        }
        step
    }

    /// The keys whose values come in this cycle, by part.
    fn values(&mut self, frame: &Frame) -> Vec<Option<usize>> {
        let none = vec![None; self.config.parts];
        if self.reset_cycles > 0 {
            return none;
        }
        let (query, step) = self.value;
        let steps = self.parts.lengths().get(query).filter(|_| frame.is_high(Port::VStep));
        let read = steps.map(|_| {
            let key = |(p, &reads): (usize, &u64)| {
                let part = self.parts.query(query, p);
                (reads != 0 && step < part.steps()).then(|| part.from + step)
            };
            frame[Port::VRen].iter().enumerate().map(key).collect()
        });
        if let Some(&steps) = steps {
            self.value = if step + 1 == steps { (query + 1, 0) } else { (query, step + 1) };
        }
        self.reads.next(read).unwrap_or(none)
    }

    /// A vector for each part on a bus; noise, or zeros, for a part without one.
    fn vectors(&mut self, frame: &mut Frame, port: Port, data: &Vectors, keys: &[Option<usize>]) {
        let (width, words) = (frame.width(port), frame[port].len() / keys.len());
        for (bus, key) in frame[port].chunks_exact_mut(words).zip(keys) {
            match *key {
                Some(key) => data.read(key, bus),
                None => bus.fill_with(|| self.noise.word(width)),
            }
        }
    }
}

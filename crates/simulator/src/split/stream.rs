//! Queries and the keys of their parts as port activity.

use super::engine::SplitInputs;
use super::workload::SplitWorkload;
use crate::core::engine::Inputs;
use crate::core::stream::RESET_CYCLES;
use crate::core::vectors::Vectors;
use crate::gaps::Gaps;
use flashd_spec::bits::ones;
use flashd_spec::config::SplitConfig;
use flashd_spec::format::Format;
use flashd_spec::numerics::BIAS;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

/// A cycle's inputs. Ports that carry nothing carry noise where there are gaps.
pub(super) struct SplitOffer {
    pub(super) inputs: SplitInputs,
    /// The query and step whose keys are sent.
    pub(super) step: Option<(usize, usize)>,
}

/// Drives the inputs by the port protocol.
pub(super) struct SplitDriver<'a> {
    config: &'a SplitConfig,
    parts: &'a SplitWorkload,
    rng: Option<ChaCha8Rng>,
    cycle: usize,
    loaded: usize,
    query: usize,
    step: usize,
    /// Keys asked for by the parts in the cycles before.
    asked: VecDeque<Vec<Option<usize>>>,
}

impl<'a> SplitDriver<'a> {
    pub(super) fn new(config: &'a SplitConfig, parts: &'a SplitWorkload, gaps: Gaps) -> Self {
        SplitDriver {
            rng: match gaps {
                Gaps::None => None,
                Gaps::Random(seed) => Some(ChaCha8Rng::seed_from_u64(seed)),
            },
            cycle: 0,
            loaded: 0,
            query: 0,
            step: 0,
            asked: (0..config.core.value_latency).map(|_| vec![None; config.parts]).collect(),
            config,
            parts,
        }
    }

    /// Whether every key has been sent.
    pub(super) fn finished(&self) -> bool {
        self.query == self.parts.lengths().len()
    }

    /// The keys whose values the parts ask for in a cycle after the reset.
    pub(super) fn ask(&mut self, keys: Vec<Option<usize>>) {
        self.asked.push_back(keys);
    }

    fn chance(&mut self, one_in: u32) -> bool {
        self.rng.as_mut().is_some_and(|rng| rng.random_ratio(1, one_in))
    }

    /// The contents of a bus that carries nothing.
    fn noise(&mut self, width: u32) -> u64 {
        self.rng.as_mut().map_or(0, |rng| rng.random::<u64>() & ones(width))
    }

    /// A vector, or what is on the bus without one.
    fn vector(&mut self, data: &Vectors, (d, format): (usize, Format), key: Option<usize>) -> Vec<u64> {
        let width = format.width();
        match key {
            Some(key) => {
                let mut vector = Vec::with_capacity(d);
                data.read(d, key, &mut vector);
                vector
            }
            None => (0..d).map(|_| self.noise(width)).collect(),
        }
    }

    /// The inputs of the next cycle.
    pub(super) fn next(&mut self) -> SplitOffer {
        let (source, parts) = (self.parts, self.config.parts);
        let reset = self.cycle < RESET_CYCLES;
        self.cycle += 1;
        let send = !reset && self.query < self.loaded && !self.finished() && !self.chance(3);
        let mut k = vec![None; parts];
        if send {
            for (p, k) in k.iter_mut().enumerate() {
                let query = source.query(self.query, p);
                let key = query.from + self.step;
                *k = (key < query.keys && !query.masks(key)).then_some(key);
            }
        }
        let last = send && self.step + 1 == source.lengths()[self.query];
        // The next query may be loaded from the cycle of the previous one's last keys on.
        let idle = self.query + usize::from(last) == self.loaded;
        let load = !reset && idle && self.loaded < source.lengths().len() && !self.chance(3);
        let arriving = if reset { Vec::new() } else { self.asked.pop_front().unwrap_or_default() };
        let w = &source.workload;
        let (formats, words) = (self.config.core.formats(), self.config.core.port_words());
        let sent = k.iter().flat_map(|&key| self.vector(&w.k, (words.k, formats.k), key)).collect();
        let values = (0..parts).map(|p| arriving.get(p).copied().flatten());
        let v = values.flat_map(|key| self.vector(&w.v, (words.v, formats.v), key)).collect();
        let exponent = self.noise(self.config.core.products().v.exponent_bits);
        let (q, v_exponent) = match load {
            true => (source.query(self.loaded, 0).q.clone(), source.query(self.loaded, 0).v_exponent),
            false => (self.vector(&w.k, (words.q, formats.q), None), exponent),
        };
        let idle_last = !send && self.chance(2);
        let k_bias = match self.config.core.bias {
            true => {
                let bias = |(p, key): (usize, &Option<usize>)| match key {
                    Some(key) => source.query(self.query, p).bias(*key),
                    None => self.noise(BIAS.width()),
                };
                k.iter().enumerate().map(bias).collect()
            }
            false => Vec::new(),
        };
        let k_mask = k.iter().map(|key| if send { key.is_none() } else { self.chance(2) }).collect();
        let core = Inputs {
            rst: reset,
            q,
            // Nothing that comes with a reset is taken.
            q_valid: load || reset && self.chance(2),
            v_exponent,
            k: sent,
            k_bias,
            k_valid: send || reset && self.chance(2),
            k_last: last || idle_last,
            v,
            ..Inputs::default()
        };
        let step = send.then_some((self.query, self.step));
        self.loaded += usize::from(load);
        if last {
            (self.query, self.step) = (self.query + 1, 0);
        } else {
            self.step += usize::from(send);
        }
        SplitOffer { inputs: SplitInputs { core, k_mask }, step }
    }
}

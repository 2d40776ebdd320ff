//! Queries, keys and values as port activity.

use super::engine::{Inputs, Outputs};
use super::workload::Workload;
use crate::gaps::Gaps;
use flashd_spec::bits::ones;
use flashd_spec::config::CoreConfig;
use flashd_spec::numerics::{BIAS, Numerics};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

/// What the driver did in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Position of the accepted key or partial result: (query, step).
    pub step: Option<(usize, usize)>,
    /// It was its query's last step.
    pub last: bool,
    /// Idle although a query was under way.
    pub bubble: bool,
}

/// What a core asks for with `v_ren`.
#[derive(Clone, Copy)]
enum Asked {
    Nothing,
    /// The value of a key.
    Value(usize),
    /// The accumulators that a query starts from.
    Restore(usize),
}

/// Drives a core's inputs by the port protocol.
pub struct CoreDriver<'a> {
    workload: &'a Workload,
    rng: Option<ChaCha8Rng>,
    /// Widths of the elements of q, k and v.
    widths: [u32; 3],
    exponent_mask: u64,
    /// Whether the core has masks.
    masks: bool,
    /// Whether it has a bias.
    bias: bool,
    /// Widths of a state's scalars and of an accumulator, of cores with partial results.
    partial: Option<(Vec<u32>, u32)>,
    /// The query whose keys are being sent, and its next step. Here and below, queries that are not sent are left out.
    query: usize,
    step: usize,
    /// The next query to load.
    loaded: usize,
    /// The next value to read: (query, step).
    value: (usize, usize),
    /// Accumulators of a partial result.
    dv: usize,
    /// What was asked for in the cycles before, the oldest first.
    asked: VecDeque<Asked>,
    /// Queries whose partial result's scalars may be asked for next, the first of them.
    restored: usize,
    reset_cycles: usize,
}

/// Cycles of reset at the start of a run.
pub const RESET_CYCLES: usize = 2;

impl<'a> CoreDriver<'a> {
    /// A driver at the start of a workload.
    pub fn new(config: &CoreConfig, workload: &'a Workload, gaps: Gaps) -> Self {
        let (first, formats) = (workload.sent_from(0), config.formats());
        CoreDriver {
            workload,
            rng: match gaps {
                Gaps::None => None,
                Gaps::Random(seed) => Some(ChaCha8Rng::seed_from_u64(seed)),
            },
            widths: [formats.q, formats.k, formats.v].map(|format| format.width()),
            exponent_mask: config.products().v.exponent_mask(),
            dv: config.dv(),
            masks: config.masks,
            bias: config.bias,
            partial: config
                .partial
                .then(|| (Numerics::new(config).scalar_bits(config), config.accumulator_bits())),
            query: first,
            step: 0,
            loaded: first,
            value: (first, 0),
            asked: (1..config.value_latency).map(|_| Asked::Nothing).collect(),
            restored: 0,
            reset_cycles: RESET_CYCLES,
        }
    }

    /// Whether every key has been sent.
    pub fn finished(&self) -> bool {
        self.query == self.workload.queries.len()
    }

    /// Noise on a bus of words of `width` bits, where there is noise.
    fn noise(&mut self, bus: &mut [u64], width: u32) {
        if let Some(rng) = &mut self.rng {
            bus.fill_with(|| rng.random::<u64>() & ones(width));
        }
    }

    fn chance(&mut self, one_in: u32) -> bool {
        self.rng.as_mut().is_some_and(|rng| rng.random_ratio(1, one_in))
    }

    /// The inputs of the next cycle, `previous` being the outputs of the last one.
    pub fn next(&mut self, previous: &Outputs, inputs: &mut Inputs) -> Accepted {
        let (w, words) = (self.workload, self.workload.words);
        // Outputs of a reset cycle mean nothing.
        let quiet = Outputs::default();
        let previous = if inputs.rst { &quiet } else { previous };
        for (bus, elements) in [&mut inputs.q, &mut inputs.k, &mut inputs.v].into_iter().zip(words.all()) {
            bus.resize(elements, 0);
        }
        *inputs = Inputs {
            rst: self.reset_cycles > 0,
            q: std::mem::take(&mut inputs.q),
            k: std::mem::take(&mut inputs.k),
            v: std::mem::take(&mut inputs.v),
            k_bias: std::mem::take(&mut inputs.k_bias),
            state: std::mem::take(&mut inputs.state),
            state_o: std::mem::take(&mut inputs.state_o),
            ..Inputs::default()
        };
        inputs.k_bias.resize(usize::from(self.bias), 0);
        self.noise(&mut inputs.k_bias, BIAS.width());
        if self.reset_cycles > 0 {
            self.reset_cycles -= 1;
            // Nothing that comes with a reset is taken.
            self.noise(&mut inputs.q, self.widths[0]);
            self.noise(&mut inputs.k, self.widths[1]);
            (inputs.q_valid, inputs.k_valid) = (self.chance(2), self.chance(2));
            (inputs.k_last, inputs.k_mask) = (self.chance(2), self.masks && self.chance(2));
            inputs.k_state = self.partial.is_some() && self.chance(2);
            return Accepted::default();
        }
        self.drive_restore(previous, inputs);
        self.drive_value(previous, inputs);
        let mut accepted = Accepted::default();
        let ready = self.query < self.loaded && !self.finished();
        self.noise(&mut inputs.k, self.widths[1]);
        if ready {
            if self.chance(3) {
                accepted.bubble = self.step > 0;
            } else {
                let query = &w.queries[self.query];
                if let Some(key) = query.key(self.step) {
                    w.k.read(words.k, key, &mut inputs.k);
                    inputs.k_mask = query.masks(key);
                    inputs.k_bias.fill(query.bias(key));
                } else {
                    inputs.k_state = true;
                }
                inputs.k_valid = true;
                inputs.k_last = self.step + 1 == query.steps();
                accepted.step = Some((self.query, self.step));
                accepted.last = inputs.k_last;
                self.step += 1;
                if inputs.k_last {
                    (self.query, self.step) = (w.sent_from(self.query + 1), 0);
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
        if self.partial.is_some() && !inputs.k_valid {
            inputs.k_state = self.chance(2);
        }
        self.noise(&mut inputs.q, self.widths[0]);
        if let Some(rng) = &mut self.rng {
            inputs.v_exponent = rng.random::<u64>() & self.exponent_mask;
        }
        // The next query may be loaded from the cycle of the previous one's last key on.
        if self.query == self.loaded && self.loaded < w.queries.len() && !self.chance(3) {
            inputs.q.clear();
            inputs.q.extend_from_slice(&w.queries[self.loaded].q);
            inputs.q_valid = true;
            inputs.v_exponent = w.queries[self.loaded].v_exponent;
            self.loaded = w.sent_from(self.loaded + 1);
        }
        accepted
    }

    /// The scalars of the partial result that the previous cycle asked for, or noise.
    fn drive_restore(&mut self, previous: &Outputs, inputs: &mut Inputs) {
        let Some((widths, accumulator)) = &self.partial else {
            return;
        };
        let rng = &mut self.rng;
        let mut noise = |width: u32| rng.as_mut().map_or(0, |rng| rng.random::<u64>() & ones(width));
        inputs.state.clear();
        inputs.state.extend(widths.iter().map(|&width| noise(width)));
        inputs.state_o.clear();
        inputs.state_o.extend((0..self.dv).map(|_| noise(*accumulator)));
        if previous.state_ren {
            let rest = &self.workload.queries[self.restored.min(self.workload.queries.len())..];
            if let Some(n) = rest.iter().position(|query| query.restore.is_some()) {
                let state = rest[n].restore.as_ref();
                let scalars = state.iter().flat_map(|state| state.scalars);
                inputs.state.iter_mut().zip(scalars).for_each(|(bus, scalar)| *bus = scalar);
                self.restored += n + 1;
            }
        }
    }

    /// The value or the accumulators that the previous cycle asked for; otherwise the bus keeps what it carries, or
    /// noise.
    fn drive_value(&mut self, previous: &Outputs, inputs: &mut Inputs) {
        let (w, d) = (self.workload, self.workload.words.v);
        let query = w.queries.get(self.value.0).filter(|_| previous.v_ren);
        self.asked.push_back(match query.map(|query| query.key(self.value.1)) {
            None => Asked::Nothing,
            Some(Some(key)) => Asked::Value(key),
            Some(None) => Asked::Restore(self.value.0),
        });
        let asked = self.asked.pop_front().unwrap_or(Asked::Nothing);
        if let Asked::Value(key) = asked {
            w.v.read(d, key, &mut inputs.v);
        } else {
            self.noise(&mut inputs.v, self.widths[2]);
        }
        if let Asked::Restore(query) = asked
            && let Some(state) = &w.queries[query].restore
        {
            inputs.state_o.clear();
            inputs.state_o.extend_from_slice(&state.o);
        }
        if previous.v_step && self.value.0 < w.queries.len() {
            self.value.1 += 1;
            if self.value.1 == w.queries[self.value.0].steps() {
                self.value = (w.sent_from(self.value.0 + 1), 0);
            }
        }
    }
}

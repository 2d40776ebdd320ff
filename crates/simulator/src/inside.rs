//! Expected values inside cores, from the model's steps: for the lock-step checks, and for vectors.

use flashd_golden::{Action, Model, Step};
use flashd_hwmodel::attention::inside::{Inside, Quantity};
use flashd_hwmodel::catalogue::Stages;
use flashd_spec::bits::{ones, signed};
use flashd_spec::config::Design;
use flashd_spec::format::Format;
use flashd_spec::machine::Machine;
use std::collections::VecDeque;

/// A signal of each core.
struct InsideSignal {
    quantity: Quantity,
    width: u32,
    latency: u64,
    /// By core: when it is due, and its value.
    pending: Vec<VecDeque<(u64, u64)>>,
}

/// Steps on their way through the scalar paths of the cores of a design.
pub(crate) struct InsideSchedule {
    model: Model,
    /// The paper's weight unit: it knows no argument where it computes nothing, and a weight even where it holds.
    static_rule: bool,
    /// Numbers of the scalar path are encodings of the format.
    in_format: bool,
    format: Format,
    score_fraction: u32,
    state_fraction: u32,
    signals: Vec<InsideSignal>,
}

impl InsideSchedule {
    /// Nothing accepted yet, in the cores of a machine that have this inside, of each one after another.
    pub(crate) fn new(machine: &Machine, inside: &[Inside]) -> Self {
        let (config, cores) = (machine.core(), machine.cores());
        let stages = Stages::of(config);
        let latency = |inside: &Inside| {
            let late =
                machine.turns() as i64 * i64::from(inside.quantity.stage(&stages)) + i64::from(inside.late);
            u64::try_from(late).unwrap_or(0)
        };
        let signal = |inside: &Inside| InsideSignal {
            quantity: inside.quantity,
            width: inside.width,
            latency: latency(inside),
            pending: vec![VecDeque::new(); cores],
        };
        InsideSchedule {
            model: Model::new(config),
            static_rule: config.follows_the_paper() && config.design() == Design::FlashD,
            in_format: config.follows_the_paper(),
            format: config.format,
            score_fraction: config.score_fraction(),
            state_fraction: config.state_fraction(),
            signals: inside[..inside.len() / cores.max(1)].iter().map(signal).collect(),
        }
    }

    /// A core begins a step; with `last` it is its query's.
    pub(crate) fn accept(&mut self, cycle: u64, core: usize, step: &Step, last: bool) {
        for signal in &mut self.signals {
            if let Some(value) = expected(&self.model, self.static_rule, signal.quantity, step, last) {
                let bits = value & ones(signal.width);
                signal.pending[core].push_back((cycle + signal.latency, bits));
            }
        }
    }

    /// All that is on its way is lost.
    pub(crate) fn reset(&mut self) {
        self.signals.iter_mut().flat_map(|signal| &mut signal.pending).for_each(VecDeque::clear);
    }

    /// Writes the cycle's expected values, core by core. Call it once in every cycle.
    pub(crate) fn due(&mut self, cycle: u64, due: &mut Vec<Option<u64>>) {
        due.clear();
        let cores = self.signals.first().map_or(0, |signal| signal.pending.len());
        for core in 0..cores {
            due.extend(self.signals.iter_mut().map(|signal| {
                let pending = &mut signal.pending[core];
                let value = pending.front().filter(|(at, _)| *at == cycle).map(|(_, value)| *value);
                if value.is_some() {
                    pending.pop_front();
                }
                // Where nothing comes, the flags that say so are low.
                value.or(signal.quantity.is_always_due().then_some(0))
            }));
        }
    }

    /// The first difference between expected values and the cores' values: its name, and both values.
    pub(crate) fn differs(
        &self,
        due: &[Option<u64>],
        all: &[Inside],
    ) -> Option<(String, [(u64, String); 2])> {
        let due = due.iter().zip(all).enumerate();
        let (place, inside, expected) = due
            .filter_map(|(place, (due, inside))| Some((place, inside, (*due)?)))
            .find(|(_, inside, expected)| inside.value != *expected)?;
        let of_each = self.signals.len();
        let of_core =
            if all.len() > of_each { format!(" of core {}", place / of_each) } else { String::new() };
        let name = format!("{}{of_core}", inside.quantity.name());
        Some((name, [expected, inside.value].map(|bits| (bits, self.text(inside, bits)))))
    }

    fn text(&self, inside: &Inside, bits: u64) -> String {
        let fraction = match inside.quantity {
            Quantity::Argument => self.state_fraction,
            Quantity::Score | Quantity::Distance | Quantity::Reference => self.score_fraction,
            Quantity::Weight | Quantity::Sum if self.in_format => 0,
            _ => return bits.to_string(),
        };
        match self.in_format {
            true => self.format.value(bits).to_string(),
            false => (signed(bits, inside.width) as f64 / f64::from(fraction).exp2()).to_string(),
        }
    }
}

/// The expected value of a step's quantity, two's complement; `None` where it is not compared.
fn expected(model: &Model, static_rule: bool, quantity: Quantity, step: &Step, last: bool) -> Option<u64> {
    use Action::{Hold, Load, Masked, Restore, Update};
    // The scalar path ignores masked keys, and computes no numbers for a partial result.
    let action = match step.action {
        Masked => return None,
        action => action,
    };
    let of_key = action != Restore;
    let argument = action == Update || action == Hold && !static_rule;
    let weight = matches!(action, Load | Update) || action == Hold && static_rule;
    let (value, compared) = match quantity {
        Quantity::Valid | Quantity::Step => (1, true),
        Quantity::Score => (step.s, of_key),
        Quantity::Argument => (step.x, argument),
        Quantity::Distance => (step.x.abs(), argument),
        Quantity::Above => ((step.x > 0).into(), argument),
        Quantity::Octaves => (-step.x >> model.config().score_fraction(), argument),
        Quantity::Reference => (step.s - step.x, argument),
        Quantity::Weight => (step.w as i64, weight),
        Quantity::Load => (matches!(action, Load | Restore).into(), action != Hold),
        Quantity::Upper => (step.upper.into(), action == Update),
        Quantity::Sum => (step.l? as i64, of_key),
        Quantity::Reciprocal => (model.reciprocal(step.l?).0 as i64, of_key && last),
        Quantity::Right => (model.reciprocal(step.l?).1.into(), of_key && last),
    };
    compared.then_some(value as u64)
}

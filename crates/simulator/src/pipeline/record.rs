//! When keys are offered and taken, and when nothing moves.

use crate::bench::{Cycle, Observer};
use crate::wave::signals::nets_of;
use flashd_hwmodel::rtl::Role;
use flashd_spec::config::{ConfigError, WrapperConfig};
use flashd_spec::machine::Machine;
use flashd_spec::ports::Port;
use flashd_spec::unit::UnitConfig;
use std::io::Result;

/// Observes a run at its key port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PipelineRecorder {
    /// For each key taken, in order: the cycle of its first offer, and the cycle of its transfer.
    pub(super) keys: Vec<(u64, u64)>,
    /// Since when a key is offered.
    offered: Option<u64>,
    /// Times in which the array of a wrapper or a unit is frozen.
    pub(super) frozen: Frozen,
    /// In a wrapper or a unit: its reset, the array's clock enable, and the array's handshake for keys.
    wrapper: Option<[u32; 4]>,
}

/// Times in which a wrapper's array is frozen, and with it every step in the array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frozen {
    /// Each time: its first cycle, and the first that moves again.
    times: Vec<(u64, u64)>,
}

/// The times, sorted, that overlap the cycles `from..to`.
pub(super) fn between(times: &[(u64, u64)], from: u64, to: u64) -> &[(u64, u64)] {
    let first = times.partition_point(|&(_, end)| end <= from);
    let end = times.partition_point(|&(start, _)| start < to);
    &times[first..end.max(first)]
}

impl Frozen {
    fn cycle(&mut self, cycle: u64) {
        match self.times.last_mut() {
            Some((_, end)) if *end == cycle => *end += 1,
            _ => self.times.push((cycle, cycle + 1)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The times between two cycles, the second excluded.
    pub(super) fn times(&self, from: u64, to: u64) -> &[(u64, u64)] {
        between(&self.times, from, to)
    }

    /// The cycle that is `moves` moving ones after a moving one.
    pub(super) fn after(&self, cycle: u64, moves: u64) -> u64 {
        let later = self.times.partition_point(|&(from, _)| from < cycle);
        let mut at = cycle + moves;
        for (from, to) in &self.times[later..] {
            if *from > at {
                break;
            }
            at += to - from;
        }
        at
    }
}

impl PipelineRecorder {
    /// For the run of a wrapper.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn for_wrapper(config: &WrapperConfig) -> std::result::Result<PipelineRecorder, ConfigError> {
        PipelineRecorder::around(&Machine::Wrapper(config.clone()))
    }

    /// For the run of an attention unit.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn for_unit(config: &UnitConfig) -> std::result::Result<PipelineRecorder, ConfigError> {
        PipelineRecorder::around(&Machine::Unit(config.clone()))
    }

    fn around(machine: &Machine) -> std::result::Result<PipelineRecorder, ConfigError> {
        // Made for its table of signals alone: the design that runs has the same nets.
        let design = flashd_hwmodel::build(machine)?;
        let nets = nets_of(&design, [Role::NoReset, Role::Moves, Role::KeyValid, Role::KeyReady]);
        Ok(PipelineRecorder { wrapper: Some(nets), ..PipelineRecorder::default() })
    }

    fn key(&mut self, cycle: u64, reset: bool, valid: bool, ready: bool) {
        // A reset drops the pending offer; keys taken before stay in the record.
        if reset || !valid {
            self.offered = None;
            return;
        }
        let offered = *self.offered.get_or_insert(cycle);
        if ready {
            self.keys.push((offered, cycle));
            self.offered = None;
        }
    }
}

impl Observer for PipelineRecorder {
    fn cycle(&mut self, cycle: &Cycle) -> Result<()> {
        if let (Some(nets), Some(wrapper)) = (self.wrapper, cycle.running) {
            let [aresetn, moves, valid, ready] = nets.map(|net| wrapper.value(net) & 1 != 0);
            if !moves {
                self.frozen.cycle(cycle.number);
            }
            self.key(cycle.number, !aresetn, valid, ready && moves);
        } else {
            let [reset, valid] = [Port::Rst, Port::KValid].map(|port| cycle.get(port) != 0);
            self.key(cycle.number, reset, valid, cycle.takes_key());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moving_cycles_are_counted_around_those_that_stand_still() {
        let mut frozen = Frozen::default();
        [3, 4, 7].into_iter().for_each(|cycle| frozen.cycle(cycle));
        assert_eq!(frozen.times(0, 20), [(3, 5), (7, 8)]);
        assert_eq!((frozen.times(4, 7), frozen.times(5, 7)), (&[(3, 5)][..], &[][..]));
        let moving: Vec<u64> = (0..20).filter(|cycle| ![3, 4, 7].contains(cycle)).collect();
        for (place, &from) in moving.iter().enumerate() {
            for (moves, &to) in moving[place..].iter().enumerate() {
                assert_eq!(frozen.after(from, moves as u64), to, "{moves} after {from}");
            }
        }
    }
}

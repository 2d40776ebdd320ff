//! Toggles with delays: the events after a clock edge, until every net is stable.
//!
//! ```text
//!  Liberty delays, loads, slews --gates--> gates, ps --events--> toggles of every net, glitches among them
//!                                                        ^
//!  simulation without delays: state before and after each edge
//! ```
//!
//! An edge needs the state before it and the new values of flip-flops and ports, which the simulation without delays
//! knows. So any cycle of any stream can be simulated alone, and each must settle in the state of the other
//! simulation.

mod events;
mod gates;

use crate::liberty::Library;
use crate::netlist::{Net, Netlist, NetlistError};
use events::EventSimulation;
use gates::Gates;
use rayon::prelude::*;
use std::collections::HashSet;

/// Activity of the nets in the cycles that were simulated with delays, by head.
#[derive(Clone, Debug)]
pub struct GlitchActivity {
    /// Activity by head.
    pub heads: Vec<HeadActivity>,
    /// Longest time from a clock edge until the last net is at rest, ps.
    pub settled: u32,
    /// When input ports changed, ps after the clock's edge: with the median flip-flop.
    pub input_delay: u32,
}

/// Activity with one head on the inputs.
#[derive(Clone, Debug)]
pub struct HeadActivity {
    /// Name of the head.
    pub name: String,
    /// Cycles simulated.
    pub cycles: u64,
    /// Toggles of each net in these, glitches included.
    pub toggles: Vec<u32>,
    /// Toggles of each net in the same cycles without delays.
    pub zero_delay: Vec<u32>,
}

impl GlitchActivity {
    /// All heads together: cycles, toggles with delays and without.
    pub(super) fn sum(&self) -> (u64, Vec<u32>, Vec<u32>) {
        let add = |toggles: &dyn Fn(&HeadActivity) -> &Vec<u32>| {
            let mut sum = vec![0; self.heads.first().map_or(0, |head| toggles(head).len())];
            for head in &self.heads {
                sum.iter_mut().zip(toggles(head)).for_each(|(sum, count)| *sum += count);
            }
            sum
        };
        let cycles = self.heads.iter().map(|head| head.cycles).sum();
        (cycles, add(&|head| &head.toggles), add(&|head| &head.zero_delay))
    }
}

/// A netlist with delays.
pub(super) struct Timed {
    gates: Gates,
}

impl Timed {
    /// # Errors
    /// As [`Gates::new`].
    pub(super) fn new(netlist: &Netlist, library: &Library) -> Result<Self, NetlistError> {
        Ok(Timed { gates: Gates::new(netlist, library)? })
    }
}

/// The cycles that are simulated with delays.
#[derive(Clone, Copy, Debug)]
pub(super) struct CycleSample {
    /// Distance in cycles.
    step: usize,
    first: usize,
}

impl CycleSample {
    /// About `wanted` of all cycles of all streams, evenly over both.
    pub(super) fn new(wanted: usize, streams: usize, cycles: usize, warm_up: usize) -> Self {
        let each = wanted.div_ceil(streams).clamp(1, cycles);
        CycleSample { step: cycles.div_ceil(each), first: warm_up }
    }

    pub(super) fn contains(&self, cycle: usize) -> bool {
        cycle >= self.first && (cycle - self.first).is_multiple_of(self.step)
    }
}

/// Counts toggles with delays, next to a simulation without.
pub(super) struct GlitchCounter<'a> {
    gates: &'a Gates,
    heads: Vec<HeadSimulation<'a>>,
    /// Values of all nets before the edge.
    before: Vec<u64>,
    /// Whether a gate drives a gated clock.
    gated_clock: Vec<bool>,
}

/// A head with the machine that its streams share in turn.
struct HeadSimulation<'a> {
    name: String,
    /// Positions of its streams in a word.
    streams: Vec<usize>,
    machine: EventSimulation<'a>,
    zero_delay: Vec<u32>,
    cycles: u64,
}

impl<'a> GlitchCounter<'a> {
    /// Streams take the heads in turn.
    pub(super) fn new(timed: &'a Timed, netlist: &Netlist, names: &[String], streams: usize) -> Self {
        let gates = &timed.gates;
        let gated: HashSet<Net> = netlist.gated_clocks().collect();
        let head = |(index, name): (usize, &String)| HeadSimulation {
            name: name.clone(),
            streams: (index..streams).step_by(names.len()).collect(),
            machine: EventSimulation::new(gates),
            zero_delay: vec![0; gates.gates.len()],
            cycles: 0,
        };
        GlitchCounter {
            gates,
            heads: names.iter().enumerate().map(head).filter(|head| !head.streams.is_empty()).collect(),
            before: Vec::new(),
            gated_clock: gates.gates.iter().map(|gate| gated.contains(&gate.output)).collect(),
        }
    }

    /// The values of all nets at rest before an edge.
    pub(super) fn before(&mut self, values: &[u64]) {
        self.before.clear();
        self.before.extend_from_slice(values);
    }

    /// The values of all nets at rest after it. Returns a net and a stream that do not settle at these values, if there
    /// are any.
    pub(super) fn after(&mut self, values: &[u64]) -> Option<(u32, usize)> {
        let (gates, before, gated_clock) = (self.gates, &self.before, &self.gated_clock);
        self.heads.par_iter_mut().find_map_any(|head| {
            for &stream in &head.streams {
                let bit = |values: &[u64], net: usize| values[net] >> stream & 1 == 1;
                head.machine.rest(|net| bit(before, net));
                if let Some(gate) = head.machine.cycle(|net| bit(values, net)) {
                    return Some((gates.gates[gate].output, stream));
                }
                for ((gate, count), gated) in gates.gates.iter().zip(&mut head.zero_delay).zip(gated_clock) {
                    let net = gate.output as usize;
                    *count += match gated {
                        true => 2 * u32::from(bit(before, net)),
                        false => u32::from(bit(before, net) != bit(values, net)),
                    };
                }
                head.cycles += 1;
            }
            None
        })
    }

    /// Toggles by net.
    pub(super) fn finish(mut self, nets: usize) -> GlitchActivity {
        let gates = self.gates;
        // The latch in a clock gate lets whole pulses pass, whatever its enable does in the meantime.
        for head in &mut self.heads {
            let counts = head.machine.toggles.iter_mut().zip(&head.zero_delay);
            counts
                .zip(&self.gated_clock)
                .filter(|(_, gated)| **gated)
                .for_each(|((own, pulses), _)| *own = *pulses);
        }
        let by_net = |by_gate: &[u32]| {
            let mut toggles = vec![0; nets];
            gates.gates.iter().zip(by_gate).for_each(|(gate, count)| toggles[gate.output as usize] += count);
            toggles
        };
        GlitchActivity {
            settled: self.heads.iter().map(|head| head.machine.settled).max().unwrap_or(0),
            input_delay: gates.input_delay,
            heads: self
                .heads
                .into_iter()
                .map(|head| HeadActivity {
                    toggles: by_net(&head.machine.toggles),
                    zero_delay: by_net(&head.zero_delay),
                    name: head.name,
                    cycles: head.cycles,
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests;

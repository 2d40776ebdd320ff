//! From toggles to watts.
//!
//! - **Net**: `1/2 C V^2` a toggle, C being the input pins on it, and its wires where the library has a wire load model
//!   by default; counted where the net is driven by a cell.
//! - **Output**: the mean of the rising and the falling table of its internal power at the transition time of the
//!   causing net and at its own load. Among the tables of several related pins, the toggles of these pins decide,
//!   and how often each table's condition holds.
//! - **Input** of a flip-flop: its own tables at every toggle. Input of logic: only at toggles that do not change
//!   the output, because the output's tables contain the others.
//! - **Clock pin**: its own tables for a rising and a falling edge each cycle; its charge `C V^2` a cycle. With a clock gate, only in the
//!   cycles whose edge passes.
//! - **Leakage**: by state as sampled; where the library does not distinguish states, its one value.

use super::conditions::Conditions;
use super::drive::Activity;
use super::nets::NetLoads;
use crate::figures::{CorePart, GlitchFigures, HeadEnergy, PowerFigures};
use crate::liberty::{Direction, InternalPower, LibertyTable, Library};
use crate::netlist::{CellKind, Netlist, OPEN};
use std::collections::{BTreeMap, BTreeSet};

/// Power of one cell, W.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CellPower {
    /// Charging of the nets it drives.
    pub switching: f64,
    /// Dissipated inside the cell by transitions of its pins.
    pub internal: f64,
    /// Charging of its clock pin.
    pub clock_net: f64,
    /// Leakage, in the states that the cell was seen in.
    pub leakage: f64,
}

impl CellPower {
    /// Sum of the four.
    pub fn total(&self) -> f64 {
        self.switching + self.internal + self.clock_net + self.leakage
    }

    fn add(&mut self, other: &CellPower) {
        self.switching += other.switching;
        self.internal += other.internal;
        self.clock_net += other.clock_net;
        self.leakage += other.leakage;
    }
}

/// Power by module instance.
#[derive(Clone, Debug)]
pub struct PowerReport {
    /// Clock, Hz.
    pub clock: f64,
    /// By each of [`Netlist::instances`], without its child instances.
    pub by_instance: Vec<CellPower>,
    /// Toggles per driven net and cycle.
    pub activity: f64,
}

/// Tables of a pin; the same for all cells of a kind.
struct Energy<'a> {
    /// Indices of the related pins.
    related: Vec<usize>,
    condition: Option<usize>,
    rise: Option<&'a LibertyTable>,
    fall: Option<&'a LibertyTable>,
}

impl<'a> Energy<'a> {
    fn new(table: &'a InternalPower, kind: usize, cell: &CellKind, conditions: &Conditions) -> Self {
        let pin = |name: &String| cell.cell.pins.iter().position(|pin| pin.name == *name);
        Energy {
            related: table.related_pins.iter().filter_map(pin).collect(),
            condition: table.when.as_ref().and_then(|when| conditions.index(kind, when)),
            rise: table.rise.as_ref(),
            fall: table.fall.as_ref(),
        }
    }

    /// Mean of both edges, J.
    fn at(&self, transition: f64, load: f64) -> f64 {
        let edge = |table: Option<&LibertyTable>| table.map_or(0.0, |table| table.at(transition, load));
        (edge(self.rise) + edge(self.fall)) / 2.0
    }
}

/// A kind of cell, prepared.
struct KindPower<'a> {
    /// By pin.
    energies: Vec<Vec<Energy<'a>>>,
    clock_pin: Option<usize>,
    leakage: Vec<(Option<usize>, f64)>,
    other_leakage: Option<f64>,
}

impl<'a> KindPower<'a> {
    fn new(kind: usize, cell: &'a CellKind, conditions: &Conditions) -> Self {
        let leakage = &cell.cell.leakage;
        let gate = cell.cell.clock_gate().map(|gate| BTreeSet::from([gate.clock.as_str()]));
        let clock = cell.cell.flip_flop().map(|ff| ff.clocked_on.pins()).or(gate);
        KindPower {
            energies: cell
                .cell
                .pins
                .iter()
                .map(|pin| {
                    pin.internal_power.iter().map(|p| Energy::new(p, kind, cell, conditions)).collect()
                })
                .collect(),
            clock_pin: clock
                .and_then(|names| cell.cell.pins.iter().position(|pin| names.contains(pin.name.as_str()))),
            leakage: leakage
                .conditional
                .iter()
                .map(|(when, power)| (conditions.index(kind, when), *power))
                .collect(),
            other_leakage: leakage.unconditional,
        }
    }
}

/// One cell.
struct Estimate<'a> {
    netlist: &'a Netlist,
    activity: &'a Activity,
    nets: &'a NetLoads,
    kind: &'a KindPower<'a>,
    cell: usize,
    /// Converts counted events into events per second.
    rate: f64,
}

impl Estimate<'_> {
    fn net(&self, pin: usize) -> usize {
        self.netlist.pins(&self.netlist.cells[self.cell])[pin] as usize
    }

    /// Toggles of a pin's net; of the clock twice a cycle, which the simulation does not count.
    fn toggles(&self, pin: usize) -> f64 {
        match self.netlist.clock.is_some_and(|clock| clock as usize == self.net(pin)) {
            true => 2.0 * self.activity.cycles as f64,
            false => self.activity.toggles.get(self.net(pin)).map_or(0.0, |&count| f64::from(count)),
        }
    }

    fn probability(&self, condition: Option<usize>) -> f64 {
        condition.map_or(1.0, |index| self.activity.conditions.probability(self.netlist, self.cell, index))
    }

    fn transition(&self, pin: usize) -> f64 {
        self.nets.transition.get(self.net(pin)).copied().unwrap_or(0.0)
    }

    /// Internal power and leakage.
    fn internal(&self) -> CellPower {
        let pins = &self.netlist.kinds[self.netlist.cells[self.cell].kind as usize].cell.pins;
        let (mut energy, mut coming_out, mut coming_in) = (0.0, 0.0f64, 0.0);
        for (pin, description) in pins.iter().enumerate() {
            match description.direction {
                Direction::Output => {
                    let toggles = self.toggles(pin);
                    coming_out = coming_out.max(toggles);
                    energy += toggles * self.of_output(pin);
                }
                Direction::Input => coming_in += self.toggles(pin),
                _ => {}
            }
        }
        // Toggles of inputs that are not the cause of an output's.
        let hidden = match self.kind.clock_pin {
            Some(_) => 1.0,
            None if coming_in == 0.0 => 0.0,
            None => (1.0 - coming_out / coming_in).max(0.0),
        };
        for (pin, description) in pins.iter().enumerate() {
            if description.direction == Direction::Input && !self.kind.energies[pin].is_empty() {
                energy += self.toggles(pin) * hidden * self.of_input(pin);
            }
        }
        CellPower { internal: energy * self.rate, leakage: self.leakage(), ..CellPower::default() }
    }

    /// Energy of a toggle of an output, J.
    fn of_output(&self, pin: usize) -> f64 {
        let load = self.nets.load.get(self.net(pin)).copied().unwrap_or(0.0);
        let (mut weights, mut sum, mut plain) = (0.0, 0.0, 0.0);
        let tables = &self.kind.energies[pin];
        for table in tables {
            let probability = self.probability(table.condition);
            let toggles: f64 = table.related.iter().map(|&related| self.toggles(related)).sum();
            let transition = table.related.first().map_or(0.0, |&related| self.transition(related));
            let energy = table.at(transition, load);
            let weight = probability * if table.related.is_empty() { 1.0 } else { toggles };
            weights += weight;
            sum += weight * energy;
            plain += energy;
        }
        match (weights > 0.0, tables.len()) {
            (true, _) => sum / weights,
            // No sample met any condition.
            (false, tables) => plain / tables.max(1) as f64,
        }
    }

    /// Energy of a toggle of an input by its own tables, J: a table without condition counts if no other holds.
    fn of_input(&self, pin: usize) -> f64 {
        let tables = &self.kind.energies[pin];
        let transition = self.transition(pin);
        let (mut covered, mut sum) = (0.0, 0.0);
        for table in tables.iter().filter(|table| table.condition.is_some()) {
            let probability = self.probability(table.condition);
            covered += probability;
            sum += probability * table.at(transition, 0.0);
        }
        let rest = (1.0 - covered).max(0.0);
        let plain = tables.iter().filter(|table| table.condition.is_none());
        sum + rest * plain.map(|table| table.at(transition, 0.0)).sum::<f64>()
    }

    fn leakage(&self) -> f64 {
        let (mut covered, mut sum) = (0.0, 0.0);
        for &(condition, power) in &self.kind.leakage {
            let probability = condition.map_or(0.0, |_| self.probability(condition));
            covered += probability;
            sum += probability * power;
        }
        let states = self.kind.leakage.len().max(1) as f64;
        let mean = self.kind.leakage.iter().map(|(_, power)| power).sum::<f64>() / states;
        sum + (1.0 - covered).max(0.0) * self.kind.other_leakage.unwrap_or(mean)
    }
}

impl PowerReport {
    /// The figures of the cycles that were simulated with delays, and of the same cycles without; `None` if none were.
    pub fn with_glitches(
        netlist: &Netlist,
        library: &Library,
        activity: &Activity,
        clock: f64,
        classify: &dyn Fn(&[&str]) -> CorePart,
    ) -> Option<GlitchFigures> {
        let glitches = activity.glitches.as_ref()?;
        let figures = |cycles: u64, toggles: Vec<u32>| {
            let activity = Activity { cycles, ..activity.with_toggles(toggles) };
            let report = PowerReport::new(netlist, library, &activity, clock);
            report.figures(netlist, classify, String::new(), &activity)
        };
        let (cycles, with, without) = glitches.sum();
        let with = figures(cycles, with);
        let heads = glitches.heads.iter().map(|head| HeadEnergy {
            name: head.name.clone(),
            cycles: head.cycles,
            zero_delay: figures(head.cycles, head.zero_delay.clone()).energy(),
            glitches: figures(head.cycles, head.toggles.clone()).energy(),
        });
        Some(GlitchFigures {
            cycles,
            switching: with.switching,
            internal: with.internal,
            clock_net: with.clock_net,
            leakage: with.leakage,
            total: with.total,
            by_part: with.by_part,
            activity: with.activity,
            zero_delay: figures(cycles, without).total,
            settled: f64::from(glitches.settled) / 1e3,
            heads: heads.collect(),
        })
    }

    /// Adds up the power of a netlist with the toggles of `activity`, at a clock frequency in Hz.
    pub fn new(netlist: &Netlist, library: &Library, activity: &Activity, clock: f64) -> Self {
        let conditions = &activity.conditions;
        let kinds: Vec<KindPower> =
            netlist.kinds.iter().enumerate().map(|(i, kind)| KindPower::new(i, kind, conditions)).collect();
        let nets = NetLoads::new(netlist, library);
        let mut report = PowerReport {
            clock,
            by_instance: vec![CellPower::default(); netlist.instances.len()],
            activity: 0.0,
        };
        let (mut toggles, mut driven) = (0u64, 0u64);
        for (index, cell) in netlist.cells.iter().enumerate() {
            let estimate = Estimate {
                netlist,
                activity,
                nets: &nets,
                kind: &kinds[cell.kind as usize],
                cell: index,
                rate: clock / activity.cycles as f64,
            };
            let mut power = estimate.internal();
            for (pin, &net) in netlist.kinds[cell.kind as usize].cell.pins.iter().zip(netlist.pins(cell)) {
                // The charge of a gated clock's pins is counted with its flip-flops.
                let gated = netlist.kinds[cell.kind as usize].cell.clock_gate().is_some();
                if pin.direction == Direction::Output && net != OPEN && !gated {
                    let rate = f64::from(activity.toggles[net as usize]) * estimate.rate;
                    power.switching += 0.5 * nets.load[net as usize] * library.voltage.powi(2) * rate;
                    toggles += u64::from(activity.toggles[net as usize]);
                    driven += 1;
                }
            }
            if let Some(pin) = estimate.kind.clock_pin {
                let pulses = estimate.toggles(pin);
                let pin = &netlist.kinds[cell.kind as usize].cell.pins[pin];
                power.clock_net = 0.5 * pin.capacitance * library.voltage.powi(2) * pulses * estimate.rate;
            }
            report.by_instance[cell.instance as usize].add(&power);
        }
        report.activity = toggles as f64 / (driven * activity.cycles).max(1) as f64;
        report
    }

    /// The figures of the whole, by part.
    pub fn figures(
        &self,
        netlist: &Netlist,
        classify: &dyn Fn(&[&str]) -> CorePart,
        workload: String,
        activity: &Activity,
    ) -> PowerFigures {
        let milli = 1e3;
        let mut total = CellPower::default();
        let mut by_part: BTreeMap<CorePart, f64> = BTreeMap::new();
        for (instance, power) in self.by_instance.iter().enumerate() {
            total.add(power);
            *by_part.entry(classify(&netlist.path(instance))).or_default() += power.total() * milli;
        }
        PowerFigures {
            clock: self.clock / 1e6,
            cycles: activity.cycles,
            workload,
            switching: total.switching * milli,
            internal: total.internal * milli,
            clock_net: total.clock_net * milli,
            leakage: total.leakage * milli,
            total: total.total() * milli,
            by_part: by_part.into_iter().collect(),
            activity: self.activity,
            outputs_checked: activity.outputs_checked,
            held: activity.steps.1 as f64 / activity.steps.0.max(1) as f64,
            glitches: None,
        }
    }
}

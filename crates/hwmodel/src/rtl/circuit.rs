//! A complete design: the described hierarchy, and the nets that carry its values.

use super::design::{Design, DesignPort, PortPlace};
use super::flat::Flat;
use super::flatten::{Nets, flatten};
use super::leaf::Leaf;
use super::loops::combinational_loop;
use super::retime::{Interleaving, interleaved};
use super::signal::{Number, Signal, readable};
use super::structure::{Kind, Port, Structure};
use super::watch::Watched;
use std::collections::HashMap;
use std::sync::Arc;

/// A design, and its reference simulator.
///
/// A cycle is [`Circuit::settle`] while the clock is low and [`Circuit::clock`] at its rising edge.
pub struct Circuit {
    pub(super) top: Arc<Structure>,
    flat: Flat,
    pub(super) nets: Nets,
    watches: Vec<Watched>,
    signals: Vec<Signal>,
    ports: HashMap<String, usize>,
    /// The design is the single leaf in `top`, not a module.
    pub(super) is_leaf: bool,
}

impl Circuit {
    pub(super) fn of(top: Arc<Structure>, mut watches: Vec<Watched>, signals: Vec<Signal>) -> Circuit {
        let (flat, nets) = flatten(&top);
        for watched in &mut watches {
            watched.net = nets.at(&top, &watched.path, watched.slot);
        }
        let ports = top.ports.iter().enumerate().map(|(i, port)| (port.name.clone(), i)).collect();
        Circuit { top, flat, nets, watches, signals, ports, is_leaf: false }
    }

    /// The design that runs C copies of this one in turn. Its watched values and rows are those of the copies. None if no
    /// placement of registers meets the period.
    pub fn interleaved(&self, interleaving: &Interleaving) -> Option<Circuit> {
        let interleaved = interleaved(&self.top, interleaving)?;
        let watches = self.watches.iter().map(|watched| interleaved.watched(watched)).collect();
        let rows = self.signals.iter().filter_map(|signal| interleaved.row(&self.top, signal)).collect();
        Some(Circuit::of(interleaved.structure.clone(), watches, rows))
    }

    /// Name of the top module.
    pub fn name(&self) -> &str {
        &self.top.tag.name
    }

    /// The description: that of the top module, or, of a design that is a [single leaf](Circuit::single_leaf), of a bench for it.
    pub fn structure(&self) -> &Arc<Structure> {
        &self.top
    }

    /// The leaf, if the design is one and no module.
    pub fn single_leaf(&self) -> Option<&Arc<dyn Leaf>> {
        self.top.nodes.first().filter(|_| self.is_leaf).and_then(|node| match &node.kind {
            Kind::Leaf(leaf) => Some(leaf),
            _ => None,
        })
    }

    /// Set if the design has a port of this name.
    pub fn has(&self, name: &str) -> bool {
        self.ports.contains_key(name)
    }

    /// The place of a port; none if no port has this name, or if it is the clock.
    pub fn port(&self, name: &str) -> Option<PortPlace> {
        let port = self.ports.get(name).filter(|&&port| Some(port) != self.top.clock)?;
        let clocks = self.top.clock.is_some_and(|clock| clock < *port) as usize;
        Some(PortPlace(port - clocks))
    }

    /// The place of a port among all ports of the module, the clock among them.
    fn described(&self, PortPlace(place): PortPlace) -> usize {
        place + self.top.clock.is_some_and(|clock| clock <= place) as usize
    }

    /// Drives the words of an input; with no words it keeps its value.
    pub fn drive(&mut self, port: PortPlace, words: &[u64]) {
        let port = self.described(port);
        self.drive_port(port, words);
    }

    /// The words on a port.
    pub fn read(&self, port: PortPlace) -> impl Iterator<Item = u64> + '_ {
        let slots = &self.top.ports[self.described(port)].slots;
        slots.iter().map(|&slot| self.flat.value(self.nets.slots[slot as usize]))
    }

    /// Drives an input of one word.
    ///
    /// # Panics
    /// If the design has no such port, as all methods that take a name do unless they say otherwise.
    pub fn set(&mut self, name: &str, value: impl Into<u64>) {
        self.set_words(name, &[value.into()]);
    }

    /// Drives the words of an input; with no words it keeps its value.
    pub fn set_words(&mut self, name: &str, words: &[u64]) {
        if words.is_empty() {
            return;
        }
        let Some(&port) = self.ports.get(name) else { panic!("{} has no port {name}", self.name()) };
        self.drive_port(port, words);
    }

    fn drive_port(&mut self, port: usize, words: &[u64]) {
        let Port { name, output, width, slots, .. } = &self.top.ports[port];
        for (&slot, &value) in slots.iter().zip(words) {
            debug_assert!(!output && value >> (width - 1) >> 1 == 0, "{name} = {value:#x}");
            self.flat.assign(self.nets.slots[slot as usize], value);
        }
    }

    /// Reads a port of one word.
    pub fn get(&self, name: &str) -> u64 {
        let word = self.words(name).next();
        word.unwrap_or_else(|| panic!("{} has no port {name}", self.name()))
    }

    /// Set if the design has the port and it is not zero.
    pub fn is_high(&self, name: &str) -> bool {
        self.words(name).next().is_some_and(|value| value != 0)
    }

    /// The words on a port; none if the design does not have it.
    pub fn words(&self, name: &str) -> impl Iterator<Item = u64> + '_ {
        let slots = self.ports.get(name).map_or(&[][..], |&port| &self.top.ports[port].slots);
        slots.iter().map(|&slot| self.flat.value(self.nets.slots[slot as usize]))
    }

    /// Number of words of a port, and their width in bits; `(0, 1)` if the design does not have it.
    pub fn shape(&self, name: &str) -> (usize, u32) {
        let port = self.ports.get(name).map(|&port| &self.top.ports[port]);
        port.map_or((0, 1), |port| (port.slots.len(), port.width))
    }

    /// The clock is low: registers update their outputs, and all logic settles.
    ///
    /// # Panics
    /// If a combinational loop does not settle: the message names its module and parts.
    pub fn settle(&mut self) {
        if !self.flat.settle() {
            match combinational_loop(&self.top) {
                Some(found) => panic!("{} does not settle: {found}", self.name()),
                None => panic!("{} does not settle", self.name()),
            }
        }
    }

    /// The clock rises: every register samples its settled inputs.
    pub fn clock(&mut self) {
        self.flat.capture();
    }

    /// The design as data.
    pub fn design(&self) -> Design {
        let (leaves, registers) = self.flat.parts();
        let mut widths = vec![1; self.flat.nets()];
        measure(&self.top, &self.nets, &mut widths);
        let ports = self.top.ports.iter().enumerate().filter(|(place, _)| Some(*place) != self.top.clock);
        let ports = ports.map(|(_, port)| DesignPort {
            name: port.name.clone(),
            output: port.output,
            width: port.width,
            nets: port.slots.iter().map(|&slot| self.nets.slots[slot as usize]).collect(),
        });
        Design { name: self.name().to_string(), widths, leaves, registers, ports: ports.collect() }
    }

    /// The value of a net.
    pub fn value(&self, net: u32) -> u64 {
        self.flat.value(net)
    }

    /// The watched values of the design, in the order of the description.
    pub fn watched(&self) -> &[Watched] {
        &self.watches
    }

    /// The rows that show its signals, in the order of the description.
    pub fn signals(&self) -> &[Signal] {
        &self.signals
    }

    /// The format of the number on each net that carries one: also of a net before or after registers of such a net.
    pub fn numbers(&self) -> HashMap<u32, Number> {
        let mut numbers = HashMap::new();
        collect(&self.top, &self.nets, &mut numbers);
        let (_, registers) = self.flat.parts();
        let mut moved = true;
        while std::mem::take(&mut moved) {
            for register in &registers {
                let (d, q) = (numbers.get(&register.d).copied(), numbers.get(&register.q).copied());
                match (d, q) {
                    (Some(number), None) => numbers.insert(register.q, number),
                    (None, Some(number)) => numbers.insert(register.d, number),
                    _ => continue,
                };
                moved = true;
            }
        }
        numbers
    }

    /// The paths of outputs that carry a weight in two parts, in all modules: the bit that says whether the other one is `1 - w` or w,
    /// and the other one.
    pub fn weights(&self) -> Vec<[String; 2]> {
        weights(&self.top).map(|paths| paths.map(|path| readable(&path))).collect()
    }

    /// The current value of a watched wire, as its [`Reading`](super::Reading) gives it.
    pub fn seen(&self, watched: &Watched) -> u64 {
        watched.reading.read(self.flat.value(watched.net))
    }
}

fn collect(structure: &Structure, nets: &Nets, numbers: &mut HashMap<u32, Number>) {
    for &(slot, number) in &structure.numbers {
        numbers.entry(nets.slots[slot as usize]).or_insert(number);
    }
    for ((_, inner), nets) in structure.modules().zip(&nets.inner) {
        collect(inner, nets, numbers);
    }
}

fn weights(structure: &Structure) -> Box<dyn Iterator<Item = [String; 2]> + '_> {
    let inner = structure.modules().flat_map(|(node, inner)| {
        weights(inner).map(|paths| paths.map(|path| format!("{}.{path}", node.label())))
    });
    Box::new(structure.weights.iter().cloned().chain(inner))
}

fn measure(structure: &Structure, nets: &Nets, widths: &mut [u32]) {
    // A slot driven by another slot shares its net.
    for (&net, &width) in nets.slots.iter().zip(&structure.widths) {
        if let Some(measured) = widths.get_mut(net as usize) {
            *measured = width;
        }
    }
    for ((_, inner), nets) in structure.modules().zip(&nets.inner) {
        measure(inner, nets, widths);
    }
}

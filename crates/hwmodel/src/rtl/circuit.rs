//! A design that has been built: the hierarchy as it was described, and the nets that carry its values.

use super::design::{Design, DesignPort, PortPlace};
use super::flat::Flat;
use super::flatten::flatten;
use super::structure::{Kind, Port, Structure};
use super::watch::Watched;
use std::collections::HashMap;

/// A design, a RustHDL block.
///
/// A cycle is [`Circuit::settle`] while the clock is low and [`Circuit::clock`] at its rising edge. RustHDL's own calls (`update_all`,
/// `has_changed`) do the same by the level of the clock port. Ports go by their names.
pub struct Circuit {
    pub(super) top: Structure,
    pub(super) flat: Flat,
    ports: HashMap<String, usize>,
    /// The clock was high when it was last looked at.
    pub(super) seen_high: bool,
    /// The design is no module, but the one leaf in `top`.
    pub(super) is_leaf: bool,
}

impl Circuit {
    pub(super) fn of(mut top: Structure) -> Circuit {
        let flat = flatten(&mut top);
        find_nets(&mut top);
        let ports = top.ports.iter().enumerate().map(|(i, port)| (port.name.clone(), i)).collect();
        Circuit { top, flat, ports, seen_high: false, is_leaf: false }
    }

    /// Name of the module.
    pub fn name(&self) -> &str {
        &self.top.tag.name
    }

    /// Whether there is a port of a name.
    pub fn has(&self, name: &str) -> bool {
        self.ports.contains_key(name)
    }

    /// The port of a name, if there is one and it is not the clock's.
    pub fn port(&self, name: &str) -> Option<PortPlace> {
        let port = self.ports.get(name).filter(|&&port| Some(port) != self.top.clock)?;
        let clocks = self.top.clock.is_some_and(|clock| clock < *port) as usize;
        Some(PortPlace(port - clocks))
    }

    /// The place of a port among the ports of the description; one of these may be the clock.
    fn described(&self, PortPlace(place): PortPlace) -> usize {
        place + self.top.clock.is_some_and(|clock| clock <= place) as usize
    }

    /// Drives the words of an input; no words leave it as it is.
    pub fn drive(&mut self, port: PortPlace, words: &[u64]) {
        let port = self.described(port);
        drive(&self.top, &mut self.flat, port, words);
    }

    /// The words of a port.
    pub fn read(&self, port: PortPlace) -> impl Iterator<Item = u64> + '_ {
        let slots = &self.top.ports[self.described(port)].slots;
        slots.iter().map(|&slot| self.flat.value(self.top.nets[slot as usize]))
    }

    /// Drives an input of one word.
    ///
    /// # Panics
    /// If the design has no such port; so do the others that name one.
    pub fn set(&mut self, name: &str, value: impl Into<u64>) {
        self.set_words(name, &[value.into()]);
    }

    /// Drives an input that only some designs have.
    pub fn set_optional(&mut self, name: &str, value: impl Into<u64>) {
        if self.shape(name).0 > 0 {
            self.set(name, value);
        }
    }

    /// Drives the words of an input; no words leave it as it is.
    pub fn set_words(&mut self, name: &str, words: &[u64]) {
        if words.is_empty() {
            return;
        }
        let Some(&port) = self.ports.get(name) else { panic!("{} has no port {name}", self.name()) };
        drive(&self.top, &mut self.flat, port, words);
    }

    /// Reads a port of one word.
    pub fn get(&self, name: &str) -> u64 {
        let word = self.words(name).next();
        word.unwrap_or_else(|| panic!("{} has no port {name}", self.name()))
    }

    /// Whether a port is there and high.
    pub fn is_high(&self, name: &str) -> bool {
        self.words(name).next().is_some_and(|value| value != 0)
    }

    /// The words of a port; none where there is no such port.
    pub fn words(&self, name: &str) -> impl Iterator<Item = u64> + '_ {
        let slots = self.ports.get(name).map_or(&[][..], |&port| &self.top.ports[port].slots);
        slots.iter().map(|&slot| self.flat.value(self.top.nets[slot as usize]))
    }

    /// How many words a port has, and their width; none where there is no such port.
    pub fn shape(&self, name: &str) -> (usize, u32) {
        let port = self.ports.get(name).map(|&port| &self.top.ports[port]);
        port.map_or((0, 1), |port| (port.slots.len(), port.width))
    }

    /// The clock is low: registers show what they captured, and all logic settles.
    pub fn settle(&mut self) {
        self.seen_high = false;
        self.flat.settle();
    }

    /// The clock rises: every register captures what its inputs have settled to.
    pub fn clock(&mut self) {
        self.seen_high = true;
        self.flat.capture();
    }

    /// The design as data.
    pub fn design(&self) -> Design {
        let (leaves, registers) = self.flat.parts();
        let mut widths = vec![1; self.flat.nets()];
        measure(&self.top, &mut widths);
        let ports = self.top.ports.iter().enumerate().filter(|(place, _)| Some(*place) != self.top.clock);
        let ports = ports.map(|(_, port)| DesignPort {
            name: port.name.clone(),
            output: port.output,
            width: port.width,
            nets: port.slots.iter().map(|&slot| self.top.nets[slot as usize]).collect(),
        });
        Design { name: self.name().to_string(), widths, leaves, registers, ports: ports.collect() }
    }

    /// What a net carries.
    pub fn value(&self, net: u32) -> u64 {
        self.flat.value(net)
    }

    /// What is watched in this design, in the order in which its description says so.
    pub fn watched(&self) -> &[Watched] {
        &self.top.watches
    }

    /// The value of something watched.
    pub fn seen(&self, watched: &Watched) -> u64 {
        watched.reading.read(self.flat.value(watched.net))
    }
}

fn measure(structure: &Structure, widths: &mut [u32]) {
    // A slot that stands for another one has no net of its own.
    for (&net, &width) in structure.nets.iter().zip(&structure.widths) {
        if let Some(measured) = widths.get_mut(net as usize) {
            *measured = width;
        }
    }
    for node in &structure.nodes {
        if let Kind::Module(inner) = &node.kind {
            measure(inner, widths);
        }
    }
}

/// Finds the nets of what is watched in a design.
fn find_nets(top: &mut Structure) {
    let mut watches = std::mem::take(&mut top.watches);
    for watched in &mut watches {
        let inner =
            watched.path.iter().fold(&*top, |structure, &node| match &structure.nodes[node as usize].kind {
                Kind::Module(inner) => inner,
                _ => structure,
            });
        watched.net = inner.nets[watched.slot as usize];
    }
    top.watches = watches;
}

fn drive(top: &Structure, flat: &mut Flat, port: usize, words: &[u64]) {
    let Port { name, output, width, slots, .. } = &top.ports[port];
    for (&slot, &value) in slots.iter().zip(words) {
        debug_assert!(!output && value >> (width - 1) >> 1 == 0, "{name} = {value:#x}");
        flat.assign(top.nets[slot as usize], value);
    }
}

//! A design that has been built: the hierarchy as it was described, and the nets that carry its values.

use super::flat::Flat;
use super::flatten::flatten;
use super::structure::Structure;
use super::watch::find_nets;

/// A design, a RustHDL block.
///
/// A cycle is [`Circuit::settle`] while the clock is low and [`Circuit::clock`] at its rising edge. RustHDL's own calls (`update_all`,
/// `has_changed`) do the same by the level of the clock port.
pub struct Circuit {
    pub(super) top: Structure,
    pub(super) flat: Flat,
    /// The clock was high when it was last looked at.
    pub(super) seen_high: bool,
    /// The design is no module, but the one leaf in `top`.
    pub(super) is_leaf: bool,
}

/// A port of a circuit, for those who drive and read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRef(usize);

impl Circuit {
    pub(super) fn new(mut top: Structure) -> Circuit {
        let flat = flatten(&mut top);
        find_nets(&mut top);
        Circuit { top, flat, seen_high: false, is_leaf: false }
    }

    /// Name of the module.
    pub fn name(&self) -> &str {
        &self.top.tag.name
    }

    /// The port of a name, if there is one.
    pub fn port(&self, name: &str) -> Option<PortRef> {
        self.top.ports.iter().position(|port| port.name == name).map(PortRef)
    }

    /// All ports by name.
    pub(super) fn named_ports(&self) -> impl Iterator<Item = (String, PortRef)> + '_ {
        self.top.ports.iter().enumerate().map(|(i, port)| (port.name.clone(), PortRef(i)))
    }

    /// Width of a port's words.
    pub fn width(&self, port: PortRef) -> u32 {
        self.top.ports[port.0].width
    }

    /// How many words a port has.
    pub fn elements(&self, port: PortRef) -> usize {
        self.top.ports[port.0].slots.len()
    }

    /// Drives a word of an input.
    #[inline]
    pub fn set(&mut self, port: PortRef, element: usize, value: u64) {
        let port = &self.top.ports[port.0];
        debug_assert!(!port.output && value >> (port.width - 1) >> 1 == 0, "{} = {value:#x}", port.name);
        self.flat.assign(self.top.nets[port.slots[element] as usize], value);
    }

    /// Drives the words of an input.
    pub fn set_words(&mut self, port: PortRef, words: &[u64]) {
        words.iter().enumerate().for_each(|(i, &word)| self.set(port, i, word));
    }

    /// Reads a word of a port.
    #[inline]
    pub fn get(&self, port: PortRef, element: usize) -> u64 {
        self.flat.value(self.top.nets[self.top.ports[port.0].slots[element] as usize])
    }

    /// The words of a port.
    pub fn words(&self, port: PortRef) -> impl Iterator<Item = u64> + '_ {
        self.top.ports[port.0].slots.iter().map(|&slot| self.flat.value(self.top.nets[slot as usize]))
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
}

//! A described module: its ports, its parts and their connections.

use super::leaf::Leaf;
use super::{Tag, Watched};
use std::sync::Arc;
use std::sync::OnceLock;

/// A port of a module.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub(super) name: String,
    /// Set if the port is a vector. A vector may have one element.
    pub(super) vector: bool,
    pub(super) output: bool,
    pub(super) width: u32,
    /// The slot of each element.
    pub(super) slots: Vec<u32>,
    /// The atom number of each element, for probes.
    pub(super) atoms: Vec<u32>,
}

/// A part of a module.
pub(super) struct Node {
    pub(super) name: String,
    /// Its place, if it is an element of a vector of parts.
    pub(super) index: Option<usize>,
    pub(super) kind: Kind,
    /// Slots of the input words in port order, without clocks.
    pub(super) inputs: Vec<u32>,
    /// Slots of the output words.
    pub(super) outputs: Vec<u32>,
    /// Width of a register in bits.
    pub(super) width: u32,
    /// The node of the gate before its clock, if there is one.
    pub(super) gate: Option<u32>,
    /// The atom numbers of its pins, in the order in which probes visit them. Empty for a module, whose ports have them.
    pub(super) atoms: Vec<u32>,
    /// Of a leaf, the body of its Verilog module, for which the checks of RustHDL ask several times.
    pub(super) verilog: OnceLock<String>,
}

pub(super) enum Kind {
    Leaf(Arc<dyn Leaf>),
    Register(Register),
    /// A clock gate: passes the clock while its input is high.
    Gate,
    Module(Box<Structure>),
}

/// `q <= d`, with an enable or a reset. Inputs: the enable or reset, then d.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Register {
    Plain,
    Enabled,
    Reset(u64),
}

/// A module. A slot is a word in it: an input word, or an output word of a part.
pub(super) struct Structure {
    pub(super) tag: Tag,
    pub(super) ports: Vec<Port>,
    pub(super) nodes: Vec<Node>,
    /// The port of the clock.
    pub(super) clock: Option<usize>,
    pub(super) watches: Vec<Watched>,
    /// Width of each slot.
    pub(super) widths: Vec<u32>,
    /// The net of each slot in the whole design, filled in by `flatten`. Connected words share a net.
    pub(super) nets: Vec<u32>,
}

impl Structure {
    /// Slots of the input words in port order, without the clock.
    pub(super) fn input_slots(&self) -> Vec<u32> {
        let data = self.ports.iter().enumerate().filter(|(p, port)| !port.output && Some(*p) != self.clock);
        data.flat_map(|(_, port)| port.slots.iter().copied()).collect()
    }

    /// Slots of the output words in port order.
    pub(super) fn output_slots(&self) -> Vec<u32> {
        self.ports.iter().filter(|port| port.output).flat_map(|port| port.slots.iter().copied()).collect()
    }

    /// Atom numbers of the outputs, for probes.
    pub(super) fn output_atoms(&self) -> impl Iterator<Item = u32> + '_ {
        self.ports.iter().filter(|port| port.output).flat_map(|port| port.atoms.iter().copied())
    }
}

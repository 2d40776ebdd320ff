//! A described module: ports, parts and what connects them.

use super::leaf::Leaf;
use super::{Tag, Watched};
use std::sync::Arc;

/// A port of a module.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub(super) name: String,
    /// A vector, whose elements are numbered; a vector may have one element.
    pub(super) vector: bool,
    pub(super) output: bool,
    pub(super) width: u32,
    /// The slots of its elements.
    pub(super) slots: Vec<u32>,
    /// The elements as probes number them.
    pub(super) atoms: Vec<u32>,
}

/// A part of a module.
pub(super) struct Node {
    pub(super) name: String,
    /// Element of a vector of parts.
    pub(super) index: Option<usize>,
    pub(super) kind: Kind,
    /// Slots of the input words, in the order of the ports; without clocks.
    pub(super) inputs: Vec<u32>,
    /// Slots of the output words.
    pub(super) outputs: Vec<u32>,
    /// Of a register: its width.
    pub(super) width: u32,
    /// The gate before its clock, if there is one.
    pub(super) gate: Option<u32>,
    /// Its pins as probes number them, in the order in which they are visited; those of a module are its ports'.
    pub(super) atoms: Vec<u32>,
}

pub(super) enum Kind {
    Leaf(Arc<dyn Leaf>),
    Register(Register),
    /// Lets the clock of others through while its input is high.
    Gate,
    Module(Box<Structure>),
}

/// `q <= d`, with an enable or a reset. Inputs: the control, then d.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Register {
    Plain,
    Enabled,
    Reset(u64),
}

/// A module. A slot is a word in it: an input, or what a part puts out.
pub(super) struct Structure {
    pub(super) tag: Tag,
    pub(super) ports: Vec<Port>,
    pub(super) nodes: Vec<Node>,
    /// The port of the clock.
    pub(super) clock: Option<usize>,
    pub(super) watches: Vec<Watched>,
    /// Width of each slot.
    pub(super) widths: Vec<u32>,
    /// The net of each slot in the whole design, once it is there: words that carry the same have the same net.
    pub(super) nets: Vec<u32>,
}

impl Structure {
    /// Slots of the input words in the order of the ports, without the clock.
    pub(super) fn input_slots(&self) -> Vec<u32> {
        let data = self.ports.iter().enumerate().filter(|(p, port)| !port.output && Some(*p) != self.clock);
        data.flat_map(|(_, port)| port.slots.iter().copied()).collect()
    }

    /// Slots of the output words in the order of the ports.
    pub(super) fn output_slots(&self) -> Vec<u32> {
        self.ports.iter().filter(|port| port.output).flat_map(|port| port.slots.iter().copied()).collect()
    }

    /// The outputs as probes number them.
    pub(super) fn output_atoms(&self) -> impl Iterator<Item = u32> + '_ {
        self.ports.iter().filter(|port| port.output).flat_map(|port| port.atoms.iter().copied())
    }
}

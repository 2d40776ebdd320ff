//! A described module: its ports, its parts and their connections.
//!
//! A module that has several instances is described once, and its instances share the description.

use super::Tag;
use super::leaf::Leaf;
use super::signal::Number;
use std::sync::Arc;

/// A port of a module.
#[derive(Clone, Debug)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Set if the port is a vector. A vector may have one element.
    pub vector: bool,
    /// Set if the module drives it.
    pub output: bool,
    /// Width of an element in bits.
    pub width: u32,
    /// The slot of each element.
    pub slots: Vec<u32>,
}

/// A part of a module.
#[derive(Clone)]
pub struct Node {
    /// Its name, that of a vector if it has an index.
    pub name: String,
    /// Its place, if it is an element of a vector of parts.
    pub index: Option<usize>,
    /// What it is an instance of.
    pub kind: Kind,
    /// Slots of the input words in port order, without clocks.
    pub inputs: Vec<u32>,
    /// Slots of the output words.
    pub outputs: Vec<u32>,
    /// The node of the gate before its clock, if there is one.
    pub gate: Option<u32>,
}

/// What a part is an instance of.
#[derive(Clone)]
pub enum Kind {
    /// Combinational logic.
    Leaf(Arc<dyn Leaf>),
    /// A register.
    Register(Register),
    /// A clock gate: passes the clock while its input is high.
    Gate,
    /// A module.
    Module(Arc<Structure>),
}

/// `q <= d`, with an enable or a reset. Inputs: the enable or reset, then d.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// Takes d at every edge.
    Plain,
    /// Takes d while its enable is high.
    Enabled,
    /// Takes this value while its reset is high, else d.
    Reset(u64),
}

impl Register {
    /// The name of the input before d, if there is one.
    pub fn control(self) -> Option<&'static str> {
        match self {
            Register::Plain => None,
            Register::Enabled => Some("enable"),
            Register::Reset(_) => Some("rst"),
        }
    }
}

/// A module. A slot is a word in it: an input word, or an output word of a part.
#[derive(Clone)]
pub struct Structure {
    /// Its name and description.
    pub tag: Tag,
    /// Its ports in order of declaration.
    pub ports: Vec<Port>,
    /// Its parts in the order of the emitted text.
    pub nodes: Vec<Node>,
    /// The port of the clock.
    pub clock: Option<usize>,
    /// Set if it has registers, its own or those of its parts.
    pub clocked: bool,
    /// Width of each slot.
    pub widths: Vec<u32>,
    /// Formats of numbers, by slot.
    pub(super) numbers: Vec<(u32, Number)>,
    /// Its outputs that carry a weight in two parts: the bit of the side, and the smaller one of w and `1 - w`.
    pub(super) weights: Vec<[String; 2]>,
}

impl Structure {
    /// Slots of the input words in port order, without the clock.
    pub fn input_slots(&self) -> impl Iterator<Item = u32> + '_ {
        let data = self.ports.iter().enumerate().filter(|&(p, port)| !port.output && Some(p) != self.clock);
        data.flat_map(|(_, port)| port.slots.iter().copied())
    }

    /// Slots of the output words in port order.
    pub fn output_slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.ports.iter().filter(|port| port.output).flat_map(|port| port.slots.iter().copied())
    }

    /// The modules among its parts.
    pub fn modules(&self) -> impl Iterator<Item = (&Node, &Arc<Structure>)> {
        self.nodes.iter().filter_map(|node| match &node.kind {
            Kind::Module(inner) => Some((node, inner)),
            _ => None,
        })
    }
}

/// The name of an element of a vector of words or parts.
pub(super) fn numbered(name: &str, index: Option<usize>) -> String {
    index.map_or(name.to_string(), |index| format!("{name}${index}"))
}

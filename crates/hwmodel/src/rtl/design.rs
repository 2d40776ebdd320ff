//! A design as data: leaves and registers between numbered nets, for engines other than [`Circuit`](super::Circuit)'s own.

use super::leaf::Leaf;
use std::sync::Arc;

/// A design without hierarchy. Nets are numbered; connected words share a net.
#[derive(Clone)]
pub struct Design {
    /// Name of the top module.
    pub name: String,
    /// Width of each net in bits. Net 0 is the level of the clock.
    pub widths: Vec<u32>,
    /// Combinational leaves, in topological order as far as there is one.
    pub leaves: Vec<Instance>,
    /// Registers.
    pub registers: Vec<Register>,
    /// The ports, without the clock's.
    pub ports: Vec<DesignPort>,
}

/// A leaf between nets.
#[derive(Clone)]
pub struct Instance {
    /// Its function.
    pub leaf: Arc<dyn Leaf>,
    /// Nets of its input words, in pin order.
    pub inputs: Vec<u32>,
    /// Nets of its output words, in pin order.
    pub outputs: Vec<u32>,
}

/// `q <= d` at the rising edge. With a gate or an enable, only while that is high; with a reset, `q <= value` while the reset is high.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Register {
    /// Net of its input.
    pub d: u32,
    /// Net of its output.
    pub q: u32,
    /// Net of the enable.
    pub enable: Option<u32>,
    /// Net of the reset, and the value that it loads.
    pub reset: Option<(u32, u64)>,
    /// Net of the enable of the clock gate before it.
    pub gate: Option<u32>,
}

/// The place of a port in [`Design::ports`], so that its name is looked up only once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortPlace(pub usize);

/// A port of a design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesignPort {
    /// Its name.
    pub name: String,
    /// Set if the design drives it.
    pub output: bool,
    /// Width of a word in bits.
    pub width: u32,
    /// The nets of its words.
    pub nets: Vec<u32>,
}

//! A design as data: its leaves and registers between numbered nets, for other engines than [`Circuit`](super::Circuit)'s own.

use super::leaf::Leaf;
use std::sync::Arc;

/// A design without hierarchy. Nets go by their numbers; words that carry the same have the same net.
#[derive(Clone)]
pub struct Design {
    /// Name of the module that the design is.
    pub name: String,
    /// Width of each net. The first one is the clock's level.
    pub widths: Vec<u32>,
    /// What computes, sources first where there is such an order.
    pub leaves: Vec<Instance>,
    /// What holds.
    pub registers: Vec<Register>,
    /// The ports but the clock's.
    pub ports: Vec<DesignPort>,
}

/// A leaf between nets.
#[derive(Clone)]
pub struct Instance {
    /// What it computes.
    pub leaf: Arc<dyn Leaf>,
    /// Nets of its input words, in the order of its pins.
    pub inputs: Vec<u32>,
    /// Nets of its output words.
    pub outputs: Vec<u32>,
}

/// `q <= d` between nets, at the rising edge: with a gate only while that is high, with an enable likewise, with a reset the value of
/// the reset while that is high.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Register {
    /// What it takes.
    pub d: u32,
    /// What it holds.
    pub q: u32,
    /// It takes something while this is high.
    pub enable: Option<u32>,
    /// The net of the reset, and the value then.
    pub reset: Option<(u32, u64)>,
    /// The enable of the gate before its clock.
    pub gate: Option<u32>,
}

/// A port by its place in [`Design::ports`], found once by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortPlace(pub usize);

/// A port of a design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesignPort {
    /// Its name.
    pub name: String,
    /// Whether the design drives it.
    pub output: bool,
    /// Width of a word.
    pub width: u32,
    /// The nets of its words.
    pub nets: Vec<u32>,
}

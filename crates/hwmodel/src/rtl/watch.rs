//! Values inside a design that checks compare: where they are, and what they are now.

use super::Circuit;
use super::circuit::Kind;

/// A value inside a circuit that was [watched](super::Module::watch).
#[derive(Clone, Debug)]
pub struct Watched {
    /// What it is.
    pub label: &'static str,
    /// Its width in bits.
    pub width: u32,
    /// The pin that puts it out, as probes number it.
    pub atom: usize,
    /// The parts on the way down, by their places.
    pub(super) path: Vec<u32>,
    pub(super) slot: u32,
}

impl Circuit {
    /// What is watched in this circuit and its parts, in the order in which the description says so.
    pub fn watched(&self) -> &[Watched] {
        &self.watches
    }

    /// The value of something watched.
    pub fn seen(&self, watched: &Watched) -> u64 {
        let mut circuit = self;
        for &node in &watched.path {
            if let Kind::Part(part) = &circuit.nodes[node as usize].kind {
                circuit = part;
            }
        }
        circuit.value(watched.slot)
    }
}

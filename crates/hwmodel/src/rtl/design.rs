//! A whole design for those who simulate it.

use super::{Block, Circuit};
use std::ops::{Deref, DerefMut};

/// A circuit that is simulated: driven and read by its ports' names, a cycle in two calls.
pub struct SimulatedCircuit(Circuit);

impl SimulatedCircuit {
    /// The design that a circuit is.
    pub fn new(circuit: Circuit) -> SimulatedCircuit {
        SimulatedCircuit(circuit)
    }

    /// For probes.
    pub fn block(&self) -> &dyn Block {
        &self.0
    }

    /// For what is watched inside.
    pub fn circuit(&self) -> &Circuit {
        &self.0
    }
}

impl Deref for SimulatedCircuit {
    type Target = Circuit;

    fn deref(&self) -> &Circuit {
        &self.0
    }
}

impl DerefMut for SimulatedCircuit {
    fn deref_mut(&mut self) -> &mut Circuit {
        &mut self.0
    }
}

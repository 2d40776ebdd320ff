//! A whole design for those who simulate it.

use super::{Block, Circuit};
use std::ops::{Deref, DerefMut};

/// A circuit that is simulated: driven and read by its ports' names, a cycle in two calls.
pub struct Design(Circuit);

impl Design {
    /// The design that a circuit is.
    pub fn new(circuit: Circuit) -> Design {
        Design(circuit)
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

impl Deref for Design {
    type Target = Circuit;

    fn deref(&self) -> &Circuit {
        &self.0
    }
}

impl DerefMut for Design {
    fn deref_mut(&mut self) -> &mut Circuit {
        &mut self.0
    }
}

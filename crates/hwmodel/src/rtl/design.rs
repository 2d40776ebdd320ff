//! A whole design as those drive it who simulate: ports by name, a cycle in two calls.

use super::{Block, Circuit, PortRef};
use std::collections::HashMap;

/// A circuit and its ports by name.
pub struct Design {
    circuit: Circuit,
    ports: HashMap<String, PortRef>,
}

impl Design {
    /// The design that a circuit is.
    pub fn new(circuit: Circuit) -> Design {
        Design { ports: circuit.named_ports().collect(), circuit }
    }

    /// For probes.
    pub fn block(&self) -> &dyn Block {
        &self.circuit
    }

    /// For what is watched inside.
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// Whether there is a port of a name.
    pub fn has(&self, name: &str) -> bool {
        self.ports.contains_key(name)
    }

    /// Drives an input of one word.
    ///
    /// # Panics
    /// If the design has no such port; so do the others that name one.
    pub fn set(&mut self, name: &str, value: impl Into<u64>) {
        let port = self.port(name);
        self.circuit.set(port, 0, value.into());
    }

    /// Drives an input that only some designs have.
    pub fn set_optional(&mut self, name: &str, value: impl Into<u64>) {
        if let Some(&port) = self.ports.get(name)
            && self.circuit.elements(port) > 0
        {
            self.circuit.set(port, 0, value.into());
        }
    }

    /// Drives the words of an input; no words leave it as it is.
    pub fn set_words(&mut self, name: &str, words: &[u64]) {
        if !words.is_empty() {
            let port = self.port(name);
            self.circuit.set_words(port, words);
        }
    }

    /// Reads a port of one word.
    pub fn get(&self, name: &str) -> u64 {
        self.circuit.get(self.port(name), 0)
    }

    /// Whether a port is there and high.
    pub fn is_high(&self, name: &str) -> bool {
        self.words(name).next().is_some_and(|value| value != 0)
    }

    /// The words of a port; none where there is no such port.
    pub fn words(&self, name: &str) -> impl Iterator<Item = u64> + '_ {
        self.ports.get(name).into_iter().flat_map(|&port| self.circuit.words(port))
    }

    /// How many words a port has, and their width; none where there is no such port.
    pub fn shape(&self, name: &str) -> (usize, u32) {
        self.ports.get(name).map_or((0, 1), |&port| (self.circuit.elements(port), self.circuit.width(port)))
    }

    /// The clock is low: registers show what they captured, and all logic settles.
    pub fn settle(&mut self) {
        self.circuit.settle();
    }

    /// The clock rises.
    pub fn clock(&mut self) {
        self.circuit.clock();
    }

    fn port(&self, name: &str) -> PortRef {
        match self.ports.get(name) {
            Some(&port) => port,
            None => panic!("{} has no port {name}", self.circuit.name()),
        }
    }
}

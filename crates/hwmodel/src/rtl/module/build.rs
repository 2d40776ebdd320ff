//! Makes a [`Structure`] from a description.

use super::{Driver, Module};
use crate::rtl::signal::Signal;
use crate::rtl::structure::{Kind, Port, Structure};
use crate::rtl::{Circuit, Watched};
use std::sync::Arc;

/// A described module, and its place in the module around.
pub(super) struct Built {
    pub(super) structure: Arc<Structure>,
    /// The slots in the module around of its inputs, in port order.
    pub(super) inputs: Vec<u32>,
    /// Those of its outputs.
    pub(super) outputs: Vec<u32>,
    pub(super) watches: Vec<Watched>,
    pub(super) signals: Vec<Signal>,
}

impl Module {
    /// The bench itself as a circuit.
    pub(in crate::rtl) fn into_parts(self) -> Circuit {
        let built = self.build();
        Circuit::of(built.structure, built.watches, built.signals)
    }

    pub(super) fn build(mut self) -> Built {
        let resolved: Vec<u32> = (0..self.slots.len() as u32).map(|slot| self.resolve(slot)).collect();
        let to = |slot: &mut u32| *slot = resolved[*slot as usize];
        let side = |output| {
            let ports = self.ports.iter().filter(move |declared| declared.port.output == output);
            ports.flat_map(|declared| declared.outside.iter().copied()).collect()
        };
        let (inputs, outputs) = (side(false), side(true));
        let mut ports: Vec<Port> = self.ports.drain(..).map(|declared| declared.port).collect();
        ports.iter_mut().flat_map(|port| &mut port.slots).for_each(to);
        self.nodes.iter_mut().flat_map(|node| node.inputs.iter_mut()).for_each(to);
        self.numbers.iter_mut().for_each(|(slot, _)| to(slot));
        for watched in self.watches.iter_mut().filter(|watched| watched.path.is_empty()) {
            to(&mut watched.slot);
        }
        let clocked = self.nodes.iter().any(|node| match &node.kind {
            Kind::Leaf(_) => false,
            Kind::Register(_) | Kind::Gate => true,
            Kind::Module(inner) => inner.clocked,
        });
        let structure = Structure {
            tag: self.tag,
            nodes: self.nodes,
            clocked,
            clock: self.clock.and_then(|clock| ports.iter().position(|port| port.name == clock)),
            ports,
            widths: self.slots.iter().map(|slot| slot.width).collect(),
            numbers: self.numbers,
            weights: self.weights,
        };
        let (watches, signals) = (self.watches, self.signals);
        Built { structure: Arc::new(structure), inputs, outputs, watches, signals }
    }

    /// The slot at the end of a chain of drivers.
    pub(super) fn resolve(&self, slot: u32) -> u32 {
        let mut at = slot;
        for _ in 0..=self.slots.len() {
            match self.slots[at as usize].driver {
                Driver::Own => return at,
                Driver::Other(next) => at = next,
                Driver::Later => panic!(
                    "{}: nothing drives a wire of {} bits",
                    self.tag.name, self.slots[slot as usize].width
                ),
            }
        }
        panic!("{}: wires that drive each other", self.tag.name)
    }
}

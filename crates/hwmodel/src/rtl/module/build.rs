//! Makes a [`Structure`] from a description.

use super::{Driver, Module};
use crate::rtl::Circuit;
use crate::rtl::probe::pins;
use crate::rtl::structure::{Kind, Node, Port, Structure};

impl Module {
    /// The bench itself as a circuit.
    pub(in crate::rtl) fn into_parts(self) -> Circuit {
        Circuit::of(self.build().0)
    }

    /// The structure, and the slots in the module around of its inputs and of its outputs, in port order.
    pub(super) fn build(mut self) -> (Structure, Vec<u32>, Vec<u32>) {
        let resolved: Vec<u32> = (0..self.slots.len() as u32).map(|slot| self.resolve(slot)).collect();
        let to = |slot: &mut u32| *slot = resolved[*slot as usize];
        self.ports.sort_by_key(|declared| declared.stands);
        let side = |output| {
            let ports = self.ports.iter().filter(move |declared| declared.port.output == output);
            ports.flat_map(|declared| declared.outside.iter().copied()).collect()
        };
        let (inputs, outputs) = (side(false), side(true));
        let mut ports: Vec<Port> = self.ports.drain(..).map(|declared| declared.port).collect();
        ports.iter_mut().flat_map(|port| &mut port.slots).for_each(to);
        self.nodes.iter_mut().flat_map(|node| node.inputs.iter_mut()).for_each(to);
        for watched in self.watches.iter_mut().filter(|watched| watched.path.is_empty()) {
            to(&mut watched.slot);
            // Pin numbers start at one; zero means none yet.
            if watched.atom == 0 {
                watched.atom = source(&ports, &self.nodes, watched.slot) as usize;
            }
        }
        self.put_in_place();
        let structure = Structure {
            tag: self.tag,
            nodes: self.nodes,
            clock: self.clock.and_then(|clock| ports.iter().position(|port| port.name == clock)),
            ports,
            widths: self.slots.iter().map(|slot| slot.width).collect(),
            watches: self.watches,
            nets: Vec::new(),
        };
        (structure, inputs, outputs)
    }

    /// Sorts the parts by their places, and the elements of a vector with a reserved place by their numbers.
    fn put_in_place(&mut self) {
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|&node| (self.stands[node], self.nodes[node].index));
        let mut now = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &node)| now[node] = place as u32);
        let mut nodes: Vec<Option<Node>> = std::mem::take(&mut self.nodes).into_iter().map(Some).collect();
        self.nodes = order.into_iter().filter_map(|node| nodes[node].take()).collect();
        self.nodes.iter_mut().flat_map(|node| &mut node.gate).for_each(|gate| *gate = now[*gate as usize]);
        for first in self.watches.iter_mut().filter_map(|watched| watched.path.first_mut()) {
            *first = now[*first as usize];
        }
    }

    /// The slot at the end of a chain of drivers.
    fn resolve(&self, slot: u32) -> u32 {
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

/// The atom number of the pin that drives a slot.
fn source(ports: &[Port], nodes: &[Node], slot: u32) -> u32 {
    let own = ports.iter().filter(|port| !port.output);
    let own = own.flat_map(|port| port.slots.iter().zip(&port.atoms)).find(|(s, _)| **s == slot);
    let of_node = |node: &Node| {
        let place = node.outputs.iter().position(|&output| output == slot)?;
        match &node.kind {
            Kind::Module(part) => part.output_atoms().nth(place),
            _ => pins(node)
                .iter()
                .zip(&node.atoms)
                .filter(|(pin, _)| pin.output)
                .map(|(_, &atom)| atom)
                .nth(place),
        }
    };
    own.map(|(_, &atom)| atom).or_else(|| nodes.iter().find_map(of_node)).unwrap_or_default()
}

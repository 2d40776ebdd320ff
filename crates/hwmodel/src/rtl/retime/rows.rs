//! Rows of signals after registers have moved.

use super::Interleaved;
use crate::rtl::signal::{Signal, readable};
use crate::rtl::structure::{Kind, Node, Structure};
use std::sync::Arc;

impl Interleaved {
    /// The row of a pin of the original, at the word that has its value. Its text says by how many cycles that is earlier or later than in the
    /// original at C times the clock. None if no pin has the word.
    pub(in crate::rtl) fn row(&self, top: &Arc<Structure>, signal: &Signal) -> Option<Signal> {
        let (path, slot) = locate(top, &signal.path)?;
        let (path, slot, late) = self.find(&path, slot);
        let label = match late {
            0 => signal.label.clone(),
            1.. => format!("{}, {late} late", signal.label),
            _ => format!("{}, {} early", signal.label, -late),
        };
        Some(Signal { path: pin(&self.structure, &path, slot)?, label, ..signal.clone() })
    }
}

/// The path of places of parts that a path of names leads to, and the slot of its pin.
fn locate(top: &Structure, path: &str) -> Option<(Vec<u32>, u32)> {
    let (mut module, mut places, mut names) = (top, Vec::new(), path.split('.').peekable());
    while let Some(name) = names.next() {
        if names.peek().is_none() {
            let slots = module.ports.iter().flat_map(|port| &port.slots);
            let mut pins = module.pins().into_iter().zip(slots);
            return pins.find(|(pin, _)| readable(&pin.name) == name).map(|(_, &slot)| (places, slot));
        }
        let place = module.nodes.iter().position(|node| readable(&node.label()) == name)?;
        match &module.nodes[place].kind {
            Kind::Module(inner) => {
                places.push(place as u32);
                module = inner;
            }
            _ => {
                let name = names.next()?;
                return part_pins(module, &module.nodes[place])
                    .find(|(pin, _)| pin == name)
                    .map(|(_, slot)| (places, slot));
            }
        }
    }
    None
}

/// The pins of a part but its clock, by name, with their slots.
fn part_pins<'a>(module: &Structure, node: &'a Node) -> impl Iterator<Item = (String, u32)> + 'a {
    let (mut inputs, mut outputs) = (node.inputs.iter(), node.outputs.iter());
    module.pins_of(node).into_iter().filter(|pin| !pin.clock).filter_map(move |pin| {
        let slot = if pin.output { outputs.next() } else { inputs.next() };
        slot.map(|&slot| (readable(&pin.name), slot))
    })
}

/// The path of names to a pin with a slot of the module that a path of places leads to.
fn pin(top: &Structure, places: &[u32], slot: u32) -> Option<String> {
    let (mut module, mut names) = (top, Vec::new());
    for &place in places {
        let node = &module.nodes[place as usize];
        names.push(readable(&node.label()));
        match &node.kind {
            Kind::Module(inner) => module = inner,
            _ => return None,
        }
    }
    let slots = module.ports.iter().flat_map(|port| &port.slots);
    let mut own = module.pins().into_iter().zip(slots).filter(|(pin, _)| !pin.output);
    let pin = own.find(|(_, own)| **own == slot).map(|(pin, _)| readable(&pin.name)).or_else(|| {
        module.nodes.iter().filter(|node| node.outputs.contains(&slot)).find_map(|node| {
            let (pin, _) = part_pins(module, node).find(|&(_, own)| own == slot)?;
            Some(format!("{}.{pin}", readable(&node.label())))
        })
    });
    names.push(pin?);
    Some(names.join("."))
}

//! Modules with the registers that labels ask for.

use super::chains::{Chains, Names, RESET};
use super::graph::{Class, Classes, Driver, NONE, Part};
use super::leaves::staged;
use crate::rtl::structure::{Kind, Port, Structure};
use crate::rtl::{Name, Tag};
use std::collections::HashMap;
use std::sync::Arc;

/// Where the words and parts of a module are after registers have moved.
#[derive(Clone, Default)]
pub(super) struct Moved {
    /// By part: its new place, of a module.
    pub(super) parts: Vec<Option<u32>>,
    /// By slot: its new slot, and the cycles by which it is later.
    pub(super) slots: Vec<(u32, i32)>,
}

/// Makes the modules of all classes.
pub(super) struct Rebuilt<'a> {
    classes: &'a Classes,
    labels: &'a [i32],
    factor: u32,
    names: Names,
    made: HashMap<usize, (Arc<Structure>, Arc<Moved>)>,
}

impl<'a> Rebuilt<'a> {
    pub(super) fn new(classes: &'a Classes, labels: &'a [i32], factor: u32) -> Self {
        Rebuilt { classes, labels, factor, names: Names::default(), made: HashMap::new() }
    }

    /// The module of a class, and where its words are.
    pub(super) fn module(&mut self, place: usize) -> (Arc<Structure>, Arc<Moved>) {
        if let Some(made) = self.made.get(&place) {
            return made.clone();
        }
        let class = &self.classes.modules[place];
        let parts: Vec<Option<Kind>> = (class.structure.nodes.iter().zip(&class.parts))
            .map(|(node, &part)| match part {
                Part::Delay => None,
                Part::Hold(_) => Some(self.names.hold(class.structure.widths[node.outputs[0] as usize])),
                Part::Leaf(leaf) => {
                    Some(staged(&self.classes.leaves[leaf], self.labels, self.factor, &mut self.names))
                }
                Part::Module(inner) => Some(Kind::Module(self.module(inner).0)),
            })
            .collect();
        let (structure, moved) = self.rebuild(class, &parts);
        let made = (structure, Arc::new(moved));
        self.made.insert(place, made.clone());
        made
    }

    fn rebuild(&mut self, class: &Class, parts: &[Option<Kind>]) -> (Arc<Structure>, Moved) {
        let structure = &class.structure;
        let mut chains = Chains::new();
        // New slots of words that no register drives.
        let mut sources: Vec<u32> = class.sources.keys().copied().collect();
        sources.sort_unstable();
        let new: HashMap<u32, u32> =
            sources.iter().map(|&slot| (slot, chains.slot(structure.widths[slot as usize]))).collect();
        let names = source_names(class);
        let tap = |chains: &mut Chains, slot: u32, reader: usize| {
            let Driver { slot, registers } = class.drivers[slot as usize];
            if Some(slot) == class.reset {
                chains.resets = true;
                return RESET;
            }
            let delay = registers + self.labels[reader] - self.labels[class.sources[&slot]];
            let known = class.known[slot as usize].all();
            chains.after(new[&slot], delay, names[&slot].clone(), known, structure.widths[slot as usize])
        };
        let mut moved = Moved { parts: vec![None; parts.len()], slots: Vec::new() };
        for (place, ((node, &part), kind)) in structure.nodes.iter().zip(&class.parts).zip(parts).enumerate()
        {
            let Some(kind) = kind else { continue };
            let readers = self.readers(part);
            let inputs = match part {
                Part::Hold(hold) => {
                    let all = node.inputs.iter().chain(&node.outputs);
                    all.map(|&slot| tap(&mut chains, slot, hold)).collect()
                }
                _ => {
                    let mut inputs: Vec<u32> = (node.inputs.iter().zip(readers))
                        .filter(|(_, reader)| *reader != NONE)
                        .map(|(&slot, reader)| tap(&mut chains, slot, reader))
                        .collect();
                    if let Kind::Module(inner) = kind
                        && inner.ports.iter().any(|port| port.name == "rst")
                    {
                        chains.resets = true;
                        inputs.insert(0, RESET);
                    }
                    inputs
                }
            };
            let outputs = node.outputs.iter().map(|slot| new[slot]).collect();
            let name = match part {
                Part::Hold(_) => Name::new(format!("{}_next", node.name), node.index),
                _ => Name::new(node.name.clone(), node.index),
            };
            moved.parts[place] = matches!(kind, Kind::Module(_)).then_some(chains.nodes.len() as u32);
            chains.part(name, kind.clone(), inputs, outputs);
        }
        let mut ports = Vec::new();
        for (port, &node) in structure.ports.iter().zip(&class.ports).filter(|(_, node)| **node != NONE) {
            let slots = match port.output {
                true => port.slots.iter().map(|&slot| tap(&mut chains, slot, node)).collect(),
                false => port.slots.iter().map(|slot| new[slot]).collect(),
            };
            ports.push(Port { slots, ..port.clone() });
        }
        moved.slots = (0..structure.widths.len())
            .map(|slot| {
                let Driver { slot, registers } = class.drivers[slot];
                let Some(&source) = class.sources.get(&slot).filter(|&&node| node != NONE) else {
                    return (0, 0);
                };
                (new[&slot], self.labels[source] - registers)
            })
            .collect();
        let key = format!("{} {:?}", structure.tag.name, chains.content(&ports));
        let tag = structure.tag.clone();
        let base = format!("{}_i{}", tag.name, self.factor);
        let numbers =
            structure.numbers.iter().map(|&(slot, number)| (moved.slots[slot as usize].0, number)).collect();
        let made = self.names.module(&base, key, |name, _| {
            let structure = chains.structure(Tag { name, ..tag }, ports);
            Structure { numbers, ..structure }
        });
        (made, moved)
    }

    /// The nodes that read the inputs of a part.
    fn readers(&self, part: Part) -> Vec<usize> {
        match part {
            Part::Leaf(class) => {
                let class = &self.classes.leaves[class];
                let pins = class.leaf.inputs().into_iter().zip(&class.inputs);
                pins.flat_map(|(pins, &node)| vec![node; pins.count()]).collect()
            }
            Part::Module(class) => {
                let Class { structure, ports, .. } = &self.classes.modules[class];
                let inputs = structure.ports.iter().enumerate().zip(ports);
                let inputs =
                    inputs.filter(|((place, port), _)| !port.output && Some(*place) != structure.clock);
                inputs.flat_map(|((_, port), &node)| vec![node; port.slots.len()]).collect()
            }
            Part::Hold(_) | Part::Delay => Vec::new(),
        }
    }
}

/// The names of registers after each word that no register drives: of its first register in the original, of its part or of its port.
fn source_names(class: &Class) -> HashMap<u32, Name> {
    let structure = &class.structure;
    let mut names = HashMap::new();
    for port in structure.ports.iter().filter(|port| !port.output) {
        for (place, &slot) in port.slots.iter().enumerate() {
            names.insert(slot, Name::new(port.name.clone(), port.vector.then_some(place)));
        }
    }
    for node in &structure.nodes {
        let several = node.outputs.len() > 1;
        for (place, &slot) in node.outputs.iter().enumerate() {
            let name = if several { format!("{}_{place}", node.name) } else { node.name.clone() };
            names.insert(slot, Name::new(name, node.index));
        }
    }
    for (node, part) in structure.nodes.iter().zip(&class.parts) {
        if let Part::Delay = part {
            let from = node.inputs[node.inputs.len() - 1];
            if class.sources.get(&from).is_some_and(|&source| source != NONE) {
                names.insert(from, Name::new(node.name.clone(), node.index));
            }
        }
    }
    names
}

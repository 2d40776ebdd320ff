//! The operations of a design as a graph: a node for each operation and each port.
//!
//! Equal parts of a module, the elements of a vector, are one class: they have the same nodes, and so the same registers.

use super::delays::Delays;
use super::known::Known;
use super::solve::{Edge, Graph, Value};
use crate::netlist::{Operator, Steps, narrow};
use crate::rtl::leaf::Leaf;
use crate::rtl::structure::{Kind, Node, Register, Structure};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// A node that does not exist: of the clock, of the reset, of a constant.
pub(super) const NONE: usize = usize::MAX;

/// A kind of leaf in a module.
pub(super) struct LeafClass {
    pub(super) leaf: Arc<dyn Leaf>,
    pub(super) steps: Steps,
    /// The names of the steps' wires.
    pub(super) names: Vec<Option<String>>,
    /// By step: its node; of an input that of its pins, of a constant none.
    pub(super) nodes: Vec<usize>,
    /// By pins.
    pub(super) inputs: Vec<usize>,
    pub(super) outputs: Vec<usize>,
    /// By step: its known bits in reset.
    pub(super) known: Vec<Known>,
}

impl LeafClass {
    /// Number of words of its inputs.
    pub(super) fn words(&self) -> u32 {
        self.leaf.inputs().iter().map(|pins| pins.count() as u32).sum()
    }
}

/// The kind of a part of a module.
#[derive(Clone, Copy)]
pub(super) enum Part {
    /// A leaf of this class.
    Leaf(usize),
    /// A register with an enable: the node of the choice between its input and its old value.
    Hold(usize),
    /// A register without.
    Delay,
    /// A module of this class.
    Module(usize),
}

/// The driver of a word: a word that no register drives, and registers after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Driver {
    pub(super) slot: u32,
    pub(super) registers: i32,
}

/// A kind of module in its surroundings.
pub(super) struct Class {
    pub(super) structure: Arc<Structure>,
    /// By port.
    pub(super) ports: Vec<usize>,
    /// By part of the structure.
    pub(super) parts: Vec<Part>,
    /// By slot.
    pub(super) drivers: Vec<Driver>,
    /// By slot that no register drives: its node.
    pub(super) sources: HashMap<u32, usize>,
    /// By slot: its known bits in reset.
    pub(super) known: Vec<Known>,
    /// The slot of the reset.
    pub(super) reset: Option<u32>,
}

/// All classes of a design; the top module's is the last.
pub(super) struct Classes {
    pub(super) graph: Graph,
    pub(super) leaves: Vec<LeafClass>,
    pub(super) modules: Vec<Class>,
    /// Cycles that each register of the design becomes.
    factor: i32,
    delays: &'static Delays,
    /// Values with the same source and the same readers: their bits.
    values: BTreeMap<(usize, Vec<(usize, i32)>), i64>,
    edges: HashSet<Edge>,
}

impl Classes {
    /// The classes of a design, each of whose registers becomes `factor` registers.
    pub(super) fn of(top: &Arc<Structure>, factor: u32, delays: &'static Delays) -> Classes {
        let mut classes = Classes {
            graph: Graph::default(),
            leaves: Vec::new(),
            modules: Vec::new(),
            factor: factor as i32,
            delays,
            values: BTreeMap::new(),
            edges: HashSet::new(),
        };
        classes.module(top, 1);
        let values = std::mem::take(&mut classes.values).into_iter();
        let value = |((source, readers), bits)| Value { source, bits, readers };
        classes.graph.values = values.map(value).collect();
        classes.graph.edges = classes.edges.drain().collect();
        classes.graph.edges.sort_unstable();
        classes
    }

    /// A connection of `bits` bits, all instances together, from a node to its readers.
    fn connect(&mut self, source: usize, mut readers: Vec<(usize, i32)>, bits: i64) {
        readers.sort_unstable();
        readers.dedup();
        if source == NONE || readers.is_empty() {
            return;
        }
        self.edges.extend(readers.iter().map(|&(to, registers)| Edge { from: source, to, registers }));
        *self.values.entry((source, readers)).or_default() += bits;
    }

    /// A leaf of which the design has `count` instances.
    fn leaf(&mut self, leaf: &Arc<dyn Leaf>, count: i64) -> usize {
        let (inputs, outputs) = (leaf.inputs(), leaf.outputs());
        let nets = leaf.netlist().into_iter().map(|net| (String::new(), net)).collect::<Vec<_>>();
        let nets: Vec<_> = narrow(&nets).into_iter().map(|(_, net)| net).collect();
        let (steps, names) = Steps::with_names(&inputs, &nets);
        let delays = self.delays.of_steps(&steps);
        let of_pins: Vec<usize> = inputs.iter().map(|_| self.graph.node(0.0)).collect();
        let to_pins: Vec<usize> = outputs.iter().map(|_| self.graph.node(0.0)).collect();
        let pins_of_words = |pins: &[crate::rtl::Pins], nodes: &[usize]| -> Vec<usize> {
            pins.iter().zip(nodes).flat_map(|(pins, &node)| vec![node; pins.count()]).collect()
        };
        let (from, to) = (pins_of_words(&inputs, &of_pins), pins_of_words(&outputs, &to_pins));
        let nodes: Vec<usize> = (steps.steps.iter().zip(&delays))
            .map(|(step, &delay)| match step.operator {
                Operator::Input(word) => from[word as usize],
                Operator::Constant(_) => NONE,
                _ => self.graph.node(delay),
            })
            .collect();
        let mut readers: Vec<Vec<(usize, i32)>> = vec![Vec::new(); nodes.len()];
        for (place, step) in steps.steps.iter().enumerate() {
            step.operands.iter().for_each(|&operand| readers[operand as usize].push((nodes[place], 0)));
        }
        for (&output, &pins) in steps.outputs.iter().zip(&to) {
            readers[output as usize].push((pins, 0));
        }
        for (place, readers) in readers.into_iter().enumerate() {
            self.connect(nodes[place], readers, i64::from(steps.steps[place].width) * count);
        }
        let known = steps.steps.iter().map(|step| Known::nothing(step.width)).collect();
        let leaf =
            LeafClass { leaf: leaf.clone(), steps, names, nodes, inputs: of_pins, outputs: to_pins, known };
        self.leaves.push(leaf);
        self.leaves.len() - 1
    }

    /// A module of which the design has `count` instances.
    fn module(&mut self, structure: &Arc<Structure>, count: i64) -> usize {
        let reset = structure.ports.iter().find(|port| port.name == "rst").map(|port| port.slots[0]);
        let ports: Vec<usize> = (structure.ports.iter().enumerate())
            .map(|(place, port)| match Some(place) == structure.clock || port.name == "rst" {
                true => NONE,
                false => self.graph.node(0.0),
            })
            .collect();
        let parts = self.parts(structure, count);
        let mut sources: HashMap<u32, usize> = HashMap::new();
        for (port, &node) in structure.ports.iter().zip(&ports).filter(|(port, _)| !port.output) {
            sources.extend(port.slots.iter().map(|&slot| (slot, node)));
        }
        for (node, &part) in structure.nodes.iter().zip(&parts) {
            let of = self.outputs(node, part);
            sources.extend(node.outputs.iter().copied().zip(of));
        }
        let drivers = drivers(structure, &parts, self.factor);
        // By source slot: its readers.
        let mut readers: BTreeMap<u32, Vec<(usize, i32)>> = BTreeMap::new();
        let mut read = |slot: u32, reader: usize| {
            let Driver { slot, registers } = drivers[slot as usize];
            if reader != NONE {
                readers.entry(slot).or_default().push((reader, registers));
            }
        };
        for (node, &part) in structure.nodes.iter().zip(&parts) {
            match part {
                Part::Delay => {}
                Part::Hold(hold) => {
                    node.inputs.iter().chain(&node.outputs).for_each(|&slot| read(slot, hold));
                }
                Part::Leaf(class) => {
                    let LeafClass { leaf, inputs, .. } = &self.leaves[class];
                    let pins = leaf.inputs();
                    let words = pins.iter().zip(inputs).flat_map(|(pins, &node)| vec![node; pins.count()]);
                    node.inputs.iter().zip(words).for_each(|(&slot, pin)| read(slot, pin));
                }
                Part::Module(class) => {
                    let Class { structure, ports, .. } = &self.modules[class];
                    let inputs = structure.ports.iter().enumerate().zip(ports);
                    let inputs = inputs
                        .filter(|((place, port), _)| !port.output && Some(*place) != structure.clock)
                        .flat_map(|((_, port), &node)| vec![node; port.slots.len()]);
                    node.inputs.iter().zip(inputs).for_each(|(&slot, port)| read(slot, port));
                }
            }
        }
        for (port, &node) in structure.ports.iter().zip(&ports).filter(|(port, _)| port.output) {
            port.slots.iter().for_each(|&slot| read(slot, node));
        }
        for (slot, readers) in readers {
            if Some(slot) == reset {
                panic!("{}: the reset is read as a value", structure.tag.name);
            }
            let bits = i64::from(structure.widths[slot as usize]) * count;
            self.connect(sources[&slot], readers, bits);
        }
        let known = structure.widths.iter().map(|&width| Known::nothing(width)).collect();
        let structure = structure.clone();
        self.modules.push(Class { structure, ports, parts, drivers, sources, known, reset });
        self.modules.len() - 1
    }

    /// The classes of a module's parts.
    fn parts(&mut self, structure: &Structure, count: i64) -> Vec<Part> {
        let key = |node: &Node| {
            let of = match &node.kind {
                Kind::Leaf(leaf) => Arc::as_ptr(leaf).cast::<()>() as usize,
                Kind::Module(inner) => Arc::as_ptr(inner) as usize,
                Kind::Register(_) | Kind::Gate => structure.widths[node.outputs[0] as usize] as usize,
            };
            (node.name.clone(), of)
        };
        let mut counts: HashMap<(String, usize), i64> = HashMap::new();
        structure.nodes.iter().for_each(|node| *counts.entry(key(node)).or_default() += count);
        let mut known: HashMap<(String, usize), Part> = HashMap::new();
        let mut parts = Vec::with_capacity(structure.nodes.len());
        for node in &structure.nodes {
            assert!(node.gate.is_none(), "{}: a clock gate", structure.tag.name);
            let key = key(node);
            let part = known.get(&key).copied().unwrap_or_else(|| match &node.kind {
                Kind::Leaf(leaf) => Part::Leaf(self.leaf(leaf, counts[&key])),
                Kind::Module(inner) => Part::Module(self.module(inner, counts[&key])),
                Kind::Register(Register::Enabled) => Part::Hold(self.graph.node(self.delays.hold())),
                Kind::Register(_) => Part::Delay,
                Kind::Gate => unreachable!("no part has a gate"),
            });
            known.insert(key, part);
            parts.push(part);
        }
        parts
    }

    /// The nodes of a part's output words.
    fn outputs(&self, node: &Node, part: Part) -> Vec<usize> {
        match part {
            Part::Leaf(class) => {
                let LeafClass { leaf, outputs, .. } = &self.leaves[class];
                leaf.outputs()
                    .iter()
                    .zip(outputs)
                    .flat_map(|(pins, &node)| vec![node; pins.count()])
                    .collect()
            }
            Part::Module(class) => {
                let Class { structure, ports, .. } = &self.modules[class];
                let outputs = structure.ports.iter().zip(ports).filter(|(port, _)| port.output);
                outputs.flat_map(|(port, &node)| vec![node; port.slots.len()]).collect()
            }
            Part::Hold(hold) => vec![hold],
            Part::Delay => vec![NONE; node.outputs.len()],
        }
    }
}

/// The driver of each slot of a module.
fn drivers(structure: &Structure, parts: &[Part], factor: i32) -> Vec<Driver> {
    let mut before: HashMap<u32, u32> = HashMap::new();
    let mut held: HashSet<u32> = HashSet::new();
    for (node, part) in structure.nodes.iter().zip(parts) {
        match part {
            Part::Delay => _ = before.insert(node.outputs[0], node.inputs[node.inputs.len() - 1]),
            Part::Hold(_) => _ = held.insert(node.outputs[0]),
            _ => {}
        }
    }
    let of = |slot: u32| {
        let (mut at, mut registers) = (slot, 0);
        while let Some(&d) = before.get(&at) {
            (at, registers) = (d, registers + factor);
            assert!(
                registers <= factor * before.len() as i32,
                "{}: registers that only drive each other",
                structure.tag.name
            );
        }
        Driver { slot: at, registers: registers + if held.contains(&at) { factor } else { 0 } }
    };
    (0..structure.widths.len() as u32).map(of).collect()
}

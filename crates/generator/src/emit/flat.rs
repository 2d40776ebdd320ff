//! A module as it is printed: dissolved parts are replaced by their contents, clock gates by clock enables, and parts and ports are between
//! numbered nets.

use crate::GenerateError;
use flashd_hwmodel::rtl::structure::{Kind, Node, Register, Structure};
use flashd_hwmodel::rtl::{Leaf, Pins, TagKind};
use std::collections::HashMap;
use std::sync::Arc;

/// The clock port of every module with registers but a stream wrapper.
pub(super) const CLOCK: &str = "clk";
/// The clock enable of modules and registers whose clock is gated.
pub(super) const ENABLE: &str = "ce";

/// A port, or the pins of a part at a port of its module; elements are packed.
pub(super) struct Bus<'a> {
    pub(super) name: &'a str,
    /// Set if it is a vector. A vector may have one element.
    pub(super) vector: bool,
    pub(super) output: bool,
    /// Width of an element in bits.
    pub(super) width: u32,
    /// The net of each element.
    pub(super) nets: Vec<u32>,
}

impl Bus<'_> {
    pub(super) fn bits(&self) -> u32 {
        self.width * self.nets.len() as u32
    }
}

/// The description of which a part is an instance.
#[derive(Clone, Copy)]
pub(super) enum Of<'a> {
    Leaf(&'a Arc<dyn Leaf>),
    Register(Register),
    /// A module; its registers may hold while its clock enable is low.
    Module(&'a Arc<Structure>, bool),
}

/// A part of a flat module.
pub(super) struct ModulePart<'a> {
    /// Its name; the vector's name if it has an index.
    pub(super) name: String,
    pub(super) index: Option<usize>,
    pub(super) of: Of<'a>,
    pub(super) pins: Vec<Bus<'a>>,
}

impl ModulePart<'_> {
    /// The pins with this name, if there are any.
    pub(super) fn pins(&self, name: &str) -> Option<&Bus<'_>> {
        self.pins.iter().find(|bus| bus.name == name)
    }

    pub(super) fn is_register(&self) -> bool {
        matches!(self.of, Of::Register(_))
    }
}

/// A module as it is printed.
#[derive(Default)]
pub(super) struct FlatModule<'a> {
    pub(super) ports: Vec<Bus<'a>>,
    pub(super) parts: Vec<ModulePart<'a>>,
    /// The number of nets; connected words share one.
    pub(super) nets: usize,
    /// Where each part of the description is, by the nodes on the way to it.
    places: HashMap<Vec<u32>, PartPlace>,
    /// The net to which each net is connected; itself if it has a driver.
    same: Vec<u32>,
    /// The net of its clock enable, if it has one.
    enable: Option<u32>,
}

enum PartPlace {
    /// Dissolved: the net of its first slot.
    Dissolved(u32),
    /// The place in [`FlatModule::parts`].
    Part(usize),
}

/// A structure in the flat module: its first net, the prefix of the names of its parts, the net of the enable of its clock's gate.
struct FlatScope<'a, 'p> {
    structure: &'a Structure,
    base: u32,
    prefix: &'p str,
    gate: Option<u32>,
}

impl<'a> FlatModule<'a> {
    /// Needs a description; `frozen` says that it is behind a clock gate. Leaves its parts, without dissolved ones and clock gates, and its
    /// ports, between nets: an enable where there was a gate, no clock where there is no register.
    ///
    /// # Errors
    /// If a clock gate feeds another one.
    pub(super) fn of(structure: &'a Structure, frozen: bool) -> Result<FlatModule<'a>, GenerateError> {
        let mut flat = FlatModule::default();
        let base = flat.add_nets(structure.widths.len());
        flat.enable = frozen.then(|| flat.add_nets(1));
        flat.spread(&FlatScope { structure, base, prefix: "", gate: None }, &mut Vec::new())?;
        let nets = |slots: &[u32]| slots.iter().map(|&slot| base + slot).collect();
        for port in structure.ports.iter().filter(|port| !port.slots.is_empty()) {
            if port.name == CLOCK && !structure.clocked {
                continue;
            }
            let (vector, output, width) = (port.vector, port.output, port.width);
            flat.ports.push(Bus { name: &port.name, vector, output, width, nets: nets(&port.slots) });
            if port.name == CLOCK {
                flat.ports.extend(flat.enable.map(enable));
            }
        }
        let FlatModule { ports, parts, same, .. } = &mut flat;
        let buses = parts.iter_mut().flat_map(|part| &mut part.pins).chain(ports);
        buses.flat_map(|bus| &mut bus.nets).for_each(|net| *net = end(same, *net));
        flat.nets = flat.same.len();
        Ok(flat)
    }

    fn add_nets(&mut self, count: usize) -> u32 {
        let first = self.same.len() as u32;
        self.same.extend(first..first + count as u32);
        first
    }

    /// Adds the parts of a structure.
    fn spread(&mut self, scope: &FlatScope<'a, '_>, path: &mut Vec<u32>) -> Result<(), GenerateError> {
        let FlatScope { structure, base, prefix, gate } = *scope;
        for (place, node) in structure.nodes.iter().enumerate() {
            let gates = matches!(node.kind, Kind::Gate) || node.gate.is_some();
            if gates && (gate.is_some() || self.enable.is_some()) {
                return Err(refused(structure, "a clock gate behind another one".into()));
            }
            let own_gate = node.gate.map(|gate| base + structure.nodes[gate as usize].inputs[0]);
            let gate = own_gate.or(gate);
            path.push(place as u32);
            match &node.kind {
                Kind::Gate => {}
                Kind::Module(inner) if inner.tag.kind == TagKind::Dissolved => {
                    let first = self.add_nets(inner.widths.len());
                    self.places.insert(path.clone(), PartPlace::Dissolved(first));
                    for (slot, &from) in inner.input_slots().zip(&node.inputs) {
                        self.same[(first + slot) as usize] = base + from;
                    }
                    for (slot, &to) in inner.output_slots().zip(&node.outputs) {
                        self.same[(base + to) as usize] = first + slot;
                    }
                    if let (Some(inside), Some(clock)) = (clock(inner), clock(structure)) {
                        self.same[(first + inside) as usize] = base + clock;
                    }
                    let prefix = format!("{prefix}{}_", numbered(structure, node));
                    self.spread(&FlatScope { structure: inner, base: first, prefix: &prefix, gate }, path)?;
                }
                _ => {
                    self.places.insert(path.clone(), PartPlace::Part(self.parts.len()));
                    let name = format!("{prefix}{}", node.name);
                    let part = self.part(name, scope, node, gate)?;
                    self.parts.push(part);
                }
            }
            path.pop();
        }
        Ok(())
    }

    /// A part that stays one.
    fn part(
        &self,
        name: String,
        scope: &FlatScope<'a, '_>,
        node: &'a Node,
        gate: Option<u32>,
    ) -> Result<ModulePart<'a>, GenerateError> {
        let base = scope.base;
        let (mut inputs, mut outputs) = (node.inputs.iter(), node.outputs.iter());
        let mut bus = |name, vector, output, width, count| {
            let slots = if output { &mut outputs } else { &mut inputs };
            Bus { name, vector, output, width, nets: slots.take(count).map(|slot| base + slot).collect() }
        };
        let clock = clock(scope.structure).map(|slot| base + slot);
        let clock =
            |name| Bus { name, vector: false, output: false, width: 1, nets: clock.into_iter().collect() };
        let gate = gate.or(self.enable);
        let mut pins = Vec::new();
        let of = match &node.kind {
            Kind::Register(register) => {
                let width = scope.structure.widths[node.outputs[0] as usize];
                pins.push(clock(CLOCK));
                pins.extend(gate.map(enable));
                pins.extend(register.control().map(|name| bus(name, false, false, 1, 1)));
                pins.extend([bus("d", false, false, width, 1), bus("q", false, true, width, 1)]);
                Of::Register(*register)
            }
            Kind::Module(inner) => {
                let gate = gate.filter(|_| inner.clocked);
                for (p, port) in inner.ports.iter().enumerate() {
                    if gate.is_some() && port.name == ENABLE {
                        let detail = format!("a port {ENABLE} in a module behind a clock gate");
                        return Err(refused(inner, detail));
                    }
                    match Some(p) == inner.clock {
                        true if inner.clocked => {
                            pins.push(clock(&port.name));
                            pins.extend(gate.map(enable));
                        }
                        true => {}
                        false => {
                            let count = port.slots.len();
                            pins.push(bus(&port.name, port.vector, port.output, port.width, count));
                        }
                    }
                }
                Of::Module(inner, gate.is_some())
            }
            Kind::Leaf(leaf) => {
                for (output, ports) in [(false, leaf.inputs()), (true, leaf.outputs())] {
                    let bus = |p: Pins| bus(p.name, p.elements.is_some(), output, p.width, p.count());
                    pins.extend(ports.into_iter().map(bus));
                }
                Of::Leaf(leaf)
            }
            Kind::Gate => unreachable!("gates are no parts"),
        };
        pins.retain(|bus| !bus.nets.is_empty());
        Ok(ModulePart { name, index: node.index, of, pins })
    }

    /// The net of a slot of the module that a path through dissolved parts leads to; or, if the path leads into another part, the part and the
    /// rest of the path.
    pub(super) fn find<'p>(&self, path: &'p [u32], slot: u32) -> Result<u32, (&ModulePart<'a>, &'p [u32])> {
        let mut base = 0;
        for depth in 1..=path.len() {
            match self.places[&path[..depth]] {
                PartPlace::Dissolved(first) => base = first,
                PartPlace::Part(place) => return Err((&self.parts[place], &path[depth..])),
            }
        }
        Ok(end(&self.same, base + slot))
    }
}

fn refused(structure: &Structure, detail: String) -> GenerateError {
    GenerateError::Description { module: structure.tag.name.clone(), detail }
}

/// The slot of the clock.
fn clock(structure: &Structure) -> Option<u32> {
    structure.clock.map(|port| structure.ports[port].slots[0])
}

fn enable(net: u32) -> Bus<'static> {
    Bus { name: ENABLE, vector: false, output: false, width: 1, nets: vec![net] }
}

/// The net at the end of a chain of connections.
fn end(same: &[u32], mut net: u32) -> u32 {
    while same[net as usize] != net {
        net = same[net as usize];
    }
    net
}

/// The prefix of the contents of a dissolved part: its name, with its number if there are several of that name.
fn numbered(structure: &Structure, node: &Node) -> String {
    let several = structure.nodes.iter().filter(|other| other.name == node.name).count() > 1;
    match node.index.filter(|_| several) {
        Some(index) => format!("{}_{index}", node.name),
        None => node.name.clone(),
    }
}

//! The blocks of a design: modules, leaves, registers and clock gates.
//!
//! ```text
//!  update of a module    its inputs take their next values
//!                        clocks: gates, then registers, which sample D inputs of the update before
//!                        data: leaves and inner modules, in the order of the data flow
//!                        D inputs of registers and enables of gates get their next values
//!                        its outputs
//! ```
//!
//! So every register samples before any Q output moves, also through gates and across modules. RustHDL calls updates until nothing changes.

mod connect;
mod verilog;

pub use connect::Fault;
pub use verilog::verilog;

use crate::pin::Pin;
use connect::{Connections, Source};
use flashd_hwmodel::rtl::PartPin;
use flashd_hwmodel::rtl::structure::{Kind, Port, Register, Structure};
use rust_hdl::prelude::{Atom, AtomKind, Block, Logic, Probe, TimingInfo, Verilog, check_all};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use verilog::{LeafText, legal};

/// A block with its pins: a module, or a part of one.
pub struct Part {
    name: String,
    pins: Vec<Pin>,
    inside: Inside,
    /// Something moved in the last update.
    changed: bool,
}

pub(crate) enum Inside {
    /// A leaf; its first pins, as many as it has inputs, are these. It computes when one of them moves, and once before.
    Leaf { text: Arc<LeafText>, inputs: usize, computed: bool },
    /// Pins: clk, the control if there is one, d, q.
    Register(Register),
    /// Pins: clk, enable, gated. The enable passes a latch that is open while the clock is low.
    Gate { enabled: bool },
    /// A module with its parts.
    Module { parts: Vec<Part>, connections: Arc<Connections>, structure: Arc<Structure> },
}

/// What instances of one description share, by its address.
#[derive(Default)]
struct Shared {
    leaves: HashMap<*const (), Arc<LeafText>>,
    modules: HashMap<*const Structure, Arc<Connections>>,
}

impl Part {
    /// A design as a block.
    ///
    /// # Errors
    /// If a wire has two drivers, or a pin has not the width of its wire. Open inputs and combinational loops are found by RustHDL's
    /// `check_all`, after `connect_all`.
    pub fn top(structure: &Arc<Structure>) -> Result<Part, Fault> {
        Part::module("top", structure, &mut Shared::default())
    }

    /// A design whose blocks are connected, and pass RustHDL's checks.
    ///
    /// # Errors
    /// As [`Part::top`], or if RustHDL's checks refuse the design.
    pub(crate) fn checked(structure: &Arc<Structure>) -> Result<Part, Fault> {
        let mut top = Part::top(structure)?;
        top.connect_all();
        check_all(&top).map_err(|fault| Fault::Refused(format!("{fault:?}")))?;
        Ok(top)
    }

    fn module(name: &str, structure: &Arc<Structure>, shared: &mut Shared) -> Result<Part, Fault> {
        let own: Vec<Pin> = structure.pins().into_iter().map(described).collect();
        let mut parts = Vec::with_capacity(structure.nodes.len());
        for node in &structure.nodes {
            let label = node.label();
            let mut name = legal(&label);
            // An instance must not have the name of a port.
            while own.iter().any(|pin| pin.name == name) {
                name.insert(0, '_');
            }
            parts.push(match &node.kind {
                Kind::Module(inner) => {
                    Part::module(&name, inner, shared).map_err(|fault| fault.inside(&label))?
                }
                kind => {
                    let pins: Vec<Pin> = structure.pins_of(node).into_iter().map(described).collect();
                    let inside = match kind {
                        Kind::Leaf(leaf) => {
                            let text = shared.leaves.entry(Arc::as_ptr(leaf).cast());
                            let text = text.or_insert_with(|| Arc::new(LeafText::new(leaf.clone()))).clone();
                            let inputs = pins.iter().filter(|pin| !pin.is_output()).count();
                            Inside::Leaf { text, inputs, computed: false }
                        }
                        Kind::Register(register) => Inside::Register(*register),
                        _ => Inside::Gate { enabled: false },
                    };
                    Part { name, pins, inside, changed: true }
                }
            });
        }
        let inside = Inside::Gate { enabled: false };
        let mut module = Part { name: name.into(), pins: own, inside, changed: true };
        let connections = match shared.modules.get(&Arc::as_ptr(structure)) {
            Some(connections) => connections.clone(),
            None => {
                let connections = Arc::new(Connections::of(structure, &module, &parts)?);
                shared.modules.insert(Arc::as_ptr(structure), connections.clone());
                connections
            }
        };
        if let Some(Source::Part(part, pin)) = connections.closes {
            let Pin { name, width, .. } = &parts[part].pins[pin];
            let name = verilog::closing(&parts[part].name, name);
            module.pins.push(Pin::new(name, *width, AtomKind::LocalSignal));
        }
        module.inside = Inside::Module { parts, connections, structure: structure.clone() };
        Ok(module)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its pins: of a module the words of its ports.
    pub fn pins(&self) -> &[Pin] {
        &self.pins
    }

    /// The same, to drive inputs.
    pub fn pins_mut(&mut self) -> &mut [Pin] {
        &mut self.pins
    }

    /// The parts of a module.
    pub fn parts(&self) -> &[Part] {
        match &self.inside {
            Inside::Module { parts, .. } => parts,
            _ => &[],
        }
    }

    /// The output of a register.
    pub fn register(&self) -> Option<&Pin> {
        self.pins.last().filter(|_| matches!(self.inside, Inside::Register(_)))
    }

    /// The places among the pins of the words of each port of a module.
    pub fn ports(&self) -> Vec<(String, Range<usize>)> {
        let Inside::Module { structure, .. } = &self.inside else { return Vec::new() };
        let mut first = 0;
        let place = |port: &Port| {
            let places = first..first + port.slots.len();
            first = places.end;
            (port.name.clone(), places)
        };
        structure.ports.iter().map(place).collect()
    }

    /// Visits the pins of this block and of all blocks in it, in the order of `Circuit::visit`.
    pub fn each_pin(&self, visit: &mut dyn FnMut(&Pin)) {
        // The wire that closes a loop is no pin.
        self.pins.iter().filter(|pin| pin.kind().is_parameter()).for_each(&mut *visit);
        self.parts().iter().for_each(|part| part.each_pin(visit));
    }

    fn update_module(&mut self) {
        let Part { pins, inside: Inside::Module { parts, connections, .. }, .. } = self else { return };
        let mut changed = false;
        for pin in pins.iter_mut().filter(|pin| !pin.is_output()) {
            changed |= pin.latch();
        }
        let value = |pins: &[Pin], parts: &[Part], source| match source {
            Source::Own(pin) => pins[pin].value(),
            Source::Part(part, pin) => parts[part].pins[pin].value(),
        };
        for &(part, pin, source) in &connections.clocks {
            parts[part].pins[pin].next = value(pins, parts, source);
            if !parts[part].is_logic() {
                parts[part].update_all();
            }
        }
        for inputs in &connections.data {
            for &(pin, source) in &inputs.pins {
                parts[inputs.part].pins[pin].next = value(pins, parts, source);
            }
            if parts[inputs.part].is_logic() {
                parts[inputs.part].update_all();
            }
        }
        for &(pin, source) in &connections.outputs {
            pins[pin].next = value(pins, parts, source);
            changed |= pins[pin].latch();
        }
        self.changed = changed || parts.iter().any(Part::has_changed);
    }

    fn is_logic(&self) -> bool {
        matches!(self.inside, Inside::Leaf { .. } | Inside::Module { .. })
    }
}

fn described(pin: PartPin) -> Pin {
    let kind = if pin.output { AtomKind::OutputParameter } else { AtomKind::InputParameter };
    Pin::new(legal(&pin.name), pin.width, kind)
}

impl Logic for Part {
    /// The outputs of a leaf, a register or a gate from its inputs. A module's are connected in `update_all`.
    fn update(&mut self) {
        let pins = &mut self.pins;
        match &mut self.inside {
            Inside::Leaf { text, inputs, computed } => {
                *computed = true;
                let (from, to) = pins.split_at_mut(*inputs);
                let words: Vec<u64> = from.iter().map(Pin::value).collect();
                let mut results = vec![0; to.len()];
                text.leaf().eval(&words, &mut results);
                to.iter_mut().zip(results).for_each(|(pin, result)| pin.next = result);
            }
            Inside::Register(register) if pins[0].rose() => {
                let q = pins.len() - 1;
                let (d, control) = (pins[q - 1].value(), pins[1].value() != 0);
                pins[q].next = match register {
                    Register::Enabled if !control => return,
                    Register::Reset(value) if control => *value,
                    _ => d,
                };
            }
            Inside::Gate { enabled } => {
                let clock = pins[0].value() != 0;
                if !clock {
                    *enabled = pins[1].value() != 0;
                }
                pins[2].next = u64::from(clock && *enabled);
            }
            Inside::Register(_) | Inside::Module { .. } => {}
        }
    }

    fn connect(&mut self) {
        match &mut self.inside {
            Inside::Module { parts, connections, .. } => {
                let inputs =
                    connections.data.iter().flat_map(|to| to.pins.iter().map(|(pin, _)| (to.part, *pin)));
                let clocks = connections.clocks.iter().map(|&(part, pin, _)| (part, pin));
                inputs.chain(clocks).for_each(|(part, pin)| parts[part].pins[pin].connect());
                connections.outputs.iter().for_each(|&(pin, _)| self.pins[pin].connect());
                let locals = self.pins.iter_mut().filter(|pin| pin.kind() == AtomKind::LocalSignal);
                locals.for_each(Pin::connect);
            }
            _ => self.pins.iter_mut().filter(|pin| pin.is_output()).for_each(Pin::connect),
        }
    }

    fn hdl(&self) -> Verilog {
        verilog::of(self, &self.inside)
    }

    fn timing(&self) -> Vec<TimingInfo> {
        let name = |place: usize| self.pins[place].name.clone();
        match &self.inside {
            Inside::Register(_) => vec![TimingInfo {
                name: "register".into(),
                clock: name(0),
                inputs: (1..self.pins.len() - 1).map(name).collect(),
                outputs: vec![name(self.pins.len() - 1)],
            }],
            _ => Vec::new(),
        }
    }
}

impl Block for Part {
    fn connect_all(&mut self) {
        self.connect();
        if let Inside::Module { parts, .. } = &mut self.inside {
            parts.iter_mut().for_each(Part::connect_all);
        }
    }

    fn update_all(&mut self) {
        if !self.changed && !self.pins.iter().any(Pin::moves) {
            return;
        }
        let latch = |pins: &mut [Pin]| pins.iter_mut().fold(false, |changed, pin| pin.latch() | changed);
        self.changed = match &self.inside {
            Inside::Module { .. } => return self.update_module(),
            // It samples D and the control of the update before.
            Inside::Register(_) => {
                let clock = self.pins[0].latch();
                self.update();
                latch(&mut self.pins[1..]) | clock
            }
            Inside::Leaf { .. } | Inside::Gate { .. } => {
                let inputs = self.pins.iter().filter(|pin| !pin.is_output()).count();
                let moved = latch(&mut self.pins[..inputs]);
                if moved || !matches!(self.inside, Inside::Leaf { computed: true, .. }) {
                    self.update();
                }
                latch(&mut self.pins[inputs..]) | moved
            }
        };
    }

    fn has_changed(&self) -> bool {
        self.changed
    }

    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        probe.visit_start_scope(name, self);
        self.pins.iter().for_each(|pin| probe.visit_atom(&pin.name, pin));
        self.parts().iter().for_each(|part| part.accept(&part.name, probe));
        probe.visit_end_scope(name, self);
    }
}

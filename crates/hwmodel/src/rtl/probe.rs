//! A circuit as a RustHDL block: an atom for each pin, and a kernel that connects its parts.

use super::circuit::Circuit;
use super::flat::{CLOCK, Flat};
use super::flatten::Nets;
use super::structure::{Kind, Node, Port, Structure, numbered};
use super::{Function, Module};
use rust_hdl::core::ast::{VerilogExpression, VerilogLiteral, VerilogStatement};
use rust_hdl::core::constraint::PinConstraint;
use rust_hdl::core::prelude::{
    Atom, AtomKind, Block, Logic, Probe, Synth, TypeDescriptor, TypeKind, VCDValue, Verilog,
};

impl Logic for Circuit {
    fn update(&mut self) {}

    fn hdl(&self) -> Verilog {
        self.scope().hdl()
    }
}

impl Circuit {
    /// The whole design: a module, or the single leaf.
    fn scope(&self) -> Scope<'_> {
        let node = if self.is_leaf { self.top.nodes.first() } else { None };
        Scope { structure: &self.top, nets: &self.nets, flat: &self.flat, node }
    }
}

impl Block for Circuit {
    fn connect_all(&mut self) {}

    fn update_all(&mut self) {
        match self.top.clock.is_some() && self.flat.value(CLOCK) != 0 {
            // Capture once for each edge: outputs do not change before the clock is low again.
            true if !self.seen_high => self.clock(),
            true => {}
            false => self.settle(),
        }
    }

    fn has_changed(&self) -> bool {
        self.flat.is_restless()
    }

    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        self.scope().accept(name, probe);
    }
}

impl Structure {
    /// One assignment for each input of a part and each output of the module, with the paths of RustHDL's own kernels, such as
    /// `lanes[3]$v$next`.
    fn hdl(&self) -> Verilog {
        let mut names = vec![String::new(); self.widths.len()];
        for port in self.ports.iter().filter(|port| !port.output) {
            for (i, &slot) in port.slots.iter().enumerate() {
                names[slot as usize] = element(&port.name, port.vector, i);
            }
        }
        for node in &self.nodes {
            let outputs = self.pins(node).into_iter().filter(|pin| pin.output);
            for (pin, &slot) in outputs.zip(&node.outputs) {
                names[slot as usize] = format!("{}${}", instance(node), pin.path);
            }
        }
        let clock = self.clock.map(|port| self.ports[port].name.clone());
        let mut code = Vec::new();
        let mut assign = |sink: String, source: &str| {
            let signal = |path: String| VerilogExpression::Signal(path);
            code.push(VerilogStatement::Assignment(
                signal(format!("{sink}$next")),
                signal(source.to_string()),
            ));
        };
        for node in &self.nodes {
            let inputs = self.pins(node).into_iter().filter(|pin| !pin.output && !pin.clock);
            for (pin, &slot) in inputs.zip(&node.inputs) {
                assign(format!("{}${}", instance(node), pin.path), &names[slot as usize]);
            }
            for pin in self.pins(node).iter().filter(|pin| pin.clock && !pin.output) {
                let source = match node.gate {
                    Some(gate) => format!("{}$gated", instance(&self.nodes[gate as usize])),
                    None => clock.clone().unwrap_or_default(),
                };
                assign(format!("{}${}", instance(node), pin.path), &source);
            }
        }
        for port in self.ports.iter().filter(|port| port.output) {
            for (i, &slot) in port.slots.iter().enumerate() {
                assign(element(&port.name, port.vector, i), &names[slot as usize]);
            }
        }
        Verilog::Combinatorial(code)
    }
}

/// A module of a design as a block, or a part that is not a module.
#[derive(Clone, Copy)]
struct Scope<'a> {
    structure: &'a Structure,
    nets: &'a Nets,
    flat: &'a Flat,
    node: Option<&'a Node>,
}

impl Logic for Scope<'_> {
    fn update(&mut self) {}

    fn hdl(&self) -> Verilog {
        let Some(node) = self.node else { return self.structure.hdl() };
        match &node.kind {
            Kind::Module(inner) => inner.hdl(),
            // The generator prints these from the description.
            Kind::Leaf(_) | Kind::Register(_) | Kind::Gate => Verilog::Custom(String::new()),
        }
    }
}

impl Block for Scope<'_> {
    fn connect_all(&mut self) {}
    fn update_all(&mut self) {}

    fn has_changed(&self) -> bool {
        false
    }

    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        probe.visit_start_scope(name, self);
        match self.node {
            None => self.visit_module(probe),
            Some(node) => self.visit_part(node, probe),
        }
        probe.visit_end_scope(name, self);
    }
}

impl Scope<'_> {
    fn visit_module(&self, probe: &mut dyn Probe) {
        let Scope { structure, nets, flat, .. } = *self;
        for port in &structure.ports {
            for (i, &slot) in port.slots.iter().enumerate() {
                let pin = self.pin(nets.slots[slot as usize], port.width, port.output);
                probe.visit_atom(&numbered(&port.name, port.vector.then_some(i)), &pin);
            }
        }
        let mut inside = nets.inner.iter();
        for node in &structure.nodes {
            let part = match (&node.kind, inside.clone().next()) {
                (Kind::Module(inner), Some(nets)) => {
                    inside.next();
                    Scope { structure: inner, nets, flat, node: None }
                }
                _ => Scope { node: Some(node), ..*self },
            };
            part.accept(&numbered(&node.name, node.index), probe);
        }
    }

    fn visit_part(&self, node: &Node, probe: &mut dyn Probe) {
        let (mut inputs, mut outputs) = (node.inputs.iter(), node.outputs.iter());
        for PartPin { name, width, output, clock, .. } in self.structure.pins(node) {
            let slot = match (clock, output) {
                (true, _) => None,
                (false, true) => outputs.next(),
                (false, false) => inputs.next(),
            };
            let net = slot.map_or(CLOCK, |&slot| self.nets.slots[slot as usize]);
            probe.visit_atom(&name, &self.pin(net, width, output));
        }
    }

    fn pin(&self, net: u32, width: u32, output: bool) -> Pin {
        Pin { net, width, output, value: self.flat.value(net) }
    }
}

/// A pin of a part, one word.
pub(super) struct PartPin {
    /// Its name in probes.
    pub(super) name: String,
    /// Its path in kernels.
    path: String,
    width: u32,
    pub(super) output: bool,
    clock: bool,
}

impl Structure {
    fn pins(&self, node: &Node) -> Vec<PartPin> {
        node.pins(|slot| self.widths[slot as usize])
    }
}

impl Node {
    /// Its pins in the order in which probes visit them. `width_of` gives the width of a slot of the module around.
    pub(super) fn pins(&self, width_of: impl Fn(u32) -> u32) -> Vec<PartPin> {
        let word = |name: &str, width, output| PartPin {
            name: name.into(),
            path: name.into(),
            width,
            output,
            clock: matches!(name, "clk" | "gated"),
        };
        let words =
            |name: &str, vector: bool, count: usize, width, [output, clock]: [bool; 2]| -> Vec<PartPin> {
                let (name_of, path) = (|i| numbered(name, vector.then_some(i)), |i| element(name, vector, i));
                (0..count)
                    .map(|i| PartPin { name: name_of(i), path: path(i), width, output, clock })
                    .collect()
            };
        match &self.kind {
            Kind::Leaf(leaf) => {
                let of = |p: super::Pins, output| {
                    words(p.name, p.elements.is_some(), p.count(), p.width, [output, false])
                };
                let inputs = leaf.inputs().into_iter().flat_map(|pins| of(pins, false));
                inputs.chain(leaf.outputs().into_iter().flat_map(|pins| of(pins, true))).collect()
            }
            Kind::Register(register) => {
                let width = width_of(self.outputs[0]);
                let mut pins = vec![word("clk", 1, false)];
                pins.extend(register.control().map(|name| word(name, 1, false)));
                pins.extend([word("d", width, false), word("q", width, true)]);
                pins
            }
            Kind::Gate => vec![word("clk", 1, false), word("enable", 1, false), word("gated", 1, true)],
            Kind::Module(part) => {
                let of = |(p, port): (usize, &Port)| {
                    let kind = [port.output, Some(p) == part.clock];
                    words(&port.name, port.vector, port.slots.len(), port.width, kind)
                };
                part.ports.iter().enumerate().flat_map(of).collect()
            }
        }
    }
}

/// The name of a part in kernels.
fn instance(node: &Node) -> String {
    element(&node.name, node.index.is_some(), node.index.unwrap_or(0))
}

fn element(name: &str, vector: bool, index: usize) -> String {
    if vector { format!("{name}[{index}]") } else { name.to_string() }
}

/// A word of a port with its value at the time of the visit.
struct Pin {
    net: u32,
    width: u32,
    output: bool,
    value: u64,
}

impl Atom for Pin {
    fn bits(&self) -> usize {
        self.width as usize
    }

    /// Always true: [`Module`] leaves no input open.
    fn connected(&self) -> bool {
        true
    }

    fn changed(&self) -> bool {
        false
    }

    fn kind(&self) -> AtomKind {
        if self.output { AtomKind::OutputParameter } else { AtomKind::InputParameter }
    }

    fn descriptor(&self) -> TypeDescriptor {
        TypeDescriptor { name: format!("Bus{}", self.width), kind: TypeKind::Bits(self.bits()) }
    }

    fn vcd(&self) -> VCDValue {
        // The only way to hand a value to a probe: 64 bits, most significant first; the reader cuts them to `bits()`.
        rust_hdl::core::prelude::Bits::<64>::from(self.value).vcd()
    }

    /// The net: connected words share it.
    fn id(&self) -> usize {
        self.net as usize
    }

    fn verilog(&self) -> VerilogLiteral {
        self.value.into()
    }

    fn constraints(&self) -> Vec<PinConstraint> {
        Vec::new()
    }
}

impl Circuit {
    /// A function as a design with a single leaf.
    pub fn leaf<F: Function<I, O>, const I: usize, const O: usize>(function: F) -> Circuit {
        let mut bench = Module::bench();
        let inputs = function.widths().0.map(|bits| bench.open(bits));
        bench.call("leaf", function, inputs);
        let mut circuit = bench.into_parts();
        circuit.is_leaf = true;
        circuit
    }
}

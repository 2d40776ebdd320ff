//! The pins of parts, and a walk over the words of a design in the order of the description.

use super::circuit::Circuit;
use super::flat::CLOCK;
use super::flatten::Nets;
use super::structure::{Kind, Node, Port, Structure, numbered};
use super::{Function, Module, Pins};

/// A pin of a part, one word.
pub struct PartPin {
    /// Its name; element 3 of a vector `x` is `x$3`.
    pub name: String,
    /// Width in bits.
    pub width: u32,
    /// Set if the part drives it.
    pub output: bool,
    /// Set if it is a clock.
    pub clock: bool,
}

/// Receives the words of a design, scope by scope. Element 3 of a vector `x` is called `x$3`.
pub trait Visitor {
    /// A module or a part begins.
    fn enter(&mut self, name: &str);
    /// A word at the border of the current scope, with its width in bits and its net.
    fn word(&mut self, name: &str, width: u32, net: u32);
    /// The current scope ends.
    fn leave(&mut self);
}

impl Circuit {
    /// Visits every word of the design; `name` is the name of its scope.
    pub fn visit(&self, name: &str, visitor: &mut dyn Visitor) {
        visitor.enter(name);
        match self.top.nodes.first().filter(|_| self.is_leaf) {
            Some(node) => visit_part(&self.top, node, &self.nets, visitor),
            None => visit_module(&self.top, &self.nets, visitor),
        }
        visitor.leave();
    }

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

fn visit_module(module: &Structure, nets: &Nets, visitor: &mut dyn Visitor) {
    let slots = module.ports.iter().flat_map(|port| &port.slots);
    for (pin, &slot) in module.pins().iter().zip(slots) {
        visitor.word(&pin.name, pin.width, nets.slots[slot as usize]);
    }
    let mut inside = nets.inner.iter();
    for node in &module.nodes {
        visitor.enter(&node.label());
        match &node.kind {
            Kind::Module(inner) => {
                inside.next().into_iter().for_each(|nets| visit_module(inner, nets, visitor))
            }
            _ => visit_part(module, node, nets, visitor),
        }
        visitor.leave();
    }
}

fn visit_part(module: &Structure, node: &Node, nets: &Nets, visitor: &mut dyn Visitor) {
    let (mut inputs, mut outputs) = (node.inputs.iter(), node.outputs.iter());
    for PartPin { name, width, output, clock } in module.pins_of(node) {
        let slot = match (clock, output) {
            (true, _) => None,
            (false, true) => outputs.next(),
            (false, false) => inputs.next(),
        };
        visitor.word(&name, width, slot.map_or(CLOCK, |&slot| nets.slots[slot as usize]));
    }
}

impl Node {
    /// Its name; element 3 of a vector of parts `x` is `x$3`.
    pub fn label(&self) -> String {
        numbered(&self.name, self.index)
    }

    /// Its pins: its clock, its other inputs, its outputs; of a module its ports as declared. `width_of` gives the width of a slot of the
    /// module around it.
    pub(super) fn pins(&self, width_of: impl Fn(u32) -> u32) -> Vec<PartPin> {
        let word = |name: &str, width, output| PartPin {
            name: name.into(),
            width,
            output,
            clock: matches!(name, "clk" | "gated"),
        };
        match &self.kind {
            Kind::Leaf(leaf) => {
                let of =
                    |p: Pins, output| words(p.name, p.elements.is_some(), p.count(), p.width, output, false);
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
            Kind::Module(part) => part.pins(),
        }
    }
}

impl Structure {
    /// The words of its ports in the order of declaration.
    pub fn pins(&self) -> Vec<PartPin> {
        let of = |(place, port): (usize, &Port)| {
            let clock = Some(place) == self.clock;
            words(&port.name, port.vector, port.slots.len(), port.width, port.output, clock)
        };
        self.ports.iter().enumerate().flat_map(of).collect()
    }

    /// The pins of a part: its clock, its other inputs, its outputs; of a module its ports as declared.
    pub fn pins_of(&self, node: &Node) -> Vec<PartPin> {
        node.pins(|slot| self.widths[slot as usize])
    }
}

fn words(name: &str, vector: bool, count: usize, width: u32, output: bool, clock: bool) -> Vec<PartPin> {
    let word = |i| PartPin { name: numbered(name, vector.then_some(i)), width, output, clock };
    (0..count).map(word).collect()
}

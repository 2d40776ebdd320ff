//! Flattens the hierarchy of a design to leaves and registers between nets. Connected words become one net.

use super::design;
use super::flat::{CLOCK, Flat, FlatLeaf};
use super::structure::{Kind, Register, Structure};
use std::collections::HashSet;

/// The nets of an instance of a module.
pub(super) struct Nets {
    /// The net of each slot.
    pub(super) slots: Vec<u32>,
    /// The nets of the modules among its parts, in the order of [`Structure::modules`].
    pub(super) inner: Vec<Nets>,
}

impl Nets {
    fn of(&self, slots: &[u32]) -> Vec<u32> {
        slots.iter().map(|&slot| self.slots[slot as usize]).collect()
    }

    /// The net of a slot of the module that a path leads to, the places of the parts on the way.
    pub(super) fn at(&self, structure: &Structure, path: &[u32], slot: u32) -> u32 {
        let Some((&first, rest)) = path.split_first() else { return self.slots[slot as usize] };
        let place = structure.nodes[..first as usize].iter();
        let place = place.filter(|node| matches!(node.kind, Kind::Module(_))).count();
        match &structure.nodes[first as usize].kind {
            Kind::Module(inner) => self.inner[place].at(inner, rest, slot),
            _ => unreachable!("{}: a path through a part that is no module", structure.tag.name),
        }
    }
}

/// Numbers the nets of a design and collects its leaves and registers.
pub(super) fn flatten(top: &Structure) -> (Flat, Nets) {
    let mut count = 1;
    let mut nets = number(top, &mut count);
    let inputs: Vec<u32> = (count..).take(top.input_slots().count()).collect();
    count += inputs.len() as u32;
    // The open wires of a bench, which are no ports.
    let handed_out: HashSet<u32> =
        top.modules().flat_map(|(node, _)| node.outputs.iter().copied()).chain(top.input_slots()).collect();
    for (slot, net) in nets.slots.iter_mut().enumerate() {
        if *net == OPEN && !handed_out.contains(&(slot as u32)) {
            *net = count;
            count += 1;
        }
    }
    let mut parts = Parts::default();
    spread(top, &mut nets, &inputs, None, &mut parts);
    (Flat::new(count as usize, parts.leaves, parts.registers), nets)
}

#[derive(Default)]
struct Parts {
    leaves: Vec<FlatLeaf>,
    registers: Vec<design::Register>,
}

/// A slot whose net is not known yet.
const OPEN: u32 = u32::MAX;

/// Bottom-up: numbers a net for each output of a leaf or register. A module's output has the net of its driver inside the module, and stays
/// open if the module only passes an input through.
fn number(structure: &Structure, count: &mut u32) -> Nets {
    let mut nets = Nets { slots: vec![OPEN; structure.widths.len()], inner: Vec::new() };
    if let Some(clock) = structure.clock {
        nets.slots[structure.ports[clock].slots[0] as usize] = CLOCK;
    }
    for node in &structure.nodes {
        if let Kind::Module(inner) = &node.kind {
            let inside = number(inner, count);
            for (&slot, inner) in node.outputs.iter().zip(inner.output_slots()) {
                nets.slots[slot as usize] = inside.slots[inner as usize];
            }
            nets.inner.push(inside);
        } else {
            for &slot in &node.outputs {
                nets.slots[slot as usize] = *count;
                *count += 1;
            }
        }
    }
    pass_on(structure, &mut nets.slots);
    nets
}

/// Gives outputs of modules that pass an input through the net of that input, where it is known.
fn pass_on(structure: &Structure, nets: &mut [u32]) {
    let mut passed: Vec<(u32, u32)> = Vec::new();
    for (node, inner) in structure.modules() {
        for (&slot, inside) in node.outputs.iter().zip(inner.output_slots()) {
            if nets[slot as usize] == OPEN {
                let place =
                    passed_on(inner, inside).and_then(|input| inner.input_slots().position(|s| s == input));
                passed.extend(place.map(|place| (slot, node.inputs[place])));
            }
        }
    }
    // Repeat, because such a module may come after the parts that read it.
    let mut moved = true;
    while std::mem::take(&mut moved) {
        for &(slot, from) in &passed {
            if nets[slot as usize] == OPEN && nets[from as usize] != OPEN {
                nets[slot as usize] = nets[from as usize];
                moved = true;
            }
        }
    }
}

/// Top-down: gives inputs, and outputs that only pass inputs through, the nets of the module around, and collects the parts.
fn spread(structure: &Structure, nets: &mut Nets, inputs: &[u32], gate: Option<u32>, parts: &mut Parts) {
    for (slot, &net) in structure.input_slots().zip(inputs) {
        nets.slots[slot as usize] = net;
    }
    pass_on(structure, &mut nets.slots);
    let mut inner_nets = std::mem::take(&mut nets.inner).into_iter();
    for node in &structure.nodes {
        let (inputs, outputs) = (nets.of(&node.inputs), nets.of(&node.outputs));
        assert!(!inputs.contains(&OPEN), "{}: a wire that nothing drives", structure.tag.name);
        let gate = match node.gate {
            Some(gate) => Some(nets.of(&structure.nodes[gate as usize].inputs)[0]),
            None => gate,
        };
        match &node.kind {
            Kind::Leaf(leaf) => parts.leaves.push(FlatLeaf::new(leaf.clone(), inputs, outputs)),
            Kind::Register(register) => {
                let (&d, &q) = (&inputs[inputs.len() - 1], &outputs[0]);
                let (enable, reset) = match register {
                    Register::Plain => (None, None),
                    Register::Enabled => (Some(inputs[0]), None),
                    Register::Reset(value) => (None, Some((inputs[0], *value))),
                };
                parts.registers.push(design::Register { d, q, enable, reset, gate });
            }
            Kind::Gate => {}
            Kind::Module(inner) => {
                let Some(mut inside) = inner_nets.next() else { unreachable!("each module has its nets") };
                spread(inner, &mut inside, &inputs, gate, parts);
                nets.inner.push(inside);
            }
        }
    }
}

/// The input slot that a slot is connected to, directly or through inner modules that pass it through.
fn passed_on(structure: &Structure, slot: u32) -> Option<u32> {
    if structure.input_slots().any(|input| input == slot) {
        return Some(slot);
    }
    structure.modules().find_map(|(node, inner)| {
        let place = node.outputs.iter().position(|&output| output == slot)?;
        let input = passed_on(inner, inner.output_slots().nth(place)?)?;
        let place = inner.input_slots().position(|s| s == input)?;
        passed_on(structure, node.inputs[place])
    })
}

//! Flattens the hierarchy of a design to leaves and registers between nets. Connected words become one net.

use super::design;
use super::flat::{CLOCK, Flat, FlatLeaf};
use super::structure::{Kind, Node, Register, Structure};
use std::collections::HashSet;

/// Numbers the nets of a design and collects its leaves and registers.
pub(super) fn flatten(top: &mut Structure) -> Flat {
    let mut nets = 1;
    number(top, &mut nets);
    let inputs = (0..top.input_slots().len() as u32).map(|i| nets + i).collect::<Vec<u32>>();
    nets += inputs.len() as u32;
    // The open wires of a bench, which are no ports.
    let handed_out =
        |node: &Node| if let Kind::Module(_) = node.kind { node.outputs.clone() } else { Vec::new() };
    let handed_out: HashSet<u32> = top.nodes.iter().flat_map(handed_out).chain(top.input_slots()).collect();
    for slot in (0..top.nets.len() as u32).filter(|slot| !handed_out.contains(slot)) {
        if top.nets[slot as usize] == OPEN {
            top.nets[slot as usize] = nets;
            nets += 1;
        }
    }
    let mut parts = Parts::default();
    spread(top, &inputs, None, &mut parts);
    Flat::new(nets as usize, parts.leaves, parts.registers)
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
fn number(structure: &mut Structure, nets: &mut u32) {
    structure.nets = vec![OPEN; structure.widths.len()];
    if let Some(clock) = structure.clock {
        structure.nets[structure.ports[clock].slots[0] as usize] = CLOCK;
    }
    for node in &mut structure.nodes {
        if let Kind::Module(inner) = &mut node.kind {
            number(inner, nets);
            for (&slot, inside) in node.outputs.iter().zip(inner.output_slots()) {
                structure.nets[slot as usize] = inner.nets[inside as usize];
            }
        } else {
            for &slot in &node.outputs {
                structure.nets[slot as usize] = *nets;
                *nets += 1;
            }
        }
    }
    pass_on(structure);
}

/// Gives outputs of modules that pass an input through the net of that input, where it is known.
fn pass_on(structure: &mut Structure) {
    let mut passed: Vec<(u32, u32)> = Vec::new();
    for node in &structure.nodes {
        let Kind::Module(inner) = &node.kind else { continue };
        let inputs = inner.input_slots();
        for (&slot, inside) in node.outputs.iter().zip(inner.output_slots()) {
            if structure.nets[slot as usize] == OPEN {
                let place =
                    passed_on(inner, inside).and_then(|input| inputs.iter().position(|&s| s == input));
                passed.extend(place.map(|place| (slot, node.inputs[place])));
            }
        }
    }
    // Repeat, because such a module may come after the parts that read it.
    let mut moved = true;
    while std::mem::take(&mut moved) {
        for &(slot, from) in &passed {
            if structure.nets[slot as usize] == OPEN && structure.nets[from as usize] != OPEN {
                structure.nets[slot as usize] = structure.nets[from as usize];
                moved = true;
            }
        }
    }
}

/// Top-down: gives inputs, and outputs that only pass inputs through, the nets of the module around, and collects the parts.
fn spread(structure: &mut Structure, inputs: &[u32], gate: Option<u32>, parts: &mut Parts) {
    for (&slot, &net) in structure.input_slots().iter().zip(inputs) {
        structure.nets[slot as usize] = net;
    }
    pass_on(structure);
    let Structure { nodes, nets, tag, .. } = structure;
    let net = |slot: u32| match nets[slot as usize] {
        OPEN => panic!("{}: a wire that nothing drives", tag.name),
        net => net,
    };
    let gates: Vec<Option<u32>> = (nodes.iter())
        .map(|node| match node.gate {
            Some(gate) => Some(net(nodes[gate as usize].inputs[0])),
            None => gate,
        })
        .collect();
    for (node, gate) in nodes.iter_mut().zip(gates) {
        let [inputs, outputs] =
            [&node.inputs, &node.outputs].map(|slots| slots.iter().map(|&s| net(s)).collect::<Vec<u32>>());
        match &mut node.kind {
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
            Kind::Module(inner) => spread(inner, &inputs, gate, parts),
        }
    }
}

/// The input slot that a slot is connected to, directly or through inner modules that pass it through.
fn passed_on(structure: &Structure, slot: u32) -> Option<u32> {
    if structure.input_slots().contains(&slot) {
        return Some(slot);
    }
    structure.nodes.iter().find_map(|node| {
        let Kind::Module(inner) = &node.kind else { return None };
        let place = node.outputs.iter().position(|&output| output == slot)?;
        let input = passed_on(inner, inner.output_slots()[place])?;
        let place = inner.input_slots().iter().position(|&s| s == input)?;
        passed_on(structure, node.inputs[place])
    })
}

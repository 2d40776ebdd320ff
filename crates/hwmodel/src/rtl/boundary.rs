//! Whether the paths at the ports of a design start and end at registers, and through which logic they lead otherwise.
//!
//! The walk follows words from a port through combinational leaves to the nearest registers. Slices, concatenations and copies of bits are
//! wiring, not logic; so is a leaf for outputs that it only rearranges.

use super::design::{Design, Instance};
use super::leaf::Leaf;
use crate::netlist::{Operator, Steps};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

/// The combinational paths at a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Boundary {
    /// The leaves with logic on these paths, by the names of their modules, in the order of the data flow.
    pub logic: Vec<String>,
    /// The ports at the other ends of paths without a register.
    pub ports: Vec<String>,
}

impl Boundary {
    /// Set if every path starts (for an output) or ends (for an input) at a register, without logic in between.
    pub fn is_registered(&self) -> bool {
        self.logic.is_empty() && self.ports.is_empty()
    }
}

/// The combinational paths at each port of a design.
pub fn boundaries(design: &Design) -> Vec<Boundary> {
    let mut walk = Walk::new(design);
    (0..design.ports.len()).map(|port| walk.boundary(port)).collect()
}

/// An input word that an output word of a leaf depends on.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub(super) input: usize,
    /// Some path between them passes an operation, not only wiring.
    logic: bool,
}

/// For each output word of a leaf, the input words that it depends on.
pub(super) fn sources(leaf: &dyn Leaf) -> Vec<Vec<Source>> {
    let steps = Steps::of(&leaf.inputs(), &leaf.netlist());
    let is_wiring = |step: usize| {
        matches!(
            steps.steps[step].operator,
            Operator::Input(_)
                | Operator::Constant(_)
                | Operator::Slice(_)
                | Operator::Concat
                | Operator::Repeat
        )
    };
    // When a step was seen, for the output of that number: without logic on the way, and with.
    let mut seen = vec![[usize::MAX; 2]; steps.steps.len()];
    let of_output = |(output, &root): (usize, &u32)| {
        let mut found: HashMap<usize, bool> = HashMap::new();
        let mut open = vec![(root as usize, false)];
        while let Some((step, logic)) = open.pop() {
            let logic = logic || !is_wiring(step);
            if std::mem::replace(&mut seen[step][usize::from(logic)], output) == output {
                continue;
            }
            if let Operator::Input(input) = steps.steps[step].operator {
                *found.entry(input as usize).or_default() |= logic;
            }
            open.extend(steps.steps[step].operands.iter().map(|&operand| (operand as usize, logic)));
        }
        found.into_iter().map(|(input, logic)| Source { input, logic }).collect()
    };
    steps.outputs.iter().enumerate().map(of_output).collect()
}

/// A design with the readers and drivers of its nets.
struct Walk<'a> {
    design: &'a Design,
    /// The leaves that read a net.
    readers: HashMap<u32, Vec<usize>>,
    /// The leaf that drives a net, and the place among its outputs.
    drivers: HashMap<u32, (usize, usize)>,
    /// The nets that registers read.
    captured: BTreeSet<u32>,
    /// The ports of a net.
    ports: HashMap<u32, Vec<usize>>,
    /// By leaf; all its instances share them.
    sources: HashMap<*const (), Rc<[Vec<Source>]>>,
}

/// Places of leaves and ports on the paths at a port.
#[derive(Default)]
struct Found {
    leaves: BTreeSet<usize>,
    ports: BTreeSet<usize>,
    /// Nets that have been visited, and whether they lead to a register or an output.
    nets: HashMap<u32, bool>,
}

impl<'a> Walk<'a> {
    fn new(design: &'a Design) -> Walk<'a> {
        let mut readers: HashMap<u32, Vec<usize>> = HashMap::new();
        let mut drivers = HashMap::new();
        for (place, leaf) in design.leaves.iter().enumerate() {
            for &net in leaf.inputs.iter().collect::<BTreeSet<_>>() {
                readers.entry(net).or_default().push(place);
            }
            drivers.extend(leaf.outputs.iter().enumerate().map(|(output, &net)| (net, (place, output))));
        }
        let inputs = |register: &super::Register| {
            let reset = register.reset.map(|(net, _)| net);
            [Some(register.d), register.enable, reset, register.gate]
        };
        let captured = design.registers.iter().flat_map(inputs).flatten().collect();
        let mut ports: HashMap<u32, Vec<usize>> = HashMap::new();
        for (place, port) in design.ports.iter().enumerate() {
            port.nets.iter().for_each(|&net| ports.entry(net).or_default().push(place));
        }
        Walk { design, readers, drivers, captured, ports, sources: HashMap::new() }
    }

    /// The paths at the port of this place.
    fn boundary(&mut self, port: usize) -> Boundary {
        let mut found = Found::default();
        let design = self.design;
        for &net in &design.ports[port].nets {
            match design.ports[port].output {
                true => self.back(net, &mut found),
                false => _ = self.forth(net, &mut found),
            }
        }
        let mut logic = Vec::new();
        for leaf in found.leaves {
            let name = design.leaves[leaf].leaf.tag().name;
            if !logic.contains(&name) {
                logic.push(name);
            }
        }
        let ports = found.ports.into_iter().map(|port| design.ports[port].name.clone()).collect();
        Boundary { logic, ports }
    }

    fn sources(&mut self, leaf: usize) -> Rc<[Vec<Source>]> {
        let instance = &self.design.leaves[leaf];
        let place = Arc::as_ptr(&instance.leaf).cast::<()>();
        self.sources.entry(place).or_insert_with(|| sources(&*instance.leaf).into()).clone()
    }

    /// The outputs, or the inputs, that a net is connected to.
    fn ports_at(&self, net: u32, output: bool) -> Vec<usize> {
        let ports = self.ports.get(&net).into_iter().flatten().copied();
        ports.filter(|&port| self.design.ports[port].output == output).collect()
    }

    /// Towards the registers that a net leads to. Returns whether there is one, or an output.
    fn forth(&mut self, net: u32, found: &mut Found) -> bool {
        if let Some(&leads) = found.nets.get(&net) {
            return leads;
        }
        let outputs = self.ports_at(net, true);
        let mut leads = self.captured.contains(&net) || !outputs.is_empty();
        found.ports.extend(outputs);
        for leaf in self.readers.get(&net).cloned().unwrap_or_default() {
            let Instance { inputs, outputs, .. } = &self.design.leaves[leaf];
            let reached: Vec<(u32, bool)> = (self.sources(leaf).iter().zip(outputs))
                .filter_map(|(sources, &output)| {
                    let mut of_net = sources.iter().filter(|source| inputs[source.input] == net).peekable();
                    of_net.peek()?;
                    Some((output, of_net.any(|source| source.logic)))
                })
                .collect();
            for (output, logic) in reached {
                let onward = self.forth(output, found);
                if onward && logic {
                    found.leaves.insert(leaf);
                }
                leads |= onward;
            }
        }
        found.nets.insert(net, leads);
        leads
    }

    /// Towards the registers from which a net comes.
    fn back(&mut self, net: u32, found: &mut Found) {
        if found.nets.insert(net, true).is_some() {
            return;
        }
        found.ports.extend(self.ports_at(net, false));
        let Some(&(leaf, output)) = self.drivers.get(&net) else { return };
        let sources = self.sources(leaf)[output].clone();
        if sources.iter().any(|source| source.logic) {
            found.leaves.insert(leaf);
        }
        for source in sources {
            self.back(self.design.leaves[leaf].inputs[source.input], found);
        }
    }
}

//! A design as kinds of functions between nets, with what is the same told once.
//!
//! Leaves of one name and one shape are one kind, whose steps are recorded once. Registers that take the same under the same controls
//! hold the same, and leaves of one kind with the same inputs put out the same: the copies that a design keeps for the sake of
//! fan-out cost nothing here. Every net remains; those that carry the same share a representative.

use crate::code::{Builder, append, simplified};
use flashd_hwmodel::netlist::{Operands, Operator, Steps};
use flashd_hwmodel::rtl::{Design, Register};
use rustc_hash::FxHashMap;

/// A function that instances compute.
#[derive(Clone)]
pub(crate) struct Kind {
    /// Inputs by their places in an instance.
    pub(crate) steps: Steps,
    /// While the first input is low, the outputs do not depend on the second.
    pub(crate) rest: Option<(usize, usize)>,
}

/// A function between nets.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Instance {
    pub(crate) kind: usize,
    /// Of what was cut out of a leaf, which leaf.
    pub(crate) of: Option<usize>,
    pub(crate) inputs: Vec<u32>,
    pub(crate) outputs: Vec<u32>,
}

/// A design between nets that represent others.
pub(crate) struct Network {
    pub(crate) kinds: Vec<Kind>,
    pub(crate) instances: Vec<Instance>,
    pub(crate) registers: Vec<Register>,
    /// Width of each net: those of the design, and then some of our own.
    pub(crate) widths: Vec<u32>,
    /// Of each net of the design, the one that has its value.
    pub(crate) same: Vec<u32>,
}

/// What makes two leaves one kind: the name, and the widths of the pins.
type Shape = (String, Vec<u32>, Vec<u32>);

/// A recorded function, before it is made simpler.
pub(crate) type Recorded<'a> = &'a dyn Fn(usize, Steps) -> Steps;

impl Network {
    /// The network of a design. `changed` sees the steps of each kind as they were recorded.
    pub(crate) fn of(design: &Design, changed: Recorded<'_>) -> Network {
        let mut kinds: Vec<Kind> = Vec::new();
        let mut shapes: FxHashMap<Shape, usize> = FxHashMap::default();
        let mut instances = Vec::new();
        for instance in &design.leaves {
            let widths = |nets: &[u32]| nets.iter().map(|&net| design.widths[net as usize]).collect();
            let shape = (instance.leaf.tag().name, widths(&instance.inputs), widths(&instance.outputs));
            let steps = || Steps::of(&instance.leaf.inputs(), &instance.leaf.netlist());
            let kind = *shapes.entry(shape).or_insert_with(|| {
                let steps = changed(kinds.len(), steps());
                kinds.push(Kind { steps: simplified(&steps), rest: instance.leaf.at_rest() });
                kinds.len() - 1
            });
            instances.push(Instance {
                kind,
                of: None,
                inputs: instance.inputs.clone(),
                outputs: instance.outputs.clone(),
            });
        }
        let same = (0..design.widths.len() as u32).collect();
        let registers = design.registers.clone();
        let mut network = Network { kinds, instances, registers, widths: design.widths.clone(), same };
        network.merge();
        network.cut_elements();
        network
    }

    /// Finds what carries the same, until nothing more is found.
    fn merge(&mut self) {
        loop {
            let Network { instances, registers, same, .. } = self;
            let before = instances.len() + registers.len();
            let mut first: FxHashMap<(usize, Vec<u32>), Vec<u32>> = FxHashMap::default();
            instances.retain_mut(|instance| {
                instance.inputs.iter_mut().for_each(|net| *net = same[*net as usize]);
                match first.entry((instance.kind, instance.inputs.clone())) {
                    std::collections::hash_map::Entry::Vacant(entry) => {
                        entry.insert(instance.outputs.clone());
                        true
                    }
                    std::collections::hash_map::Entry::Occupied(entry) => {
                        (instance.outputs.iter().zip(entry.get()))
                            .for_each(|(&net, &other)| same[net as usize] = other);
                        false
                    }
                }
            });
            let mut first: FxHashMap<Register, u32> = FxHashMap::default();
            registers.retain_mut(|register| {
                let now = |net: u32| same[net as usize];
                register.d = now(register.d);
                register.enable = register.enable.map(now);
                register.gate = register.gate.map(now);
                register.reset = register.reset.map(|(net, value)| (now(net), value));
                let held = *first.entry(Register { q: 0, ..*register }).or_insert(register.q);
                same[register.q as usize] = held;
                held == register.q
            });
            // A net may be represented by one that is itself represented now.
            for net in 0..same.len() {
                let mut to = same[net];
                while same[to as usize] != to {
                    to = same[to as usize];
                }
                same[net] = to;
            }
            if instances.len() + registers.len() == before {
                return;
            }
        }
    }

    /// Takes out of functions of whole vectors what they do to each element alone: one function of a word, with many instances.
    fn cut_elements(&mut self) {
        let mut kinds: FxHashMap<Steps, usize> = FxHashMap::default();
        let cuts: Vec<Option<Cut>> = (0..self.kinds.len()).map(|kind| self.cut(kind, &mut kinds)).collect();
        let mut added = Vec::new();
        for at in 0..self.instances.len() {
            let Some(Cut { rest, elements }) = &cuts[self.instances[at].kind] else { continue };
            let mut inputs = self.instances[at].inputs.clone();
            for &(place, element) in elements {
                let net = self.widths.len() as u32;
                let steps = &self.kinds[element].steps;
                self.widths.push(steps.steps[steps.outputs[0] as usize].width);
                let read = self.instances[at].inputs[place as usize];
                added.push(Instance { kind: element, of: Some(at), inputs: vec![read], outputs: vec![net] });
                inputs.push(net);
            }
            let instance = &mut self.instances[at];
            (instance.kind, instance.inputs) = (*rest, inputs);
        }
        self.instances.extend(added);
    }

    /// Of a kind, what is left when functions of one input are taken out of it, and these functions with their inputs; their results
    /// are inputs behind the others.
    fn cut(&mut self, kind: usize, kinds: &mut FxHashMap<Steps, usize>) -> Option<Cut> {
        let steps = self.kinds[kind].steps.clone();
        let places = steps.steps.iter().filter(|step| matches!(step.operator, Operator::Input(_))).count();
        if places < MANY {
            return None;
        }
        // Of each step the one input that it depends on: none yet, one, or several.
        let mut on: Vec<Option<Result<u32, ()>>> = Vec::new();
        for step in &steps.steps {
            let of_operands = step.operands.iter().filter_map(|&operand| on[operand as usize]);
            on.push(match step.operator {
                Operator::Input(place) => Some(Ok(place)),
                _ => of_operands.reduce(|a, b| if a == b { a } else { Err(()) }),
            });
        }
        let single = |step: u32| match (&steps.steps[step as usize].operator, on[step as usize]) {
            (Operator::Input(_), _) => None,
            (_, Some(Ok(place))) => Some(place),
            _ => None,
        };
        let outputs = steps.outputs.iter().copied();
        let several = steps.steps.iter().zip(&on).filter(|(_, on)| **on == Some(Err(())));
        let mut roots: Vec<u32> =
            several.flat_map(|(step, _)| step.operands.iter().copied()).chain(outputs).collect();
        roots.retain(|&step| single(step).is_some());
        roots.sort_unstable();
        roots.dedup();
        if roots.len() < MANY {
            return None;
        }
        let mut elements = Vec::new();
        for &root in &roots {
            let mut builder = Builder::default();
            let cone = Steps { steps: steps.steps[..=root as usize].to_vec(), outputs: vec![root] };
            let cone = only_read(&cone);
            let outputs = append(&mut builder, &cone, |builder, _, width| builder.input(0, width));
            let cone = builder.finish(outputs);
            let next = self.kinds.len();
            let found = *kinds.entry(cone.clone()).or_insert(next);
            if found == next {
                self.kinds.push(Kind { steps: cone, rest: None });
            }
            elements.push((single(root).unwrap_or_default(), found));
        }
        let inputs = steps.steps.iter().filter_map(|step| match step.operator {
            Operator::Input(place) => Some(place + 1),
            _ => None,
        });
        let all = self.instances.iter().find(|instance| instance.kind == kind);
        let behind = all.map_or(inputs.max().unwrap_or(0), |instance| instance.inputs.len() as u32);
        let mut rest = steps.clone();
        for (&root, place) in roots.iter().zip(behind..) {
            let step = &mut rest.steps[root as usize];
            (step.operator, step.operands) = (Operator::Input(place), Operands::new());
        }
        let rest = simplified(&only_read(&rest));
        self.kinds.push(Kind { steps: rest, rest: None });
        Some(Cut { rest: self.kinds.len() - 1, elements })
    }
}

/// A kind in two parts.
struct Cut {
    /// The kind that is left.
    rest: usize,
    /// The inputs that are looked at alone, and the kind that does.
    elements: Vec<(u32, usize)>,
}

/// Inputs from which on a function is looked at for what it does to each.
const MANY: usize = 8;

/// The steps with only the inputs that are read, by new places; and the old ones in that order.
pub(crate) fn packed(steps: &Steps) -> (Steps, Vec<u32>) {
    let steps = only_read(steps);
    let places = inputs_read(&steps);
    let mut builder = Builder::default();
    let outputs = append(&mut builder, &steps, |builder, place, width| {
        builder.input(places.partition_point(|&other| other < place) as u32, width)
    });
    (builder.finish(outputs), places)
}

/// The steps without those that nothing reads, in an order that only depends on what the outputs are made of.
fn only_read(steps: &Steps) -> Steps {
    let mut builder = Builder::default();
    let mut now: Vec<Option<u32>> = vec![None; steps.steps.len()];
    let mut open: Vec<u32> = steps.outputs.iter().rev().copied().collect();
    while let Some(&i) = open.last() {
        let step = &steps.steps[i as usize];
        let missing = step.operands.iter().rev().filter(|&&operand| now[operand as usize].is_none());
        let before = open.len();
        open.extend(missing);
        if open.len() == before {
            let operands: Operands =
                step.operands.iter().filter_map(|&operand| now[operand as usize]).collect();
            now[i as usize] = Some(builder.push(step.operator.clone(), &operands, step.width));
            open.pop();
        }
    }
    builder.finish(steps.outputs.iter().filter_map(|&output| now[output as usize]).collect())
}

/// The places of the inputs that steps read, each once.
pub(crate) fn inputs_read(steps: &Steps) -> Vec<u32> {
    let mut places: Vec<u32> = (steps.steps.iter())
        .filter_map(|step| match step.operator {
            Operator::Input(place) => Some(place),
            _ => None,
        })
        .collect();
    places.sort_unstable();
    places.dedup();
    places
}

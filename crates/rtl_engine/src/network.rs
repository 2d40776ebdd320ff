//! The logic network: a design as functions between nets.
//!
//! Leaves of one name and one shape are one kind, whose steps are recorded once. Common-subexpression elimination merges leaves of one kind
//! with equal inputs, and registers with equal D inputs and controls: the copies that a design has for its fan-out cost nothing here. Every
//! net remains readable; nets of equal value share a representative.

use crate::simplify::{Builder, append, simplified};
use flashd_hwmodel::netlist::{Operands, Operator, Steps};
use flashd_hwmodel::rtl::{Design, Register};
use rustc_hash::FxHashMap;

/// A function that instances compute.
#[derive(Clone)]
pub(crate) struct FunctionKind {
    /// Inputs by their places in an instance.
    pub(crate) steps: Steps,
    /// While the first input is low, the outputs do not depend on the second.
    pub(crate) gating: Option<(usize, usize)>,
}

/// A function between nets.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct FunctionInstance {
    pub(crate) kind: usize,
    /// The leaf that an elementwise function was extracted from.
    pub(crate) of: Option<usize>,
    pub(crate) inputs: Vec<u32>,
    pub(crate) outputs: Vec<u32>,
}

/// A design between representative nets.
pub(crate) struct Network {
    pub(crate) kinds: Vec<FunctionKind>,
    pub(crate) instances: Vec<FunctionInstance>,
    pub(crate) registers: Vec<Register>,
    /// Width of each net: nets of the design first, then internal ones.
    pub(crate) widths: Vec<u32>,
    /// The net that has the value of each net of the design.
    pub(crate) representative: Vec<u32>,
}

/// Two leaves of one shape are one kind: the name, and the widths of the pins.
type Shape = (String, Vec<u32>, Vec<u32>);

/// Changes a recorded function before it is simplified.
pub(crate) type Recorded<'a> = &'a dyn Fn(usize, Steps) -> Steps;

impl Network {
    /// The network of a design, with simplified leaves. `changed` gets the steps of each kind as they were recorded.
    pub(crate) fn simplified(design: &Design, changed: Recorded<'_>) -> Network {
        let mut kinds: Vec<FunctionKind> = Vec::new();
        let mut shapes: FxHashMap<Shape, usize> = FxHashMap::default();
        let mut instances = Vec::new();
        for instance in &design.leaves {
            let widths = |nets: &[u32]| nets.iter().map(|&net| design.widths[net as usize]).collect();
            let shape = (instance.leaf.tag().name, widths(&instance.inputs), widths(&instance.outputs));
            let steps = || Steps::of(&instance.leaf.inputs(), &instance.leaf.netlist());
            let kind = *shapes.entry(shape).or_insert_with(|| {
                let steps = changed(kinds.len(), steps());
                kinds.push(FunctionKind { steps: simplified(&steps), gating: instance.leaf.at_rest() });
                kinds.len() - 1
            });
            instances.push(FunctionInstance {
                kind,
                of: None,
                inputs: instance.inputs.clone(),
                outputs: instance.outputs.clone(),
            });
        }
        let representative = (0..design.widths.len() as u32).collect();
        let registers = design.registers.clone();
        Network { kinds, instances, registers, widths: design.widths.clone(), representative }
    }

    /// Merges equal instances and registers until there are none.
    pub(crate) fn eliminate_common_subexpressions(&mut self) {
        loop {
            let Network { instances, registers, representative: same, .. } = self;
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
            // Path compression: a representative may have a new representative.
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

    /// Scalarises functions of many inputs: their functions of single inputs become kinds with many instances.
    pub(crate) fn extract_elements(&mut self) {
        let mut kinds: FxHashMap<Steps, usize> = FxHashMap::default();
        let extracted: Vec<Option<Extracted>> =
            (0..self.kinds.len()).map(|kind| self.extract(kind, &mut kinds)).collect();
        let mut added = Vec::new();
        for at in 0..self.instances.len() {
            let Some(Extracted { rest, elements }) = &extracted[self.instances[at].kind] else { continue };
            let mut inputs = self.instances[at].inputs.clone();
            for &(place, element) in elements {
                let net = self.widths.len() as u32;
                let steps = &self.kinds[element].steps;
                self.widths.push(steps.steps[steps.outputs[0] as usize].width);
                let read = self.instances[at].inputs[place as usize];
                added.push(FunctionInstance {
                    kind: element,
                    of: Some(at),
                    inputs: vec![read],
                    outputs: vec![net],
                });
                inputs.push(net);
            }
            let instance = &mut self.instances[at];
            (instance.kind, instance.inputs) = (*rest, inputs);
        }
        self.instances.extend(added);
    }

    /// Extracts the functions of single inputs from a kind. Their results are further inputs, after the others.
    fn extract(&mut self, kind: usize, kinds: &mut FxHashMap<Steps, usize>) -> Option<Extracted> {
        let steps = self.kinds[kind].steps.clone();
        let places = steps.steps.iter().filter(|step| matches!(step.operator, Operator::Input(_))).count();
        if places < MANY {
            return None;
        }
        // The inputs in the cone of each step: none, one, or several.
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
            let cone = eliminate_dead(&cone);
            let outputs = append(&mut builder, &cone, |builder, _, width| builder.input(0, width));
            let cone = builder.finish(outputs);
            let next = self.kinds.len();
            let found = *kinds.entry(cone.clone()).or_insert(next);
            if found == next {
                self.kinds.push(FunctionKind { steps: cone, gating: None });
            }
            elements.push((single(root).unwrap_or_default(), found));
        }
        let inputs = steps.steps.iter().filter_map(|step| match step.operator {
            Operator::Input(place) => Some(place + 1),
            _ => None,
        });
        let all = self.instances.iter().find(|instance| instance.kind == kind);
        let first = all.map_or(inputs.max().unwrap_or(0), |instance| instance.inputs.len() as u32);
        let mut rest = steps.clone();
        for (&root, place) in roots.iter().zip(first..) {
            let step = &mut rest.steps[root as usize];
            (step.operator, step.operands) = (Operator::Input(place), Operands::new());
        }
        let rest = simplified(&eliminate_dead(&rest));
        self.kinds.push(FunctionKind { steps: rest, gating: None });
        Some(Extracted { rest: self.kinds.len() - 1, elements })
    }
}

/// A kind in two parts.
struct Extracted {
    /// The kind that remains.
    rest: usize,
    /// Inputs, and the kind of the function of each.
    elements: Vec<(u32, usize)>,
}

/// The fewest inputs of a function that is scalarised.
const MANY: usize = 8;

/// The steps without unused inputs, and the old places of the others.
pub(crate) fn compact(steps: &Steps) -> (Steps, Vec<u32>) {
    let steps = eliminate_dead(steps);
    let places = inputs_read(&steps);
    let mut builder = Builder::default();
    let outputs = append(&mut builder, &steps, |builder, place, width| {
        builder.input(places.partition_point(|&other| other < place) as u32, width)
    });
    (builder.finish(outputs), places)
}

/// Dead-code elimination. The order of the remaining steps is canonical: a depth-first walk from the outputs.
fn eliminate_dead(steps: &Steps) -> Steps {
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

/// The places of the inputs in use, each once.
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

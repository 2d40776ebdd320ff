//! Leaves with registers inside: a module of the operations of each cycle, and registers between them.

use super::chains::{Chains, Names};
use super::graph::{LeafClass, NONE};
use crate::netlist::{Body, Net, Operator, Step, Steps};
use crate::rtl::leaf::{Leaf, Pins, body};
use crate::rtl::structure::{Kind, Port, Structure};
use crate::rtl::{Name, Tag};
use crate::word::{Num, Word};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The operations of one cycle of a leaf.
struct StageLeaf {
    tag: Tag,
    inputs: Vec<Pins>,
    outputs: Vec<Pins>,
    steps: Steps,
    /// The names of the steps' wires.
    names: Vec<Option<String>>,
}

impl StageLeaf {
    fn label<W: Word>(&self, place: usize, word: W) -> W {
        match &self.names[place] {
            Some(name) => word.named(name),
            None => word,
        }
    }
}

impl Leaf for StageLeaf {
    fn tag(&self) -> Tag {
        self.tag.clone()
    }

    fn inputs(&self) -> Vec<Pins> {
        self.inputs.clone()
    }

    fn outputs(&self) -> Vec<Pins> {
        self.outputs.clone()
    }

    fn eval(&self, inputs: &[u64], outputs: &mut [u64]) {
        let pins = self.inputs.iter().flat_map(|pins| vec![pins.width; pins.count()]);
        let words: Vec<Num> = pins.zip(inputs).map(|(width, &value)| Num::new(width, value)).collect();
        let results = self.steps.eval(&words, |_, word| word);
        outputs.iter_mut().zip(results).for_each(|(output, word)| *output = word.value());
    }

    fn verilog(&self) -> Body {
        let names: Vec<&str> = self.inputs.iter().map(|pins| pins.name).collect();
        let texts = self.outputs.iter().map(|pins| pins.name.to_string()).collect();
        body(&names, texts, self.netlist())
    }

    fn netlist(&self) -> Vec<Net> {
        let words: Vec<Net> =
            self.inputs.iter().flat_map(|pins| (0..pins.count()).map(|i| pins.net(i))).collect();
        self.steps.eval(&words, |place, net| self.label(place, net))
    }
}

/// A value in a leaf: a word of its inputs, or the result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum At {
    Input(u32),
    Step(u32),
}

/// A leaf and the cycles of its operations.
struct Staged<'a> {
    class: &'a LeafClass,
    labels: &'a [i32],
    /// By word of the inputs: its pins, and its place in a vector.
    words: Vec<(Pins, Option<usize>, i32)>,
}

impl Staged<'_> {
    fn at(&self, step: u32) -> At {
        match self.class.steps.steps[step as usize].operator {
            Operator::Input(word) => At::Input(word),
            _ => At::Step(step),
        }
    }

    fn label(&self, at: At) -> i32 {
        match at {
            At::Input(word) => self.words[word as usize].2,
            At::Step(step) => self.labels[self.class.nodes[step as usize]],
        }
    }

    fn is_constant(&self, step: u32) -> bool {
        self.class.nodes[step as usize] == NONE
    }

    fn name(&self, at: At) -> Name {
        match at {
            At::Input(word) => match &self.words[word as usize] {
                (pins, Some(index), _) => (pins.name, *index).into(),
                (pins, None, _) => pins.name.into(),
            },
            At::Step(step) => match &self.class.names[step as usize] {
                Some(name) => format!("{name}_{step}").into(),
                None => format!("t_{step}").into(),
            },
        }
    }

    fn known(&self, at: At) -> Option<u64> {
        let step = match at {
            At::Step(step) => step,
            At::Input(word) => {
                let is = |step: &Step| step.operator == Operator::Input(word);
                self.class.steps.steps.iter().position(is)? as u32
            }
        };
        self.class.known[step as usize].all()
    }

    fn width(&self, at: At) -> u32 {
        match at {
            At::Input(word) => self.words[word as usize].0.width,
            At::Step(step) => self.class.steps.steps[step as usize].width,
        }
    }
}

/// A leaf with the registers that labels of its nodes ask for: itself, if there are none.
pub(super) fn staged(class: &LeafClass, labels: &[i32], factor: u32, names: &mut Names) -> Kind {
    let pins = class.inputs.iter().chain(&class.outputs);
    let nodes = class.nodes.iter().filter(|&&node| node != NONE).chain(pins);
    let of_nodes: Vec<i32> = nodes.map(|&node| labels[node]).collect();
    let first = of_nodes.iter().copied().min().unwrap_or(0);
    let constant = class.steps.outputs.iter().all(|&output| class.nodes[output as usize] == NONE);
    if constant || of_nodes.iter().all(|&label| label == first) {
        return Kind::Leaf(class.leaf.clone());
    }
    let known: Vec<Option<u64>> = class.known.iter().map(|known| known.all()).collect();
    let relative: Vec<i32> = of_nodes.iter().map(|label| label - first).collect();
    let tag = class.leaf.tag();
    let key = format!("{:?} {relative:?} {known:?}", Arc::as_ptr(&class.leaf).cast::<()>());
    let base = format!("{}_i{factor}", tag.name);
    Kind::Module(names.module(&base, key, |name, names| {
        let words = class.leaf.inputs().into_iter().zip(&class.inputs).flat_map(|(pins, &node)| {
            let vector = pins.elements.is_some();
            (0..pins.count()).map(move |i| (pins, vector.then_some(i), node))
        });
        let words = words.map(|(pins, index, node)| (pins, index, labels[node])).collect();
        let reads = |word: u32| class.steps.steps.iter().any(|step| step.operator == Operator::Input(word));
        let tag = Tag { name, ..tag };
        let tag = if (0..class.words()).all(reads) { tag } else { tag.open() };
        build(&Staged { class, labels, words }, tag, names)
    }))
}

fn build(staged: &Staged, tag: Tag, names: &mut Names) -> Structure {
    let class = staged.class;
    let mut chains = Chains::new();
    let mut ports: Vec<Port> = Vec::new();
    let mut slots: HashMap<At, u32> = HashMap::new();
    let mut word = 0;
    for pins in class.leaf.inputs() {
        let words: Vec<u32> = (0..pins.count()).map(|_| chains.slot(pins.width)).collect();
        for &slot in &words {
            slots.insert(At::Input(word), slot);
            word += 1;
        }
        ports.push(port(&pins, false, words));
    }
    // By cycle: its operations, in order.
    let mut stages: BTreeMap<i32, Vec<u32>> = BTreeMap::new();
    for (place, step) in (0..).zip(&class.steps.steps) {
        if !matches!(step.operator, Operator::Input(_) | Operator::Constant(_)) {
            stages.entry(staged.label(At::Step(place))).or_default().push(place);
        }
    }
    let to: Vec<(Pins, i32)> = (class.leaf.outputs().into_iter().zip(&class.outputs))
        .flat_map(|(pins, &node)| vec![(pins, staged.labels[node]); pins.count()])
        .collect();
    // A constant output belongs to the cycle of its pins.
    for (&output, &(_, label)) in class.steps.outputs.iter().zip(&to) {
        if staged.is_constant(output) {
            stages.entry(label).or_default().push(output);
        }
    }
    let read_later = |place: u32, label: i32| {
        let by_step = class.steps.steps.iter().enumerate().any(|(reader, step)| {
            step.operands.contains(&place) && staged.labels[class.nodes[reader]] > label
        });
        by_step || class.steps.outputs.contains(&place)
    };
    for (&label, places) in &stages {
        let outputs: Vec<u32> = places.iter().copied().filter(|&place| read_later(place, label)).collect();
        let (leaf, reads) = stage(staged, label, places, &outputs, &tag.name, names);
        let inputs: Vec<u32> = (reads.iter())
            .map(|&at| {
                let delay = label - staged.label(at);
                chains.after(slots[&at], delay, staged.name(at), staged.known(at), staged.width(at))
            })
            .collect();
        let made: Vec<u32> =
            outputs.iter().map(|&place| chains.slot(staged.width(At::Step(place)))).collect();
        outputs.iter().zip(&made).for_each(|(&place, &slot)| _ = slots.insert(At::Step(place), slot));
        chains.part(
            format!("cycle_{}", label - stages.keys().next().copied().unwrap_or(0)).into(),
            Kind::Leaf(leaf),
            inputs,
            made,
        );
    }
    let mut outputs = class.steps.outputs.iter().zip(&to);
    for pins in class.leaf.outputs() {
        let words = outputs.by_ref().take(pins.count()).map(|(&output, &(_, label))| {
            let at = staged.at(output);
            let delay = if staged.is_constant(output) { 0 } else { label - staged.label(at) };
            chains.after(slots[&at], delay, staged.name(at), staged.known(at), staged.width(at))
        });
        let words = words.collect();
        ports.push(port(&pins, true, words));
    }
    chains.structure(tag, ports)
}

fn port(pins: &Pins, output: bool, slots: Vec<u32>) -> Port {
    Port { name: pins.name.into(), vector: pins.elements.is_some(), output, width: pins.width, slots }
}

/// The leaf of a cycle, with outputs for these steps, and the values that it reads.
fn stage(
    staged: &Staged,
    label: i32,
    places: &[u32],
    outputs: &[u32],
    module: &str,
    names: &mut Names,
) -> (Arc<dyn Leaf>, Vec<At>) {
    let class = staged.class;
    let mut reads: Vec<At> = Vec::new();
    let mut steps = Steps::default();
    let mut labels: Vec<Option<String>> = Vec::new();
    let mut known: HashMap<At, u32> = HashMap::new();
    let mut add = |steps: &mut Steps, step: Step, name: Option<String>| {
        steps.steps.push(step);
        labels.push(name);
        steps.steps.len() as u32 - 1
    };
    let own: std::collections::HashSet<u32> = places.iter().copied().collect();
    for &place in places {
        let step = &class.steps.steps[place as usize];
        let mut operands = crate::netlist::Operands::new();
        for &operand in &step.operands {
            let at = staged.at(operand);
            let found = known.get(&at).copied().unwrap_or_else(|| {
                let of = &class.steps.steps[operand as usize];
                let new = match of.operator {
                    Operator::Constant(_) => add(&mut steps, of.clone(), None),
                    _ => {
                        debug_assert!(!own.contains(&operand), "steps are in order");
                        reads.push(at);
                        let operator = Operator::Input(reads.len() as u32 - 1);
                        let width = staged.width(at);
                        add(&mut steps, Step { operator, operands: Default::default(), width }, None)
                    }
                };
                known.insert(at, new);
                new
            });
            operands.push(found);
        }
        let new = Step { operator: step.operator.clone(), operands, width: step.width };
        let name = class.names[place as usize].clone().filter(|_| !outputs.contains(&place));
        let new = add(&mut steps, new, name);
        known.insert(At::Step(place), new);
    }
    steps.outputs = outputs.iter().map(|&place| known[&At::Step(place)]).collect();
    let text = |name: Name| name.text();
    let inputs = reads.iter().map(|&at| {
        let late = label - staged.label(at);
        let name = if late > 0 { format!("{}_{late}", text(staged.name(at))) } else { text(staged.name(at)) };
        Pins::word(names.intern(&name), staged.width(at))
    });
    let inputs = inputs.collect();
    let to = outputs.iter().map(|&place| {
        let at = At::Step(place);
        Pins::word(names.intern(&text(staged.name(at))), staged.width(at))
    });
    let to = to.collect();
    let first = class.nodes.iter().filter(|&&node| node != NONE).map(|&node| staged.labels[node]).min();
    let cycle = label - first.unwrap_or(label).min(label);
    let doc = format!("{} Cycle {cycle}.", class.leaf.tag().doc);
    let tag = Tag::module(format!("{module}_cycle_{cycle}"), doc);
    (Arc::new(StageLeaf { tag, inputs, outputs: to, steps, names: labels }), reads)
}

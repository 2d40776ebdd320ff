//! Jobs: steps that are done for some elements at once, and the order of them.

use crate::code::{Builder, append};
use crate::memory::words;
use flashd_hwmodel::netlist::{Operands, Operator, Step, Steps};
use rustc_hash::FxHashSet;

/// Where an input of a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// One word for all elements.
    Shared(u32),
    /// Words of the elements one after another.
    Each(u32),
}

/// Steps that are done for some elements at once.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// What is done. Inputs are numbered by their places in `sources`.
    pub(crate) steps: Steps,
    pub(crate) sources: Vec<Source>,
    /// Where the outputs of the first element go; those of the others follow.
    pub(crate) outputs: Vec<u32>,
    pub(crate) elements: u32,
    /// The job may be left out.
    pub(crate) rest: Option<Rest>,
    /// Flags of [events](crate::events): unless one is high, nothing that is read has moved. Without any, something may have.
    pub(crate) when: Vec<u32>,
}

/// With the gate low, outputs only depend on these words.
#[derive(Clone, Debug)]
pub(crate) struct Rest {
    pub(crate) gate: u32,
    pub(crate) others: Vec<Kept>,
    /// Flags of [events](crate::events) of what else they depend on: it stays unless one is high.
    pub(crate) moved: Vec<u32>,
    /// Whether what they were is kept.
    pub(crate) seen: u32,
}

/// Words one after another, and where it is kept what they were.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) from: u32,
    pub(crate) count: u32,
    pub(crate) seen: u32,
    /// As many for each element; otherwise they are the same for all.
    pub(crate) each: bool,
}

/// What is done in a cycle, one after another.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// Words that go elsewhere, so that a job finds them beside each other: from, to.
    Copy(Vec<(u32, u32)>),
    Run(Job),
}

/// The tasks in an order in which those that depend on inputs come last. Inputs are driven word by word, just before: a vector that
/// is read from them has to wait until all of its words have arrived in the cache.
pub(crate) fn inputs_last(tasks: Vec<Task>, mut moved: FxHashSet<u32>) -> Vec<Task> {
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for task in tasks {
        let to = match &task {
            Task::Copy(list) if list.iter().any(|(from, _)| moved.contains(from)) => {
                list.iter().map(|&(_, to)| to).collect()
            }
            Task::Run(job) if job.reads(&moved) => job.written(),
            _ => Vec::new(),
        };
        if to.is_empty() {
            first.push(task)
        } else {
            last.push(task)
        }
        moved.extend(to);
    }
    first.append(&mut last);
    first
}

impl Job {
    /// The width of an input.
    fn width(&self, place: usize) -> u32 {
        let is_it = |step: &&Step| matches!(step.operator, Operator::Input(i) if i as usize == place);
        self.steps.steps.iter().find(is_it).map_or(1, |step| step.width)
    }

    /// The first words of an input of all elements.
    pub(crate) fn read(&self, place: usize) -> impl Iterator<Item = u32> + use<> {
        let (at, step, count) = match self.sources[place] {
            Source::Shared(at) => (at, 0, 1),
            Source::Each(at) => (at, words(self.width(place)), self.elements),
        };
        (0..count).map(move |i| at + i * step)
    }

    /// Whether one of these words is read.
    fn reads(&self, moved: &FxHashSet<u32>) -> bool {
        (0..self.sources.len()).any(|place| self.read(place).any(|word| moved.contains(&word)))
    }

    /// Joins the bits of so many elements: of each part of them one, as they lie beside each other.
    pub(crate) fn join(&mut self, operator: &Operator, parts: u32) {
        let (inputs, count) = (self.sources.len() as u32, self.elements / parts);
        let widths: Vec<u32> = (0..self.sources.len()).map(|place| self.width(place)).collect();
        let (mut builder, mut sources) = (Builder::default(), Vec::new());
        let mut result = None;
        for part in 0..parts {
            sources.extend(self.sources.iter().zip(&widths).map(|(source, &width)| match *source {
                Source::Shared(at) => Source::Shared(at),
                Source::Each(at) => Source::Each(at + part * count * words(width)),
            }));
            let outputs = append(&mut builder, &self.steps, |builder, place, width| {
                builder.input(part * inputs + place, width)
            });
            result = Some(match result {
                Some(before) => builder.push(operator.clone(), &[before, outputs[0]], 1),
                None => outputs[0],
            });
        }
        (self.steps, self.sources, self.elements) =
            (builder.finish(result.into_iter().collect()), sources, count);
    }

    /// All words that are written.
    pub(crate) fn written(&self) -> Vec<u32> {
        let outputs = self.steps.outputs.iter().zip(&self.outputs);
        let all = outputs.flat_map(|(&output, &at)| {
            (0..self.elements * words(self.steps.steps[output as usize].width)).map(move |word| at + word)
        });
        all.collect()
    }
}

/// Bits that are worth a vector.
pub(crate) const BESIDE: u32 = 8;

/// The operator that a function of many bits consists of, if it is one in which their order means nothing.
pub(crate) fn reduction(steps: &Steps) -> Option<Operator> {
    let is_input = |step: &&Step| matches!(step.operator, Operator::Input(_));
    let operator = &steps.steps.iter().find(|step| !is_input(step))?.operator;
    let one = |step: &Step| step.width == 1 && (is_input(&step) || step.operator == *operator);
    let inputs = steps.steps.iter().filter(is_input).count();
    // As many operations as join all inputs: none of them is read twice.
    let joins = steps.steps.len() + 1 == 2 * inputs && steps.outputs.len() == 1;
    let free = matches!(operator, Operator::And | Operator::Or | Operator::Xor);
    (free && joins && inputs > BESIDE as usize && steps.steps.iter().all(one)).then(|| operator.clone())
}

/// The steps that join so many bits, pairs first.
pub(crate) fn of_bits(operator: &Operator, count: u32) -> Steps {
    let bit = |place| Step { operator: Operator::Input(place), operands: Operands::new(), width: 1 };
    let mut steps: Vec<Step> = (0..count).map(bit).collect();
    for i in 0..count - 1 {
        steps.push(Step {
            operator: operator.clone(),
            operands: Operands::from_slice(&[2 * i, 2 * i + 1]),
            width: 1,
        });
    }
    Steps { outputs: vec![steps.len() as u32 - 1], steps }
}

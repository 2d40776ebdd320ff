//! Jobs: vector operations over elements, and their schedule.

use crate::memory::words;
use crate::simplify::{Builder, append};
use flashd_hwmodel::netlist::{Operands, Operator, Step, Steps};
use rustc_hash::FxHashSet;

/// [Event flags](crate::events): words of memory, ascending, and the bits that count.
pub(crate) type EventMask = Vec<(u32, u32)>;

/// Where an input of a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobInput {
    /// One word for all elements.
    Broadcast(u32),
    /// Words of the elements one after another.
    Vector(u32),
}

/// Steps that are executed for some elements at once.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// Inputs are numbered by their places in `sources`.
    pub(crate) steps: Steps,
    pub(crate) sources: Vec<JobInput>,
    /// The words of the first element's outputs; the other elements follow.
    pub(crate) outputs: Vec<u32>,
    pub(crate) elements: u32,
    pub(crate) gating: Option<IdleGating>,
    /// The event mask: the job is skipped while all of these [flags](crate::events) are low. Without flags it runs in every cycle.
    pub(crate) events: EventMask,
}

/// Idle gating: with the gate low, or without a gate, outputs only depend on these words, and the job is skipped while they are unchanged.
#[derive(Clone, Debug)]
pub(crate) struct IdleGating {
    pub(crate) gate: Option<u32>,
    pub(crate) snapshots: Vec<Snapshot>,
    /// The event mask of the other inputs.
    pub(crate) events: EventMask,
    /// The word that is not zero while the snapshots are valid.
    pub(crate) valid: u32,
}

/// Adjacent words, and a copy from the last evaluation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snapshot {
    pub(crate) from: u32,
    pub(crate) count: u32,
    pub(crate) copy: u32,
    /// They are the elements of a vector.
    pub(crate) each: bool,
}

/// An entry of the schedule of a cycle.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// Gathers words into a vector: from, to. Skipped as a job is.
    Copy(Vec<(u32, u32)>, EventMask),
    Run(Job),
}

impl Task {
    /// All words that are written, apart from snapshots.
    pub(crate) fn written(&self) -> Vec<u32> {
        match self {
            Task::Copy(list, _) => list.iter().map(|&(_, to)| to).collect(),
            Task::Run(job) => job.written(),
        }
    }

    /// The first words of everything that is read.
    pub(crate) fn read(&self) -> Vec<u32> {
        match self {
            Task::Copy(list, _) => list.iter().map(|&(from, _)| from).collect(),
            Task::Run(job) => {
                let gating = job.gating.iter();
                let compared = gating.clone().flat_map(|gating| &gating.snapshots);
                let compared = compared.flat_map(|snapshot| snapshot.from..snapshot.from + snapshot.count);
                let sources = (0..job.sources.len()).flat_map(|place| job.read(place));
                sources.chain(compared).chain(gating.filter_map(|gating| gating.gate)).collect()
            }
        }
    }

    /// The event masks.
    pub(crate) fn events_mut(&mut self) -> impl Iterator<Item = &mut EventMask> {
        let (mask, gating) = match self {
            Task::Copy(_, mask) => (mask, None),
            Task::Run(job) => (&mut job.events, job.gating.as_mut()),
        };
        [mask].into_iter().chain(gating.map(|gating| &mut gating.events))
    }
}

/// Schedules tasks that depend on inputs last. Inputs are driven word by word just before a cycle, and a vector load has to wait for stores
/// to all of its words.
pub(crate) fn schedule_inputs_last(tasks: Vec<Task>, mut driven: FxHashSet<u32>) -> Vec<Task> {
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for task in tasks {
        let to = match &task {
            Task::Copy(list, _) if list.iter().any(|(from, _)| driven.contains(from)) => task.written(),
            Task::Run(job) if job.reads(&driven) => job.written(),
            _ => Vec::new(),
        };
        if to.is_empty() {
            first.push(task)
        } else {
            last.push(task)
        }
        driven.extend(to);
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
            JobInput::Broadcast(at) => (at, 0, 1),
            JobInput::Vector(at) => (at, words(self.width(place)), self.elements),
        };
        (0..count).map(move |i| at + i * step)
    }

    /// All words of an input of all elements.
    pub(crate) fn words_read(&self, place: usize) -> impl Iterator<Item = u32> + use<> {
        let size = words(self.width(place));
        self.read(place).flat_map(move |first| first..first + size)
    }

    /// Steps over all blocks of eight elements.
    pub(crate) fn cost(&self) -> usize {
        self.steps.steps.len() * self.elements.div_ceil(8) as usize
    }

    fn reads(&self, words: &FxHashSet<u32>) -> bool {
        (0..self.sources.len()).any(|place| self.read(place).any(|word| words.contains(&word)))
    }

    /// Fuses a reduction into the job: its elements are cut into `parts`, and element i of all parts are joined.
    pub(crate) fn fuse_reduction(&mut self, operator: &Operator, parts: u32) {
        let (inputs, count) = (self.sources.len() as u32, self.elements / parts);
        let widths: Vec<u32> = (0..self.sources.len()).map(|place| self.width(place)).collect();
        let (mut builder, mut sources) = (Builder::default(), Vec::new());
        let mut result = None;
        for part in 0..parts {
            sources.extend(self.sources.iter().zip(&widths).map(|(source, &width)| match *source {
                JobInput::Broadcast(at) => JobInput::Broadcast(at),
                JobInput::Vector(at) => JobInput::Vector(at + part * count * words(width)),
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

/// The fewest bits of a vector reduction.
pub(crate) const MIN_VECTOR: u32 = 8;

/// The operator of a reduction of many bits, if it is commutative and associative.
pub(crate) fn reduction(steps: &Steps) -> Option<Operator> {
    let is_input = |step: &&Step| matches!(step.operator, Operator::Input(_));
    let operator = &steps.steps.iter().find(|step| !is_input(step))?.operator;
    let one = |step: &Step| step.width == 1 && (is_input(&step) || step.operator == *operator);
    let inputs = steps.steps.iter().filter(is_input).count();
    // A tree: no input is read twice.
    let joins = steps.steps.len() + 1 == 2 * inputs && steps.outputs.len() == 1;
    let free = matches!(operator, Operator::And | Operator::Or | Operator::Xor);
    (free && joins && inputs > MIN_VECTOR as usize && steps.steps.iter().all(one)).then(|| operator.clone())
}

/// A balanced tree over `count` bits.
pub(crate) fn reduction_tree(operator: &Operator, count: u32) -> Steps {
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

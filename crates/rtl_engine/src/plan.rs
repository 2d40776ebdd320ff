//! The layout of memory, and the jobs of a cycle.
//!
//! Memory is words of 32 bits. A net of at most 32 bits is one word, a wider one two, the low word first. One bit is a mask, all ones or
//! zeros. The Q outputs of registers come first, followed by an equal range of captured values.

use crate::CompileError;
use crate::demand::Deferred;
use crate::events::{ALWAYS, EventFlags};
use crate::job::{
    EventMask, IdleGating, Job, JobInput, MIN_VECTOR, Snapshot, Task, reduction, reduction_tree,
    schedule_inputs_last,
};
use crate::levelize::levelize;
use crate::memory::words;
use crate::network::{Network, Recorded, compact};
use crate::pack::{Pack, PackKind, packs};
use crate::register::{DataInput, Enable, RegisterGroup};
use flashd_hwmodel::netlist::{Operands, Operator, Steps};
use flashd_hwmodel::rtl::Design;
use flashd_spec::bits::ones;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Words past the end of memory that a vector may touch.
pub(crate) const SLACK: u32 = 64;

/// A design in memory, and its schedule.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The first word of each net of the design.
    pub(crate) places: Vec<u32>,
    pub(crate) widths: Vec<u32>,
    /// Words of the Q outputs of all registers.
    pub(crate) state: u32,
    /// The first of these words, of registers without any control: they capture at every edge and are double-buffered.
    pub(crate) buffered: u32,
    pub(crate) registers: Vec<RegisterGroup>,
    pub(crate) tasks: Vec<Task>,
    /// The words of the event flags.
    pub(crate) events: Vec<u32>,
    pub(crate) deferred: Option<Deferred>,
    /// Words of memory.
    pub(crate) memory: u32,
}

/// Elements in the memory of a vector, including padding.
pub(crate) fn room(elements: u32) -> u32 {
    match elements {
        1 => 1,
        2..=4 => 4,
        5..=8 => 8,
        more => more.next_multiple_of(16),
    }
}

struct Planner<'a> {
    network: &'a Network,
    places: Vec<u32>,
    memory: u32,
    tasks: Vec<Task>,
    events: EventFlags,
}

impl Network {
    /// Whether registers capture at every edge.
    fn is_buffered(&self, pack: &Pack) -> bool {
        let PackKind::Registers(list) = &pack.what else { return false };
        let register = self.registers[list[0]];
        register.enable.is_none() && register.gate.is_none() && register.reset.is_none()
    }
}

impl Plan {
    /// Compiles a design, with the steps of its leaves `changed`: all passes that do not depend on a backend, in their order.
    pub(crate) fn of(design: &Design, changed: Recorded<'_>) -> Result<Plan, CompileError> {
        let mut network = Network::simplified(design, changed);
        network.eliminate_common_subexpressions();
        network.extract_elements();
        let levels = levelize(&mut network)?;
        let packs = packs(design, &network, &levels);
        let mut planner = Planner::new(&network);
        let [state, buffered] = planner.assign_memory(&packs);
        let registers = planner.schedule(&packs, state);
        let Planner { places, mut memory, tasks, mut events, .. } = planner;
        let nets = |output: bool| {
            let ports = design.ports.iter().filter(move |port| port.output == output);
            ports.flat_map(|port| &port.nets).map(|&net| places[net as usize])
        };
        let mut tasks = schedule_inputs_last(tasks, nets(false).collect());
        let deferred = Deferred::of(&mut tasks, &registers, nets(true), &mut memory);
        if deferred.is_some() {
            // Streams and units wait often; cores have other inputs in almost every cycle.
            for task in &mut tasks {
                if let Task::Run(job) = task {
                    events.gate_by_comparison(job, &mut memory);
                }
            }
        }
        let events = events.words;
        let places = places[..network.representative.len()].to_vec();
        let (widths, memory) = (design.widths.clone(), memory + SLACK);
        Ok(Plan { places, widths, state, buffered, registers, tasks, events, deferred, memory })
    }

    /// The captured values of double-buffered registers.
    pub(crate) fn next_state(&self) -> Range<u32> {
        self.state..self.state + self.buffered
    }

    /// The place of a word, with the buffers [swapped](crate::memory::Memory::swapped) or not.
    pub(crate) fn place(&self, word: u32, swapped: bool) -> u32 {
        match word {
            _ if !swapped => word,
            _ if word < self.buffered => word + self.state,
            _ if self.next_state().contains(&word) => word - self.state,
            _ => word,
        }
    }

    /// Memory before the first cycle, for a vector of `lanes` runs. All event flags are high, so that all logic settles.
    pub(crate) fn fresh(&self, lanes: usize) -> Vec<u32> {
        let mut memory = vec![0; self.memory as usize * lanes];
        let deferred = self
            .deferred
            .iter()
            .flat_map(|deferred| deferred.held.iter().map(|&(_, held)| held).chain([deferred.always]));
        for flags in self.events.iter().copied().chain(deferred) {
            memory[flags as usize * lanes..][..lanes].fill(u32::MAX);
        }
        memory
    }
}

impl Planner<'_> {
    fn new(network: &Network) -> Planner<'_> {
        let places = vec![0; network.widths.len()];
        Planner { network, places, memory: 0, tasks: Vec::new(), events: EventFlags::default() }
    }

    /// Places all nets. Returns the words of the Q outputs, of all registers and of double-buffered ones.
    fn assign_memory(&mut self, packs: &[Pack]) -> [u32; 2] {
        let is_register = |pack: &&Pack| matches!(pack.what, PackKind::Registers(_));
        let (always, sometimes): (Vec<&Pack>, Vec<&Pack>) =
            packs.iter().filter(is_register).partition(|pack| self.network.is_buffered(pack));
        always.iter().for_each(|pack| self.place(pack, &FxHashMap::default()));
        let buffered = self.memory.next_multiple_of(16);
        self.memory = buffered;
        sometimes.iter().for_each(|pack| self.place(pack, &FxHashMap::default()));
        let state = self.memory.next_multiple_of(16);
        self.memory = 2 * state;
        // Jobs store D inputs of double-buffered registers straight to the captured values.
        let captured: FxHashMap<&[u32], u32> = (always.iter())
            .map(|pack| (pack.inputs[0].as_slice(), self.places[pack.outputs[0][0] as usize] + state))
            .collect();
        packs.iter().filter(|pack| !is_register(pack)).for_each(|pack| self.place(pack, &captured));
        for net in 0..self.network.representative.len() {
            self.places[net] = self.places[self.network.representative[net] as usize];
        }
        [state, buffered]
    }

    /// Lists the jobs of a cycle, and the registers.
    fn schedule(&mut self, packs: &[Pack], state: u32) -> Vec<RegisterGroup> {
        let registers = packs.iter().filter_map(|pack| self.group(pack, state)).collect();
        // D inputs are gathered after all jobs.
        let last = std::mem::take(&mut self.tasks);
        packs.iter().for_each(|pack| self.run(pack));
        self.tasks.extend(last);
        registers
    }

    fn room(&mut self, elements: usize, width: u32) -> u32 {
        let elements = room(elements as u32) as usize;
        if elements > 1 {
            // So aligned, vectors of wide words, too, do not cross a cache line.
            self.memory = self.memory.next_multiple_of(if elements < 16 { 8 } else { 16 });
        } else if words(width) == 2 {
            self.memory = self.memory.next_multiple_of(2);
        }
        let at = self.memory;
        self.memory += elements as u32 * words(width);
        at
    }

    /// Places the nets that a pack drives. D inputs of double-buffered registers are `captured` in place, but not input ports, which change
    /// before the Q outputs do.
    fn place(&mut self, pack: &Pack, captured: &FxHashMap<&[u32], u32>) {
        for nets in &pack.outputs {
            let width = self.network.widths[nets[0] as usize];
            let taken =
                captured.get(nets.as_slice()).filter(|_| matches!(pack.what, PackKind::Instances(..)));
            let at = taken.copied().unwrap_or_else(|| self.room(nets.len(), width));
            for (&net, i) in nets.iter().zip(0..) {
                self.places[net as usize] = at + i * words(width);
            }
        }
    }

    fn addresses(&self, nets: &[u32]) -> Vec<u32> {
        nets.iter().map(|&net| self.places[net as usize]).collect()
    }

    /// The source of equal or adjacent words.
    fn source(&self, addresses: &[u32], width: u32) -> Option<JobInput> {
        let first = addresses[0];
        if addresses.iter().all(|&address| address == first) {
            return Some(JobInput::Broadcast(first));
        }
        let follow = addresses.iter().zip(0..).all(|(&address, i)| address == first + i * words(width));
        follow.then_some(JobInput::Vector(first))
    }

    /// Gathers words into a vector.
    fn gathered(&mut self, addresses: &[u32], width: u32) -> u32 {
        let at = self.room(addresses.len(), width);
        let mut copies = Vec::new();
        for (&from, i) in addresses.iter().zip(0..) {
            let to = at + i * words(width);
            copies.extend((0..words(width)).map(|word| (from + word, to + word)));
        }
        let mask = self.events.copied(&copies);
        self.tasks.push(Task::Copy(copies, mask));
        at
    }

    /// The jobs of a bundle of instances.
    fn run(&mut self, pack: &Pack) {
        let PackKind::Instances(kind, _) = pack.what else { return };
        let kind = &self.network.kinds[kind];
        let (steps, read) = compact(&kind.steps);
        let elements = pack.elements();
        let addresses: Vec<(Vec<u32>, u32)> = (read.iter())
            .map(|&pin| {
                let nets = &pack.inputs[pin as usize];
                (self.addresses(nets), self.network.widths[nets[0] as usize])
            })
            .collect();
        if let Some(operator) = reduction(&steps) {
            // Only this pack reads internal nets.
            let inner = read.iter().flat_map(|&pin| &pack.inputs[pin as usize]);
            let inner = inner.clone().all(|&net| net as usize >= self.network.representative.len());
            for i in 0..elements {
                let words = addresses.iter().map(|(list, _)| list[i]).collect();
                self.reduce(&operator, words, self.places[pack.outputs[0][i] as usize], inner);
            }
            return;
        }
        let sources: Vec<Option<JobInput>> =
            addresses.iter().map(|(list, width)| self.source(list, *width)).collect();
        let scattered = sources.iter().filter(|source| source.is_none()).count();
        if elements > 1 && scattered > 0 && elements <= FEW {
            for i in 0..elements {
                let sources = addresses.iter().map(|(list, _)| JobInput::Broadcast(list[i])).collect();
                let outputs = pack.outputs.iter().map(|nets| self.places[nets[i] as usize]).collect();
                self.push(Job {
                    steps: steps.clone(),
                    sources,
                    outputs,
                    elements: 1,
                    gating: None,
                    events: EventMask::new(),
                });
            }
            return;
        }
        let sources = sources.into_iter().zip(&addresses).map(|(source, (list, width))| {
            source.unwrap_or_else(|| JobInput::Vector(self.gathered(list, *width)))
        });
        let sources: Vec<JobInput> = sources.collect();
        let outputs = pack.outputs.iter().map(|nets| self.places[nets[0] as usize]).collect();
        let widths: Vec<u32> = addresses.iter().map(|(_, width)| *width).collect();
        let gating = kind.gating.and_then(|(gate, ignored)| {
            self.idle_gating(&read, &sources, &widths, [gate, ignored], elements as u32)
        });
        let mut job =
            Job { steps, sources, outputs, elements: elements as u32, gating, events: EventMask::new() };
        if elements > 1 {
            self.hoist_uniform(&mut job);
            self.split_by_event(&mut job);
        }
        self.push(job);
    }

    fn push(&mut self, mut job: Job) {
        self.events.of_job(&mut job);
        self.tasks.push(Task::Run(job));
    }

    /// A reduction of bits, over vectors of adjacent ones. `inner` bits have no other reader.
    fn reduce(&mut self, operator: &Operator, mut words: Vec<u32>, to: u32, inner: bool) {
        words.sort_unstable();
        let mut left = Vec::new();
        for run in words.chunk_by(|a, b| *b == *a + 1) {
            let (mut at, mut count) = (run[0], run.len() as u32);
            if inner {
                count = self.fuse(operator, at, count);
            }
            while count > MIN_VECTOR {
                let half = count / 2;
                left.extend((2 * half..count).map(|i| at + i));
                let sum = self.room(half as usize, 1);
                let sources = vec![JobInput::Vector(at), JobInput::Vector(at + half)];
                let steps = reduction_tree(operator, 2);
                let outputs = vec![sum];
                self.push(Job {
                    steps,
                    sources,
                    outputs,
                    elements: half,
                    gating: None,
                    events: EventMask::new(),
                });
                (at, count) = (sum, half);
            }
            left.extend((0..count).map(|i| at + i));
        }
        let steps = reduction_tree(operator, left.len() as u32);
        let sources = left.into_iter().map(JobInput::Broadcast).collect();
        self.push(Job {
            steps,
            sources,
            outputs: vec![to],
            elements: 1,
            gating: None,
            events: EventMask::new(),
        });
    }

    /// Fuses part of a reduction into the job that computes the bits; the number of bits that remain.
    fn fuse(&mut self, operator: &Operator, at: u32, count: u32) -> u32 {
        let together = [4, 2].into_iter().find(|&n| count.is_multiple_of(n) && count / n >= MIN_VECTOR);
        let job = self.tasks.iter_mut().rev().find_map(|task| match task {
            Task::Run(job) if job.outputs == [at] && job.elements == count && job.gating.is_none() => {
                Some(job)
            }
            _ => None,
        });
        let (Some(together), Some(job)) = (together, job) else { return count };
        job.fuse_reduction(operator, together);
        job.elements
    }

    /// The idle gating of a job.
    fn idle_gating(
        &mut self,
        read: &[u32],
        sources: &[JobInput],
        widths: &[u32],
        [gate, ignored]: [usize; 2],
        elements: u32,
    ) -> Option<IdleGating> {
        let (mut snapshots, mut events) = (Vec::new(), EventMask::new());
        let mut at = None;
        for ((&pin, source), &width) in read.iter().zip(sources).zip(widths) {
            match *source {
                _ if pin as usize == ignored => {}
                JobInput::Broadcast(address) if pin as usize == gate => at = Some(address),
                // One gate for each element.
                JobInput::Vector(_) if pin as usize == gate => return None,
                JobInput::Broadcast(address) => snapshots.push((address, words(width), false)),
                JobInput::Vector(address) => {
                    let count = elements * words(width);
                    match self.events.of_words(address..address + count) {
                        Some(flags) => events.extend(flags),
                        None => snapshots.push((address, count, elements > 1)),
                    }
                }
            }
        }
        let gate = Some(at?);
        let valid = self.room(1, 1);
        let copy = |(from, count, each)| Snapshot { from, count, copy: self.room(count as usize, 1), each };
        Some(IdleGating { gate, snapshots: snapshots.into_iter().map(copy).collect(), events, valid })
    }

    /// Hoists the uniform part of a job, equal for all elements, into a job of one element.
    fn hoist_uniform(&mut self, job: &mut Job) {
        let shared = job.sources.iter().map(|source| matches!(source, JobInput::Broadcast(_))).collect();
        self.split(job, shared, 1, |_, roots| roots > 0);
    }

    /// Splits the part with an event mask from a job that otherwise runs in every cycle.
    fn split_by_event(&mut self, job: &mut Job) {
        if self.events.of_sources(job) != ALWAYS {
            return;
        }
        let mut domains: Vec<usize> =
            (0..job.sources.len()).map(|place| self.events.of_source(job, place)).collect();
        let Some(&domain) = domains.iter().find(|&&domain| domain != ALWAYS) else { return };
        let kept = domains.drain(..).map(|other| other == domain).collect();
        // Results of the part are stored and loaded again.
        self.split(job, kept, job.elements, |steps, roots| steps > 3 * roots);
    }

    /// Splits the steps that depend on `inputs` alone from a job, into a job of `elements`, if that pays: a function of the number of steps and
    /// of their results.
    fn split(
        &mut self,
        job: &mut Job,
        inputs: Vec<bool>,
        elements: u32,
        pays: impl Fn(usize, usize) -> bool,
    ) {
        let steps = &job.steps.steps;
        let mut inside = Vec::with_capacity(steps.len());
        for step in steps {
            inside.push(match step.operator {
                Operator::Input(place) => inputs[place as usize],
                _ => step.operands.iter().all(|&operand| inside[operand as usize]),
            });
        }
        let costs = |i: u32| {
            !matches!(steps[i as usize].operator, Operator::Input(_) | Operator::Constant(_))
                && inside[i as usize]
        };
        let outside = steps.iter().enumerate().filter(|(i, _)| !inside[*i]);
        let read = outside.flat_map(|(_, step)| step.operands.iter().copied());
        let mut roots: Vec<u32> =
            read.chain(job.steps.outputs.iter().copied()).filter(|&i| costs(i)).collect();
        roots.sort_unstable();
        roots.dedup();
        if roots.is_empty() || !pays((0..steps.len() as u32).filter(|&i| costs(i)).count(), roots.len()) {
            return;
        }
        let (part, places) = compact(&Steps { steps: steps.clone(), outputs: roots.clone() });
        let outputs: Vec<u32> =
            roots.iter().map(|&i| self.room(elements as usize, steps[i as usize].width)).collect();
        let first = job.sources.len() as u32;
        let mut rest = job.steps.clone();
        for (&root, place) in roots.iter().zip(first..) {
            let step = &mut rest.steps[root as usize];
            (step.operator, step.operands) = (Operator::Input(place), Operands::new());
        }
        let result = |&at: &u32| if elements == 1 { JobInput::Broadcast(at) } else { JobInput::Vector(at) };
        let sources: Vec<JobInput> = job.sources.iter().copied().chain(outputs.iter().map(result)).collect();
        let (rest, left) = compact(&rest);
        let sources_of = |places: &[u32]| places.iter().map(|&place| sources[place as usize]).collect();
        let (of_part, of_rest) = (sources_of(&places), sources_of(&left));
        (job.steps, job.sources) = (rest, of_rest);
        self.push(Job {
            steps: part,
            sources: of_part,
            outputs,
            elements,
            gating: None,
            events: EventMask::new(),
        });
    }

    /// The registers of a pack, if it has any; captured values are `offset` words after the Q outputs.
    fn group(&mut self, pack: &Pack, offset: u32) -> Option<RegisterGroup> {
        let PackKind::Registers(list) = &pack.what else { return None };
        let register = self.network.registers[list[0]];
        let width = self.network.widths[register.q as usize];
        let place = |net: u32| self.places[net as usize];
        let (shared, gate) = (register.enable.map(place).map(Enable::Shared), register.gate.map(place));
        let (q, count) = (place(register.q), list.len() as u32 * words(width));
        let reset = register.reset.map(|(net, value)| (place(net), value));
        let addresses = self.addresses(&pack.inputs[0]);
        let own = pack.inputs.get(1).filter(|_| list.len() > 1).map(|nets| self.addresses(nets));
        let d = match self.source(&addresses, width) {
            Some(JobInput::Vector(first)) => DataInput::Vector(first),
            _ if addresses.len() == 1 => DataInput::Vector(addresses[0]),
            _ if own.is_some() => DataInput::Vector(self.gathered(&addresses, width)),
            _ => DataInput::Words(
                addresses.iter().flat_map(|&at| (0..words(width)).map(move |i| at + i)).collect(),
            ),
        };
        let enable = own.map_or(shared, |own| match self.source(&own, 1) {
            Some(JobInput::Vector(first)) => Some(Enable::Each(first)),
            Some(JobInput::Broadcast(at)) => Some(Enable::Shared(at)),
            None => Some(Enable::Each(self.gathered(&own, 1))),
        });
        let event = self.events.of_registers((enable, gate), &mut self.memory, q..q + count);
        let bits =
            |value: u64| if width == 1 && value != 0 { u64::from(u32::MAX) } else { value & ones(width) };
        Some(RegisterGroup {
            d,
            next: q + offset,
            words: count,
            enable,
            gate,
            reset: reset.map(|(at, value)| (at, bits(value))),
            wide: width > 32,
            event,
        })
    }
}

/// The most elements that run one by one rather than being gathered.
const FEW: usize = 8;

//! Where everything lies in memory, and the jobs of a cycle.
//!
//! Memory is words of 32 bits. A net of 32 bits or fewer is one of them, a wider one two, the low one first. One bit is all ones or
//! none, a mask. What registers hold comes first, then as many words for what they have captured and do not show yet.

use crate::CompileError;
use crate::bundles::{Bundle, What, bundles};
use crate::events::{ALWAYS, Events};
use crate::held::{Enable, Held, Taken};
use crate::job::{BESIDE, Job, Kept, Rest, Source, Task, inputs_last, of_bits, reduction};
use crate::levels::levels;
use crate::memory::words;
use crate::network::{Network, packed};
use flashd_hwmodel::netlist::{Operands, Operator, Steps};
use flashd_hwmodel::rtl::Design;
use flashd_spec::bits::ones;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Words of memory that a vector may touch behind the last one that is used.
pub(crate) const SLACK: u32 = 64;

/// A design laid out.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Of each net of the design, its first word.
    pub(crate) places: Vec<u32>,
    pub(crate) widths: Vec<u32>,
    /// Words that registers hold.
    pub(crate) held: u32,
    /// Those of them, the first ones, that may be something else after any edge.
    pub(crate) moving: u32,
    pub(crate) registers: Vec<Held>,
    pub(crate) tasks: Vec<Task>,
    /// The flags of all events.
    pub(crate) events: Vec<u32>,
    /// Words of memory.
    pub(crate) memory: u32,
}

/// Elements that a vector of so many has room for.
pub(crate) fn room(elements: u32) -> u32 {
    match elements {
        1 => 1,
        2..=4 => 4,
        5..=8 => 8,
        more => more.next_multiple_of(16),
    }
}

struct Layout<'a> {
    network: &'a Network,
    places: Vec<u32>,
    memory: u32,
    tasks: Vec<Task>,
    events: Events,
}

impl Network {
    /// Whether registers take something at every edge.
    fn takes_always(&self, bundle: &Bundle) -> bool {
        let What::Registers(list) = &bundle.what else { return false };
        let register = self.registers[list[0]];
        register.enable.is_none() && register.gate.is_none() && register.reset.is_none()
    }
}

impl Plan {
    pub(crate) fn of(design: &Design, mut network: Network) -> Result<Plan, CompileError> {
        let levels = levels(&mut network)?;
        let bundles = bundles(design, &network, &levels);
        let is_held = |bundle: &&Bundle| matches!(bundle.what, What::Registers(_));
        let places = vec![0; network.widths.len()];
        let events = Events::default();
        let mut layout = Layout { network: &network, places, memory: 0, tasks: Vec::new(), events };
        let (always, sometimes): (Vec<&Bundle>, Vec<&Bundle>) =
            bundles.iter().filter(is_held).partition(|bundle| network.takes_always(bundle));
        always.iter().for_each(|bundle| layout.place(bundle, &FxHashMap::default()));
        let moving = layout.memory.next_multiple_of(16);
        layout.memory = moving;
        sometimes.iter().for_each(|bundle| layout.place(bundle, &FxHashMap::default()));
        let held = layout.memory.next_multiple_of(16);
        layout.memory = 2 * held;
        // What such registers take is computed where it is captured, so that nothing has to bring it there.
        let captured = always
            .iter()
            .map(|bundle| (bundle.inputs[0].as_slice(), layout.places[bundle.outputs[0][0] as usize] + held));
        let captured: FxHashMap<&[u32], u32> = captured.collect();
        bundles.iter().filter(|bundle| !is_held(bundle)).for_each(|bundle| layout.place(bundle, &captured));
        for net in 0..network.same.len() {
            layout.places[net] = layout.places[network.same[net] as usize];
        }
        let registers = bundles.iter().filter(is_held).map(|bundle| layout.held(bundle, held)).collect();
        // What registers take is brought together when all of it is there.
        let last = std::mem::take(&mut layout.tasks);
        for bundle in &bundles {
            layout.run(bundle);
        }
        layout.tasks.extend(last);
        let Layout { places, memory, tasks, events, .. } = layout;
        let driven = design.ports.iter().filter(|port| !port.output).flat_map(|port| &port.nets);
        let tasks = inputs_last(tasks, driven.map(|&net| places[net as usize]).collect());
        let (places, events) = (places[..network.same.len()].to_vec(), events.flags);
        let memory = memory + SLACK;
        Ok(Plan { places, widths: design.widths.clone(), held, moving, registers, tasks, events, memory })
    }

    /// The words that are what registers take at every edge.
    pub(crate) fn taken(&self) -> Range<u32> {
        self.held..self.held + self.moving
    }

    /// Where a word is, also while what registers always take is where they [show](crate::memory::Memory::turned) it.
    pub(crate) fn place(&self, word: u32, turned: bool) -> u32 {
        match word {
            _ if !turned => word,
            _ if word < self.moving => word + self.held,
            _ if self.taken().contains(&word) => word - self.held,
            _ => word,
        }
    }

    /// Memory before the first cycle, for so many runs beside each other. Nothing has settled: all events have just happened.
    pub(crate) fn fresh(&self, beside: usize) -> Vec<u32> {
        let mut memory = vec![0; self.memory as usize * beside];
        for &flag in &self.events {
            memory[flag as usize * beside..][..beside].fill(1);
        }
        memory
    }
}

impl Layout<'_> {
    fn room(&mut self, elements: usize, width: u32) -> u32 {
        let elements = room(elements as u32) as usize;
        if elements > 1 {
            // Of wide words, too, a vector begins where it does not lie across two lines of the cache.
            self.memory = self.memory.next_multiple_of(if elements < 16 { 8 } else { 16 });
        } else if words(width) == 2 {
            self.memory = self.memory.next_multiple_of(2);
        }
        let at = self.memory;
        self.memory += elements as u32 * words(width);
        at
    }

    /// Gives the nets that a bundle drives their places: those that registers always take are `captured` at once. An input moves before the
    /// registers show what they captured and has to be elsewhere.
    fn place(&mut self, bundle: &Bundle, captured: &FxHashMap<&[u32], u32>) {
        for nets in &bundle.outputs {
            let width = self.network.widths[nets[0] as usize];
            let taken = captured.get(nets.as_slice()).filter(|_| matches!(bundle.what, What::Instances(..)));
            let at = taken.copied().unwrap_or_else(|| self.room(nets.len(), width));
            for (&net, i) in nets.iter().zip(0..) {
                self.places[net as usize] = at + i * words(width);
            }
        }
    }

    fn addresses(&self, nets: &[u32]) -> Vec<u32> {
        nets.iter().map(|&net| self.places[net as usize]).collect()
    }

    /// Where words are, if they are one or one after another.
    fn source(&self, addresses: &[u32], width: u32) -> Option<Source> {
        let first = addresses[0];
        if addresses.iter().all(|&address| address == first) {
            return Some(Source::Shared(first));
        }
        let follow = addresses.iter().zip(0..).all(|(&address, i)| address == first + i * words(width));
        follow.then_some(Source::Each(first))
    }

    /// Where words stand one after another that are brought there from anywhere.
    fn gathered(&mut self, addresses: &[u32], width: u32) -> u32 {
        let at = self.room(addresses.len(), width);
        let mut copies = Vec::new();
        for (&from, i) in addresses.iter().zip(0..) {
            let to = at + i * words(width);
            copies.extend((0..words(width)).map(|word| (from + word, to + word)));
        }
        self.events.copied(&copies);
        self.tasks.push(Task::Copy(copies));
        at
    }

    /// The jobs of a bundle of instances.
    fn run(&mut self, bundle: &Bundle) {
        let What::Instances(kind, _) = bundle.what else { return };
        let kind = &self.network.kinds[kind];
        let (steps, read) = packed(&kind.steps);
        let elements = bundle.elements();
        let addresses: Vec<(Vec<u32>, u32)> = (read.iter())
            .map(|&pin| {
                let nets = &bundle.inputs[pin as usize];
                (self.addresses(nets), self.network.widths[nets[0] as usize])
            })
            .collect();
        if let Some(operator) = reduction(&steps) {
            // What is no net of the design nothing else reads.
            let inner = read.iter().flat_map(|&pin| &bundle.inputs[pin as usize]);
            let inner = inner.clone().all(|&net| net as usize >= self.network.same.len());
            for i in 0..elements {
                let words = addresses.iter().map(|(list, _)| list[i]).collect();
                self.reduce(&operator, words, self.places[bundle.outputs[0][i] as usize], inner);
            }
            return;
        }
        let sources: Vec<Option<Source>> =
            addresses.iter().map(|(list, width)| self.source(list, *width)).collect();
        let scattered = sources.iter().filter(|source| source.is_none()).count();
        if elements > 1 && scattered > 0 && elements <= FEW {
            for i in 0..elements {
                let sources = addresses.iter().map(|(list, _)| Source::Shared(list[i])).collect();
                let outputs = bundle.outputs.iter().map(|nets| self.places[nets[i] as usize]).collect();
                self.push(Job {
                    steps: steps.clone(),
                    sources,
                    outputs,
                    elements: 1,
                    rest: None,
                    when: Vec::new(),
                });
            }
            return;
        }
        let sources = sources.into_iter().zip(&addresses).map(|(source, (list, width))| {
            source.unwrap_or_else(|| Source::Each(self.gathered(list, *width)))
        });
        let sources: Vec<Source> = sources.collect();
        let outputs = bundle.outputs.iter().map(|nets| self.places[nets[0] as usize]).collect();
        let widths: Vec<u32> = addresses.iter().map(|(_, width)| *width).collect();
        let rest = kind.rest.and_then(|(gate, ignored)| {
            self.rest(&read, &sources, &widths, [gate, ignored], elements as u32)
        });
        let mut job = Job { steps, sources, outputs, elements: elements as u32, rest, when: Vec::new() };
        if elements > 1 {
            self.share(&mut job);
            self.keep(&mut job);
        }
        self.push(job);
    }

    fn push(&mut self, mut job: Job) {
        self.events.of_job(&mut job);
        self.tasks.push(Task::Run(job));
    }

    /// One bit from many, wherever they are: in vectors as long as they lie beside each other. `inner` ones are read by nothing else.
    fn reduce(&mut self, operator: &Operator, mut words: Vec<u32>, to: u32, inner: bool) {
        words.sort_unstable();
        let mut left = Vec::new();
        for run in words.chunk_by(|a, b| *b == *a + 1) {
            let (mut at, mut count) = (run[0], run.len() as u32);
            if inner {
                count = self.join(operator, at, count);
            }
            while count > BESIDE {
                let half = count / 2;
                left.extend((2 * half..count).map(|i| at + i));
                let sum = self.room(half as usize, 1);
                let sources = vec![Source::Each(at), Source::Each(at + half)];
                let steps = of_bits(operator, 2);
                let outputs = vec![sum];
                self.push(Job { steps, sources, outputs, elements: half, rest: None, when: Vec::new() });
                (at, count) = (sum, half);
            }
            left.extend((0..count).map(|i| at + i));
        }
        let steps = of_bits(operator, left.len() as u32);
        let sources = left.into_iter().map(Source::Shared).collect();
        self.push(Job { steps, sources, outputs: vec![to], elements: 1, rest: None, when: Vec::new() });
    }

    /// Joins some bits where they are made, so that fewer are stored and loaded again: how many there are then.
    fn join(&mut self, operator: &Operator, at: u32, count: u32) -> u32 {
        let together = [4, 2].into_iter().find(|&n| count.is_multiple_of(n) && count / n >= BESIDE);
        let job = self.tasks.iter_mut().rev().find_map(|task| match task {
            Task::Run(job) if job.outputs == [at] && job.elements == count && job.rest.is_none() => Some(job),
            _ => None,
        });
        let (Some(together), Some(job)) = (together, job) else { return count };
        job.join(operator, together);
        job.elements
    }

    /// How a job knows that its outputs stay.
    fn rest(
        &mut self,
        read: &[u32],
        sources: &[Source],
        widths: &[u32],
        [gate, ignored]: [usize; 2],
        elements: u32,
    ) -> Option<Rest> {
        let (mut others, mut moved) = (Vec::new(), Vec::new());
        let mut at = None;
        for ((&pin, source), &width) in read.iter().zip(sources).zip(widths) {
            match *source {
                _ if pin as usize == ignored => {}
                Source::Shared(address) if pin as usize == gate => at = Some(address),
                // Each of them has a gate of its own.
                Source::Each(_) if pin as usize == gate => return None,
                Source::Shared(address) => others.push((address, words(width), false)),
                Source::Each(address) => {
                    let count = elements * words(width);
                    match self.events.of_words(address..address + count) {
                        Some(flags) => moved.extend_from_slice(flags),
                        None => others.push((address, count, elements > 1)),
                    }
                }
            }
        }
        let gate = at?;
        let seen = self.room(1, 1);
        let mut keep = |(from, count, each)| Kept { from, count, seen: self.room(count as usize, 1), each };
        Some(Rest { gate, others: others.drain(..).map(&mut keep).collect(), moved, seen })
    }

    /// Takes what is the same for all elements out of a job: it is done once, in a job of its own.
    fn share(&mut self, job: &mut Job) {
        let shared = job.sources.iter().map(|source| matches!(source, Source::Shared(_))).collect();
        self.split(job, shared, 1, |_, roots| roots > 0);
    }

    /// Takes what only moves with certain registers out of a job that otherwise moves in every cycle.
    fn keep(&mut self, job: &mut Job) {
        if self.events.of_sources(job) != ALWAYS {
            return;
        }
        let mut domains: Vec<usize> =
            (0..job.sources.len()).map(|place| self.events.of_source(job, place)).collect();
        let Some(&domain) = domains.iter().find(|&&domain| domain != ALWAYS) else { return };
        let kept = domains.drain(..).map(|other| other == domain).collect();
        // What is taken out is stored and loaded again.
        self.split(job, kept, job.elements, |steps, roots| steps > 3 * roots);
    }

    /// Makes what only depends on some inputs a job of its own for so many elements, if that pays: by how many steps there are and how
    /// many results of them are read by the others.
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
        let (part, places) = packed(&Steps { steps: steps.clone(), outputs: roots.clone() });
        let outputs: Vec<u32> =
            roots.iter().map(|&i| self.room(elements as usize, steps[i as usize].width)).collect();
        let first = job.sources.len() as u32;
        let mut rest = job.steps.clone();
        for (&root, place) in roots.iter().zip(first..) {
            let step = &mut rest.steps[root as usize];
            (step.operator, step.operands) = (Operator::Input(place), Operands::new());
        }
        let result = |&at: &u32| if elements == 1 { Source::Shared(at) } else { Source::Each(at) };
        let sources: Vec<Source> = job.sources.iter().copied().chain(outputs.iter().map(result)).collect();
        let (rest, left) = packed(&rest);
        let sources_of = |places: &[u32]| places.iter().map(|&place| sources[place as usize]).collect();
        let (of_part, of_rest) = (sources_of(&places), sources_of(&left));
        (job.steps, job.sources) = (rest, of_rest);
        self.push(Job { steps: part, sources: of_part, outputs, elements, rest: None, when: Vec::new() });
    }

    fn held(&mut self, bundle: &Bundle, behind: u32) -> Held {
        let What::Registers(list) = &bundle.what else { unreachable!("a bundle of registers") };
        let register = self.network.registers[list[0]];
        let width = self.network.widths[register.q as usize];
        let place = |net: u32| self.places[net as usize];
        let (shared, gate) = (register.enable.map(place).map(Enable::Shared), register.gate.map(place));
        let (q, count) = (place(register.q), list.len() as u32 * words(width));
        let reset = register.reset.map(|(net, value)| (place(net), value));
        let addresses = self.addresses(&bundle.inputs[0]);
        let own = bundle.inputs.get(1).filter(|_| list.len() > 1).map(|nets| self.addresses(nets));
        let d = match self.source(&addresses, width) {
            Some(Source::Each(first)) => Taken::Each(first),
            _ if addresses.len() == 1 => Taken::Each(addresses[0]),
            _ if own.is_some() => Taken::Each(self.gathered(&addresses, width)),
            _ => Taken::Words(
                addresses.iter().flat_map(|&at| (0..words(width)).map(move |i| at + i)).collect(),
            ),
        };
        let enable = own.map_or(shared, |own| match self.source(&own, 1) {
            Some(Source::Each(first)) => Some(Enable::Each(first)),
            Some(Source::Shared(at)) => Some(Enable::Shared(at)),
            None => Some(Enable::Each(self.gathered(&own, 1))),
        });
        let event = self.events.of_registers((enable, gate), &mut self.memory, q..q + count);
        let bits =
            |value: u64| if width == 1 && value != 0 { u64::from(u32::MAX) } else { value & ones(width) };
        Held {
            d,
            next: q + behind,
            words: count,
            enable,
            gate,
            reset: reset.map(|(at, value)| (at, bits(value))),
            wide: width > 32,
            event,
        }
    }
}

/// Elements from which on it pays to bring what is scattered together.
const FEW: usize = 8;

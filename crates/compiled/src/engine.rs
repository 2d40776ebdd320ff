//! A compiled design, and how it is driven and read.

use crate::CompileError;
use crate::interpret::Interpreter;
use crate::native::Native;
use crate::network::{Network, Recorded};
use crate::plan::{Plan, words};
use flashd_hwmodel::netlist::Steps;
use flashd_hwmodel::rtl::{Design, Watched};
use std::collections::HashMap;

/// What runs the jobs of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Machine code that is made when the design is compiled, for processors with AVX2.
    Native,
    /// Loops over the steps of each job.
    Interpreter,
}

impl Backend {
    /// All that this machine can run, the fastest first.
    pub fn available() -> Vec<Backend> {
        let native = Native::is_possible().then_some(Backend::Native);
        native.into_iter().chain([Backend::Interpreter]).collect()
    }

    /// The fastest.
    pub fn best() -> Backend {
        Backend::available()[0]
    }
}

enum Engine {
    Native(Native),
    Interpreter(Interpreter),
}

/// A port of a compiled design: its place among the design's, found once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port(usize);

struct Words {
    name: String,
    output: bool,
    width: u32,
    places: Vec<u32>,
}

/// A design that runs. A cycle is [`Compiled::settle`] while the clock is low and [`Compiled::clock`] at its rising edge, as in
/// [`Circuit`](flashd_hwmodel::rtl::Circuit); every net has the same value as there at the same moment.
pub struct Compiled {
    name: String,
    ports: Vec<Words>,
    by_name: HashMap<String, usize>,
    places: Vec<u32>,
    widths: Vec<u32>,
    held: usize,
    memory: Box<[u32]>,
    engine: Engine,
}

/// The net of the clock's level.
const CLOCK: usize = 0;

impl Compiled {
    /// A design as it is before its first cycle: every register holds zero.
    ///
    /// # Errors
    /// If logic depends on itself.
    pub fn new(design: &Design) -> Result<Compiled, CompileError> {
        Compiled::with_steps(design, Backend::best(), &|_, steps| steps)
    }

    /// The same, run in a certain way, with the recorded steps of each kind of leaf changed: for tests that see whether a fault in them
    /// is noticed.
    ///
    /// # Errors
    /// If logic depends on itself.
    pub fn with_steps(
        design: &Design,
        backend: Backend,
        changed: &dyn Fn(usize, Steps) -> Steps,
    ) -> Result<Compiled, CompileError> {
        let recorded: Recorded<'_> = changed;
        let plan = Plan::of(design, Network::of(design, recorded))?;
        let ports: Vec<Words> = (design.ports.iter())
            .map(|port| Words {
                name: port.name.clone(),
                output: port.output,
                width: port.width,
                places: port.nets.iter().map(|&net| plan.places[net as usize]).collect(),
            })
            .collect();
        let (places, widths, held) = (plan.places.clone(), plan.widths.clone(), plan.held as usize);
        let mut memory = vec![0; plan.memory as usize];
        let engine = match backend {
            Backend::Native => Native::new(&plan, &mut memory).map(Engine::Native),
            Backend::Interpreter => None,
        };
        Ok(Compiled {
            name: design.name.clone(),
            by_name: ports.iter().enumerate().map(|(i, port)| (port.name.clone(), i)).collect(),
            ports,
            places,
            widths,
            held,
            memory: memory.into(),
            engine: engine.unwrap_or_else(|| Engine::Interpreter(Interpreter::new(plan))),
        })
    }

    /// Name of the module.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The port of a name, if there is one.
    pub fn port(&self, name: &str) -> Option<Port> {
        self.by_name.get(name).copied().map(Port)
    }

    /// Drives the words of an input; no words leave it as it is, and those that are more than it has go nowhere.
    pub fn drive(&mut self, port: Port, values: &[u64]) {
        let Compiled { ports, memory, .. } = self;
        let Words { name, output, width, places } = &ports[port.0];
        debug_assert!(!output, "{name} is an output");
        debug_assert!(values.iter().all(|value| value >> (width - 1) >> 1 == 0), "{name} = {values:x?}");
        let each = places.iter().zip(values).map(|(&place, &value)| (place as usize, value));
        match width {
            1 => each.for_each(|(place, value)| memory[place] = mask(value)),
            2..=32 => each.for_each(|(place, value)| memory[place] = value as u32),
            _ => each.for_each(|(place, value)| write(memory, place, *width, value)),
        }
    }

    /// The words of a port.
    pub fn read(&self, port: Port) -> impl Iterator<Item = u64> + '_ {
        let Words { width, places, .. } = &self.ports[port.0];
        places.iter().map(|&place| read(&self.memory, place as usize, *width))
    }

    /// Puts the words of a port behind others.
    pub fn read_into(&self, port: Port, to: &mut Vec<u64>) {
        let Words { width, places, .. } = &self.ports[port.0];
        match width {
            2..=32 => to.extend(places.iter().map(|&place| u64::from(self.memory[place as usize]))),
            _ => to.extend(self.read(port)),
        }
    }

    /// The vector instructions with which the design runs, and whether they were made for it.
    pub fn instructions(&self) -> String {
        match &self.engine {
            Engine::Native(_) => "AVX2, machine code".to_string(),
            Engine::Interpreter(interpreter) => format!("{}, interpreted", interpreter.instructions()),
        }
    }

    /// Drives an input of one word.
    ///
    /// # Panics
    /// If the design has no such port; so do the others that name one.
    pub fn set(&mut self, name: &str, value: impl Into<u64>) {
        self.set_words(name, &[value.into()]);
    }

    /// Drives an input that only some designs have.
    pub fn set_optional(&mut self, name: &str, value: impl Into<u64>) {
        if self.shape(name).0 > 0 {
            self.set(name, value);
        }
    }

    /// Drives the words of an input; no words leave it as it is.
    pub fn set_words(&mut self, name: &str, words: &[u64]) {
        if words.is_empty() {
            return;
        }
        let Some(port) = self.port(name) else { panic!("{} has no port {name}", self.name) };
        self.drive(port, words);
    }

    /// Reads a port of one word.
    pub fn get(&self, name: &str) -> u64 {
        let word = self.words(name).next();
        word.unwrap_or_else(|| panic!("{} has no port {name}", self.name))
    }

    /// Whether a port is there and high.
    pub fn is_high(&self, name: &str) -> bool {
        self.words(name).next().is_some_and(|value| value != 0)
    }

    /// The words of a port; none where there is no such port.
    pub fn words(&self, name: &str) -> impl Iterator<Item = u64> + '_ {
        self.port(name).into_iter().flat_map(|port| self.read(port))
    }

    /// How many words a port has, and their width; none where there is no such port.
    pub fn shape(&self, name: &str) -> (usize, u32) {
        let port = self.port(name).map(|port| &self.ports[port.0]);
        port.map_or((0, 1), |port| (port.places.len(), port.width))
    }

    /// What a net of the design carries.
    pub fn value(&self, net: u32) -> u64 {
        read(&self.memory, self.places[net as usize] as usize, self.widths[net as usize])
    }

    /// The value of something watched.
    pub fn seen(&self, watched: &Watched) -> u64 {
        watched.reading.read(self.value(watched.net()))
    }

    /// The clock is low: registers show what they captured, and all logic settles.
    pub fn settle(&mut self) {
        let clock = self.places[CLOCK] as usize;
        write(&mut self.memory, clock, 1, 0);
        self.memory.copy_within(self.held..2 * self.held, 0);
        match &mut self.engine {
            Engine::Native(native) => native.settle(&mut self.memory),
            Engine::Interpreter(interpreter) => interpreter.settle(&mut self.memory),
        }
    }

    /// The clock rises: every register captures what its inputs have settled to.
    pub fn clock(&mut self) {
        let clock = self.places[CLOCK] as usize;
        write(&mut self.memory, clock, 1, 1);
        match &mut self.engine {
            Engine::Native(native) => native.capture(&mut self.memory),
            Engine::Interpreter(interpreter) => interpreter.capture(&mut self.memory),
        }
    }
}

/// One bit as memory has it.
fn mask(value: u64) -> u32 {
    0u32.wrapping_sub(u32::from(value != 0))
}

fn write(memory: &mut [u32], place: usize, width: u32, value: u64) {
    match width {
        1 => memory[place] = mask(value),
        2..=32 => memory[place] = value as u32,
        _ => (memory[place], memory[place + 1]) = (value as u32, (value >> 32) as u32),
    }
}

fn read(memory: &[u32], place: usize, width: u32) -> u64 {
    match (width, words(width)) {
        (1, _) => (memory[place] & 1).into(),
        (_, 1) => memory[place].into(),
        _ => u64::from(memory[place]) | u64::from(memory[place + 1]) << 32,
    }
}

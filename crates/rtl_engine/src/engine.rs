//! A compiled design, and how it is driven and read.

use crate::CompileError;
use crate::interpret::Interpreter;
use crate::layout::Layout;
use crate::memory::Memory;
use crate::native::{Native, Vectors};
use crate::network::Network;
use crate::plan::Plan;
use flashd_hwmodel::netlist::Steps;
use flashd_hwmodel::rtl::{Design, PortPlace, Watched};
use std::sync::Arc;

/// What runs the jobs of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Machine code that is made when the design is compiled, for processors with these vectors.
    Native(Vectors),
    /// Loops over the steps of each job.
    Interpreter,
}

impl Backend {
    /// All that this machine can run, the fastest first.
    pub fn available() -> Vec<Backend> {
        let native = Vectors::available().into_iter().map(Backend::Native);
        native.chain([Backend::Interpreter]).collect()
    }

    /// The fastest.
    pub fn best() -> Backend {
        Backend::available()[0]
    }
}

/// A plan made ready to run.
pub(crate) enum Engine {
    Native(Native),
    Interpreter(Interpreter),
}

impl Engine {
    pub(crate) fn settle(&self, memory: &mut Memory) {
        match self {
            Engine::Native(native) => native.settle(memory),
            Engine::Interpreter(interpreter) => interpreter.settle(memory),
        }
    }

    pub(crate) fn capture(&self, memory: &mut Memory) {
        match self {
            Engine::Native(native) => native.capture(memory),
            Engine::Interpreter(interpreter) => interpreter.capture(memory),
        }
    }

    /// The vector instructions, and whether they were made for the design.
    pub(crate) fn instructions(&self) -> String {
        match self {
            Engine::Native(native) => format!("{}, machine code", native.vectors()),
            Engine::Interpreter(interpreter) => format!("{}, interpreted", interpreter.instructions()),
        }
    }
}

/// A design that runs. A cycle is [`Compiled::settle`] while the clock is low and [`Compiled::clock`] at its rising edge, as in
/// [`Circuit`](flashd_hwmodel::rtl::Circuit); every net has the same value as there at the same moment.
pub struct Compiled {
    program: Arc<Program>,
    memory: Memory,
}

/// What all runs of a design have in common.
struct Program {
    layout: Layout,
    engine: Engine,
    /// Memory before the first cycle.
    content: Vec<u32>,
}

impl Compiled {
    /// A design as it is before its first cycle: every register holds zero.
    ///
    /// # Errors
    /// If logic depends on itself.
    pub fn new(design: &Design) -> Result<Compiled, CompileError> {
        Compiled::with_backend(design, Backend::best())
    }

    /// The same, run in a certain way.
    ///
    /// # Errors
    /// If logic depends on itself.
    pub fn with_backend(design: &Design, backend: Backend) -> Result<Compiled, CompileError> {
        Compiled::with_steps(design, backend, &|_, steps| steps)
    }

    /// The same, with the recorded steps of each kind of leaf changed: for tests that see whether a fault in them
    /// is noticed.
    ///
    /// # Errors
    /// If logic depends on itself.
    pub fn with_steps(
        design: &Design,
        backend: Backend,
        changed: &dyn Fn(usize, Steps) -> Steps,
    ) -> Result<Compiled, CompileError> {
        let plan = Plan::of(design, Network::of(design, changed))?;
        let layout = Layout::of(design, &plan, 1);
        let mut content = plan.fresh(1);
        let native = match backend {
            Backend::Native(vectors) => Native::new(&plan, &mut content, vectors),
            Backend::Interpreter => None,
        };
        let engine = native.map_or_else(|| Engine::Interpreter(Interpreter::new(plan)), Engine::Native);
        Ok(Compiled { memory: Memory::of(&content), program: Arc::new(Program { layout, engine, content }) })
    }

    /// The same design once more, as it is before its first cycle, with nothing compiled again.
    pub fn another(&self) -> Compiled {
        Compiled { memory: Memory::of(&self.program.content), program: Arc::clone(&self.program) }
    }

    /// Name of the module.
    pub fn name(&self) -> &str {
        &self.program.layout.name
    }

    /// The vector instructions with which the design runs, and whether they were made for it.
    pub fn instructions(&self) -> String {
        self.program.engine.instructions()
    }

    /// The port of a name, if there is one.
    pub fn port(&self, name: &str) -> Option<PortPlace> {
        self.program.layout.port(name)
    }

    /// Drives the words of an input; no words leave it as it is, and those that are more than it has go nowhere.
    pub fn drive<T: Copy + Into<u64>>(&mut self, port: PortPlace, values: &[T]) {
        self.program.layout.drive(&mut self.memory, 0, port, values);
    }

    /// The words of a port.
    pub fn read(&self, port: PortPlace) -> impl Iterator<Item = u64> + '_ {
        self.program.layout.read(&self.memory, 0, port)
    }

    /// Puts the words of a port behind others.
    pub fn read_into(&self, port: PortPlace, to: &mut Vec<u64>) {
        self.program.layout.read_into(&self.memory, 0, port, to);
    }

    /// What a net of the design carries.
    pub fn value(&self, net: u32) -> u64 {
        self.program.layout.value(&self.memory, 0, net)
    }

    /// What some nets carry.
    pub fn values(&self, nets: &[u32], to: &mut [u64]) {
        self.program.layout.values(&self.memory, nets, to);
    }

    /// The value of something watched.
    pub fn seen(&self, watched: &Watched) -> u64 {
        watched.reading.read(self.value(watched.net()))
    }

    /// The clock is low: registers show what they captured, and all logic settles.
    pub fn settle(&mut self) {
        self.program.layout.set_clock(&mut self.memory, false);
        self.program.engine.settle(&mut self.memory);
    }

    /// The clock rises: every register captures what its inputs have settled to.
    pub fn clock(&mut self) {
        self.program.layout.set_clock(&mut self.memory, true);
        self.program.engine.capture(&mut self.memory);
    }
}

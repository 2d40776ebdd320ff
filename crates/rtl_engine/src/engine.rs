//! A compiled design, and how it is driven and read.

use crate::CompileError;
use crate::interpret::Interpreter;
use crate::layout::MemoryLayout;
use crate::memory::Memory;
use crate::native::{self, Native};
use crate::network::Recorded;
use crate::plan::Plan;
use flashd_hwmodel::netlist::Steps;
use flashd_hwmodel::rtl::{Design, PortPlace, Watched};
use flashd_spec::isa::Isa;
use std::sync::Arc;

/// What runs the jobs of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Machine code for AVX2, generated when the design is compiled.
    Native,
    /// Loops over the steps of each job.
    Interpreter,
}

impl Backend {
    /// All that this machine can run, the fastest first.
    pub fn available() -> Vec<Backend> {
        let native = native::is_available().then_some(Backend::Native);
        native.into_iter().chain([Backend::Interpreter]).collect()
    }

    /// The fastest.
    pub fn best() -> Backend {
        Backend::available()[0]
    }
}

/// A compiled plan.
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

    /// The vector instructions, and whether they are machine code or interpreted.
    pub(crate) fn instructions(&self) -> String {
        match self {
            Engine::Native(_) => "AVX2, machine code".into(),
            Engine::Interpreter(_) => format!("{}, interpreted", Isa::best()),
        }
    }
}

/// A design that runs. A cycle is [`Compiled::settle`] while the clock is low and [`Compiled::clock`] at its rising edge, as in
/// [`Circuit`](flashd_hwmodel::rtl::Circuit); every net has the same value as there at the same moment.
pub struct Compiled {
    program: Arc<SharedProgram>,
    memory: Memory,
}

/// The part that all runs of a design share.
pub(crate) struct SharedProgram {
    pub(crate) layout: MemoryLayout,
    pub(crate) engine: Engine,
    /// The word that says whether [deferred](crate::demand) logic always runs.
    always: Option<u32>,
    /// Memory before the first cycle.
    pub(crate) content: Vec<u32>,
}

impl SharedProgram {
    /// Compiles a design for a vector of `lanes` runs; the interpreter has one.
    pub(crate) fn new(
        design: &Design,
        backend: Backend,
        lanes: u32,
        changed: Recorded<'_>,
    ) -> Result<SharedProgram, CompileError> {
        let plan = Plan::of(design, changed)?;
        let mut content = plan.fresh(lanes as usize);
        let native = match backend {
            Backend::Native => Native::new(&plan, &mut content, lanes),
            Backend::Interpreter => None,
        };
        let mut layout = MemoryLayout::of(design, &plan, lanes as usize);
        let always = plan.deferred.as_ref().map(|deferred| deferred.always);
        let engine = native.map(Engine::Native).unwrap_or_else(|| {
            (content, layout) = (plan.fresh(1), MemoryLayout::of(design, &plan, 1));
            Engine::Interpreter(Interpreter::new(plan))
        });
        Ok(SharedProgram { layout, engine, always, content })
    }

    /// Whether logic behind a low clock gate is left as it is, in a single run.
    fn defer(&self, memory: &mut Memory, deferred: bool) {
        if let Some(always) = self.always {
            memory[always as usize] = u32::from(!deferred);
        }
    }
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

    /// The same with changed steps of each kind of leaf, for tests of fault coverage.
    ///
    /// # Errors
    /// If logic depends on itself.
    pub fn with_steps(
        design: &Design,
        backend: Backend,
        changed: &dyn Fn(usize, Steps) -> Steps,
    ) -> Result<Compiled, CompileError> {
        let program = SharedProgram::new(design, backend, 1, changed)?;
        Ok(Compiled { memory: Memory::of(&program.content), program: Arc::new(program) })
    }

    /// A fresh run of the same compiled design.
    pub fn another(&self) -> Compiled {
        Compiled { memory: Memory::of(&self.program.content), program: Arc::clone(&self.program) }
    }

    /// Name of the module.
    pub fn name(&self) -> &str {
        &self.program.layout.name
    }

    /// The vector instructions, and whether they are machine code or interpreted.
    pub fn instructions(&self) -> String {
        self.program.engine.instructions()
    }

    /// The port of a name, if there is one.
    pub fn port(&self, name: &str) -> Option<PortPlace> {
        self.program.layout.port(name)
    }

    /// Drives the first words of an input. Words beyond its last one are ignored.
    pub fn drive<T: Copy + Into<u64>>(&mut self, port: PortPlace, values: &[T]) {
        self.program.layout.drive(&mut self.memory, 0, port, values);
    }

    /// The words of a port.
    pub fn read(&self, port: PortPlace) -> impl Iterator<Item = u64> + '_ {
        self.program.layout.read(&self.memory, 0, port)
    }

    /// Appends the words of a port.
    pub fn read_into(&self, port: PortPlace, to: &mut Vec<u64>) {
        self.program.layout.read_into(&self.memory, 0, port, to);
    }

    /// The value of a net of the design.
    pub fn value(&self, net: u32) -> u64 {
        self.program.layout.value(&self.memory, 0, net)
    }

    /// The values of some nets.
    pub fn values(&self, nets: &[u32], to: &mut [u64]) {
        self.program.layout.values(&self.memory, nets, to);
    }

    /// The value of something watched.
    pub fn seen(&self, watched: &Watched) -> u64 {
        watched.reading.read(self.value(watched.net()))
    }

    /// The clock is low: Q outputs take the captured values, and all logic settles.
    pub fn settle(&mut self) {
        self.program.defer(&mut self.memory, false);
        self.program.layout.set_clock(&mut self.memory, false);
        self.program.engine.settle(&mut self.memory);
    }

    /// As [`Compiled::settle`], but only what ports and edges need: logic behind a clock gate that is low may keep an earlier value. Values of nets
    /// other than ports are right again after [`Compiled::settle`].
    pub fn settle_ports(&mut self) {
        self.program.defer(&mut self.memory, true);
        self.program.layout.set_clock(&mut self.memory, false);
        self.program.engine.settle(&mut self.memory);
    }

    /// The clock rises: every register captures its settled D input.
    pub fn clock(&mut self) {
        self.program.layout.set_clock(&mut self.memory, true);
        self.program.engine.capture(&mut self.memory);
    }
}

//! A described design that runs, and the engine that runs it.

use crate::bench::Frame;
use crate::gaps::Gaps;
use flashd_hwmodel::attention::inside::Inside;
use flashd_hwmodel::rtl::{Circuit, PortPlace};
use flashd_rtl_engine::{CompileError, Compiled};
use flashd_rusthdl::{Fault, Simulated};
use flashd_spec::config::ConfigError;
use flashd_spec::machine::Machine;
use flashd_spec::ports::{PORTS, Port, PortRow};
use std::cell::RefCell;
use std::rc::Rc;

/// The simulator of a described design. All give every wire the same value in every cycle, which the tests of [`flashd_rtl_engine`] and
/// [`flashd_rusthdl`] compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RtlEngine {
    /// The design as word operations over vectors, in machine code: [`flashd_rtl_engine`].
    #[default]
    Compiled,
    /// The event-driven simulator of the described design: [`Circuit`]. The reference, and slower.
    Reference,
    /// RustHDL's `Simulation` of a tree of blocks: [`Simulated`]. The slowest.
    RustHdl,
}

/// How a run goes. Made from [`Gaps`] alone it is run by the default engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drive {
    /// Pauses between keys and between queries.
    pub gaps: Gaps,
    /// What computes the cycles.
    pub engine: RtlEngine,
}

impl From<Gaps> for Drive {
    fn from(gaps: Gaps) -> Drive {
        Drive { gaps, engine: RtlEngine::default() }
    }
}

/// A machine's design, compiled.
struct CompiledMachine {
    machine: Machine,
    circuit: Circuit,
    /// Before its first cycle, for ever.
    compiled: Compiled,
}

thread_local! {
    /// What this thread has built last. Heads, tiles and rounds of a stream are runs of one design one after another, and to build it
    /// takes longer than a short run.
    static LAST: RefCell<Option<Rc<CompiledMachine>>> = const { RefCell::new(None) };
}

impl CompiledMachine {
    fn of(machine: Machine) -> Result<Rc<CompiledMachine>, ConfigError> {
        let last = LAST.with_borrow(|last| last.clone().filter(|last| last.machine == machine));
        if let Some(last) = last {
            return Ok(last);
        }
        // Not both at once in memory.
        LAST.set(None);
        let circuit = flashd_hwmodel::build(&machine)?;
        let refused = |e: CompileError| ConfigError {
            field: "engine",
            problem: format!("{} cannot be compiled: {e}", circuit.name()),
        };
        let compiled = Compiled::new(&circuit.design()).map_err(refused)?;
        let built = Rc::new(CompiledMachine { machine, circuit, compiled });
        LAST.set(Some(Rc::clone(&built)));
        Ok(built)
    }
}

/// What computes the cycles of one run.
enum RunEngine {
    Compiled { of: Rc<CompiledMachine>, run: Compiled },
    Reference(Box<Circuit>),
    RustHdl { circuit: Box<Circuit>, run: Simulated },
}

/// A design, its engine and its cycle count.
pub struct Running {
    engine: RunEngine,
    inside: Vec<Inside>,
    /// Inputs and outputs by port; of a wrapper none.
    inputs: Vec<(Port, PortPlace)>,
    outputs: Vec<(Port, PortPlace)>,
    words: Vec<u64>,
    cycle: u64,
}

impl Running {
    /// A machine's design before its first cycle.
    ///
    /// # Errors
    /// If the configuration is not valid, or the engine cannot run its design.
    pub fn new(machine: impl Into<Machine>, engine: RtlEngine) -> Result<Running, ConfigError> {
        let machine = machine.into();
        let rows = PORTS.iter().filter(|row| row.words(&machine).0 > 0);
        let (outputs, inputs): (Vec<_>, Vec<_>) = rows.partition(|row| row.is_output());
        let engine = match engine {
            RtlEngine::Compiled => {
                let of = CompiledMachine::of(machine)?;
                RunEngine::Compiled { run: of.compiled.another(), of }
            }
            RtlEngine::Reference => RunEngine::Reference(Box::new(flashd_hwmodel::build(&machine)?)),
            RtlEngine::RustHdl => {
                let circuit = Box::new(flashd_hwmodel::build(&machine)?);
                let refused =
                    |e: Fault| ConfigError { field: "engine", problem: format!("{}: {e}", circuit.name()) };
                let run = Simulated::new(&circuit).map_err(refused)?;
                RunEngine::RustHdl { circuit, run }
            }
        };
        let mut running = Running {
            engine,
            inside: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            words: Vec::new(),
            cycle: 0,
        };
        running.inside = Inside::of(running.circuit());
        let places =
            |rows: Vec<&PortRow>| rows.into_iter().map(|row| (row.port, running.port(row.name))).collect();
        (running.inputs, running.outputs) = (places(inputs), places(outputs));
        Ok(running)
    }

    fn circuit(&self) -> &Circuit {
        match &self.engine {
            RunEngine::Compiled { of, .. } => &of.circuit,
            RunEngine::Reference(circuit) | RunEngine::RustHdl { circuit, .. } => circuit,
        }
    }

    /// Name of the module.
    pub fn name(&self) -> &str {
        self.circuit().name()
    }

    /// Cycles so far.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// A port that only some designs have. It has the same place for all engines.
    pub(crate) fn optional(&self, name: &str) -> Option<PortPlace> {
        self.circuit().port(name)
    }

    /// A port that a design has.
    ///
    /// # Panics
    /// If it has not: the description and what drives it do not belong together.
    pub(crate) fn port(&self, name: &str) -> PortPlace {
        self.optional(name).unwrap_or_else(|| panic!("{} has no port {name}", self.circuit().name()))
    }

    /// How many words a port has, and their width.
    pub(crate) fn shape(&self, name: &str) -> (usize, u32) {
        self.circuit().shape(name)
    }

    /// Drives the words of an input; no words leave it as it is.
    pub(crate) fn drive(&mut self, port: impl Into<Option<PortPlace>>, words: &[u64]) {
        let Some(port) = port.into() else { return };
        match &mut self.engine {
            RunEngine::Compiled { run, .. } => run.drive(port, words),
            RunEngine::Reference(circuit) => circuit.drive(port, words),
            RunEngine::RustHdl { run, .. } => run.drive(port, words),
        }
    }

    /// Drives an input of one word.
    pub(crate) fn set(&mut self, port: impl Into<Option<PortPlace>>, word: impl Into<u64>) {
        self.drive(port, &[word.into()]);
    }

    /// The first word of a port; 0 where there is no such port.
    pub(crate) fn get(&self, port: impl Into<Option<PortPlace>>) -> u64 {
        let Some(port) = port.into() else { return 0 };
        let word = match &self.engine {
            RunEngine::Compiled { run, .. } => run.read(port).next(),
            RunEngine::Reference(circuit) => circuit.read(port).next(),
            RunEngine::RustHdl { run, .. } => run.read(port).next(),
        };
        word.unwrap_or(0)
    }

    /// Whether a port is there and high.
    pub(crate) fn is_high(&self, port: impl Into<Option<PortPlace>>) -> bool {
        self.get(port) != 0
    }

    /// Reads a port into `words`; an absent port has none.
    pub(crate) fn read(&self, port: impl Into<Option<PortPlace>>, words: &mut Vec<u64>) {
        words.clear();
        let Some(port) = port.into() else { return };
        match &self.engine {
            RunEngine::Compiled { run, .. } => run.read_into(port, words),
            RunEngine::Reference(circuit) => words.extend(circuit.read(port)),
            RunEngine::RustHdl { run, .. } => words.extend(run.read(port)),
        }
    }

    /// Drives the inputs of a frame, settles the cycle, and reads the outputs into the frame.
    pub fn settle_frame(&mut self, frame: &mut Frame) {
        for n in 0..self.inputs.len() {
            let (port, place) = self.inputs[n];
            self.drive(place, &frame[port]);
        }
        self.settle();
        let mut words = std::mem::take(&mut self.words);
        for &(port, place) in &self.outputs {
            self.read(place, &mut words);
            frame[port].copy_from_slice(&words);
        }
        self.words = words;
    }

    /// Settles the cycle: outputs and internal values follow the inputs.
    pub(crate) fn settle(&mut self) {
        let Running { engine, inside, .. } = self;
        match engine {
            RunEngine::Compiled { of, run } => {
                run.settle();
                Inside::refresh(inside, &of.circuit, |net| run.value(net));
            }
            RunEngine::Reference(circuit) => {
                circuit.settle();
                Inside::refresh(inside, circuit, |net| circuit.value(net));
            }
            RunEngine::RustHdl { circuit, run } => {
                run.settle();
                Inside::refresh(inside, circuit, |net| run.value(net));
            }
        }
    }

    /// As [`Running::settle`], but only ports are sure to be right: other values and [`Running::inside`] may be earlier ones.
    pub(crate) fn settle_ports(&mut self) {
        match &mut self.engine {
            RunEngine::Compiled { run, .. } => run.settle_ports(),
            RunEngine::Reference(circuit) => circuit.settle(),
            RunEngine::RustHdl { run, .. } => run.settle(),
        }
    }

    /// Internal values to compare in the settled cycle, core by core.
    pub(crate) fn inside(&self) -> &[Inside] {
        &self.inside
    }

    /// The rising edge that ends the cycle: every register captures.
    pub fn clock(&mut self) {
        match &mut self.engine {
            RunEngine::Compiled { run, .. } => run.clock(),
            RunEngine::Reference(circuit) => circuit.clock(),
            RunEngine::RustHdl { run, .. } => run.clock(),
        }
        self.cycle += 1;
    }

    /// The value of a net of the design in the settled cycle.
    pub fn value(&self, net: u32) -> u64 {
        match &self.engine {
            RunEngine::Compiled { run, .. } => run.value(net),
            RunEngine::Reference(circuit) => circuit.value(net),
            RunEngine::RustHdl { run, .. } => run.value(net),
        }
    }

    /// The values of some nets in the settled cycle.
    pub(crate) fn values(&self, nets: &[u32], to: &mut [u64]) {
        match &self.engine {
            RunEngine::Compiled { run, .. } => run.values(nets, to),
            _ => to.iter_mut().zip(nets).for_each(|(to, &net)| *to = self.value(net)),
        }
    }
}

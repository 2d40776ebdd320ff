//! A described design that runs, and the engine that runs it.

use crate::gaps::Gaps;
use flashd_compiled::{CompileError, Compiled};
use flashd_hwmodel::attention::inside::Inside;
use flashd_hwmodel::rtl::{Circuit, PortPlace};
use flashd_spec::config::ConfigError;

/// What computes a described design's cycles. Both give every wire the same value in every cycle, which the tests of
/// [`flashd_compiled`] compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RtlEngine {
    /// The design as word operations over vectors, in machine code: [`flashd_compiled`].
    #[default]
    Compiled,
    /// The sweeps over the RustHDL blocks: [`Circuit`]. The reference, and slower.
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

/// A design, its engine and its cycle count.
pub struct Running {
    circuit: Circuit,
    compiled: Option<Compiled>,
    inside: Vec<Inside>,
    cycle: u64,
}

impl Running {
    /// A design before its first cycle.
    ///
    /// # Errors
    /// If the engine cannot run it.
    pub(crate) fn new(circuit: Circuit, engine: RtlEngine) -> Result<Running, ConfigError> {
        let refused = |e: CompileError| ConfigError {
            field: "engine",
            problem: format!("{} cannot be compiled: {e}", circuit.name()),
        };
        let compiled = match engine {
            RtlEngine::Compiled => Some(Compiled::new(&circuit.design()).map_err(refused)?),
            RtlEngine::RustHdl => None,
        };
        Ok(Running { inside: Inside::of(&circuit), compiled, circuit, cycle: 0 })
    }

    /// Name of the module.
    pub fn name(&self) -> &str {
        self.circuit.name()
    }

    /// Cycles so far.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// A port that only some designs have. It has the same place for both engines.
    pub(crate) fn optional(&self, name: &str) -> Option<PortPlace> {
        self.circuit.port(name)
    }

    /// A port that a design has.
    ///
    /// # Panics
    /// If it has not: the description and what drives it do not belong together.
    pub(crate) fn port(&self, name: &str) -> PortPlace {
        self.optional(name).unwrap_or_else(|| panic!("{} has no port {name}", self.circuit.name()))
    }

    /// How many words a port has, and their width.
    pub(crate) fn shape(&self, name: &str) -> (usize, u32) {
        self.circuit.shape(name)
    }

    /// Drives the words of an input; no words leave it as it is.
    pub(crate) fn drive(&mut self, port: impl Into<Option<PortPlace>>, words: &[u64]) {
        match (port.into(), &mut self.compiled) {
            (Some(port), Some(compiled)) => compiled.drive(port, words),
            (Some(port), None) => self.circuit.drive(port, words),
            (None, _) => {}
        }
    }

    /// Drives an input of one word.
    pub(crate) fn set(&mut self, port: impl Into<Option<PortPlace>>, word: impl Into<u64>) {
        self.drive(port, &[word.into()]);
    }

    /// The first word of a port; 0 where there is no such port.
    pub(crate) fn get(&self, port: impl Into<Option<PortPlace>>) -> u64 {
        let Some(port) = port.into() else { return 0 };
        let word = match &self.compiled {
            Some(compiled) => compiled.read(port).next(),
            None => self.circuit.read(port).next(),
        };
        word.unwrap_or(0)
    }

    /// Whether a port is there and high.
    pub(crate) fn is_high(&self, port: impl Into<Option<PortPlace>>) -> bool {
        self.get(port) != 0
    }

    /// Replaces words by those of a port; by none where there is no such port.
    pub(crate) fn read(&self, port: impl Into<Option<PortPlace>>, words: &mut Vec<u64>) {
        words.clear();
        match (port.into(), &self.compiled) {
            (Some(port), Some(compiled)) => compiled.read_into(port, words),
            (Some(port), None) => words.extend(self.circuit.read(port)),
            (None, _) => {}
        }
    }

    /// Settles the cycle: outputs, and what is inside, follow the inputs.
    pub(crate) fn settle(&mut self) {
        let Running { circuit, compiled, inside, .. } = self;
        match compiled {
            Some(compiled) => {
                compiled.settle();
                Inside::refresh(inside, circuit, |net| compiled.value(net));
            }
            None => {
                circuit.settle();
                Inside::refresh(inside, circuit, |net| circuit.value(net));
            }
        }
    }

    /// What is compared inside, of each core one after another, in the settled cycle.
    pub(crate) fn inside(&self) -> &[Inside] {
        &self.inside
    }

    /// The rising edge that ends the cycle: every register captures.
    pub(crate) fn clock(&mut self) {
        match &mut self.compiled {
            Some(compiled) => compiled.clock(),
            None => self.circuit.clock(),
        }
        self.cycle += 1;
    }

    /// What a net of the design carries in the settled cycle.
    pub fn value(&self, net: u32) -> u64 {
        match &self.compiled {
            Some(compiled) => compiled.value(net),
            None => self.circuit.value(net),
        }
    }

    /// What some nets carry in the settled cycle.
    pub(crate) fn values(&self, nets: &[u32], to: &mut [u64]) {
        match &self.compiled {
            Some(compiled) => compiled.values(nets, to),
            None => to.iter_mut().zip(nets).for_each(|(to, &net)| *to = self.circuit.value(net)),
        }
    }
}

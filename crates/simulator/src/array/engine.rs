//! Clocks one array.

use crate::core::engine::{Inputs, Outputs};
use flashd_hwmodel::array::build;
use flashd_hwmodel::attention::inside::Inside;
use flashd_hwmodel::rtl::SimulatedCircuit;
use flashd_spec::config::{ArrayConfig, ConfigError};

/// Everything that an array's inputs carry in one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArrayInputs {
    /// The ports that a core has too.
    pub core: Inputs,
    /// The query is its block's last.
    pub q_last: bool,
    /// Place of the first key that the query sees, for cores with masks; others have no such port.
    pub q_from: u64,
    /// Place of the first one that it sees no more, likewise.
    pub q_to: u64,
}

/// Everything that an array's outputs carry in one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArrayOutputs {
    /// The ports that a core has too.
    pub core: Outputs,
    /// A query is taken if offered.
    pub q_ready: bool,
    /// A key is taken if offered.
    pub k_ready: bool,
    /// Place of the result's query in its block.
    pub o_index: u64,
    /// The result is its block's last.
    pub o_last: bool,
}

/// An array, its clock and its cycle count.
pub(super) struct ArrayEngine {
    array: SimulatedCircuit,
    queries: usize,
    inside: Vec<Inside>,
    cycle: u64,
}

impl ArrayEngine {
    /// The array of a configuration, before reset.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub(super) fn new(config: &ArrayConfig) -> Result<Self, ConfigError> {
        let array = SimulatedCircuit::new(build(config)?);
        Ok(ArrayEngine { inside: Inside::of(array.circuit()), array, queries: config.queries, cycle: 0 })
    }

    /// Cycles so far.
    pub(super) fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Drives the inputs of the current cycle and settles; `outputs` are those of this cycle.
    pub(super) fn settle(&mut self, inputs: &ArrayInputs, outputs: &mut ArrayOutputs) {
        inputs.core.drive(&mut self.array);
        self.array.set("q_last", inputs.q_last);
        self.array.set_optional("q_from", inputs.q_from);
        self.array.set_optional("q_to", inputs.q_to);
        self.array.set_optional("k_mask", inputs.core.k_mask);
        self.array.settle();
        Inside::refresh(&mut self.inside, self.array.circuit());
        outputs.core.read(&self.array);
        outputs.q_ready = self.array.is_high("q_ready");
        outputs.k_ready = self.array.is_high("k_ready");
        outputs.o_index = self.array.get("o_index");
        outputs.o_last = self.array.is_high("o_last");
    }

    /// What is compared inside each core, in the settled cycle.
    pub(super) fn inside(&self) -> Vec<Vec<Inside>> {
        Inside::by_core(&self.inside, self.queries)
    }

    /// The rising edge that ends the current cycle: every register captures.
    pub(super) fn clock(&mut self) {
        self.array.clock();
        self.cycle += 1;
    }
}

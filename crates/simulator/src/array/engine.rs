//! Clocks one array.

use crate::any::AnyConfig;
use crate::core::engine::{Inputs, Outputs, SharedPorts, StatePorts};
use crate::running::{RtlEngine, Running};
use flashd_hwmodel::attention::inside::Inside;
use flashd_hwmodel::rtl::PortPlace;
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
    /// With `k_state`: place of the query that the state is for, for cores with partial results.
    pub k_index: u64,
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
    array: Running,
    ports: SharedPorts,
    state: StatePorts,
    k_index: Option<PortPlace>,
    q_last: PortPlace,
    /// `q_from`, `q_to`, `k_mask`.
    masks: [Option<PortPlace>; 3],
    ready: [PortPlace; 2],
    o_index: PortPlace,
    o_last: PortPlace,
}

impl ArrayEngine {
    /// The array of a configuration, before reset.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub(super) fn new(config: &ArrayConfig, engine: RtlEngine) -> Result<Self, ConfigError> {
        let array = Running::new(AnyConfig::Array(config.clone()), engine)?;
        Ok(ArrayEngine {
            ports: SharedPorts::of(&array),
            state: StatePorts::of(&array, &config.core),
            k_index: array.optional("k_index"),
            q_last: array.port("q_last"),
            masks: ["q_from", "q_to", "k_mask"].map(|name| array.optional(name)),
            ready: ["q_ready", "k_ready"].map(|name| array.port(name)),
            o_index: array.port("o_index"),
            o_last: array.port("o_last"),
            array,
        })
    }

    /// Cycles so far.
    pub(super) fn cycle(&self) -> u64 {
        self.array.cycle()
    }

    /// The design that runs.
    pub(super) fn running(&self) -> &Running {
        &self.array
    }

    /// Drives the inputs of the current cycle and settles; `outputs` then has the outputs of this cycle.
    pub(super) fn settle(&mut self, inputs: &ArrayInputs, outputs: &mut ArrayOutputs) {
        let array = &mut self.array;
        self.ports.drive(&inputs.core, array);
        array.set(self.q_last, inputs.q_last);
        let masks = [inputs.q_from, inputs.q_to, inputs.core.k_mask.into()];
        self.masks.into_iter().zip(masks).for_each(|(port, word)| array.set(port, word));
        self.state.drive(&inputs.core, array);
        array.set(self.k_index, inputs.k_index);
        array.settle();
        self.ports.read(array, &mut outputs.core);
        self.state.read(array, &mut outputs.core);
        [outputs.q_ready, outputs.k_ready] = self.ready.map(|port| array.is_high(port));
        outputs.o_index = array.get(self.o_index);
        outputs.o_last = array.is_high(self.o_last);
    }

    /// What is compared inside each core, one after another, in the settled cycle.
    pub(super) fn inside(&self) -> &[Inside] {
        self.array.inside()
    }

    /// The rising edge that ends the current cycle: every register captures.
    pub(super) fn clock(&mut self) {
        self.array.clock();
    }
}

//! Clocks one split: its cores and their tree.

use crate::any::AnyConfig;
use crate::core::engine::{Inputs, Outputs, SharedPorts};
use crate::running::{RtlEngine, Running};
use flashd_hwmodel::attention::inside::Inside;
use flashd_hwmodel::rtl::PortPlace;
use flashd_spec::config::{ConfigError, SplitConfig};

/// What cores and tree have at their inputs in one cycle.
#[derive(Clone, Debug, Default)]
pub struct SplitInputs {
    /// As of a core; `k` and `v` have the vectors of all parts, `parts * d` encodings.
    pub core: Inputs,
    /// Whether the key of each part is hidden.
    pub k_mask: Vec<bool>,
}

/// What they have at their outputs.
#[derive(Clone, Debug, Default)]
pub struct SplitOutputs {
    /// As of a core, the result being that of all parts.
    pub core: Outputs,
    /// Whether each part reads its value.
    pub v_ren: Vec<bool>,
}

/// Cores and tree, their clock and their cycle count.
pub(super) struct SplitEngine {
    split: Running,
    ports: SharedPorts,
    k_mask: PortPlace,
    v_ren: PortPlace,
    /// The state's scalars.
    scalars: Vec<PortPlace>,
}

impl SplitEngine {
    /// The split of a configuration, before reset.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub(super) fn new(config: &SplitConfig, engine: RtlEngine) -> Result<Self, ConfigError> {
        let split = Running::new(AnyConfig::Split(config.clone()), engine)?;
        let scalars = config.core.state_scalars().iter();
        Ok(SplitEngine {
            ports: SharedPorts::of(&split),
            k_mask: split.port("k_mask"),
            v_ren: split.port("v_ren"),
            scalars: scalars.map(|name| split.port(&format!("o_{name}"))).collect(),
            split,
        })
    }

    /// Cycles so far.
    pub(super) fn cycle(&self) -> u64 {
        self.split.cycle()
    }

    /// The design that runs.
    pub(super) fn running(&self) -> &Running {
        &self.split
    }

    /// Drives the inputs of the current cycle and settles; `outputs` then has the outputs of this cycle.
    pub(super) fn settle(&mut self, inputs: &SplitInputs, outputs: &mut SplitOutputs) {
        let split = &mut self.split;
        self.ports.drive(&inputs.core, split);
        let k_mask: Vec<u64> = inputs.k_mask.iter().map(|&masked| masked.into()).collect();
        split.drive(self.k_mask, &k_mask);
        split.settle();
        self.ports.read(split, &mut outputs.core);
        outputs.core.o_scalars = self.scalars.iter().map(|&port| split.get(port)).collect();
        let mut v_ren = Vec::new();
        split.read(self.v_ren, &mut v_ren);
        outputs.v_ren = v_ren.into_iter().map(|high| high != 0).collect();
    }

    /// What is compared inside each core, one after another, in the settled cycle.
    pub(super) fn inside(&self) -> &[Inside] {
        self.split.inside()
    }

    /// The rising edge that ends the current cycle: every register captures.
    pub(super) fn clock(&mut self) {
        self.split.clock();
    }
}

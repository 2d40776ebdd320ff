//! Clocks one split: its cores and their tree.

use crate::core::engine::{Inputs, Outputs};
use flashd_hwmodel::attention::inside::Inside;
use flashd_hwmodel::rtl::SimulatedCircuit;
use flashd_hwmodel::split::build;
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
    split: SimulatedCircuit,
    parts: usize,
    /// Names of the state's scalars.
    scalars: &'static [&'static str],
    /// What is watched inside the cores, one after another.
    inside: Vec<Inside>,
    cycle: u64,
}

impl SplitEngine {
    /// The split of a configuration, before reset.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub(super) fn new(config: &SplitConfig) -> Result<Self, ConfigError> {
        let split = SimulatedCircuit::new(build(config)?);
        Ok(SplitEngine {
            inside: Inside::of(split.circuit()),
            split,
            parts: config.parts,
            scalars: config.core.state_scalars(),
            cycle: 0,
        })
    }

    /// Cycles so far.
    pub(super) fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Drives the inputs of the current cycle and settles; `outputs` are those of this cycle.
    pub(super) fn settle(&mut self, inputs: &SplitInputs, outputs: &mut SplitOutputs) {
        inputs.core.drive(&mut self.split);
        let k_mask: Vec<u64> = inputs.k_mask.iter().map(|&masked| masked.into()).collect();
        self.split.set_words("k_mask", &k_mask);
        self.split.settle();
        Inside::refresh(&mut self.inside, self.split.circuit());
        outputs.core.read(&self.split);
        outputs.core.o_scalars =
            self.scalars.iter().map(|name| self.split.get(&format!("o_{name}"))).collect();
        outputs.v_ren = self.split.words("v_ren").map(|high| high != 0).collect();
    }

    /// What is compared inside each core, in the settled cycle.
    pub(super) fn inside(&self) -> Vec<Vec<Inside>> {
        Inside::by_core(&self.inside, self.parts)
    }

    /// The rising edge that ends the current cycle: every register captures.
    pub(super) fn clock(&mut self) {
        self.split.clock();
        self.cycle += 1;
    }
}

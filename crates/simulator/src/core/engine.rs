//! Clocks one RustHDL core.

use crate::any::AnyConfig;
use crate::running::{RtlEngine, Running};
use flashd_hwmodel::attention::inside::Inside;
use flashd_hwmodel::rtl::PortPlace;
use flashd_spec::config::{ConfigError, CoreConfig};

/// Everything that a core's inputs carry in one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Synchronous reset of the control state.
    pub rst: bool,
    /// The query, d encodings.
    pub q: Vec<u64>,
    /// Load `q` and `v_exponent`, which hold until the next load and count from the next cycle on.
    pub q_valid: bool,
    /// Exponent field of max|v| that the query will meet. Meant for cores with fixed-point lanes; others have no such port.
    pub v_exponent: u64,
    /// The key, d encodings.
    pub k: Vec<u64>,
    /// There is a key, which the core takes in this cycle.
    pub k_valid: bool,
    /// With `k_valid`: the key is its query's last.
    pub k_last: bool,
    /// With `k_valid`: the query does not see the key. Meant for cores with masks; others have no such port.
    pub k_mask: bool,
    /// With `k_valid`: what is added to the key's score, an encoding of [`BIAS`](flashd_spec::numerics::BIAS); of an array one for each
    /// core, of split keys one for each part. Meant for cores with a bias; others have no such port.
    pub k_bias: Vec<u64>,
    /// With `k_valid`: the step is a partial result that the query starts from, and `k` means nothing. Meant for cores with partial
    /// results, as the other two ports of a state; others have no such ports.
    pub k_state: bool,
    /// Scalars of that state, in the cycle after `state_ren`, in the order of [`CoreConfig::state_scalars`]: raw words, as wide as
    /// [`flashd_spec::numerics::Numerics::scalar_bits`] says.
    pub state: Vec<u64>,
    /// Accumulators of that state, d raw words in place of a value's: after `v_state`, when `v` would come.
    pub state_o: Vec<u64>,
    /// The value, d encodings, so many cycles after `v_ren` as the configuration's `value_latency`.
    pub v: Vec<u64>,
}

/// Everything that a core's outputs carry in one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// A step reaches the point where its value is asked for: the next value's turn.
    pub v_step: bool,
    /// With `v_step`: the step reads its value, or the accumulators of a state.
    pub v_ren: bool,
    /// The result, d encodings; it means something while `o_valid` is high.
    pub o: Vec<u64>,
    /// A query's result is there, for one cycle.
    pub o_valid: bool,
    /// With `o_valid`: an operand that the query read is Inf or NaN.
    pub o_invalid: bool,
    /// With `o_valid`: the score of a key that the query has seen saturated. False where the core has no such port.
    pub o_saturated: bool,
    /// With `o_valid`: a value that the query read is beyond `v_exponent`. False where the core has no such port.
    pub o_overflow: bool,
    /// With `o_valid`: the query has seen no key. False where the core has no such port.
    pub o_empty: bool,
    /// The scalars of a state are wanted in the next cycle. False where the core has no such port.
    pub state_ren: bool,
    /// With `v_ren`: what is wanted are the accumulators of a state. False where the core has no such port.
    pub v_state: bool,
    /// With `o_valid`: scalars of the state after the last key, in the order of [`CoreConfig::state_scalars`]. Empty where the core
    /// has no such ports.
    pub o_scalars: Vec<u64>,
    /// With `o_valid`: accumulators of that state, d raw words. Empty where the core has no such port.
    pub o_state: Vec<u64>,
    /// What the model expects inside, of each core one after another in the order of [`Inside`]; None where nothing is compared, and
    /// nothing at all from what does not look inside.
    pub inside: Vec<Option<u64>>,
}

/// Ports that cores, arrays and split keys have in common, found once.
pub(crate) struct SharedPorts {
    flags: [PortPlace; 4],
    v_exponent: Option<PortPlace>,
    vectors: [PortPlace; 3],
    k_bias: Option<PortPlace>,
    steps: [PortPlace; 2],
    o_valid: PortPlace,
    o_flags: [Option<PortPlace>; 4],
    o: PortPlace,
    o_state: Option<PortPlace>,
}

impl SharedPorts {
    /// Those of a design.
    pub(crate) fn of(design: &Running) -> SharedPorts {
        SharedPorts {
            flags: ["rst", "q_valid", "k_valid", "k_last"].map(|name| design.port(name)),
            v_exponent: design.optional("v_exponent"),
            vectors: ["q", "k", "v"].map(|name| design.port(name)),
            k_bias: design.optional("k_bias"),
            steps: ["v_step", "v_ren"].map(|name| design.port(name)),
            o_valid: design.port("o_valid"),
            o_flags: ["o_invalid", "o_saturated", "o_overflow", "o_empty"].map(|name| design.optional(name)),
            o: design.port("o"),
            o_state: design.optional("o_state"),
        }
    }

    /// Drives a design's inputs; those that it does not have are left out.
    pub(crate) fn drive(&self, inputs: &Inputs, design: &mut Running) {
        let flags = [inputs.rst, inputs.q_valid, inputs.k_valid, inputs.k_last];
        self.flags.into_iter().zip(flags).for_each(|(port, high)| design.set(port, high));
        design.set(self.v_exponent, inputs.v_exponent);
        let vectors = [&inputs.q, &inputs.k, &inputs.v];
        self.vectors.into_iter().zip(vectors).for_each(|(port, words)| design.drive(port, words));
        design.drive(self.k_bias, &inputs.k_bias);
    }

    /// Reads a design's outputs; of one that it does not have: false.
    pub(crate) fn read(&self, design: &Running, outputs: &mut Outputs) {
        [outputs.v_step, outputs.v_ren] = self.steps.map(|port| design.is_high(port));
        outputs.o_valid = design.is_high(self.o_valid);
        [outputs.o_invalid, outputs.o_saturated, outputs.o_overflow, outputs.o_empty] =
            self.o_flags.map(|port| design.is_high(port));
        design.read(self.o, &mut outputs.o);
        design.read(self.o_state, &mut outputs.o_state);
    }
}

/// Ports of partial results, of cores and arrays that have them.
pub(crate) struct StatePorts {
    k_state: Option<PortPlace>,
    state_o: Option<PortPlace>,
    /// What asks for a partial result's state.
    asks: [Option<PortPlace>; 2],
    /// Scalars of the state that comes in and of the one that goes out.
    scalars: Vec<[PortPlace; 2]>,
}

impl StatePorts {
    /// Those of a design of cores of this configuration.
    pub(crate) fn of(design: &Running, config: &CoreConfig) -> StatePorts {
        let scalars = config.state_scalars().iter().filter(|_| config.partial);
        StatePorts {
            k_state: design.optional("k_state"),
            state_o: design.optional("state_o"),
            asks: ["state_ren", "v_state"].map(|name| design.optional(name)),
            scalars: scalars
                .map(|name| ["state", "o"].map(|of| design.port(&format!("{of}_{name}"))))
                .collect(),
        }
    }

    /// Drives the inputs.
    pub(crate) fn drive(&self, inputs: &Inputs, design: &mut Running) {
        design.set(self.k_state, inputs.k_state);
        for (&[port, _], &value) in self.scalars.iter().zip(&inputs.state) {
            design.set(port, value);
        }
        design.drive(self.state_o, &inputs.state_o);
    }

    /// Reads the outputs, but for the accumulators of a result; what is not there is false.
    pub(crate) fn read(&self, design: &Running, outputs: &mut Outputs) {
        [outputs.state_ren, outputs.v_state] = self.asks.map(|port| design.is_high(port));
        outputs.o_scalars.clear();
        outputs.o_scalars.extend(self.scalars.iter().map(|&[_, port]| design.get(port)));
    }
}

/// A core, its clock and its cycle count.
pub struct Engine {
    core: Running,
    ports: SharedPorts,
    k_mask: Option<PortPlace>,
    state: StatePorts,
}

impl Engine {
    /// The core of a configuration, before reset.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(config: &CoreConfig) -> Result<Self, ConfigError> {
        Engine::with(config, RtlEngine::default())
    }

    /// The same, run by one of the engines.
    ///
    /// # Errors
    /// As [`Engine::new`], or if the engine cannot run it.
    pub fn with(config: &CoreConfig, engine: RtlEngine) -> Result<Self, ConfigError> {
        let core = Running::new(AnyConfig::Core(config.clone()), engine)?;
        Ok(Engine {
            ports: SharedPorts::of(&core),
            k_mask: core.optional("k_mask"),
            state: StatePorts::of(&core, config),
            core,
        })
    }

    /// Cycles so far.
    pub fn cycle(&self) -> u64 {
        self.core.cycle()
    }

    /// The design that runs.
    pub(crate) fn running(&self) -> &Running {
        &self.core
    }

    /// Name of the core's module.
    pub fn name(&self) -> &str {
        self.core.name()
    }

    /// What a net of the core's [`Design`](flashd_hwmodel::rtl::Design) carries in the settled cycle.
    pub fn value(&self, net: u32) -> u64 {
        self.core.value(net)
    }

    /// Drives the inputs of the current cycle and settles; `outputs` then has the outputs of this cycle.
    pub fn settle(&mut self, inputs: &Inputs, outputs: &mut Outputs) {
        let core = &mut self.core;
        self.ports.drive(inputs, core);
        core.set(self.k_mask, inputs.k_mask);
        self.state.drive(inputs, core);
        core.settle();
        self.ports.read(core, outputs);
        self.state.read(core, outputs);
    }

    /// What is compared inside the core, in the settled cycle.
    pub fn inside(&self) -> &[Inside] {
        self.core.inside()
    }

    /// The rising edge that ends the current cycle: every register captures.
    pub fn clock(&mut self) {
        self.core.clock();
    }
}

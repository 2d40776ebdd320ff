//! Clocks one RustHDL core.

use flashd_hwmodel::attention::inside::Inside;
use flashd_hwmodel::catalogue::build;
use flashd_hwmodel::rtl::{Block, SimulatedCircuit};
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
    /// Exponent field of the largest |v| that the query will meet. Meant for cores with fixed-point lanes; others have no such port.
    pub v_exponent: u64,
    /// The key, d encodings.
    pub k: Vec<u64>,
    /// There is a key, which the core takes in this cycle.
    pub k_valid: bool,
    /// With `k_valid`: the key is its query's last.
    pub k_last: bool,
    /// With `k_valid`: the query does not see the key. Meant for cores with masks; others have no such port.
    pub k_mask: bool,
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

/// A core, its clock and its cycle count.
pub struct Engine {
    core: SimulatedCircuit,
    /// Ports of the scalars of a partial result's state.
    scalars: Vec<[String; 2]>,
    inside: Vec<Inside>,
    cycle: u64,
}

impl Engine {
    /// The core of a configuration, before reset.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(config: &CoreConfig) -> Result<Self, ConfigError> {
        let scalars = config.state_scalars().iter().filter(|_| config.partial);
        let scalars = scalars.map(|name| [format!("state_{name}"), format!("o_{name}")]).collect();
        let core = SimulatedCircuit::new(build(config)?);
        Ok(Engine { inside: Inside::of(core.circuit()), core, scalars, cycle: 0 })
    }

    /// Cycles so far.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// The design, for probes.
    pub fn design(&self) -> &dyn Block {
        self.core.block()
    }

    /// Drives the inputs of the current cycle and settles; `outputs` are those of this cycle.
    pub fn settle(&mut self, inputs: &Inputs, outputs: &mut Outputs) {
        inputs.drive(&mut self.core);
        self.core.set_optional("k_mask", inputs.k_mask);
        self.core.set_optional("k_state", inputs.k_state);
        for ([port, _], &value) in self.scalars.iter().zip(&inputs.state) {
            self.core.set(port, value);
        }
        if !self.scalars.is_empty() {
            self.core.set_words("state_o", &inputs.state_o);
        }
        self.core.settle();
        Inside::refresh(&mut self.inside, self.core.circuit());
        outputs.read(&self.core);
        outputs.state_ren = self.core.is_high("state_ren");
        outputs.v_state = self.core.is_high("v_state");
        outputs.o_scalars.clear();
        outputs.o_scalars.extend(self.scalars.iter().map(|[_, port]| self.core.get(port)));
    }

    /// What is compared inside the core, in the settled cycle.
    pub fn inside(&self) -> Vec<Inside> {
        self.inside.clone()
    }

    /// The rising edge that ends the current cycle: every register captures.
    pub fn clock(&mut self) {
        self.core.clock();
        self.cycle += 1;
    }
}

impl Inputs {
    /// Drives the ports that are the same in cores, arrays and split keys; those that a design does not have are left out.
    pub(crate) fn drive(&self, design: &mut SimulatedCircuit) {
        for (port, high) in
            [("rst", self.rst), ("q_valid", self.q_valid), ("k_valid", self.k_valid), ("k_last", self.k_last)]
        {
            design.set(port, high);
        }
        design.set_optional("v_exponent", self.v_exponent);
        for (port, words) in [("q", &self.q), ("k", &self.k), ("v", &self.v)] {
            design.set_words(port, words);
        }
    }
}

impl Outputs {
    /// Reads the ports that are the same in cores, arrays and split keys; of one that a design does not have: false.
    pub(crate) fn read(&mut self, design: &SimulatedCircuit) {
        self.v_step = design.is_high("v_step");
        self.v_ren = design.is_high("v_ren");
        self.o_valid = design.is_high("o_valid");
        self.o_invalid = design.is_high("o_invalid");
        self.o_overflow = design.is_high("o_overflow");
        self.o_empty = design.is_high("o_empty");
        self.o.clear();
        self.o.extend(design.words("o"));
        self.o_state.clear();
        self.o_state.extend(design.words("o_state"));
    }
}

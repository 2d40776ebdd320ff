//! Clocks one RustHDL core.

use flashd_hwmodel::attention::inside::Inside;
use flashd_hwmodel::catalogue::build;
use flashd_hwmodel::rtl::{Block, Design};
use flashd_spec::config::{ConfigError, CoreConfig};

/// Everything that a core's inputs carry in one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Inputs {
    pub rst: bool,
    pub q: Vec<u64>,
    pub q_valid: bool,
    /// Meant for cores with fixed-point lanes; others have no such port.
    pub v_exponent: u64,
    pub k: Vec<u64>,
    pub k_valid: bool,
    pub k_last: bool,
    /// Meant for cores with masks; others have no such port.
    pub k_mask: bool,
    /// Of cores with partial results, like all of a state.
    pub k_state: bool,
    pub state: Vec<u64>,
    pub state_o: Vec<u64>,
    pub v: Vec<u64>,
}

/// Everything that a core's outputs carry in one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Outputs {
    pub v_step: bool,
    pub v_ren: bool,
    pub o: Vec<u64>,
    pub o_valid: bool,
    pub o_invalid: bool,
    /// False where the core has no such port.
    pub o_overflow: bool,
    /// False where the core has no such port.
    pub o_empty: bool,
    /// False where the core has no such port.
    pub state_ren: bool,
    /// False where the core has no such port.
    pub v_state: bool,
    /// Empty where the core has no such ports.
    pub o_scalars: Vec<u64>,
    /// Empty where the core has no such port.
    pub o_state: Vec<u64>,
    /// What the model expects inside, of each core one after another in the order of [`Inside`]; None where nothing is compared, and
    /// nothing at all from what does not look inside.
    pub inside: Vec<Option<u64>>,
}

/// A core, its clock and its cycle count.
pub struct Engine {
    core: Design,
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
        let core = Design::new(build(config)?);
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
    pub(crate) fn drive(&self, design: &mut Design) {
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
    pub(crate) fn read(&mut self, design: &Design) {
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

//! Clocks one RustHDL core.

use flashd_hwmodel::config::{ConfigError, CoreConfig};
use flashd_hwmodel::cores::{Core, Inside, build};
use flashd_hwmodel::rtl::Block;

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

/// Sweeps after which a design that still changes is declared unstable; cores need one.
pub(crate) const SWEEP_LIMIT: usize = 100;

/// A core, its clock and its cycle count.
pub struct Engine {
    core: Box<dyn Core>,
    cycle: u64,
}

impl Engine {
    /// The core of a configuration, before reset.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(config: &CoreConfig) -> Result<Self, ConfigError> {
        Ok(Engine { core: build(config)?, cycle: 0 })
    }

    /// Cycles so far.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// The design, for probes.
    pub fn design(&self) -> &dyn Block {
        self.core.as_ref()
    }

    /// Drives the inputs of the current cycle and settles; `outputs` are those of this cycle.
    pub fn settle(&mut self, inputs: &Inputs, outputs: &mut Outputs) {
        let ports = self.core.ports();
        ports.clk.next = 0;
        ports.rst.next = inputs.rst as u64;
        ports.q_valid.next = inputs.q_valid as u64;
        if let Some(port) = ports.v_exponent {
            port.next = inputs.v_exponent;
        }
        ports.k_valid.next = inputs.k_valid as u64;
        ports.k_last.next = inputs.k_last as u64;
        if let Some(port) = ports.k_mask {
            port.next = inputs.k_mask as u64;
        }
        if let Some(port) = ports.k_state {
            port.next = inputs.k_state as u64;
        }
        for (bus, value) in ports.state.into_iter().zip(&inputs.state) {
            bus.next = *value;
        }
        for (bus, value) in ports.state_o.into_iter().zip(&inputs.state_o) {
            bus.next = *value;
        }
        for (bus, value) in ports.q.iter_mut().zip(&inputs.q) {
            bus.next = *value;
        }
        for (bus, value) in ports.k.iter_mut().zip(&inputs.k) {
            bus.next = *value;
        }
        for (bus, value) in ports.v.iter_mut().zip(&inputs.v) {
            bus.next = *value;
        }
        self.sweep();
        let ports = self.core.ports();
        outputs.v_step = ports.v_step.val() != 0;
        outputs.v_ren = ports.v_ren.val() != 0;
        outputs.o_valid = ports.o_valid.val() != 0;
        outputs.o_invalid = ports.o_invalid.val() != 0;
        outputs.o_overflow = ports.o_overflow.is_some_and(|port| port.val() != 0);
        outputs.o_empty = ports.o_empty.is_some_and(|port| port.val() != 0);
        outputs.state_ren = ports.state_ren.is_some_and(|port| port.val() != 0);
        outputs.v_state = ports.v_state.is_some_and(|port| port.val() != 0);
        outputs.o_scalars.clear();
        outputs.o_scalars.extend(ports.o_scalars.iter().map(|bus| bus.val()));
        outputs.o_state.clear();
        outputs.o_state.extend(ports.o_state.iter().map(|bus| bus.val()));
        outputs.o.clear();
        outputs.o.extend(ports.o.iter().map(|bus| bus.val()));
    }

    /// What is compared inside the core, in the settled cycle.
    pub fn inside(&self) -> Vec<Inside> {
        self.core.inside()
    }

    /// The rising edge that ends the current cycle: every register captures.
    pub fn clock(&mut self) {
        self.core.ports().clk.next = 1;
        self.core.update_all();
        self.cycle += 1;
    }

    fn sweep(&mut self) {
        for _ in 0..SWEEP_LIMIT {
            self.core.update_all();
            if !self.core.has_changed() {
                return;
            }
        }
        unreachable!("the cores have no combinational loops, RustHDL's check has seen to that");
    }
}

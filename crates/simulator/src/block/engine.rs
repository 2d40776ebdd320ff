//! Clocks one array.

use crate::engine::{Inputs, Outputs, SWEEP_LIMIT};
use flashd_hwmodel::block::{BlockConfig, QueryArray, build};
use flashd_hwmodel::config::ConfigError;
use flashd_hwmodel::cores::Inside;

/// Everything that an array's inputs carry in one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockInputs {
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
pub struct BlockOutputs {
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
pub struct BlockEngine {
    array: Box<dyn QueryArray>,
    cycle: u64,
}

impl BlockEngine {
    /// The array of a configuration, before reset.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(config: &BlockConfig) -> Result<Self, ConfigError> {
        Ok(BlockEngine { array: build(config)?, cycle: 0 })
    }

    /// Cycles so far.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Drives the inputs of the current cycle and settles; `outputs` are those of this cycle.
    pub fn settle(&mut self, inputs: &BlockInputs, outputs: &mut BlockOutputs) {
        let (ports, i) = (self.array.ports(), &inputs.core);
        ports.clk.next = 0;
        ports.rst.next = i.rst as u64;
        ports.q_valid.next = i.q_valid as u64;
        ports.q_last.next = inputs.q_last as u64;
        if let Some(port) = ports.v_exponent {
            port.next = i.v_exponent;
        }
        for (port, value) in
            [(ports.q_from, inputs.q_from), (ports.q_to, inputs.q_to), (ports.k_mask, i.k_mask as u64)]
        {
            if let Some(port) = port {
                port.next = value;
            }
        }
        ports.k_valid.next = i.k_valid as u64;
        ports.k_last.next = i.k_last as u64;
        for (port, vector) in [(ports.q, &i.q), (ports.k, &i.k), (ports.v, &i.v)] {
            for (bus, value) in port.iter_mut().zip(vector) {
                bus.next = *value;
            }
        }
        for sweep in 0.. {
            assert!(
                sweep < SWEEP_LIMIT,
                "an array has no combinational loops, RustHDL's check has seen to that"
            );
            self.array.update_all();
            if !self.array.has_changed() {
                break;
            }
        }
        let (ports, o) = (self.array.ports(), &mut outputs.core);
        o.v_step = ports.v_step.val() != 0;
        o.v_ren = ports.v_ren.val() != 0;
        o.o_valid = ports.o_valid.val() != 0;
        o.o_invalid = ports.o_invalid.val() != 0;
        o.o_overflow = ports.o_overflow.is_some_and(|port| port.val() != 0);
        o.o_empty = ports.o_empty.is_some_and(|port| port.val() != 0);
        o.o.clear();
        o.o.extend(ports.o.iter().map(|bus| bus.val()));
        outputs.q_ready = ports.q_ready.val() != 0;
        outputs.k_ready = ports.k_ready.val() != 0;
        outputs.o_index = ports.o_index.val();
        outputs.o_last = ports.o_last.val() != 0;
    }

    /// What is compared inside each core, in the settled cycle.
    pub fn inside(&self) -> Vec<Vec<Inside>> {
        self.array.inside()
    }

    /// The rising edge that ends the current cycle: every register captures.
    pub fn clock(&mut self) {
        self.array.ports().clk.next = 1;
        self.array.update_all();
        self.cycle += 1;
    }
}

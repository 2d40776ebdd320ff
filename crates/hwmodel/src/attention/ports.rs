//! The ports of a core: the wires in the module around it, and the wires inside.

use super::port_result::Scaling;
use crate::rtl::{Module, Wire};
use flashd_spec::config::CoreConfig;

/// The inputs of a core, by the names of the contract (`docs/reference/core.md`).
#[derive(Clone, Copy)]
pub struct CoreInputs<'a> {
    /// Query: d elements, then its scales.
    pub q: &'a [Wire],
    /// The query register loads `q`.
    pub q_valid: Wire,
    /// Fixed-point lanes under one exponent: exponent field of `max|v|`, loaded with the query.
    pub v_exponent: Option<Wire>,
    /// Key: d elements, then its scales.
    pub k: &'a [Wire],
    /// A key is accepted.
    pub k_valid: Wire,
    /// The key is the last of its query.
    pub k_last: Wire,
    /// With masks: the query does not see the key.
    pub k_mask: Option<Wire>,
    /// With a bias: the bias of the key, added to its score.
    pub k_bias: Option<Wire>,
    /// With partial results: the step is a restore, and `k` is ignored.
    pub k_state: Option<Wire>,
    /// With partial results: the scalars of the state, as [`CoreConfig::state_scalars`] lists them, in the cycle after
    /// `state_ren`.
    pub state_scalars: &'a [Wire],
    /// With partial results: the accumulators of the state, d_v words, in the cycle in which a value would come.
    pub state_o: &'a [Wire],
    /// Value: d_v elements, then its scales.
    pub v: &'a [Wire],
}

/// The outputs of a core.
#[derive(Clone)]
pub struct CoreOutputs {
    /// A step has come to the point where its value is read, masked and held steps included.
    pub v_step: Wire,
    /// That step reads its value.
    pub v_ren: Wire,
    /// Result, d_v words; accumulators if an array makes the results at its port.
    pub o: Vec<Wire>,
    /// FA2 in such an array: the final scale of `o`.
    pub scaling: Option<Scaling>,
    /// `o` is the result of a query, for one cycle.
    pub o_valid: Wire,
    /// An operand that the query read was Inf or NaN.
    pub o_invalid: Wire,
    /// The score of a key that the query has seen saturated. None where scores are numbers of the format.
    pub o_saturated: Option<Wire>,
    /// With masks: the query has not seen a key, and the result is +0.
    pub o_empty: Option<Wire>,
    /// With `v_exponent`: a value was above it.
    pub o_overflow: Option<Wire>,
    /// With partial results: the core needs the scalars of a state in the next cycle.
    pub state_ren: Option<Wire>,
    /// With partial results: the step at `v_ren` is a restore and reads accumulators, not a value.
    pub v_state: Option<Wire>,
    /// With partial results: the scalars of the state of the result.
    pub state_scalars: Vec<Wire>,
    /// With partial results: the accumulators of that state, d_v words. None where `o` has them.
    pub o_state: Vec<Wire>,
}

impl CoreOutputs {
    /// The flags of a result: `o_invalid`, `o_saturated`, `o_overflow` and `o_empty`, if the core has them.
    pub fn flags(&self) -> [Option<Wire>; 4] {
        [Some(self.o_invalid), self.o_saturated, self.o_overflow, self.o_empty]
    }
}

/// The input wires inside a core.
pub(super) struct CorePorts {
    pub(super) q: Vec<Wire>,
    pub(super) q_valid: Wire,
    pub(super) v_exponent: Option<Wire>,
    pub(super) k: Vec<Wire>,
    pub(super) k_valid: Wire,
    pub(super) k_last: Wire,
    pub(super) k_mask: Option<Wire>,
    pub(super) k_bias: Option<Wire>,
    pub(super) k_state: Option<Wire>,
    pub(super) state_scalars: Vec<Wire>,
    pub(super) state_o: Vec<Wire>,
    pub(super) v: Vec<Wire>,
}

impl CorePorts {
    /// Declares the inputs in the order of the contract, and reserves places for the outputs between them.
    pub(super) fn declare(m: &mut Module, config: &CoreConfig, inputs: &CoreInputs) -> CorePorts {
        m.clock();
        m.reset();
        let q = m.inputs("q", inputs.q);
        let q_valid = m.input("q_valid", inputs.q_valid);
        let v_exponent = inputs.v_exponent.map(|wire| m.input("v_exponent", wire));
        let k = m.inputs("k", inputs.k);
        let [k_valid, k_last] = m.input_each([("k_valid", inputs.k_valid), ("k_last", inputs.k_last)]);
        let k_mask = m.optional_input("k_mask", inputs.k_mask);
        let k_bias = m.optional_input("k_bias", inputs.k_bias);
        let k_state = m.optional_input("k_state", inputs.k_state);
        m.reserve_ports(&["state_ren"]);
        let state_scalars = (config.state_scalars().iter().zip(inputs.state_scalars))
            .map(|(name, &wire)| m.inputs(&format!("state_{name}"), &[wire])[0])
            .collect();
        m.reserve_ports(&["v_state"]);
        let state_o = if k_state.is_some() { m.inputs("state_o", inputs.state_o) } else { Vec::new() };
        m.reserve_ports(&["v_step", "v_ren"]);
        let v = m.inputs("v", inputs.v);
        CorePorts {
            q,
            q_valid,
            v_exponent,
            k,
            k_valid,
            k_last,
            k_mask,
            k_bias,
            k_state,
            state_scalars,
            state_o,
            v,
        }
    }
}

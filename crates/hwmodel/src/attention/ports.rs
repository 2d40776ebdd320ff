//! The ports of a core: as wires of the module around it, and in it.

use crate::rtl::{Module, Wire};
use flashd_spec::config::CoreConfig;

/// The inputs of a core, by the names of the contract (`docs/reference/core.md`).
#[derive(Clone, Copy)]
pub struct CoreInputs<'a> {
    /// Query, d words.
    pub q: &'a [Wire],
    /// The query register loads.
    pub q_valid: Wire,
    /// Of fixed-point lanes: exponent field of max|v|, loaded with the query.
    pub v_exponent: Option<Wire>,
    /// Key, d words.
    pub k: &'a [Wire],
    /// A key is accepted.
    pub k_valid: Wire,
    /// It is its query's last.
    pub k_last: Wire,
    /// With masks: the query does not see it.
    pub k_mask: Option<Wire>,
    /// With a bias: what is added to its score.
    pub k_bias: Option<Wire>,
    /// With partial results: it is one.
    pub k_state: Option<Wire>,
    /// With partial results: scalars of one.
    pub state_scalars: &'a [Wire],
    /// With partial results: the accumulators of one, d words, when a value would come.
    pub state_o: &'a [Wire],
    /// Value, d words.
    pub v: &'a [Wire],
}

/// What a core hands out.
#[derive(Clone)]
pub struct CoreOutputs {
    /// One step reaches the value stage.
    pub v_step: Wire,
    /// That step needs its value.
    pub v_ren: Wire,
    /// Result, d words.
    pub o: Vec<Wire>,
    /// The result is valid.
    pub o_valid: Wire,
    /// An operand was Inf or NaN.
    pub o_invalid: Wire,
    /// With masks: the query has seen no key, and the result is zero.
    pub o_empty: Option<Wire>,
    /// Of fixed-point lanes: a value was outside the range that `v_exponent` gives, or the sum too large.
    pub o_overflow: Option<Wire>,
    /// With partial results: the scalars of one are wanted in the next cycle.
    pub state_ren: Option<Wire>,
    /// With partial results: that step needs the accumulators of one.
    pub v_state: Option<Wire>,
    /// With partial results: scalars of the result's state.
    pub state_scalars: Vec<Wire>,
    /// With partial results: the result's accumulators, d words.
    pub o_state: Vec<Wire>,
}

/// The inputs inside a core.
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
    /// Declares the inputs in the order of the contract, with places for the outputs between them.
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

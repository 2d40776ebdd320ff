//! The ports of a core: as wires of the module around it, and in it.

use crate::rtl::{Module, Wire};
use flashd_spec::config::CoreConfig;

/// What a core gets. The names are those of the contract.
pub struct CoreInputs<'a> {
    /// Query, d words.
    pub q: &'a [Wire],
    /// The query register loads.
    pub q_valid: Wire,
    /// Of fixed-point lanes: exponent field of the largest |v|, loaded with the query.
    pub v_exponent: Option<Wire>,
    /// Key, d words.
    pub k: &'a [Wire],
    /// A key is accepted.
    pub k_valid: Wire,
    /// It is its query's last.
    pub k_last: Wire,
    /// With masks: the query does not see it.
    pub k_mask: Option<Wire>,
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
    /// With partial results: the scalars of one are wanted in the next cycle.
    pub state_ren: Option<Wire>,
    /// With partial results, beside `v_ren`: what is wanted are the accumulators of one.
    pub v_state: Option<Wire>,
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
    /// With partial results: scalars of the result's state.
    pub state_scalars: Vec<Wire>,
    /// With partial results: the result's accumulators, d words.
    pub o_state: Vec<Wire>,
}

/// The ports inside a core.
pub(super) struct CorePorts {
    pub(super) q: Vec<Wire>,
    pub(super) q_valid: Wire,
    pub(super) v_exponent: Option<Wire>,
    pub(super) k: Vec<Wire>,
    pub(super) k_valid: Wire,
    pub(super) k_last: Wire,
    pub(super) k_mask: Option<Wire>,
    pub(super) partial: Option<Partial>,
    pub(super) v: Vec<Wire>,
    /// Outputs that are driven where what drives them is described, ...
    pub(super) inner: CoreOutputs,
    /// ... and what they are outside.
    pub(super) outer: CoreOutputs,
}

/// The inputs of cores with partial results, and the requests for them.
pub(super) struct Partial {
    pub(super) k_state: Wire,
    pub(super) state_ren: Wire,
    pub(super) v_state: Wire,
    pub(super) state_scalars: Vec<Wire>,
    pub(super) state_o: Vec<Wire>,
}

impl CorePorts {
    /// Declares the ports in the order of the contract.
    pub(super) fn declare(m: &mut Module, config: &CoreConfig, inputs: &CoreInputs) -> CorePorts {
        m.clock();
        m.reset();
        let q = m.inputs("q", inputs.q);
        let q_valid = m.input("q_valid", inputs.q_valid);
        let v_exponent = inputs.v_exponent.map(|wire| m.input("v_exponent", wire));
        let k = m.inputs("k", inputs.k);
        let [k_valid, k_last] =
            [("k_valid", inputs.k_valid), ("k_last", inputs.k_last)].map(|(name, wire)| m.input(name, wire));
        let k_mask = m.optional_input("k_mask", inputs.k_mask);
        let k_state = m.optional_input("k_state", inputs.k_state);
        let mut flag = |present: bool| present.then(|| m.later(1));
        let (state_ren, v_state) = (flag(k_state.is_some()), flag(k_state.is_some()));
        let (o_empty, o_overflow) = (flag(k_mask.is_some()), flag(v_exponent.is_some()));
        let [v_step, v_ren, o_valid, o_invalid] = [(); 4].map(|()| m.later(1));
        let o: Vec<Wire> = q.iter().map(|q| m.later(q.width())).collect();
        let scalars = config.state_scalars();
        let state_scalars = inputs.state_scalars.iter().map(|wire| m.later(wire.width())).collect();
        let o_state = inputs.state_o.iter().map(|wire| m.later(wire.width())).collect();
        let inner = CoreOutputs {
            state_ren,
            v_state,
            v_step,
            v_ren,
            o,
            o_valid,
            o_invalid,
            o_empty,
            o_overflow,
            state_scalars,
            o_state,
        };

        let state_ren = m.optional_output("state_ren", inner.state_ren);
        let taken: Vec<Wire> = (scalars.iter().zip(inputs.state_scalars))
            .map(|(name, &wire)| m.inputs(&format!("state_{name}"), &[wire])[0])
            .collect();
        let v_state = m.optional_output("v_state", inner.v_state);
        let state_o = if k_state.is_some() { m.inputs("state_o", inputs.state_o) } else { Vec::new() };
        let [v_step, v_ren] =
            [("v_step", inner.v_step), ("v_ren", inner.v_ren)].map(|(name, wire)| m.output(name, wire));
        let v = m.inputs("v", inputs.v);
        let o = m.outputs("o", &inner.o);
        let [o_valid, o_invalid] = [("o_valid", inner.o_valid), ("o_invalid", inner.o_invalid)]
            .map(|(name, wire)| m.output(name, wire));
        let o_empty = m.optional_output("o_empty", inner.o_empty);
        let o_overflow = inner.o_overflow.map(|wire| m.output("o_overflow", wire));
        let state_scalars = (scalars.iter().zip(&inner.state_scalars))
            .map(|(name, &wire)| m.outputs(&format!("o_{name}"), &[wire])[0])
            .collect();
        let o_state = if k_state.is_some() { m.outputs("o_state", &inner.o_state) } else { Vec::new() };
        let outer = CoreOutputs {
            state_ren,
            v_state,
            v_step,
            v_ren,
            o,
            o_valid,
            o_invalid,
            o_empty,
            o_overflow,
            state_scalars,
            o_state,
        };
        let partial =
            (k_state.zip(inner.state_ren).zip(inner.v_state)).map(|((k_state, state_ren), v_state)| {
                Partial { k_state, state_ren, v_state, state_scalars: taken, state_o }
            });
        CorePorts { q, q_valid, v_exponent, k, k_valid, k_last, k_mask, partial, v, inner, outer }
    }
}

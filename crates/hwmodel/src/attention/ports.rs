//! The ports of a core: the wires in the module around it, or inside.

use super::port_result::Scaling;
use crate::rtl::{Module, Wire, wires};
use flashd_spec::config::CoreConfig;
use flashd_spec::machine::Machine;
use flashd_spec::ports::{PORTS, Port};
use std::ops::Index;

/// Open wires for the inputs of a machine that has nothing around it, by port.
pub struct OpenInputs {
    wires: Vec<Vec<Wire>>,
    /// The scalars of the state that comes in.
    scalars: Vec<Wire>,
}

impl OpenInputs {
    /// Opens the inputs of a valid machine.
    pub fn new(bench: &mut Module, machine: &Machine) -> OpenInputs {
        let mut open = |(words, bits)| bench.opens(words, bits);
        let wires =
            PORTS.iter().map(|row| if row.is_output() { Vec::new() } else { open(row.words(machine)) });
        let wires: Vec<Vec<Wire>> = wires.collect();
        let scalars = Port::state_scalars(machine);
        let scalars = scalars.iter().flat_map(|[state, _]| &wires[*state as usize]).copied().collect();
        OpenInputs { wires, scalars }
    }

    /// An input of one word that every machine has.
    pub fn one(&self, port: Port) -> Wire {
        self[port][0]
    }

    /// An input of one word that only some machines have.
    pub fn optional(&self, port: Port) -> Option<Wire> {
        self[port].first().copied()
    }

    /// The inputs of a core among them.
    pub fn core(&self) -> CoreInputs {
        CoreInputs {
            q: self[Port::Q].to_vec(),
            q_valid: self.one(Port::QValid),
            v_exponent: self.optional(Port::VExponent),
            k: self[Port::K].to_vec(),
            k_valid: self.one(Port::KValid),
            k_last: self.one(Port::KLast),
            k_mask: self.optional(Port::KMask),
            k_bias: self[Port::KBias].to_vec(),
            k_state: self.optional(Port::KState),
            state_scalars: self.scalars.clone(),
            state_o: self[Port::StateO].to_vec(),
            v: self[Port::V].to_vec(),
        }
    }
}

impl Index<Port> for OpenInputs {
    type Output = [Wire];

    fn index(&self, port: Port) -> &[Wire] {
        &self.wires[port as usize]
    }
}

/// The order of ports: that of their table. `o_done` and `o_scale`, of a core that hands out accumulators, come before `o`.
pub(crate) fn contract_order(name: &str) -> usize {
    let of = |name| PORTS.iter().position(|row| row.name == name);
    match name {
        "o_done" | "o_scale" => of(Port::O.name()),
        _ => of(name).map(|place| place + 1),
    }
    .unwrap_or(0)
}

/// The inputs of a core, by the names of the contract (`docs/reference/core.md`).
#[derive(Clone)]
pub struct CoreInputs {
    /// Query: d elements, then its scales.
    pub q: Vec<Wire>,
    /// The query register loads `q`.
    pub q_valid: Wire,
    /// Fixed-point lanes under one exponent: exponent field of `max|v|`, loaded with the query.
    pub v_exponent: Option<Wire>,
    /// Key: d elements, then its scales.
    pub k: Vec<Wire>,
    /// A key is accepted.
    pub k_valid: Wire,
    /// The key is the last of its query.
    pub k_last: Wire,
    /// With masks: the query does not see the key.
    pub k_mask: Option<Wire>,
    /// With a bias: the bias of the key, added to its score.
    pub k_bias: Vec<Wire>,
    /// With partial results: the step is a restore, and `k` is ignored.
    pub k_state: Option<Wire>,
    /// With partial results: the scalars of the state, as [`CoreConfig::state_scalars`] lists them, in the cycle after
    /// `state_ren`.
    pub state_scalars: Vec<Wire>,
    /// With partial results: the accumulators of the state, d_v words, in the cycle in which a value would come.
    pub state_o: Vec<Wire>,
    /// Value: d_v elements, then its scales.
    pub v: Vec<Wire>,
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

wires!(CoreInputs {
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
});

wires!(CoreOutputs {
    v_step,
    v_ren,
    o,
    scaling,
    o_valid,
    o_invalid,
    o_saturated,
    o_empty,
    o_overflow,
    state_ren,
    v_state,
    state_scalars,
    o_state,
});

impl CoreInputs {
    /// Declares the inputs. Returns their wires inside.
    pub(crate) fn enter(&self, m: &mut Module, config: &CoreConfig) -> CoreInputs {
        m.clock();
        m.reset();
        CoreInputs {
            q: m.inputs("q", &self.q),
            q_valid: m.input("q_valid", self.q_valid),
            v_exponent: self.v_exponent.map(|wire| m.input("v_exponent", wire)),
            k: m.inputs("k", &self.k),
            k_valid: m.input("k_valid", self.k_valid),
            k_last: m.input("k_last", self.k_last),
            k_mask: m.optional_input("k_mask", self.k_mask),
            k_bias: m.inputs("k_bias", &self.k_bias),
            k_state: m.optional_input("k_state", self.k_state),
            state_scalars: (config.state_scalars().iter().zip(&self.state_scalars))
                .map(|(name, &wire)| m.input(&format!("state_{name}"), wire))
                .collect(),
            state_o: match self.k_state {
                Some(_) => m.inputs("state_o", &self.state_o),
                None => Vec::new(),
            },
            v: m.inputs("v", &self.v),
        }
    }
}

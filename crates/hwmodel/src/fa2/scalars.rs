//! Ports that the scalar paths have in common.

use crate::attention::scalar_path::ScalarInputs;
use crate::attention::signals::Signals;
use crate::rtl::{Module, Wire};

/// What all of them get, inside: clock, reset, and of a step score, valid, first and, at the value stage, finish.
///
/// # Panics
/// Without `finish`: FA2's lanes divide at the end of a query.
pub(super) fn step_ports(m: &mut Module, inputs: &ScalarInputs) -> [Wire; 4] {
    m.clock();
    m.reset();
    let finish = inputs.finish.unwrap_or_else(|| panic!("nothing tells FA2's scalar path that a query ends"));
    [("score", inputs.score), ("valid", inputs.valid), ("first", inputs.first), ("finish", finish)]
        .map(|(name, wire)| m.input(name, wire))
}

/// A partial result that takes the place of a first key.
#[derive(Clone, Copy)]
pub(super) struct State {
    /// The step at the score stage is one.
    pub step: Wire,
    /// Its maximum.
    pub maximum: Wire,
    /// Its sum.
    pub sum: Wire,
}

/// Its ports, where there are partial results.
pub(super) fn state_ports(m: &mut Module, inputs: &ScalarInputs) -> Option<State> {
    let (Some(step), &[maximum, sum]) = (inputs.state, inputs.state_scalars) else { return None };
    let [step, maximum, sum] = [("state", step), ("state_m", maximum), ("state_l", sum)]
        .map(|(name, wire)| m.inputs(name, &[wire])[0]);
    Some(State { step, maximum, sum })
}

/// Hands scalars out by ports of their names, in this order.
pub(super) fn hand_out<const N: usize>(m: &mut Module, scalars: [(&'static str, Wire); N]) -> Signals {
    scalars.map(|(name, wire)| (name, m.output(name, wire))).into()
}

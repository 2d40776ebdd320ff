//! Ports that the scalar paths have in common.

use crate::attention::delay::delay;
use crate::attention::partial::RestoreFunction;
use crate::attention::scalar_path::ScalarInputs;
use crate::rtl::{Module, Wire};

/// What all of them get, inside: clock, reset, and of a step score, valid, first and, at the value stage, finish.
///
/// # Panics
/// Without `finish`: FA2's lanes divide at the end of a query.
pub(super) fn step_ports(m: &mut Module, inputs: &ScalarInputs) -> [Wire; 4] {
    let finish = inputs.finish.unwrap_or_else(|| panic!("nothing tells FA2's scalar path that a query ends"));
    let [score, valid, first] = inputs.step_ports(m);
    [score, valid, first, m.input("finish", finish)]
}

/// The flags of a step on its way through the stages.
pub(super) struct StepFlags {
    /// It is the first key of its query.
    pub first: Wire,
    /// A step is at this stage.
    pub step: Wire,
    /// It updates the lanes; a held step does not.
    pub update: Wire,
}

impl StepFlags {
    /// The flags a stage later, by registers whose names begin with a prefix.
    pub(super) fn register(&self, m: &mut Module, prefix: &str) -> StepFlags {
        StepFlags {
            first: m.register(format!("{prefix}first_q"), self.first),
            step: m.register_reset(format!("{prefix}step_q"), 0, self.step),
            update: m.register_reset(format!("{prefix}update_q"), 0, self.update),
        }
    }
}

/// A partial result that takes the place of a first key.
#[derive(Clone, Copy)]
pub(super) struct State {
    /// The step at the score stage is one.
    pub step: Wire,
    /// Its maximum, or reference.
    pub maximum: Wire,
    /// Its sum.
    pub sum: Wire,
}

impl State {
    /// The same so many cycles later.
    pub(super) fn later(&self, m: &mut Module, cycles: usize) -> State {
        State {
            step: delay(m, ("state_q", 0), self.step, cycles),
            maximum: delay(m, ("state_m_q", 0), self.maximum, cycles),
            sum: delay(m, ("state_l_q", 0), self.sum, cycles),
        }
    }

    /// What the register of the maximum or reference takes, and where a state comes that.
    pub(super) fn maximum_or(&self, m: &mut Module, next: Wire) -> Wire {
        let restore = RestoreFunction { width: next.width() };
        m.call(("restored_m", 0), restore, [next, self.maximum, self.step])[0]
    }

    /// What the register of the sum takes, so many cycles behind that of the reference.
    pub(super) fn sum_or_later(&self, m: &mut Module, next: Wire, cycles: usize) -> Wire {
        let step = delay(m, ("state_q", 0), self.step, cycles);
        let sum = delay(m, ("state_l_q", 0), self.sum, cycles);
        State { step, sum, ..*self }.sum_or(m, next)
    }

    /// The same of the sum's.
    pub(super) fn sum_or(&self, m: &mut Module, next: Wire) -> Wire {
        let restore = RestoreFunction { width: next.width() };
        m.call(("restored_l", 0), restore, [next, self.sum, self.step])[0]
    }
}

/// The outputs of a state: maximum or reference, and sum.
pub(super) fn state_outputs(m: &mut Module, state: Option<State>, maximum: Wire, sum: Wire) -> Vec<Wire> {
    let outputs =
        state.map(|_| [("o_m", maximum), ("o_l", sum)].map(|(name, wire)| m.outputs(name, &[wire])[0]));
    outputs.into_iter().flatten().collect()
}

/// Its ports, where there are partial results.
pub(super) fn state_ports(m: &mut Module, inputs: &ScalarInputs) -> Option<State> {
    let (Some(step), &[maximum, sum]) = (inputs.state, inputs.state_scalars) else { return None };
    let [step, maximum, sum] = [("state", step), ("state_m", maximum), ("state_l", sum)]
        .map(|(name, wire)| m.inputs(name, &[wire])[0]);
    Some(State { step, maximum, sum })
}

//! Ports, flags and restores that the scalar paths of FA2 share.

use crate::attention::delay::delay;
use crate::attention::partial::RestoreFunction;
use crate::attention::scalar_path::ScalarInputs;
use crate::rtl::{Module, Wire};

/// Declares the clock, the reset and the inputs of a scalar path: `score`, `valid`, `first` and `finish`, as in
/// [`ScalarInputs`].
///
/// # Panics
/// Without `finish`: FA2's lanes divide at the end of a query.
pub(super) fn step_ports(m: &mut Module, inputs: &ScalarInputs) -> [Wire; 4] {
    let finish = inputs.finish.unwrap_or_else(|| panic!("nothing tells FA2's scalar path that a query ends"));
    let [score, valid, first] = inputs.step_ports(m);
    [score, valid, first, m.input("finish", finish)]
}

/// The flags of a step in a pipeline stage.
pub(super) struct StepFlags {
    /// The step is the first of its query.
    pub first: Wire,
    /// A step is in this stage.
    pub step: Wire,
    /// The step updates state and lanes; it is not held.
    pub update: Wire,
}

impl StepFlags {
    /// Registers the flags for the next stage. The names of the registers begin with `prefix`.
    pub(super) fn register(&self, m: &mut Module, prefix: &str) -> StepFlags {
        StepFlags {
            first: m.register(format!("{prefix}first_q"), self.first),
            step: m.register_reset(format!("{prefix}step_q"), 0, self.step),
            update: m.register_reset(format!("{prefix}update_q"), 0, self.update),
        }
    }
}

/// The inputs of a restore: a flag, and the scalars of the state.
#[derive(Clone, Copy)]
pub(super) struct State {
    /// The step is a restore; at the score stage, unless delayed.
    pub step: Wire,
    /// The maximum or reference m of the state.
    pub maximum: Wire,
    /// The running sum l of the state.
    pub sum: Wire,
}

impl State {
    /// Delays all three by `cycles` cycles.
    pub(super) fn later(&self, m: &mut Module, cycles: usize) -> State {
        State {
            step: delay(m, "state_q", self.step, cycles),
            maximum: delay(m, "state_m_q", self.maximum, cycles),
            sum: delay(m, "state_l_q", self.sum, cycles),
        }
    }

    /// The next value of the register of the maximum or reference: `next`, or m of the state on a restore.
    pub(super) fn maximum_or(&self, m: &mut Module, next: Wire) -> Wire {
        let restore = RestoreFunction { width: next.width() };
        m.call("restored_m", restore, [next, self.maximum, self.step])[0]
    }

    /// The next value of the register of the sum: `next`, or l of the state on a restore.
    pub(super) fn sum_or(&self, m: &mut Module, next: Wire) -> Wire {
        let restore = RestoreFunction { width: next.width() };
        m.call("restored_l", restore, [next, self.sum, self.step])[0]
    }
}

/// Declares the outputs `o_m`, the maximum or reference, and `o_l`, the sum. None without partial results.
pub(super) fn state_outputs(m: &mut Module, state: Option<State>, maximum: Wire, sum: Wire) -> Vec<Wire> {
    let outputs = state.map(|_| [("o_m", maximum), ("o_l", sum)].map(|(name, wire)| m.output(name, wire)));
    outputs.into_iter().flatten().collect()
}

/// Declares the inputs of a restore: `state`, `state_m` and `state_l`. None without partial results.
pub(super) fn state_ports(m: &mut Module, inputs: &ScalarInputs) -> Option<State> {
    let (Some(step), &[maximum, sum]) = (inputs.state, inputs.state_scalars) else { return None };
    let [step, maximum, sum] =
        [("state", step), ("state_m", maximum), ("state_l", sum)].map(|(name, wire)| m.input(name, wire));
    Some(State { step, maximum, sum })
}

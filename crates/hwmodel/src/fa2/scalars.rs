//! The scalars of FA2's lanes; ports, flags and restores that the scalar paths share.

use crate::attention::delay::delay;
use crate::attention::group::{CoreScalars, LaneScalars, copy_flags, copy_while};
use crate::attention::partial::restored_as;
use crate::attention::scalar_path::ScalarInputs;
use crate::rtl::{Bundle, Module, Role, Row, Stage, Wire, bundle};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// How the accumulators move in a step.
pub trait Change: Bundle + Copy {
    /// Labels of rows: the change; for lanes with one multiplier, `load`, and the factor when a query ends.
    const TEXTS: [&str; 3];
}

/// Float lanes: the maximum moved, so that `e` multiplies the old o.
#[derive(Clone, Copy)]
pub struct Moved {
    /// The flag.
    pub moved: Wire,
}

bundle!(Moved { moved });

impl Change for Moved {
    const TEXTS: [&str; 3] = ["maximum moved", "first key: start from 0", "factor: 1 / l"];
}

/// Fixed-point lanes: the octaves by which the reference moves.
#[derive(Clone, Copy)]
pub struct Delta {
    /// The shift.
    pub delta: Wire,
}

bundle!(Delta { delta });

impl Change for Delta {
    const TEXTS: [&str; 3] = ["delta: accumulator goes right", "first key: take v", "factor: 1 / 4l"];
}

/// The scalars of a step.
#[derive(Clone, Copy)]
pub struct StepScalars<D> {
    /// The exponential; for lanes with one multiplier, when a query ends, the final scale.
    pub e: Wire,
    /// [`Moved`] or [`Delta`].
    pub change: D,
    /// The step is a first key.
    pub load: Wire,
}

bundle!(StepScalars<D> { e, change, load });

/// The reciprocal `r 2^-right` of the sum when a query ends.
#[derive(Clone, Copy)]
pub struct Reciprocal {
    /// Between 1/2 and 1.
    pub r: Wire,
    /// Its exponent.
    pub right: Wire,
}

bundle!(Reciprocal { r, right });

/// The scalars for lanes with a second multiplier for the final scale.
#[derive(Clone, Copy)]
pub struct SeparateScalars<D> {
    /// The step updates o: it is not held.
    pub update: Wire,
    /// The scalars of the step.
    pub step: StepScalars<D>,
    /// The reciprocal of the sum.
    pub end: Reciprocal,
}

bundle!(SeparateScalars<D> { update, step, end });

impl<D: Change> LaneScalars for SeparateScalars<D> {
    fn copies(&self, m: &mut Module, _: &Arc<Numerics>, finish: Option<Wire>) -> (Self, Option<Wire>) {
        let (update, finish_q) = copy_flags(m, self.update, finish);
        let step = copy_while(m, self.update, &self.step);
        let end = finish.map_or(self.end, |finish| copy_while(m, finish, &self.end));
        (SeparateScalars { update, step, end }, finish_q)
    }

    fn show(&self, m: &mut Module, core: CoreScalars) {
        self.step.show(m, self.update, "first key: start from 0", core);
        m.show(self.end.r, "r: 1 / l = r 2^-right");
        m.show(self.end.right, "right");
    }
}

/// The scalars for lanes with one multiplier for update and final scale.
#[derive(Clone, Copy)]
pub struct SharedScalars<D> {
    /// The step updates o: it is not held.
    pub update: Wire,
    /// The groups register `e`. The lanes do not get this flag.
    pub take: Wire,
    /// The scalars of the step.
    pub step: StepScalars<D>,
}

bundle!(SharedScalars<D> { update, take, step });

impl<D: Change> LaneScalars for SharedScalars<D> {
    fn copies(&self, m: &mut Module, _: &Arc<Numerics>, finish: Option<Wire>) -> (Self, Option<Wire>) {
        let (update, finish_q) = copy_flags(m, self.update, finish);
        let e = m.register_if("e_q", self.take, self.step.e);
        let change = copy_while(m, self.update, &self.step.change);
        let load = m.register_if("load_q", self.update, self.step.load);
        (SharedScalars { update, take: self.take, step: StepScalars { e, change, load } }, finish_q)
    }

    fn show(&self, m: &mut Module, core: CoreScalars) {
        let [_, load, factor] = D::TEXTS;
        self.step.show(m, self.update, load, core);
        m.show(self.step.e, factor);
    }

    fn scale(&self) -> Option<Wire> {
        Some(self.step.e)
    }
}

impl<D: Change> StepScalars<D> {
    /// Rows for the copies of a step's scalars, and for the end of a query.
    fn show(&self, m: &mut Module, update: Wire, load_text: &str, core: CoreScalars) {
        m.stage(Stage::Score(3));
        m.show_role(Role::Update, update, "update (not held)");
        m.show(self.load, load_text);
        let _ = self.change.map(&mut |change| {
            m.show(change, D::TEXTS[0]);
            change
        });
        core.show_exponent(m, Row::Plain);
        m.show(self.e, "e");
        show_end(m, core);
    }
}

/// Rows for the end of a query.
pub(super) fn show_end(m: &mut Module, core: CoreScalars) {
    m.stage(Stage::Score(4));
    core.finish.iter().for_each(|&finish| m.show(finish, "accumulator is final"));
    core.exponents.iter().for_each(|of| m.show(of.result_x, "x: exponent of the largest |v|"));
}

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
        restored_as(m, "restored_m", next, Some((self.step, self.maximum)))
    }

    /// The next value of the register of the sum: `next`, or l of the state on a restore.
    pub(super) fn sum_or(&self, m: &mut Module, next: Wire) -> Wire {
        restored_as(m, "restored_l", next, Some((self.step, self.sum)))
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

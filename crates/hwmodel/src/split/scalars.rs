//! The scalars of partial results: their ports, and the unit that merges them.

use super::lane::MergeKind;
use crate::rtl::{Bundle, Module, Tag, Wire, bundle};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// The scalars of a partial result, and the unit that merges them.
pub trait MergeScalars: Bundle + Copy {
    /// The scalars of a core's state, in the order of [`CoreConfig::state_scalars`](flashd_spec::config::CoreConfig::state_scalars).
    fn of(scalars: &[Wire]) -> Self;

    /// Builds the unit that merges the scalars of two parts.
    fn merge(
        m: &mut Module,
        kind: MergeKind,
        n: &Arc<Numerics>,
        inputs: &ScalarInputs<Self>,
    ) -> ScalarOutputs<Self>;

    /// FA2: the sum, by which the result is divided.
    fn sum(&self) -> Option<Wire> {
        None
    }
}

/// FLASH-D's scalars.
#[derive(Clone, Copy)]
pub struct LseScalars {
    /// The log-sum-exp.
    pub lse: Wire,
    /// Where the hold rule has a budget: its rest.
    pub room: Option<Wire>,
}

bundle!(LseScalars { lse, room });

/// FA2's scalars.
#[derive(Clone, Copy)]
pub struct SumScalars {
    /// The maximum or reference.
    pub m: Wire,
    /// The sum.
    pub l: Wire,
}

bundle!(SumScalars { m, l });

/// The partial result of a part, or of several parts merged.
pub struct State<S> {
    /// The scalars are valid in this cycle. The accumulators follow two cycles later, in a tree's last merge one cycle
    /// later.
    pub valid: Wire,
    /// There was no key: scalars and accumulators mean nothing. In the cycle of the scalars.
    pub empty: Wire,
    /// The scalars.
    pub scalars: S,
    /// The d accumulators.
    pub o: Vec<Wire>,
}

/// Adds inputs for the scalars of parts a and b, `a_` and `b_` before their names, in pairs.
pub fn scalar_inputs<S: Bundle>(m: &mut Module, a: &S, b: &S) -> [S; 2] {
    let both = [m.enter("a_", a), m.enter("b_", b)];
    let mut names = Vec::new();
    let _ = a.map_named("", &mut |name, wire| {
        names.push(name);
        wire
    });
    m.order_ports(|port| {
        names.iter().position(|name| port.get(2..) == Some(name)).map_or(0, |place| place + 1)
    });
    both
}

/// Inputs of the unit that merges scalars.
pub struct ScalarInputs<S> {
    /// Scalars of part a.
    pub a: S,
    /// Scalars of part b.
    pub b: S,
    /// Part a is empty.
    pub a_empty: Wire,
    /// Part b is empty.
    pub b_empty: Wire,
    /// A merge is in the second stage.
    pub valid: Wire,
}

/// Outputs of the unit that merges scalars.
pub struct ScalarOutputs<S> {
    /// Scalars of both parts together, two cycles after the inputs.
    pub scalars: S,
    /// The lanes' factor or shift, a cycle after the inputs.
    pub w: Wire,
    /// The factor scales part a; if low, part b. In the cycle of `w`.
    pub upper: Wire,
}

/// Builds the unit that merges scalars: its ports, and with `inside` its logic.
pub(super) fn scalar_unit<S: Bundle>(
    around: &mut Module,
    tag: Tag,
    inputs: &ScalarInputs<S>,
    inside: impl FnOnce(&mut Module, ScalarInputs<S>) -> ScalarOutputs<S>,
) -> ScalarOutputs<S> {
    around.part("weight", tag, |m| {
        m.clock();
        let [a, b] = scalar_inputs(m, &inputs.a, &inputs.b);
        let ScalarInputs { a_empty, b_empty, valid, .. } = *inputs;
        let [a_empty, b_empty, valid] =
            m.input_each([("a_empty", a_empty), ("b_empty", b_empty), ("valid", valid)]);
        let outputs = inside(m, ScalarInputs { a, b, a_empty, b_empty, valid });
        ScalarOutputs {
            scalars: m.hand_out("", &outputs.scalars),
            w: m.output("w", outputs.w),
            upper: m.output("upper", outputs.upper),
        }
    })
}

//! The scalars of partial results: their ports, and the unit that merges them.

use crate::attention::signals::Signals;
use crate::rtl::{Module, Tag, Wire};

/// The partial result of a part, or of several parts merged.
#[derive(Clone)]
pub struct State {
    /// The scalars are valid in this cycle. The accumulators follow two cycles later, in a tree's last merge one cycle
    /// later.
    pub valid: Wire,
    /// There was no key: scalars and accumulators mean nothing. In the cycle of the scalars.
    pub empty: Wire,
    /// FLASH-D: the log-sum-exp `lse` and, where the hold rule has a budget, its rest, `room`. FA2: the maximum
    /// `m` and the sum `l`.
    pub scalars: Signals,
    /// The d accumulators.
    pub o: Vec<Wire>,
}

/// Adds inputs for the scalars of parts a and b, `a_` and `b_` before their names, in pairs.
pub fn scalar_inputs(m: &mut Module, a: &Signals, b: &Signals) -> [Signals; 2] {
    let mut both = [Signals::default(), Signals::default()];
    for (scalar, wire) in a.iter() {
        for (own, (part, wire)) in both.iter_mut().zip([("a", wire), ("b", b[scalar])]) {
            let name = format!("{part}_{scalar}");
            own.set(scalar, m.input(&name, wire));
        }
    }
    both
}

/// Adds outputs for scalars, with a prefix before their names.
pub fn scalar_outputs(m: &mut Module, prefix: &str, scalars: &Signals) -> Signals {
    scalars.iter().map(|(scalar, wire)| (scalar, m.output(&format!("{prefix}{scalar}"), wire))).collect()
}

/// Inputs of the unit that merges scalars.
pub struct ScalarInputs<'a> {
    /// Scalars of part a.
    pub a: &'a Signals,
    /// Scalars of part b.
    pub b: &'a Signals,
    /// Part a is empty.
    pub a_empty: Wire,
    /// Part b is empty.
    pub b_empty: Wire,
    /// A merge is in the second stage.
    pub valid: Wire,
}

/// Outputs of the unit that merges scalars.
pub struct ScalarOutputs {
    /// Scalars of both parts together, two cycles after the inputs.
    pub scalars: Signals,
    /// The lanes' factor or shift, a cycle after the inputs.
    pub w: Wire,
    /// The factor scales part a; if low, part b. In the cycle of `w`.
    pub upper: Wire,
}

/// Builds the unit that merges scalars: its ports, and with `inside` its logic.
pub(super) fn scalar_unit(
    around: &mut Module,
    tag: Tag,
    inputs: &ScalarInputs,
    inside: impl FnOnce(&mut Module, &ScalarInputs) -> ScalarOutputs,
) -> ScalarOutputs {
    around.part("weight", tag, |m| {
        m.clock();
        let [a, b] = scalar_inputs(m, inputs.a, inputs.b);
        let ScalarInputs { a_empty, b_empty, valid, .. } = *inputs;
        let [a_empty, b_empty, valid] =
            m.input_each([("a_empty", a_empty), ("b_empty", b_empty), ("valid", valid)]);
        let outputs = inside(m, &ScalarInputs { a: &a, b: &b, a_empty, b_empty, valid });
        ScalarOutputs {
            scalars: scalar_outputs(m, "", &outputs.scalars),
            w: m.output("w", outputs.w),
            upper: m.output("upper", outputs.upper),
        }
    })
}

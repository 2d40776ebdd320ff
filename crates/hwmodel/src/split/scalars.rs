//! The scalars of partial results: their ports, and the unit that merges them.

use crate::attention::signals::Signals;
use crate::rtl::{Module, Name, Tag, Wire};

/// What a part of the keys, or both of two, have made.
#[derive(Clone)]
pub struct State {
    /// Its scalars are here; its accumulators come two cycles later, those of a tree's last merge one cycle.
    pub valid: Wire,
    /// There was no key: the rest means nothing.
    pub empty: Wire,
    /// FLASH-D: the log-sum-exp `lse` and, where the hold rule has a budget, what is left of it, `room`. FA2: the maximum
    /// `m` and the sum `l`.
    pub scalars: Signals,
    /// Where merges can do that: a sum went beyond what the accumulators hold. Beside the scalars.
    pub overflow: Option<Wire>,
    /// Accumulators, d words.
    pub o: Vec<Wire>,
}

/// Of a scalar that only some configurations have, the port is a vector of none or one; so are its parts.
fn is_optional(scalar: &str) -> bool {
    scalar == "room"
}

/// A part for a scalar.
pub fn scalar_part(scalar: &str, name: &str) -> Name {
    if is_optional(scalar) { (name, 0).into() } else { name.into() }
}

/// The inputs for the scalars of part a and part b: each of a, and beside it that of b.
pub fn scalar_inputs(m: &mut Module, a: &Signals, b: &Signals) -> [Signals; 2] {
    let mut both = [Signals::default(), Signals::default()];
    for (scalar, wire) in a.iter() {
        for (own, (part, wire)) in both.iter_mut().zip([("a", wire), ("b", b[scalar])]) {
            let name = format!("{part}_{scalar}");
            let wire = if is_optional(scalar) { m.inputs(&name, &[wire])[0] } else { m.input(&name, wire) };
            own.set(scalar, wire);
        }
    }
    both
}

/// The outputs for scalars, their names behind a prefix.
pub fn scalar_outputs(m: &mut Module, prefix: &str, scalars: &Signals) -> Signals {
    let port = |(scalar, wire): (&'static str, Wire)| {
        let name = format!("{prefix}{scalar}");
        (scalar, if is_optional(scalar) { m.outputs(&name, &[wire])[0] } else { m.output(&name, wire) })
    };
    scalars.iter().map(port).collect()
}

/// What the unit for a merge's scalars gets.
pub struct ScalarInputs<'a> {
    /// Scalars of part a.
    pub a: &'a Signals,
    /// Of part b.
    pub b: &'a Signals,
    /// Part a is empty.
    pub a_empty: Wire,
    /// Part b is empty.
    pub b_empty: Wire,
    /// A merge is in the second stage.
    pub valid: Wire,
}

/// What it hands out.
pub struct ScalarOutputs {
    /// Scalars of both, two cycles later.
    pub scalars: Signals,
    /// The factor, a cycle later: for the lanes' registers.
    pub w: Wire,
    /// Which side it is for.
    pub upper: Wire,
    /// Beside the scalars, where that can be: the sum is beyond what the accumulators hold.
    pub overflow: Option<Wire>,
}

/// A unit for a merge's scalars: the ports around what `inside` makes of them.
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
            overflow: m.optional_output("overflow", outputs.overflow),
        }
    })
}

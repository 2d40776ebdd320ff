//! FA2's lane as the paper draws it, Alg. 2: two multipliers for the update, and a third one for the division.

use super::separate_lane::SEPARATE;
use crate::attention::group::{LaneInputs, LaneKind, LaneOutputs, row};
use crate::attention::lane::{LaneFormats, LaneNextFunction};
use crate::rtl::Number::Float;
use crate::rtl::{Module, Name, Stage, Tag};
use crate::units::{CanonicalFunction, MixedFunction, Operation};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// One element of o: `o <- load ? v : o c + v e`. The result is `o r`, registered while `done` is high.
pub const LITERAL: LaneKind = LaneKind {
    name: |n| format!("fa2_literal_lane_{}_{}", n.formats.v.ident(), n.accumulator.ident()),
    lane,
    words: &[("c", "update"), ("e", "update"), ("load", "update"), ("r", "finish")],
    rows: &[
        row(3, "update", "update"),
        row(3, "load", "load v"),
        row(3, "c", "c"),
        row(3, "e", "e"),
        row(4, "finish", "accumulator is final"),
        row(4, "r", "r = 1 / l"),
    ],
    ..SEPARATE
};

fn lane(around: &mut Module, name: Name, n: &Arc<Numerics>, inputs: &LaneInputs) -> LaneOutputs {
    let f = LaneFormats::new(n, n.accumulator);
    let (fmt, acc) = (f.port, f.accumulator);
    let tag =
        Tag::module((LITERAL.name)(n), "One element of o: o <- load ? v : o * c + v * e; result = o * r.");
    around.part(name, tag, |m| {
        let (v, [c, e, load, update, r, done]) = inputs.enter(m, ["c", "e", "load", "update", "r", "done"]);

        let [v] = m.call("value", CanonicalFunction { format: fmt, to: fmt }, [v]);
        let o = m.state_if("o_q", acc.width(), update);
        let [old] = m.call("old_product", MixedFunction::of(Operation::Mul, acc, fmt, acc), [o, c]);
        let [new] = m.call("new_product", MixedFunction::of(Operation::Mul, fmt, fmt, acc), [v, e]);
        let [sum] = m.call("sum", MixedFunction::uniform(Operation::Add, acc), [old, new]);
        let [next] = m.call("select", LaneNextFunction { formats: f }, [load, v, sum]);
        m.next(o, next);
        let [scaled] = m.call("scale", MixedFunction::of(Operation::Mul, acc, fmt, fmt), [o, r]);
        m.number(v, Float(fmt));
        m.stage(Stage::Score(3));
        m.signal(o, Float(acc), "accumulator [#]");
        m.signal(old, Float(acc), "accumulator [#] c");
        m.signal(new, Float(acc), "v[#] e");
        m.signal(sum, Float(acc), "sum [#]");
        m.signal(next, Float(acc), "next accumulator [#]");
        m.stage(Stage::Score(4));
        m.show(("scale", "a"), "accumulator [#]");
        m.signal(scaled, Float(fmt), "accumulator [#] r");
        let result_q = m.register_if("result_q", done, scaled);
        LaneOutputs { o: m.output("o", result_q), outside: None, o_state: None }
    })
}

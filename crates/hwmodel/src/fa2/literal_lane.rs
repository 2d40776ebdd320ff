//! FA2's lane as the paper draws it, Alg. 2: two multipliers for the update, and a third one for the division.

use super::scalars::show_end;
use crate::attention::group::{CoreScalars, LaneInputs, LaneKind, LaneOutputs, LaneScalars, copy_flags};
use crate::attention::lane::{LaneFormats, LaneNextFunction};
use crate::rtl::Number::Float;
use crate::rtl::{Module, Role, Stage, Wire, bundle};
use crate::units::{CanonicalFunction, MixedFunction, Operation};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// One element of o: `o <- load ? v : o c + v e`. The result is `o r`, registered while `done` is high.
pub const LITERAL: LaneKind<LiteralScalars> = LaneKind {
    name: |n, _, _| format!("fa2_literal_lane_{}_{}", n.formats.v.ident(), n.accumulator.ident()),
    doc: |_| "One element of o: o <- load ? v : o * c + v * e; result = o * r.",
    lane,
};

/// The scalars for the lanes.
#[derive(Clone, Copy)]
pub struct LiteralScalars {
    /// The step updates o.
    pub update: Wire,
    /// `exp(m_old - m)`.
    pub c: Wire,
    /// `exp(s - m)`.
    pub e: Wire,
    /// The step is a first key.
    pub load: Wire,
    /// The reciprocal of the sum while a query ends.
    pub r: Wire,
}

bundle!(LiteralScalars { update, c, e, load, r });

impl LaneScalars for LiteralScalars {
    fn copies(&self, m: &mut Module, _: &Arc<Numerics>, finish: Option<Wire>) -> (Self, Option<Wire>) {
        let (update, finish_q) = copy_flags(m, self.update, finish);
        let [c, e, load] = [("c_q", self.c), ("e_q", self.e), ("load_q", self.load)]
            .map(|(name, wire)| m.register_if(name, self.update, wire));
        let r = finish.map_or(self.r, |finish| m.register_if("r_q", finish, self.r));
        (LiteralScalars { update, c, e, load, r }, finish_q)
    }

    fn show(&self, m: &mut Module, core: CoreScalars) {
        m.stage(Stage::Score(3));
        m.show_role(Role::Update, self.update, "update");
        m.show(self.load, "load v");
        m.show(self.c, "c");
        m.show(self.e, "e");
        show_end(m, core);
        m.show(self.r, "r = 1 / l");
    }
}

fn lane(m: &mut Module, n: &Arc<Numerics>, inputs: &LaneInputs<LiteralScalars>) -> LaneOutputs {
    let f = LaneFormats::new(n, n.accumulator);
    let (fmt, acc) = (f.port, f.accumulator);
    let v = inputs.enter(m);
    let LiteralScalars { update, c, e, load, r } = inputs.scalars;
    let [c, e, load, update, r] =
        m.input_each([("c", c), ("e", e), ("load", load), ("update", update), ("r", r)]);
    let done = m.optional_input("done", inputs.core.finish);

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
    let result = done.map_or(o, |done| m.register_if("result_q", done, scaled));
    LaneOutputs { o: m.output("o", result), outside: None, o_state: None }
}

//! The output update, (12), of the paper's Alg. 3: every operation rounded to the accumulator's format.

use super::rounded_lane::float_outputs;
use crate::attention::group::{CoreScalars, LaneInputs, LaneKind, LaneOutputs, LaneScalars, copy_flags};
use crate::attention::lane::{LaneFormats, LaneNextFunction, lane_suffix};
use crate::rtl::Number::Float;
use crate::rtl::{Module, Role, Stage, Wire, bundle};
use crate::units::{CanonicalFunction, MixedFunction, Operation};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// `o <- load ? v : o + w (v - o)` when `update`. On a step that holds, the accumulator does not toggle.
pub const PAPER: LaneKind<PaperScalars> = LaneKind {
    name: |n, _, _| format!("flash_d_paper_lane_{}", lane_suffix(LaneFormats::new(n, n.accumulator))),
    doc: |_| "One element of o: o <- load ? v : o + w * (v - o), when update.",
    lane,
};

/// The scalars for the lanes.
#[derive(Clone, Copy)]
pub struct PaperScalars {
    /// The step updates o: it is not held.
    pub update: Wire,
    /// The weight.
    pub w: Wire,
    /// The step loads v.
    pub load: Wire,
}

bundle!(PaperScalars { update, w, load });

impl LaneScalars for PaperScalars {
    fn copies(&self, m: &mut Module, _: &Arc<Numerics>, finish: Option<Wire>) -> (Self, Option<Wire>) {
        let (update, finish) = copy_flags(m, self.update, finish);
        let w = m.register_if("w_q", self.update, self.w);
        let load = m.register_if("load_q", self.update, self.load);
        (PaperScalars { update, w, load }, finish)
    }

    fn show(&self, m: &mut Module, _: CoreScalars) {
        m.stage(Stage::Score(4));
        m.show_role(Role::Update, self.update, "update (not held)");
        m.show(self.load, "load v");
        m.show(self.w, "w");
    }
}

fn lane(m: &mut Module, n: &Arc<Numerics>, inputs: &LaneInputs<PaperScalars>) -> LaneOutputs {
    let f = LaneFormats::new(n, n.accumulator);
    let v = inputs.enter(m);
    let PaperScalars { update, w, load } = inputs.scalars;
    let [w, load, update] = m.input_each([("w", w), ("load", load), ("update", update)]);
    let [v] = m.call("value", CanonicalFunction { format: f.port, to: f.value }, [v]);
    let o = m.state_if("o_q", f.accumulator.width(), update);
    let sub = MixedFunction::of(Operation::Sub, f.port, f.accumulator, f.inner);
    let [difference] = m.call("difference", sub, [v, o]);
    let mul = MixedFunction::of(Operation::Mul, f.port, f.inner, f.inner);
    let [product] = m.call("product", mul, [w, difference]);
    let add = MixedFunction::of(Operation::Add, f.accumulator, f.inner, f.accumulator);
    let [sum] = m.call("sum", add, [o, product]);
    let [next] = m.call("select", LaneNextFunction { formats: f }, [load, v, sum]);
    m.number(v, Float(f.value));
    m.stage(Stage::Score(4));
    m.signal(o, Float(f.accumulator), "o[#] before");
    m.signal(difference, Float(f.inner), "v[#] - o[#]");
    m.signal(product, Float(f.inner), "w (v[#] - o[#])");
    m.signal(sum, Float(f.accumulator), "o[#] + w (v[#] - o[#])");
    m.signal(next, Float(f.accumulator), "next o[#]");
    float_outputs(m, f, o, next, None)
}

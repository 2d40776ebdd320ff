//! The output update, (12), of the paper's Alg. 3: every operation rounded to the accumulator's format.

use super::rounded_lane::{ROUNDED, float_outputs};
use crate::attention::group::{LaneInputs, LaneKind, LaneOutputs, row};
use crate::attention::lane::{LaneFormats, LaneNextFunction, lane_suffix};
use crate::rtl::Number::Float;
use crate::rtl::{Module, Name, Stage, Tag};
use crate::units::{CanonicalFunction, MixedFunction, Operation};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// `o <- load ? v : o + w (v - o)` when `update`. On a step that holds, the accumulator does not toggle.
pub const PAPER: LaneKind = LaneKind {
    name: |n| format!("flash_d_paper_lane_{}", lane_suffix(LaneFormats::new(n, n.accumulator))),
    lane,
    words: &[("w", "update"), ("load", "update")],
    rows: &[row(4, "update", "update (not held)"), row(4, "load", "load v"), row(4, "w", "w")],
    ..ROUNDED
};

fn lane(around: &mut Module, name: Name, n: &Arc<Numerics>, inputs: &LaneInputs) -> LaneOutputs {
    let f = LaneFormats::new(n, n.accumulator);
    let tag = Tag::module((PAPER.name)(n), "One element of o: o <- load ? v : o + w * (v - o), when update.");
    around.part(name, tag, |m| {
        let (v, [w, load, update]) = inputs.enter(m, ["w", "load", "update"]);
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
    })
}

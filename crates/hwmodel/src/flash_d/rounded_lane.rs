//! FLASH-D's output update with every operation rounded.

use crate::attention::group::{LaneInputs, LaneKind, LaneOutputs};
use crate::attention::lane::{LaneBeforeFunction, LaneFormats, LaneSideFunction, lane_suffix};
use crate::attention::partial::restored;
use crate::rtl::{Module, Name, Tag, Wire};
use crate::units::{CanonicalFunction, ConvertFunction, MixedFunction, Operation};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// `o <- upper ? v + w (o - v) : o + w (v - o)` when `update`, `o = 0` before a first key. On a step that holds, neither weight nor
/// accumulator toggle.
pub const ROUNDED: LaneKind = LaneKind {
    name: |n| format!("flash_d_lane_{}", lane_suffix(LaneFormats::new(n, n.difference))),
    lane,
    flags: &[("update", "update")],
    finish: None,
    words: &[("w", "update"), ("upper", "update"), ("load", "update")],
    free: &[],
    takes: None,
};

fn lane(around: &mut Module, name: Name, n: &Arc<Numerics>, inputs: &LaneInputs) -> LaneOutputs {
    let f = LaneFormats::new(n, n.difference);
    let tag = Tag::module(
        (ROUNDED.name)(n),
        "One element of o: o <- upper ? v + w * (o - v) : o + w * (v - o), when update.",
    );
    around.part(name, tag, |m| {
        m.clock();
        let v = m.input("v", inputs.v);
        let [w, upper, load, update] =
            ["w", "upper", "load", "update"].map(|name| m.input(name, inputs.scalars[name]));
        let [v] = m.call("value", CanonicalFunction { format: f.format, to: f.value }, [v]);
        let o = m.later(f.accumulator.width());
        let [old] = m.call("old", LaneBeforeFunction { formats: f }, [load, o]);
        let sub = MixedFunction::of(Operation::Sub, f.value, f.accumulator, f.inner);
        let [difference] = m.call("difference", sub, [v, old]);
        let [way, base] = m.call("side", LaneSideFunction { formats: f }, [upper, difference, old, v]);
        let [product] =
            m.call("product", MixedFunction::of(Operation::Mul, f.weight, f.inner, f.inner), [w, way]);
        let add = MixedFunction::of(Operation::Add, f.accumulator, f.inner, f.accumulator);
        let [sum] = m.call("sum", add, [base, product]);
        accumulate(m, f, o, sum, update, inputs.restore)
    })
}

/// The accumulator `o` of a float lane, which takes `next` when `update`, and the lane's outputs: o rounded to the format, and with
/// partial results the accumulator, which can take that of one over.
pub(super) fn accumulate(
    m: &mut Module,
    f: LaneFormats,
    o: Wire,
    next: Wire,
    update: Wire,
    restore: Option<(Wire, Wire)>,
) -> LaneOutputs {
    m.reserve(&["o_q"]);
    let rounded = match f.accumulator == f.format {
        true => o,
        false => m.call(("narrow", 0), ConvertFunction { from: f.accumulator, to: f.format }, [o])[0],
    };
    let result = m.output("o", rounded);
    let restore = restore
        .map(|(restore, state)| (m.inputs("restore", &[restore])[0], m.inputs("state_o", &[state])[0]));
    let next = restored(m, next, restore);
    let o_q = m.register_if("o_q", update, next);
    m.drive(o, o_q);
    let o_state = restore.map(|_| m.outputs("o_state", &[o_q])[0]);
    LaneOutputs { o: result, outside: None, o_state }
}

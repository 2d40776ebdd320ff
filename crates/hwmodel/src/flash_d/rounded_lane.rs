//! FLASH-D's output update, (12), with every operation rounded. For w above 1/2 it computes (4), which is (2) with (3), as `v + (1 - w) (o - v)`.

use super::scalars::{WeightScalars, WeightWords};
use crate::attention::group::{CoreScalars, LaneInputs, LaneKind, LaneOutputs, LaneScalars};
use crate::attention::lane::{LaneBeforeFunction, LaneFormats, LaneSideFunction, accumulate, lane_suffix};
use crate::rtl::Number::Float;
use crate::rtl::{Module, Stage, Wire};
use crate::units::{CanonicalFunction, ConvertFunction, MixedFunction, Operation};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// `o <- upper ? v + w (o - v) : o + w (v - o)` when `update`, `o = 0` before a first key. On a step that holds, weight and
/// accumulator do not toggle.
pub const ROUNDED: LaneKind<WeightScalars<(), ()>> = LaneKind {
    name: |n, _, _| format!("flash_d_lane_{}", lane_suffix(LaneFormats::new(n, n.difference))),
    doc: |_| "One element of o: o <- upper ? v + w * (o - v) : o + w * (v - o), when update.",
    lane,
};

impl LaneScalars for WeightScalars<(), ()> {
    fn copies(&self, m: &mut Module, _: &Arc<Numerics>, finish: Option<Wire>) -> (Self, Option<Wire>) {
        self.copy_words(m, finish)
    }

    fn show(&self, m: &mut Module, core: CoreScalars) {
        self.show_words(m, None, core);
    }
}

fn lane(m: &mut Module, n: &Arc<Numerics>, inputs: &LaneInputs<WeightScalars<(), ()>>) -> LaneOutputs {
    let f = LaneFormats::new(n, n.difference);
    let v = inputs.enter(m);
    let WeightWords { w, upper, load, .. } = m.enter("", &inputs.scalars.words);
    let update = m.input("update", inputs.scalars.update);
    let [v] = m.call("value", CanonicalFunction { format: f.port, to: f.value }, [v]);
    let o = m.state_if("o_q", f.accumulator.width(), update);
    m.number(v, Float(f.value));
    m.number(o, Float(f.accumulator));
    m.stage(Stage::Score(4));
    let [old] = m.call("old", LaneBeforeFunction { formats: f }, [load, o]);
    m.number(old, Float(f.accumulator));
    let next = rounded_update(m, f, &Operands { o: old, v, w, upper });
    float_outputs(m, f, o, next, inputs.restore)
}

/// Operands of an update: accumulator and value, or in a merge the accumulators of parts a and b; the factor, and its side.
pub(crate) struct Operands {
    pub(crate) o: Wire,
    pub(crate) v: Wire,
    pub(crate) w: Wire,
    pub(crate) upper: Wire,
}

/// `upper ? v + w (o - v) : o + w (v - o)`, every operation rounded.
pub(crate) fn rounded_update(m: &mut Module, f: LaneFormats, operands: &Operands) -> Wire {
    let Operands { o, v, w, upper } = *operands;
    let sub = MixedFunction::of(Operation::Sub, f.value, f.accumulator, f.inner);
    let [difference] = m.call("difference", sub, [v, o]);
    let [way, base] = m.call("side", LaneSideFunction { formats: f }, [upper, difference, o, v]);
    let [product] =
        m.call("product", MixedFunction::of(Operation::Mul, f.weight, f.inner, f.inner), [w, way]);
    let add = MixedFunction::of(Operation::Add, f.accumulator, f.inner, f.accumulator);
    let [next] = m.call("sum", add, [base, product]);
    m.show(("side", "o"), "o[#] before");
    m.signal(difference, Float(f.inner), "v[#] - o[#]");
    m.number(way, Float(f.inner));
    m.signal(base, Float(f.accumulator), "base: o[#] or v[#]");
    m.signal(product, Float(f.inner), "factor times difference [#]");
    m.signal(next, Float(f.accumulator), "next o[#]");
    next
}

/// Sets `o <- next` and makes the outputs of a float lane: o rounded to the format, and with partial results o itself.
pub(super) fn float_outputs(
    m: &mut Module,
    f: LaneFormats,
    o: Wire,
    next: Wire,
    restore: Option<(Wire, Wire)>,
) -> LaneOutputs {
    let rounded = match f.accumulator == f.result {
        true => o,
        false => m.call("narrow", ConvertFunction { from: f.accumulator, to: f.result }, [o])[0],
    };
    m.number(rounded, Float(f.result));
    let result = m.output("o", rounded);
    LaneOutputs { o: result, outside: None, o_state: accumulate(m, o, next, restore, None) }
}

//! FLASH-D's output update with one alignment and one rounding.

use super::rounded_lane::{ROUNDED, accumulate};
use crate::arith::fused::flash_d_update;
use crate::attention::factor::factor_bits;
use crate::attention::group::{LaneInputs, LaneKind, LaneOutputs};
use crate::attention::lane::{LaneBeforeFunction, LaneFormats, lane_suffix};
use crate::function;
use crate::rtl::{Module, Name, Tag};
use crate::units::CanonicalFunction;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

function! {
    /// The accumulator's next value.
    pub struct FusedUpdateFunction { formats: LaneFormats, factor_bits: u32 }
    name(this) = format!("{}_fused_update", lane_suffix(this.formats));
    doc = "o_next = upper ? v + u * (o - v) : o + u * (v - o), u = {right, m}: aligned once, rounded once.";
    inputs {
        v: this.formats.value.width(), o: this.formats.accumulator.width(),
        w: this.factor_bits, upper: 1
    }
    outputs { o_next: this.formats.accumulator.width() }
    eval<W> {
        let LaneFormats { value, weight, accumulator, .. } = this.formats;
        let (m, right) = (w.slice(0, weight.precision()), w.drop_low(weight.precision()));
        [flash_d_update(accumulator, &o, value, &v, &m, &right, &upper)]
    }
}

/// One element of o, one rounding. On a step that holds, neither weight nor accumulator toggle.
pub const FUSED: LaneKind = LaneKind {
    name: |n| format!("flash_d_fused_lane_{}", lane_suffix(LaneFormats::new(n, n.accumulator))),
    lane,
    ..ROUNDED
};

fn lane(around: &mut Module, name: Name, n: &Arc<Numerics>, inputs: &LaneInputs) -> LaneOutputs {
    let f = LaneFormats::new(n, n.accumulator);
    let tag = Tag::module(
        (FUSED.name)(n),
        "One element of o: o <- o + w * (v - o) with one rounding, when update.",
    );
    around.part(name, tag, |m| {
        m.clock();
        let v = m.input("v", inputs.v);
        let [w, upper, load, update] =
            ["w", "upper", "load", "update"].map(|name| m.input(name, inputs.scalars[name]));
        let [v] = m.call("value", CanonicalFunction { format: f.format, to: f.value }, [v]);
        let o = m.later(f.accumulator.width());
        let [old] = m.call("old", LaneBeforeFunction { formats: f }, [load, o]);
        let factor_bits = factor_bits(n, n.factor_significand);
        let [next] = m.call("step", FusedUpdateFunction { formats: f, factor_bits }, [v, old, w, upper]);
        accumulate(m, f, o, next, update, inputs.restore)
    })
}

//! FLASH-D's output update, (12), with one alignment and one rounding.

use super::rounded_lane::{Operands, ROUNDED, float_lane};
use crate::arith::fused::flash_d_update;
use crate::attention::group::{LaneInputs, LaneKind, LaneOutputs};
use crate::attention::lane::{LaneFormats, lane_suffix};
use crate::function;
use crate::rtl::{Module, Name, Tag, Wire};
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

/// One element of o, rounded once a step. On a step that holds, weight and accumulator do not toggle.
pub const FUSED: LaneKind = LaneKind {
    name: |n| format!("flash_d_fused_lane_{}", lane_suffix(LaneFormats::new(n, n.accumulator))),
    lane,
    ..ROUNDED
};

fn lane(around: &mut Module, name: Name, n: &Arc<Numerics>, inputs: &LaneInputs) -> LaneOutputs {
    let doc = "One element of o: o <- o + w * (v - o) with one rounding, when update.";
    let f = LaneFormats::new(n, n.accumulator);
    float_lane(around, name, Tag::module((FUSED.name)(n), doc), f, inputs, fused_update)
}

/// [`rounded_update`](super::rounded_lane::rounded_update), but rounded once.
pub(crate) fn fused_update(m: &mut Module, formats: LaneFormats, operands: &Operands) -> Wire {
    let Operands { o, v, w, upper } = *operands;
    m.call("step", FusedUpdateFunction { formats, factor_bits: w.width() }, [v, o, w, upper])[0]
}

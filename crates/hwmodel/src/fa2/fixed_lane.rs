//! FA2's output update in fixed point: `o <- (o >> delta) + v e`, where o is relative to the reference of the scalar
//! path.
//!
//! ```text
//!  o  | sign | guard integer bits | OW - 1 fraction |      guard: 2, because l stays below 2
//!  v e   p bits times WM bits, right by both exponents, rounded half away from zero
//! ```

use super::scalars::{Delta, Reciprocal, SeparateScalars, StepScalars};
use super::shared_fixed_lane::show_accumulator;
use super::widths::{accumulator_bits, delta_bits};
use crate::arith::fixed::{rebias_bits, relative, shift_with_guard};
use crate::arith::normalise::normalise_within;
use crate::arith::round::{Unrounded, round_pack};
use crate::arith::signed::shift_right_signed;
use crate::attention::factor::factor_bits;
use crate::attention::group::{LaneInputs, LaneKind, LaneOutputs};
use crate::attention::lane::accumulate;
use crate::flash_d::fixed_lane::{lane_bits, lane_ident, result_ident};
use crate::function;
use crate::rtl::Number::Float;
use crate::rtl::{Module, Stage};
use crate::score::sum::sum_exponent_bits;
use crate::word::{bits_for, ones};
use flashd_spec::numerics::{LOG_SUM_GUARD_BITS, Numerics};
use std::sync::Arc;

function! {
    /// The next value of the accumulator.
    pub struct ShiftedUpdateFunction { numerics: Arc<Numerics> }
    name(this) = {
        let n = &this.numerics;
        format!("{}_shifted_update_{}_{}", n.formats.v.ident(), accumulator_bits(n), lane_bits(n).w)
    };
    doc = "o_next = (o >> delta) + v * e, e = {right, m}, v relative to 2^(x + 1), x the largest exponent field of the\nvalues; o counts as 0 for a first key. outside: v's exponent is larger.";
    inputs {
        v: this.numerics.formats.v.width(), x: this.numerics.formats.v.exponent_bits, o: accumulator_bits(&this.numerics),
        e: factor_bits(&this.numerics, lane_bits(&this.numerics).w), delta: delta_bits(&this.numerics), load: 1
    }
    outputs { o_next: accumulator_bits(&this.numerics), outside: 1 }
    eval<W> {
        let n = &this.numerics;
        let (bits, lane) = (accumulator_bits(n), lane_bits(n));
        let r = relative(n.formats.v, &v, &x);
        let (m, right) = (e.slice(0, lane.w), e.drop_low(lane.w));
        let product = r.significand.mul(&m).named("product");
        let wide = r.right.width().max(right.width()) + 1;
        let shift = r.right.zext(wide).add(&right.zext(wide)).named("right_sum");
        // |v| e = product 2^-(p + WM - 1) 2^-shift 2^octaves, at most 2^octaves: it has `octaves` integer bits.
        let (magnitude, guard) = shift_with_guard(&product, &shift, lane.o - 1 + 1 + n.exponential_octaves());
        let before = load.not().repeat(bits).and(&o).named("o_before");
        let base = shift_right_signed(&before, &delta).named("o_shifted");
        let term = magnitude.zext(bits).xor(&r.sign.repeat(bits)).named("addend");
        let carry = guard.xor(&r.sign).named("carry");
        // A 1 below the last place adds the carry in the same adder.
        let sum = base.concat(&W::constant(1, 1)).add(&term.concat(&carry)).named("o_next_halves").drop_low(1);
        [sum, r.outside]
    }
}

function! {
    /// [`ShiftedUpdateFunction`] for values that are integers, which have no exponent.
    pub struct IntegerUpdateFunction { numerics: Arc<Numerics> }
    name(this) = {
        let n = &this.numerics;
        format!("{}_shifted_update_{}_{}", n.formats.v.ident(), accumulator_bits(n), lane_bits(n).w)
    };
    doc = "o_next = (o >> delta) + v * e, e = {right, m}; o counts as 0 for a first key.";
    inputs {
        v: this.numerics.formats.v.width(), o: accumulator_bits(&this.numerics),
        e: factor_bits(&this.numerics, lane_bits(&this.numerics).w), delta: delta_bits(&this.numerics), load: 1
    }
    outputs { o_next: accumulator_bits(&this.numerics) }
    eval<W> {
        let any = ShiftedUpdateFunction { numerics: this.numerics.clone() };
        let [o_next, _] = any.eval([v, W::constant(1, 1), o, e, delta, load]);
        [o_next]
    }
}

function! {
    /// The result `o / l`, as `o r 2^-right`. o is normalised and cut to the kept significand bits first.
    pub struct FixedScaleFunction { numerics: Arc<Numerics> }
    name(this) = format!("fixed_{}_scale_{}", accumulator_bits(&this.numerics), result_ident(&this.numerics));
    doc = format!(
        "y = o * r * 2^-right relative to 2^(x + 1), o cut to {} significand bits, one rounding; at rest unless done.",
        this.numerics.kept_significand()
    );
    inputs {
        o: accumulator_bits(&this.numerics), r: this.numerics.reciprocal.table.value_fraction + 1,
        right: sum_exponent_bits(&this.numerics), x: this.numerics.formats.v.exponent_bits, done: 1
    }
    outputs { y: this.numerics.formats.o.width() }
    at_rest { done ignores o }
    eval<W> {
        let n = &this.numerics;
        let (from, fmt) = (n.formats.v, n.formats.o);
        let rebias = fmt.bias - from.bias;
        let bits = accumulator_bits(n);
        let o = done.repeat(bits).and(&o).named("o_when_done");
        let sign = o.msb();
        let magnitude = sign.select(&o.negate(), &o).named("magnitude");
        let (normalised, leading_zeros) = magnitude.normalise();
        let leading_zeros = leading_zeros.named("leading_zeros");
        let kept_bits = n.kept_significand();
        let kept = match bits >= kept_bits {
            true => normalised.top(kept_bits),
            false => normalised.append_zeros(kept_bits - bits),
        };
        let product = kept.named("kept").mul(&r).named("product");
        // r is above 1/2, and the kept significand of o has its leading one.
        let (significand, product_zeros) = normalise_within(&product, 2);
        let wide = (fmt.exponent_bits.max(from.exponent_bits) + 2)
            .max(bits_for(bits as u64) + 3)
            .max(sum_exponent_bits(n) + 2)
            .max(product_zeros.width() + 2)
            .max(rebias_bits(rebias));
        // The top bit of the accumulator weighs 2^(guard) 2^(x - bias + 1); the product has one integer bit more.
        let constant = W::constant(wide, (LOG_SUM_GUARD_BITS as i32 + 2 + rebias) as i64 as u64 & ones(wide));
        let exponent = x.zext(wide)
            .add(&constant)
            .sub(&leading_zeros.zext(wide))
            .sub(&right.sext(wide))
            .sub(&product_zeros.zext(wide))
            .named("exponent");
        let sign = sign.and(&significand.msb());
        [round_pack(fmt, &Unrounded::new(sign, exponent, significand.named("normalised_product")))]
    }
}

/// One element of o: `o <- (o >> delta) + v e` when `update`, then `o r 2^-right` when `done`.
pub const FIXED: LaneKind<SeparateScalars<Delta>> = LaneKind {
    name: |n, _, _| format!("fa2_fixed_lane_{}_{}_{}", lane_ident(n), accumulator_bits(n), lane_bits(n).w),
    doc: |_| "One element of o in fixed point: o <- (o >> delta) + v * e; result = o * r * 2^-right.",
    lane,
};

fn lane(m: &mut Module, n: &Arc<Numerics>, inputs: &LaneInputs<SeparateScalars<Delta>>) -> LaneOutputs {
    let v = inputs.enter(m);
    let x = inputs.x(m);
    let SeparateScalars { update, step, end } = inputs.scalars;
    let StepScalars { e, change: Delta { delta }, load } = m.enter("", &step);
    let update = m.input("update", update);
    let Reciprocal { r, right } = m.enter("", &end);
    let done = m.optional_input("done", inputs.core.finish);
    let result_x = inputs.result_x(m, x);

    let o = m.state_if("o_q", accumulator_bits(n), update);
    let (o_next, outside) = match inputs.core.exponents {
        Some(_) => {
            let function = ShiftedUpdateFunction { numerics: n.clone() };
            let [o_next, outside] = m.call("step", function, [v, x, o, e, delta, load]);
            (o_next, Some(outside))
        }
        None => {
            let function = IntegerUpdateFunction { numerics: n.clone() };
            (m.call("step", function, [v, o, e, delta, load])[0], None)
        }
    };
    show_accumulator(m, n, "x", [o, o_next]);
    let result = done.map_or(o, |done| {
        let function = FixedScaleFunction { numerics: n.clone() };
        let [scaled] = m.call("scale", function, [o, r, right, result_x, done]);
        m.stage(Stage::Score(4));
        m.show(("scale", "o"), "accumulator [#] 2^-(x + 1 - bias)");
        m.signal(scaled, Float(n.formats.o), "accumulator [#] / l");
        m.register_if("result_q", done, scaled)
    });
    let result = m.output("o", result);
    let outside = outside.map(|outside| m.output("outside", outside));
    LaneOutputs { o: result, outside, o_state: accumulate(m, o, o_next, inputs.restore, done) }
}

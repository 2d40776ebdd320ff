//! The scalar path of FA2 `shared-log-reference`, for fixed-point lanes whose multiplier also does the final scale.
//! Scores are in base 2.
//!
//! ```text
//!  first key   R <- s                            l <- 1               o <- v
//!  s > R       delta = ceil(s - R)               l <- l 2^-delta + e  o <- o 2^-delta + v e
//!  s <= R      delta = 1 where l + e reaches 2   l <- (l + e) 2^-delta
//!              R <- R + delta, e = 2^(s - R)     (with the new R)
//!  result      o r, r = 1/l in the format of e
//! ```
//!
//! * As in [`log_reference`](super::log_reference), R follows the exponent of l by whole octaves. Sum and accumulators
//!   shift, and need no guard bits for many keys. But R is the first score plus an integer, not an integer. So the
//!   exponential of a first key is 1, and the lane loads v without a product: its multiplier is free for the final
//!   scale of the query before, which is due in that very cycle.
//! * R rises to the score or above it, never below, so exponentials are at most 1. After a rise at most half of l is
//!   left, and e is at least 1/2. So l stays in [1/2, 2), and a rise and a carry never come together. But powers of two
//!   from a table may be a few last places below 1/2, so the divider accepts an l from 1/4 on.

use super::log_reference::{ReferenceLoop, log_sum_bits, reference_loop};
use super::reference::{factor_to_sum, hold_text, tau_bits};
use super::scalars::{Delta, SharedScalars, StepScalars, state_outputs, state_ports, step_ports};
use super::widths::accumulator_bits;
use crate::arith::fixed::clamp;
use crate::arith::normalise::normalise_within;
use crate::arith::reciprocal::reciprocal;
use crate::attention::factor::{
    FactorForm, base_2_argument, factor_bits, right_bits, significand_and_right, table_factor,
};
use crate::attention::scalar_path::{ScalarInputs, ScalarOutputs};
use crate::function;
use crate::rtl::{Module, Quantity, Reading, Stage, Tag, Wire, signed, unsigned};
use crate::score::sum::sum_exponent_bits;
use crate::word::bits_for;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// Width of the reference, two's complement with FS fraction bits: the range of a score plus the exponent of l.
pub fn fine_reference_bits(n: &Numerics) -> u32 {
    n.fine_reference_bits()
}

/// Width of delta, which shifts the accumulators and l; all ones shifts everything out.
pub fn delta_bits(n: &Numerics) -> u32 {
    bits_for(accumulator_bits(n).max(log_sum_bits(n)).into())
}

function! {
    /// One step of the loop over keys: the next reference and sum, and the scalars for the lanes.
    pub struct SharedLogNextFunction { numerics: Arc<Numerics> }
    name(this) = format!("shared_log_next_m{}", this.numerics.factor_significand);
    doc = {
        let hold = hold_text(&this.numerics);
        format!(
            "jump = max(0, ceil(score - reference)); e = 2^(score - reference - jump); total = (sum >> jump) + e;\ntotal below 2 keeps the reference at reference + jump, above it moves once more; score and 1 for a first key{hold}."
        )
    };
    inputs {
        score: this.numerics.score_bits(), reference: fine_reference_bits(&this.numerics), sum: log_sum_bits(&this.numerics),
        first: 1, valid: 1
    }
    outputs {
        reference_next: fine_reference_bits(&this.numerics), sum_next: log_sum_bits(&this.numerics), delta: delta_bits(&this.numerics),
        e: factor_bits(&this.numerics, this.numerics.factor_significand), update: 1
    }
    eval<W> {
        let n = &this.numerics;
        let (fs, wide) = (n.score_fraction, tau_bits(n));
        let below = reference.sext(wide).sub(&score.sext(wide)).named("below");
        let above = first.not().and(&below.msb()).named("score_is_above");
        let octaves = below.drop_low(fs);
        let bits = octaves.width();
        // ceil(score - reference), as the negated floor of `below`. It takes the reference to the score or less than an
        // octave above it.
        let jump = above.repeat(bits).and(&octaves.negate()).named("jump");
        let octave = first.or(&above).not().repeat(bits).and(&octaves);
        let fraction = first.not().repeat(fs).and(&below.slice(0, fs));
        // tau = reference + jump - score.
        let tau = octave.concat(&fraction).named("tau");
        let (m, right) = table_factor(n, &n.exp.exp, &base_2_argument(n, &tau, fs), n.factor_significand);
        let e = factor_to_sum(n, &right.concat(&m), 0);
        let total_bits = n.state_fraction + 2;
        let clamped = clamp(&jump.zext(bits.max(delta_bits(n))), delta_bits(n)).named("jump_clamped");
        let before = first.not().repeat(sum.width()).and(&sum).shr(&clamped).named("sum_shifted");
        let total = before.zext(total_bits).add(&e.zext(total_bits.max(e.width())).slice(0, total_bits)).named("total");
        let carry = total.msb().named("carry");
        let sum_next = carry.select(&total.drop_low(1), &total.slice(0, total_bits - 1));
        let delta = clamped.or(&carry.zext(delta_bits(n)));
        let right = right.add(&carry.zext(right.width())).named("lanes_right");
        let octaves = reference.drop_low(fs);
        let rise = jump.or(&carry.zext(bits)).slice(0, octaves.width());
        let risen = octaves.add(&rise).concat(&reference.slice(0, fs)).named("risen");
        let reference_next = first.select(&score.sext(risen.width()), &risen);
        let update = match n.hold_threshold {
            None => valid,
            // As in `octave_reference`.
            Some(threshold) => valid.and(&first.or(&tau.at_least(threshold).named("far").not())),
        };
        [reference_next, sum_next, delta, right.concat(&m), update]
    }
}

function! {
    /// `1 / l` for l in [1/2, 2), or below 1/2 by the error of a table; see the head of this file.
    pub struct HalfReciprocalFunction { numerics: Arc<Numerics> }
    name(this) = format!("half_reciprocal_{}_{}", log_sum_bits(&this.numerics), this.numerics.formats.o.ident());
    doc = {
        let r = &this.numerics.reciprocal;
        format!(
            "1 / sum = r * 2^-right, r in (1/2, 1] with {} fraction bits: {} PWL segments, {} Newton steps.\nThe sum is in [1/4, 2) with {} fraction bits; the unit rests unless it is final.",
            r.table.value_fraction, r.table.segments, r.newton_steps, this.numerics.state_fraction
        )
    };
    inputs { sum: log_sum_bits(&this.numerics), finish: 1 }
    outputs { r: this.numerics.reciprocal.table.value_fraction + 1, right: sum_exponent_bits(&this.numerics) }
    eval<W> {
        let n = &this.numerics;
        let vr = n.reciprocal.table.value_fraction;
        let sum = finish.repeat(sum.width()).and(&sum).named("final_sum");
        let (normalised, leading_zeros) = normalise_within(&sum, 2);
        let normalised = normalised.append_zeros((vr + 1).saturating_sub(sum.width())).named("normalised");
        let r = reciprocal(&n.reciprocal, &normalised.top(vr + 1).named("m")).named("reciprocal");
        [r, leading_zeros.named("leading_zeros").zext(sum_exponent_bits(n)).negate()]
    }
}

function! {
    /// The factor for lanes whose multiplier also does the final scale: the exponential, or a quarter of the final
    /// scale.
    pub struct SharedLogFactorFunction { numerics: Arc<Numerics> }
    name(this) = format!("shared_log_factor_m{}", this.numerics.factor_significand);
    doc = "factor = finish ? r * 2^-(right + 2) : e, as {right, m}; the next step of a finished query's lanes is a first\nkey or none, which needs no factor.";
    inputs {
        r: this.numerics.reciprocal.table.value_fraction + 1, right: sum_exponent_bits(&this.numerics),
        e: factor_bits(&this.numerics, this.numerics.factor_significand), finish: 1, update: 1
    }
    outputs { factor: factor_bits(&this.numerics, this.numerics.factor_significand), take: 1 }
    eval<W> {
        let n = &this.numerics;
        // right + 2, for a right of 0, -1 or -2.
        let octave = right.bit(1).not().concat(&right.bit(0)).named("octave");
        let (scale, right) = significand_and_right(&r, &octave, n.factor_significand, right_bits(n));
        [finish.select(&right.concat(&scale), &e), finish.or(&update)]
    }
}

/// Rows for the stage of the division: sum, reciprocal and the factor of the lanes.
pub(super) fn show_division(m: &mut Module, n: &Numerics, r: Wire, right: Wire, factor: Wire) {
    m.stage(Stage::Score(3));
    m.show(("reciprocal", "sum"), "sum l");
    m.signal(r, unsigned(n.reciprocal.table.value_fraction), "r: 1 / l = r 2^-right");
    m.signal(right, signed(0), "right");
    let number = FactorForm::Shift(n.factor_significand).number(n);
    m.signal(factor, number, "next factor: e, or 1 / 4l when l is final");
}

/// The scalar path of FA2 `shared-log-reference`: one pipeline stage with the loop over reference and sum, and the
/// reciprocal of the sum.
/// The factor of the lanes is a quarter of the final scale when a query ends.
pub fn shared_log_reference(
    around: &mut Module,
    n: &Arc<Numerics>,
    inputs: &ScalarInputs,
) -> ScalarOutputs<SharedScalars<Delta>> {
    let tag = Tag::module(
        format!("shared_log_reference_m{}", n.factor_significand),
        "R is the first score plus an integer and follows the exponent of l: e = 2^(s - R) <= 1,\nl <- (l >> delta) + e stays in [1/2, 2).",
    );
    around.part("weight", tag, |m| {
        let [score, valid, first, finish] = step_ports(m, inputs);
        let state = state_ports(m, inputs);

        let decide = SharedLogNextFunction { numerics: n.clone() };
        let texts = (signed(n.score_fraction), ["next R = R + delta", "running sum l, in [1/2, 2)"]);
        let ReferenceLoop { reference, final_sum, e, delta, first, step, update } =
            reference_loop(m, n, [score, valid, first], state, decide, fine_reference_bits(n), texts);
        let function = HalfReciprocalFunction { numerics: n.clone() };
        let [r, right] = m.call("reciprocal", function, [final_sum, finish]);
        let function = SharedLogFactorFunction { numerics: n.clone() };
        let [factor, take] = m.call("factor", function, [r, right, e, finish, update]);

        let step = m.output("step", step);
        let reads = m.output("reads", update);
        let scalars = StepScalars { e: factor, change: Delta { delta }, load: first };
        let lanes = m.hand_out("", &SharedScalars { update, take, step: scalars });
        show_division(m, n, r, right, factor);
        m.watch(Quantity::Reference, reference);
        m.watch_output(Quantity::Step, "step");
        m.watch(Quantity::Weight, e);
        m.watch_output(Quantity::Load, "load");
        m.watch_output_as(Quantity::Upper, "delta", Reading::Any);
        m.watch_each([(Quantity::Sum, final_sum), (Quantity::Reciprocal, r), (Quantity::Right, right)]);
        let state_scalars = state_outputs(m, state, reference, final_sum);
        ScalarOutputs { step, reads, lanes, state_scalars }
    })
}

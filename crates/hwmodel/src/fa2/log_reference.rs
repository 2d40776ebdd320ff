//! The scalar path of FA2 `log-reference`: fixed point relative to `2^R`, where R follows the exponent of l, which stays in [1, 2). Moving
//! the reference is a shift, and no guard bits are needed for the number of keys. Scores are in base 2.

use super::reference::{factor_to_sum, hold_text, reference_bits, tau_bits};
use super::scalars::{
    Delta, Reciprocal, SeparateScalars, State, StepScalars, state_outputs, state_ports, step_ports,
};
use super::widths::delta_bits;
use crate::arith::fixed::clamp;
use crate::attention::factor::{FactorForm, base_2_argument, factor_bits, table_factor};
use crate::attention::scalar_path::{ScalarInputs, ScalarOutputs};
use crate::flash_d::fixed_lane::lane_bits;
use crate::function;
use crate::rtl::{
    Function, Module, Number, Quantity, Reading, Role, Row, Stage, Tag, Wire, signed, unsigned,
};
use crate::score::sum::SumReciprocalFunction;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

function! {
    /// One step of the loop over keys: the next reference and sum, and the scalars for the lanes.
    pub struct LogReferenceNextFunction { numerics: Arc<Numerics> }
    name(this) = format!("log_reference_next_m{}", lane_bits(&this.numerics).w);
    doc = {
        let hold = hold_text(&this.numerics);
        format!(
            "jump = max(0, floor(score) - reference); e = 2^(score - reference - jump); total = (sum >> jump) + e;\ntotal in [1, 2) keeps the reference at reference + jump, total in [2, 4) moves it once more{hold}."
        )
    };
    inputs {
        score: this.numerics.score_bits(), reference: reference_bits(&this.numerics), sum: log_sum_bits(&this.numerics),
        first: 1, valid: 1
    }
    outputs { reference_next: reference_bits(&this.numerics), sum_next: log_sum_bits(&this.numerics), delta: delta_bits(&this.numerics), e: factor_bits(&this.numerics, lane_bits(&this.numerics).w), update: 1 }
    eval<W> {
        let n = &this.numerics;
        let (fs, bits, w) = (n.score_fraction, reference_bits(n), lane_bits(n).w);
        let floor = score.drop_low(fs).sext(bits).named("score_floor");
        let difference = floor.sext(bits + 1).sub(&reference.sext(bits + 1)).named("difference");
        let above = difference.msb().not().and(&difference.any()).named("score_is_above");
        let base = first.or(&above).select(&floor, &reference).named("base");
        let jump = first.not().and(&above).repeat(bits).and(&difference.slice(0, bits)).named("jump");
        // tau = base + 1 - score > 0, e = 2^(1 - tau).
        let wide = tau_bits(n);
        let top = base.append_zeros(fs).sext(wide).add(&W::constant(wide, 1 << fs));
        let tau = top.sub(&score.sext(wide)).named("tau");
        let (m, right) = table_factor(n, &n.exp.exp, &base_2_argument(n, &tau, fs), w);
        let e = factor_to_sum(n, &right.concat(&m), 1);
        let total_bits = n.state_fraction + 2;
        let clamped = clamp(&jump.zext(bits.max(delta_bits(n))), delta_bits(n)).named("jump_clamped");
        let before = first.not().repeat(sum.width()).and(&sum).shr(&clamped).named("sum_shifted");
        let total = before.zext(total_bits).add(&e.zext(total_bits.max(e.width())).slice(0, total_bits)).named("total");
        let carry = total.msb().named("carry");
        let next = carry.select(&total.drop_low(1), &total.slice(0, total_bits - 1));
        let once_more = carry.and(&first.not()).zext(delta_bits(n) + 1);
        let delta = clamped.zext(delta_bits(n) + 1).add(&once_more).named("jump_and_carry");
        let lanes_right = right.add(&carry.zext(right.width())).named("lanes_right");
        let update = match n.hold_threshold {
            None => valid,
            Some(threshold) => {
                // Relative to the old reference, score - reference <= -T <=> tau >= T + 1.
                let far = above.not().and(&tau.at_least(threshold + (1 << fs))).named("far");
                valid.and(&first.or(&far.not()))
            }
        };
        let reference = base.add(&carry.zext(bits));
        [reference, next, clamp(&delta, delta_bits(n)), lanes_right.concat(&m), update]
    }
}

/// Width of l, which stays below 2: FL + 1.
pub fn log_sum_bits(n: &Numerics) -> u32 {
    n.log_sum_bits()
}

/// A loop over reference and sum, seen from the stage after it, in which the scalars go to the lanes.
pub(super) struct ReferenceLoop {
    pub(super) reference: Wire,
    /// l, one stage later, in the cycle of `finish`.
    pub(super) final_sum: Wire,
    pub(super) e: Wire,
    pub(super) delta: Wire,
    pub(super) first: Wire,
    pub(super) step: Wire,
    pub(super) update: Wire,
}

/// The stage of the loop, in which `decide` moves reference and sum, and the registers of the scalars.
///
/// `step` is the score, whether it is valid, and whether it is of a first key. The reference has this width; `texts` are the format of the
/// reference, and the rows of its next value and of the sum.
pub(super) fn reference_loop(
    m: &mut Module,
    n: &Numerics,
    [score, valid, first]: [Wire; 3],
    state: Option<State>,
    decide: impl Function<5, 5>,
    width: u32,
    texts: (Number, [&str; 2]),
) -> ReferenceLoop {
    let score_q = m.register_if("score_q", valid, score);
    let valid_q = m.register_reset("valid_q", 0, valid);
    let loop_first_q = m.register("loop_first_q", first);
    let takes = m.later(1);
    let reference = m.state_if("reference_q", width, takes);
    let sum = m.state_if("sum_q", log_sum_bits(n), takes);
    let [reference_next, sum_next, delta, e, update] =
        m.call("decide", decide, [score_q, reference, sum, loop_first_q, valid_q]);
    let mut next = [reference_next, sum_next];
    if let Some(state) = state.map(|state| state.later(m, 1)) {
        next = [state.maximum_or(m, reference_next), state.sum_or(m, sum_next)];
    }
    m.next_all(&[reference, sum], &next);
    m.drive(takes, update);
    // Stage of the scalars for the lanes.
    let scalars = ReferenceLoop {
        reference,
        e: m.register_if("e_q", update, e),
        delta: m.register_if("delta_q", update, delta),
        first: m.register("first_q", loop_first_q),
        step: m.register_reset("step_q", 0, valid_q),
        update: m.register_reset("update_q", 0, update),
        final_sum: m.register("final_sum_q", sum),
    };

    m.stage(Stage::Score(1));
    m.show_role(Role::Update, update, "update (not held)");
    m.show(score_q, "score s, log2 units");
    let (number, labels) = texts;
    m.signal(reference, number, "reference R, log2 units");
    m.signal(reference_next, number, labels[0]);
    m.signal(sum, unsigned(n.state_fraction), labels[1]);
    m.signal(sum_next, unsigned(n.state_fraction), "next l = (l >> delta) + e");
    m.number(delta, Number::Bits);
    m.show_as(Row::Late, delta, "delta = next R - R");
    m.number(e, FactorForm::Shift(n.factor_significand).number(n));
    m.show_as(Row::Trace, e, "e = 2^(s - next R)");
    m.stage(Stage::Score(2));
    m.show_role(Role::Update, scalars.update, "update (not held)");
    m.show(scalars.delta, "delta");
    m.show(scalars.e, "e");
    scalars
}

/// The scalar path of FA2 `log-reference`: one pipeline stage with the loop over reference and sum.
pub fn log_reference(
    around: &mut Module,
    n: &Arc<Numerics>,
    inputs: &ScalarInputs,
) -> ScalarOutputs<SeparateScalars<Delta>> {
    let tag = Tag::module(
        format!("log_reference_m{}", lane_bits(n).w),
        "R follows the exponent of l: e = 2^(s - R), l <- (l >> delta) + e stays in [1, 2).",
    );
    around.part("weight", tag, |m| {
        let [score, valid, first, finish] = step_ports(m, inputs);
        let state = state_ports(m, inputs);

        let decide = LogReferenceNextFunction { numerics: n.clone() };
        let texts = (signed(0), ["next R: the exponent of next l", "running sum l, in [1, 2)"]);
        let ReferenceLoop { reference, final_sum, e, delta, first, step, update } =
            reference_loop(m, n, [score, valid, first], state, decide, reference_bits(n), texts);
        let function = SumReciprocalFunction { numerics: n.clone(), bits: log_sum_bits(n) };
        let [r, right] = m.call("reciprocal", function, [final_sum, finish]);

        let step = m.output("step", step);
        let reads = m.output("reads", update);
        let scalars = StepScalars { e, change: Delta { delta }, load: first };
        let lanes = SeparateScalars { update, step: scalars, end: Reciprocal { r, right } };
        let lanes = m.hand_out("", &lanes);
        m.stage(Stage::Score(3));
        m.show(("reciprocal", "sum"), "sum l");
        m.number(r, unsigned(n.reciprocal.table.value_fraction));
        m.number(right, signed(0));
        m.show("r", "r: 1 / l = r 2^-right");
        m.show("right", "right");
        m.watch_as(Quantity::Reference, reference, Reading::Above(n.score_fraction));
        m.watch_output_each([(Quantity::Step, "step"), (Quantity::Weight, "e"), (Quantity::Load, "load")]);
        m.watch_output_as(Quantity::Upper, "delta", Reading::Any);
        m.watch_each([(Quantity::Sum, final_sum), (Quantity::Reciprocal, r), (Quantity::Right, right)]);
        let state_scalars = state_outputs(m, state, reference, final_sum);
        ScalarOutputs { step, reads, lanes, state_scalars }
    })
}

//! FA2 in fixed point with an integer reference. `l` and `o` are relative to a power of two, `2^M` or `2^R`, so moving
//! the reference is a shift. Scores are in base 2.
//!
//! * [`maximum_reference`]: M is the smallest integer at or above the maximum, and `e = 2^(s - M)`. `l` and `o` shift
//!   right when M grows. They grow with the number of keys, so they need guard bits.
//! * [`log_reference`](super::log_reference::log_reference): R follows the exponent of l, which stays in [1, 2). The
//!   loop is longer, but guard bits for many keys are not necessary.

use super::scalars::{StepFlags, state_outputs, state_ports, step_ports};
use super::widths::delta_bits;
use crate::arith::fixed::clamp;
use crate::attention::factor::{base_2_argument, factor_bits, table_factor};
use crate::attention::scalar_path::{ScalarInputs, ScalarOutputs};
use crate::attention::signals::Signals;
use crate::flash_d::fixed_lane::lane_bits;
use crate::function;
use crate::rtl::{Module, Reading, Tag};
use crate::score::sum::SumReciprocalFunction;
use crate::word::Word;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// Width of the reference, two's complement: an integer from `-2^IS` to `2^IS`, in `log-reference` plus the exponent of
/// l.
pub fn reference_bits(n: &Numerics) -> u32 {
    n.reference_bits()
}

/// Width of tau, unsigned with FS fraction bits: the reference less the score. `lazy-reference` adds the slack,
/// `log-reference` 1.
pub(super) fn tau_bits(n: &Numerics) -> u32 {
    n.score_bits() + 2
}

/// The hold rule for the header of a module; empty without one.
pub(super) fn hold_text(n: &Numerics) -> String {
    n.hold_threshold.map_or(String::new(), |t| {
        format!("; holds when score - reference <= -{}", t as f64 / (n.score_fraction as f64).exp2())
    })
}

function! {
    /// The next reference `M <- max(M, ceil(s))`, and the decision whether a step updates.
    pub struct MaximumReferenceNextFunction { numerics: Arc<Numerics> }
    name(this) = "maximum_reference_next";
    doc = {
        let hold = hold_text(&this.numerics);
        format!(
            "reference_next = max(reference, ceil(score)), ceil(score) for a first key;\ndelta = reference_next - reference; tau = reference_next - score{hold}."
        )
    };
    inputs { score: this.numerics.score_bits(), reference: reference_bits(&this.numerics), first: 1, valid: 1 }
    outputs { reference_next: reference_bits(&this.numerics), delta: delta_bits(&this.numerics), tau: tau_bits(&this.numerics), update: 1 }
    eval<W> {
        let n = &this.numerics;
        let (fs, bits) = (n.score_fraction, reference_bits(n));
        let integer = score.drop_low(fs).sext(bits);
        let ceiling = integer.add(&score.slice(0, fs).any().zext(bits)).named("ceiling");
        let difference = ceiling.sext(bits + 1).sub(&reference.sext(bits + 1)).named("difference");
        let moved = difference.msb().not().and(&difference.any()).named("reference_moves");
        let next = first.or(&moved).select(&ceiling, &reference).named("next");
        let step = first.not().and(&moved).repeat(bits).and(&difference.slice(0, bits)).named("step");
        let wide = tau_bits(n);
        let tau = next.append_zeros(fs).sext(wide).sub(&score.sext(wide)).named("tau");
        let update = match n.hold_threshold {
            None => valid,
            Some(threshold) => {
                let far = moved.not().and(&tau.at_least(threshold)).named("far");
                valid.and(&first.or(&far.not()))
            }
        };
        let delta = step.zext(bits.max(delta_bits(n)));
        [next, clamp(&delta, delta_bits(n)), tau, update]
    }
}

function! {
    /// `2^-tau` as the factor of the lanes.
    pub struct TauFactorFunction { numerics: Arc<Numerics> }
    name(this) = format!("tau_factor_m{}", lane_bits(&this.numerics).w);
    doc = format!("e = {{right, m}}: 2^-tau = m * 2^-({} + right).", lane_bits(&this.numerics).w - 1);
    inputs { tau: tau_bits(&this.numerics) }
    outputs { e: factor_bits(&this.numerics, lane_bits(&this.numerics).w) }
    eval<W> {
        let n = &this.numerics;
        let t = base_2_argument(n, &tau, n.score_fraction);
        let (m, right) = table_factor(n, &n.exp.exp, &t, lane_bits(n).w);
        [right.concat(&m)]
    }
}

/// A factor e times `2^left` in the fixed point of l: FL fraction bits, rounded half up.
pub(super) fn factor_to_sum<W: Word>(n: &Numerics, e: &W, left: u32) -> W {
    let w = n.factor_significand;
    let (m, right) = (e.slice(0, w), e.drop_low(w));
    // m 2^(FL - (WM - 1) + left) 2^-right, with one more fraction bit for rounding.
    let place = n.state_fraction + 1 + left;
    let placed = m.append_zeros(place).shr(&right).drop_low(w - 1).named("e_halves");
    let wide = placed.width() + 1;
    placed.zext(wide).add(&W::constant(wide, 1)).drop_low(1).named("e_fixed")
}

function! {
    /// The next running sum l, relative to the reference, saturating.
    pub struct ShiftedSumFunction { numerics: Arc<Numerics> }
    name(this) = format!("shifted_sum_next_m{}", lane_bits(&this.numerics).w);
    doc = format!(
        "sum_next = (sum >> delta) + e, saturating; e for a first key. overflow = the sum exceeds 2^{}.",
        this.numerics.key_bits
    );
    inputs {
        sum: this.numerics.sum_bits(), delta: delta_bits(&this.numerics),
        e: factor_bits(&this.numerics, lane_bits(&this.numerics).w), first: 1
    }
    outputs { sum_next: this.numerics.sum_bits(), overflow: 1 }
    eval<W> {
        let n = &this.numerics;
        let bits = n.sum_bits();
        let before = first.not().repeat(bits).and(&sum).shr(&delta).named("sum_shifted");
        let e = factor_to_sum(n, &e, 0);
        let total = before.zext(bits + 1).add(&e.zext(bits + 1)).named("total");
        let next = total.msb().repeat(bits).or(&total.slice(0, bits)).named("saturated");
        let limit = 1u64 << (n.state_fraction + n.key_bits);
        let overflow = next.at_least(limit + 1);
        [next, overflow]
    }
}

/// The scalar path of FA2 `fixed`: a pipeline stage each for reference, exponential and running sum, and the reciprocal
/// of the sum.
///
/// The lanes get `update`, the step updates o; `e`, its exponential; `delta`, the octaves by which the reference moves;
/// `load`, the step is a first key; and while `finish` is high `r` and `right`, the reciprocal `r 2^-right` of the sum.
/// `overflow` says that the sum exceeds `2^G` for the core's most keys, which the accumulators cannot hold.
pub fn maximum_reference(around: &mut Module, n: &Arc<Numerics>, inputs: &ScalarInputs) -> ScalarOutputs {
    let tag = Tag::module(
        format!("maximum_reference_m{}", lane_bits(n).w),
        "M <- max(M, ceil(s)); e = 2^(s - M); l <- (l >> delta) + e.",
    );
    let numerics = || n.clone();
    around.part("weight", tag, |m| {
        let [score, valid, first, finish] = step_ports(m, inputs);
        let state = state_ports(m, inputs);

        let takes = m.later(1);
        let reference_q = m.state_if("reference_q", reference_bits(n), takes);
        let function = MaximumReferenceNextFunction { numerics: numerics() };
        let [reference, delta, tau, update] =
            m.call("reference", function, [score, reference_q, first, valid]);
        let next = state.map_or(reference, |state| state.maximum_or(m, reference));
        m.next(reference_q, next);
        m.drive(takes, update);
        // Stage of the exponential.
        let tau_q = m.register_if("tau_q", update, tau);
        let exp_delta_q = m.register_if("exp_delta_q", update, delta);
        let exp = StepFlags { first, step: valid, update }.register(m, "exp_");
        let [e] = m.call("exponential", TauFactorFunction { numerics: numerics() }, [tau_q]);
        // Stage of the sum.
        let e_q = m.register_if("e_q", exp.update, e);
        let delta_q = m.register_if("delta_q", exp.update, exp_delta_q);
        let StepFlags { first: first_q, step: step_q, update: update_q } = exp.register(m, "");
        let sum_q = m.state_if("sum_q", n.sum_bits(), update_q);
        let function = ShiftedSumFunction { numerics: numerics() };
        let [sum, overflow] = m.call("sum", function, [sum_q, delta_q, e_q, first_q]);
        let next = state.map_or(sum, |state| state.sum_or_later(m, sum, 2));
        m.next(sum_q, next);
        let overflow_q = m.register_if("overflow_q", update_q, overflow);
        let function = SumReciprocalFunction { numerics: numerics(), bits: n.sum_bits() };
        let [r, right] = m.call("reciprocal", function, [sum_q, finish]);

        let step = m.output("step", step_q);
        let reads = m.output("reads", update_q);
        let scalars = [("update", update_q), ("e", e_q), ("delta", delta_q), ("load", first_q)];
        let scalars = Signals::hand_out(m, scalars);
        let overflow = Some(m.output("overflow", overflow_q));
        let lanes = scalars.and(Signals::hand_out(m, [("r", r), ("right", right)]));
        m.watch("argument_below", tau);
        m.watch_output_each([("weight_valid", "step"), ("weight", "e"), ("weight_load", "load")]);
        m.watch_output_as("weight_upper", "delta", Reading::Any);
        m.watch_each([("sum", sum_q), ("reciprocal", r), ("reciprocal_right", right)]);
        let state_scalars = state_outputs(m, state, reference_q, sum_q);
        ScalarOutputs { step, reads, lanes, state_scalars, overflow }
    })
}

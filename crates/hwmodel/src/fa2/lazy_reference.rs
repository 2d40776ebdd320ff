//! The scalar path of FA2 `lazy-reference`: the reference moves rarely, and by whole octaves.
//!
//! This is FlashAttention-4's conditional rescaling, whose threshold also is 8 in log2 units. Scores are in base 2, and
//! T is the slack ([`LAZY_SLACK`](flashd_spec::config::LAZY_SLACK)).
//!
//! ```text
//!  first key         m <- s                                   l <- 1              o <- v
//!  s - m > T         delta = floor(s - m), m <- m + delta     l <- l 2^-delta + e   o <- o 2^-delta + v e
//!  s - m <= T        delta = 0                                l <- l + e          o <- o + v e
//!                    e = 2^(s - m), m the new one, at most 2^T
//!  result            o / l
//! ```
//!
//! * m is the first score plus an integer. So the exponential of a first key is 1, and the lane loads v without a
//!   product. If m itself were an integer, a first key would need a product `2^(s - m) v` in the very cycle in which
//!   the multiplier of the lane scales the result of the query before, and a lane would need two multipliers.
//! * m moves by whole octaves: rescaling l is a shift, and rescaling o subtracts delta from its exponent.
//! * Moves round down, so m is never above the largest score, just as FA2's maximum. Hence this variant holds at most
//!   the steps that FA2 holds, and m stays within the range of a score.
//! * l has T more integer bits: `2^G` scores with `s - m = T` give exactly `2^(G + T)`.
//! * The lanes get factors relative to `2^T`: `2^-tau` with `tau = T - (s - m) >= 0`. Their multipliers put the T
//!   octaves back.

use super::reference::{reference_bits, tau_bits};
use super::scalars::{StepFlags, state_outputs, state_ports, step_ports};
use crate::arith::fixed::clamp;
use crate::attention::factor::{
    FactorForm, base_2_argument, factor_bits, right_bits, significand_and_right, table_factor,
};
use crate::attention::scalar_path::{ScalarInputs, ScalarOutputs};
use crate::attention::signals::Signals;
use crate::function;
use crate::rtl::{Module, Reading, Tag};
use crate::score::sum::{SumReciprocalFunction, sum_exponent_bits};
use crate::word::bits_for;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// Width of delta, which shifts l and the accumulators: enough for the octaves of any difference of scores, or fewer if
/// a saturated delta shifts everything out anyway.
pub fn delta_bits(n: &Numerics) -> u32 {
    // All ones exceeds the range of the accumulator's exponents, and the width of l.
    let everything = (n.accumulator.exponent_bits + 1).max(bits_for(n.sum_bits().into()));
    everything.min(reference_bits(n))
}

function! {
    /// The next reference, and the decision whether a step updates.
    pub struct LazyReferenceNextFunction { numerics: Arc<Numerics> }
    name(this) = "lazy_reference_next";
    doc = {
        let n = &this.numerics;
        let hold = n.hold_threshold.map_or(String::new(), |t| {
            format!("; holds when score - reference <= -{}", t as f64 / (n.score_fraction as f64).exp2())
        });
        format!(
            "delta = score - reference > {} ? floor(score - reference) : 0; reference_next = reference + delta, the score\nfor a first key; tau = {} + reference_next - score{hold}.",
            n.slack, n.slack
        )
    };
    inputs { score: this.numerics.score_bits(), reference: this.numerics.score_bits(), first: 1, valid: 1 }
    outputs { reference_next: this.numerics.score_bits(), delta: delta_bits(&this.numerics), tau: tau_bits(&this.numerics), update: 1 }
    eval<W> {
        let n = &this.numerics;
        let (fs, bits) = (n.score_fraction, n.score_bits());
        let limit = u64::from(n.slack) << fs;
        let x = score.sext(bits + 1).sub(&reference.sext(bits + 1)).named("difference");
        let above = x.msb().not().and(&x.at_least(limit + 1)).named("above_the_slack");
        let octaves = x.drop_low(fs);
        let moves = first.not().and(&above).named("reference_moves");
        let step = moves.repeat(octaves.width()).and(&octaves).named("step");
        let moved = reference.drop_low(fs).add(&step.slice(0, bits - fs)).concat(&reference.slice(0, fs));
        let next = first.select(&score, &moved.named("moved_reference"));
        // The score less the new reference.
        let rest = above.not().repeat(octaves.width()).and(&octaves).concat(&x.slice(0, fs)).named("rest");
        let distance = first.not().repeat(bits + 1).and(&rest).named("distance");
        let wide = tau_bits(n);
        let tau = W::constant(wide, limit).sub(&distance.sext(wide)).named("tau");
        let update = match n.hold_threshold {
            None => valid,
            Some(threshold) => valid.and(&tau.at_least(limit + threshold).named("far").not()),
        };
        let delta = step.zext(step.width().max(delta_bits(n)));
        [next, clamp(&delta, delta_bits(n)), tau, update]
    }
}

function! {
    /// `2^-tau` as the factor of the lanes.
    pub struct LazyFactorFunction { numerics: Arc<Numerics> }
    name(this) = format!("lazy_factor_m{}", this.numerics.factor_significand);
    doc = format!("e = {{right, m}}: 2^-tau = m * 2^-({} + right).", this.numerics.factor_significand - 1);
    inputs { tau: tau_bits(&this.numerics) }
    outputs { e: factor_bits(&this.numerics, this.numerics.factor_significand) }
    eval<W> {
        let n = &this.numerics;
        let t = base_2_argument(n, &tau, n.score_fraction);
        let (m, right) = table_factor(n, &n.exp.exp, &t, n.factor_significand);
        [right.concat(&m)]
    }
}

function! {
    /// The next running sum l, saturating.
    pub struct LazySumFunction { numerics: Arc<Numerics> }
    name(this) = format!("lazy_sum_next_m{}", this.numerics.factor_significand);
    doc = format!("sum_next = (sum >> delta) + e * 2^{}, saturating; without the old sum for a first key.", this.numerics.slack);
    inputs {
        sum: this.numerics.sum_bits(), delta: delta_bits(&this.numerics),
        e: factor_bits(&this.numerics, this.numerics.factor_significand), first: 1
    }
    outputs { sum_next: this.numerics.sum_bits() }
    eval<W> {
        let n = &this.numerics;
        let (bits, w) = (n.sum_bits(), n.factor_significand);
        let before = first.not().repeat(bits).and(&sum).shr(&delta).named("sum_shifted");
        // m 2^(FL - (WM - 1) + T) 2^-right, with one more fraction bit for rounding half up.
        let (m, right) = (e.slice(0, w), e.drop_low(w));
        let halves = m.append_zeros(n.state_fraction + 1 + n.slack).shr(&right).drop_low(w - 1).named("e_halves");
        let addend = halves.zext(bits + 2).add(&W::constant(bits + 2, 1)).drop_low(1).named("e_fixed");
        let total = before.zext(bits + 1).add(&addend).named("total");
        [total.msb().repeat(bits).or(&total.slice(0, bits))]
    }
}

function! {
    /// The factor for lanes whose multiplier also does the final scale: the exponential, or the final scale.
    pub struct LazyScaleFunction { numerics: Arc<Numerics> }
    name(this) = format!("lazy_scale_m{}", this.numerics.factor_significand);
    doc = format!("factor = finish ? r * 2^-(right + {}) : e, as {{right, m}}.", this.numerics.slack);
    inputs {
        r: this.numerics.reciprocal.table.value_fraction + 1, right: sum_exponent_bits(&this.numerics),
        e: factor_bits(&this.numerics, this.numerics.factor_significand), finish: 1, update: 1
    }
    outputs { factor: factor_bits(&this.numerics, this.numerics.factor_significand), take: 1 }
    eval<W> {
        let n = &this.numerics;
        // l is at least 1/2, so right is at least -1. The slack is more than that, so the octave is not negative.
        let wide = right_bits(n).max(sum_exponent_bits(n) + 1);
        let octave = right.sext(wide).add(&W::constant(wide, n.slack.into())).slice(0, right_bits(n)).named("octave");
        let (scale, right) = significand_and_right(&r, &octave, n.factor_significand, right_bits(n));
        [finish.select(&right.concat(&scale), &e), finish.or(&update)]
    }
}

/// The scalar path of FA2 `lazy-reference`: a pipeline stage each for reference, exponential and running sum, and the
/// reciprocal of the sum.
///
/// The lanes get `update`, the step updates o; `take`, they register a factor; `e`, the factor: the exponential of the
/// step, or the final scale while `finish` is high; `delta`, the octaves by which the reference moves; and `load`, the
/// step is a first key.
pub fn lazy_reference(around: &mut Module, n: &Arc<Numerics>, inputs: &ScalarInputs) -> ScalarOutputs {
    let form = FactorForm::Shift(n.factor_significand);
    let tag = Tag::module(
        format!("lazy_reference_{}", form.suffix(n)),
        format!(
            "m <- s - m > {} ? m + delta : m, delta = floor(s - m); e = 2^(s - m); l <- (l >> delta) + e;\nfactors count from 2^{} on.",
            n.slack, n.slack
        ),
    );
    let numerics = || n.clone();
    around.part("weight", tag, |m| {
        let [score, valid, first, finish] = step_ports(m, inputs);
        let state = state_ports(m, inputs);

        let takes = m.later(1);
        let reference_q = m.state_if("reference_q", n.score_bits(), takes);
        let function = LazyReferenceNextFunction { numerics: numerics() };
        let [reference, delta, tau, update] =
            m.call("reference", function, [score, reference_q, first, valid]);
        let next = state.map_or(reference, |state| state.maximum_or(m, reference));
        m.next(reference_q, next);
        m.drive(takes, update);
        // Stage of the exponential.
        let tau_q = m.register_if("tau_q", update, tau);
        let exp_delta_q = m.register_if("exp_delta_q", update, delta);
        let exp = StepFlags { first, step: valid, update }.register(m, "exp_");
        let [e] = m.call("exponential", LazyFactorFunction { numerics: numerics() }, [tau_q]);
        // Stage of the sum.
        let e_q = m.register_if("e_q", exp.update, e);
        let delta_q = m.register_if("delta_q", exp.update, exp_delta_q);
        let StepFlags { first: first_q, step: step_q, update: update_q } = exp.register(m, "");
        let sum_q = m.state_if("sum_q", n.sum_bits(), update_q);
        let [sum] = m.call("sum", LazySumFunction { numerics: numerics() }, [sum_q, delta_q, e_q, first_q]);
        let next = state.map_or(sum, |state| state.sum_or_later(m, sum, 2));
        m.next(sum_q, next);
        let function = SumReciprocalFunction { numerics: numerics(), bits: n.sum_bits() };
        let [r, right] = m.call("reciprocal", function, [sum_q, finish]);
        let function = LazyScaleFunction { numerics: numerics() };
        let [factor, take] = m.call("factor", function, [r, right, e_q, finish, update_q]);

        let step = m.output("step", step_q);
        let reads = m.output("reads", update_q);
        let scalars =
            [("update", update_q), ("take", take), ("e", factor), ("delta", delta_q), ("load", first_q)];
        let lanes = Signals::hand_out(m, scalars);
        m.watch("argument_reference", reference_q);
        m.watch_output("weight_valid", "step");
        m.watch("weight", e_q);
        m.watch_output("weight_load", "load");
        m.watch_output_as("weight_upper", "delta", Reading::Any);
        m.watch_each([("sum", sum_q), ("reciprocal", r), ("reciprocal_right", right)]);
        let state_scalars = state_outputs(m, state, reference_q, sum_q);
        ScalarOutputs { step, reads, lanes, state_scalars, overflow: None }
    })
}

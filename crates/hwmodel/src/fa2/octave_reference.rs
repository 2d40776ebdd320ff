//! The scalar path of FA2 `ranged`: the numbers of [`super::shared_log_reference`], with a shorter loop.
//!
//! ```text
//!  stage of the table   u = s0 - s, s0 the first score         2^-frac(u) from the table
//!  stage of the loop    tau = n + u                            R = s0 + n, n whole octaves
//!                       first key   n <- 0                     l <- 1
//!                       tau < 0     delta = ceil(-tau)         l <- l 2^-delta + e
//!                       tau >= 0    delta = 1 if l + e >= 2    l <- (l + e) 2^-delta
//!                       n <- n + delta, e = 2^-(n + u)         (with the new n)
//! ```
//!
//! R moves by whole octaves, so the fraction of `R - s` is that of `s0 - s`. Subtraction, table and its product leave the
//! loop for a stage before it. A sum of octaves, a shift and the addition to l remain. The latency is the same, because
//! factor and final l reach the lanes without a register in between.

use super::log_reference::log_sum_bits;
use super::reference::tau_bits;
use super::scalars::{Delta, SharedScalars, StepScalars, state_outputs, state_ports, step_ports};
use super::shared_log_reference::{
    HalfReciprocalFunction, SharedLogFactorFunction, delta_bits, fine_reference_bits, show_division,
};
use crate::arith::fixed::clamp;
use crate::attention::delay::delay;
use crate::attention::factor::{FactorForm, base_2_argument, factor_bits, right_bits, table_factor};
use crate::attention::partial::restored_as;
use crate::attention::scalar_path::{ScalarInputs, ScalarOutputs};
use crate::function;
use crate::rtl::{Module, Number, Quantity, Reading, Role, Row, Stage, Tag, signed, unsigned};
use crate::word::{Num, Word, ones};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// Width of a number of whole octaves, two's complement.
fn octaves_bits(n: &Numerics) -> u32 {
    tau_bits(n) - n.score_fraction
}

/// Width of the shift of a power of two from the table: its leading zeros, and a carry of the rounded argument.
const TABLE_RIGHT_BITS: u32 = 2;

/// Width of the marks of a fraction: bit 0, it rounds to an octave; bit 1, with a hold rule only, it is at least the threshold's fraction.
fn marks_bits(n: &Numerics) -> u32 {
    1 + u32::from(n.hold_threshold.is_some())
}

/// Significand and shift of the exponential of an argument that saturates.
fn farthest(n: &Numerics) -> (u64, u64) {
    let t = Num::constant(n.octave_argument_bits(), ones(n.octave_argument_bits()));
    let (m, right) = table_factor(n, &n.exp.exp, &t, n.factor_significand);
    (m.value(), right.value())
}

function! {
    /// Octaves from the score to the first one, and the power of two of the fraction.
    pub struct OctaveDistanceFunction { numerics: Arc<Numerics> }
    name(this) = format!("octave_distance_m{}", this.numerics.factor_significand);
    doc = "octaves + fraction = base - score, 0 for a first key; m * 2^-right = 2^-fraction. marks, from bit 0: the fraction rounds\nto an octave; with a hold rule, it is at least that of its threshold.";
    inputs { score: this.numerics.score_bits(), base: fine_reference_bits(&this.numerics), first: 1 }
    outputs {
        octaves: octaves_bits(&this.numerics), m: this.numerics.factor_significand, right: TABLE_RIGHT_BITS,
        marks: marks_bits(&this.numerics)
    }
    eval<W> {
        let n = &this.numerics;
        let (fs, wide) = (n.score_fraction, tau_bits(n));
        let below = base.sext(wide).sub(&score.sext(wide));
        let below = first.not().repeat(wide).and(&below).named("below");
        let fraction = below.slice(0, fs).named("fraction");
        let t = base_2_argument(n, &fraction, fs).named("t");
        let carries = t.bit(n.exp.value_fraction);
        let (m, right) = table_factor(n, &n.exp.exp, &t, n.factor_significand);
        let marks = match n.hold_threshold {
            Some(threshold) => fraction.at_least(threshold & ones(fs)).concat(&carries),
            None => carries,
        };
        [below.drop_low(fs), m, right.slice(0, TABLE_RIGHT_BITS), marks]
    }
}

function! {
    /// One step of the loop over keys: the next reference and sum, and the scalars for the lanes.
    pub struct OctaveNextFunction { numerics: Arc<Numerics> }
    name(this) = format!("octave_next_m{}", this.numerics.factor_significand);
    doc = {
        let n = &this.numerics;
        let hold = n.hold_threshold.map_or(String::new(), |t| {
            format!("; holds when octaves + distance + fraction >= {}", t as f64 / (n.score_fraction as f64).exp2())
        });
        format!(
            "jump = max(0, -(octaves + distance)); e = m * 2^-(octaves + distance + jump + right); total = (sum >> jump) + e;\ntotal below 2 keeps the reference at octaves + jump, above it moves once more{hold}."
        )
    };
    inputs {
        distance: octaves_bits(&this.numerics), m: this.numerics.factor_significand, right: TABLE_RIGHT_BITS,
        marks: marks_bits(&this.numerics), octaves: octaves_bits(&this.numerics), sum: log_sum_bits(&this.numerics), first: 1, valid: 1
    }
    outputs {
        octaves_next: octaves_bits(&this.numerics), sum_next: log_sum_bits(&this.numerics), delta: delta_bits(&this.numerics),
        e: factor_bits(&this.numerics, this.numerics.factor_significand), tau: octaves_bits(&this.numerics), update: 1
    }
    eval<W> {
        let n = &this.numerics;
        let (bits, w) = (octaves_bits(n), n.factor_significand);
        let octaves = first.not().repeat(bits).and(&octaves).named("octaves_before");
        let tau = octaves.add(&distance).named("tau");
        let above = tau.msb().named("score_is_above");
        // A score above the reference takes it to the score or less than an octave above it.
        let jump = above.repeat(bits).and(&tau.negate()).named("jump");
        let octave = above.not().repeat(bits).and(&tau).named("octave");
        // Beyond the last octave the argument saturates.
        let last = ones(n.octave_bits);
        let at_last = octave.slice(0, n.octave_bits).eq(&W::constant(n.octave_bits, last)).and(&marks.bit(0));
        let saturates = octave.any_above(n.octave_bits).or(&at_last).named("saturates");
        let (farthest_m, farthest_right) = farthest(n);
        let m = saturates.select(&W::constant(w, farthest_m), &m).named("m_within");
        let near = octave.slice(0, n.octave_bits).zext(right_bits(n)).add(&right.zext(right_bits(n)));
        let right = saturates.select(&W::constant(right_bits(n), farthest_right), &near).named("right_within");
        // A half below l's last place rounds the addend in the same adder.
        let addend = m.append_zeros(n.state_fraction + 1).shr(&right).drop_low(w - 1).named("e_halves");
        let total_bits = n.state_fraction + 2;
        let clamped = clamp(&jump.zext(bits.max(delta_bits(n))), delta_bits(n)).named("jump_clamped");
        let before = first.not().repeat(sum.width()).and(&sum).shr(&clamped).named("sum_shifted");
        let halves = before.concat(&W::constant(1, 1)).zext(total_bits + 1);
        let total = halves.add(&addend.zext(total_bits + 1)).named("total_halves").drop_low(1).named("total");
        let carry = total.msb().named("carry");
        let sum_next = carry.select(&total.drop_low(1), &total.slice(0, total_bits - 1));
        let delta = clamped.or(&carry.zext(delta_bits(n)));
        let right = right.add(&carry.zext(right.width())).named("lanes_right");
        // A jump and a carry never come together.
        let kept = octaves.add(&carry.zext(bits)).named("octaves_with_carry");
        let octaves_next = above.select(&distance.negate(), &kept);
        let update = match n.hold_threshold {
            None => valid,
            // A score above the reference has a tau of less than an octave, and thresholds are larger. A first key too, but a gate keeps it: proofs of
            // independence know no arithmetic.
            Some(threshold) => {
                let whole = threshold >> n.score_fraction;
                let at = octave.eq(&W::constant(bits, whole)).and(&marks.bit(1));
                let far = octave.at_least(whole + 1).or(&at).named("far");
                valid.and(&first.or(&far.not()))
            }
        };
        [octaves_next, sum_next, delta, right.concat(&m), tau, update]
    }
}

function! {
    /// The reference of a partial result.
    pub struct OctaveReferenceFunction { numerics: Arc<Numerics> }
    name(this) = "octave_reference_sum";
    doc = "reference = base + octaves.";
    inputs { base: fine_reference_bits(&this.numerics), octaves: octaves_bits(&this.numerics) }
    outputs { reference: fine_reference_bits(&this.numerics) }
    eval<W> {
        let fs = this.numerics.score_fraction;
        let whole = base.drop_low(fs);
        [whole.add(&octaves.slice(0, whole.width())).concat(&base.slice(0, fs))]
    }
}

function! {
    /// The score that the reference of a query starts from.
    pub struct OctaveBaseFunction { numerics: Arc<Numerics> }
    name(this) = "octave_base";
    doc = "base = score, extended; takes: a first key.";
    inputs { score: this.numerics.score_bits(), first: 1, valid: 1 }
    outputs { base: fine_reference_bits(&this.numerics), takes: 1 }
    eval<W> { [score.sext(fine_reference_bits(&this.numerics)), first.and(&valid)] }
}

/// The scalar path of FA2 `ranged`: a stage with the table of powers of two, one with the loop over reference and sum, and
/// the reciprocal of the sum.
pub fn octave_reference(
    around: &mut Module,
    n: &Arc<Numerics>,
    inputs: &ScalarInputs,
) -> ScalarOutputs<SharedScalars<Delta>> {
    let tag = Tag::module(
        format!("octave_reference_m{}", n.factor_significand),
        "The reference is the first score plus octaves that follow the exponent of l: e = 2^-(octaves + distance) <= 1,\nl <- (l >> delta) + e stays in [1/2, 2).",
    );
    let numerics = || n.clone();
    around.part("weight", tag, |m| {
        let [score, valid, first, finish] = step_ports(m, inputs);
        let state = state_ports(m, inputs);

        // Stage of the table.
        let score_q = m.register_if("score_q", valid, score);
        let valid_q = m.register_reset("valid_q", 0, valid);
        let table_first_q = m.register("table_first_q", first);
        let takes = m.later(1);
        let base_q = m.state_if("base_q", fine_reference_bits(n), takes);
        let function = OctaveBaseFunction { numerics: numerics() };
        let [base, takes_base] = m.call("base", function, [score_q, table_first_q, valid_q]);
        m.drive(takes, takes_base);
        m.number(base, signed(n.score_fraction));
        let at_table = state.map(|state| state.later(m, 1));
        let base = match at_table {
            Some(state) => state.maximum_or(m, base),
            None => base,
        };
        m.next(base_q, base);
        let function = OctaveDistanceFunction { numerics: numerics() };
        let table = m.call("distance", function, [score_q, base_q, table_first_q]);

        // Stage of the loop.
        let names = ["distance_q", "m_q", "right_q", "marks_q"];
        let [distance_q, m_q, right_q, marks_q] =
            std::array::from_fn(|i| m.register_if(names[i], valid_q, table[i]));
        let first_q = m.register("first_q", table_first_q);
        let step_q = m.register_reset("step_q", 0, valid_q);
        let takes = m.later(1);
        let octaves_q = m.state_if("octaves_q", octaves_bits(n), takes);
        let sum_q = m.state_if("sum_q", log_sum_bits(n), takes);
        let function = OctaveNextFunction { numerics: numerics() };
        let step = [distance_q, m_q, right_q, marks_q, octaves_q, sum_q, first_q, step_q];
        let [octaves_next, sum_next, delta, e, tau, update] = m.call("decide", function, step);
        m.drive(takes, update);
        let mut next = [octaves_next, sum_next];
        if let Some(state) = at_table {
            // A restore is a first key for the loop. Its reference is m of the state and no octaves above.
            let [step, sum] = [("loop_state_q", state.step), ("loop_state_l_q", state.sum)]
                .map(|(name, wire)| delay(m, name, wire, 1));
            next[1] = restored_as(m, "restored_l", sum_next, Some((step, sum)));
        }
        m.next_all(&[octaves_q, sum_q], &next);

        // The final l, in the cycle of `finish`.
        let function = HalfReciprocalFunction { numerics: numerics() };
        let [r, right] = m.call("reciprocal", function, [sum_q, finish]);
        let function = SharedLogFactorFunction { numerics: numerics() };
        let [factor, take] = m.call("factor", function, [r, right, e, finish, update]);

        let step = m.output("step", step_q);
        let reads = m.output("reads", update);
        let scalars = StepScalars { e: factor, change: Delta { delta }, load: first_q };
        let lanes = m.hand_out("", &SharedScalars { update, take, step: scalars });
        m.number_each(&table, Number::Bits);
        m.number_each(&[octaves_q, octaves_next, tau, delta], Number::Bits);
        m.stage(Stage::Score(1));
        m.show(score_q, "score s, log2 units");
        m.signal(base_q, signed(n.score_fraction), "first score s0, log2 units");
        m.show_as(Row::Late, table[0], "floor(s0 - s)");
        m.show_as(Row::Late, table[1], "2^-(fraction of s0 - s): significand");
        m.stage(Stage::Score(2));
        m.show_role(Role::Update, update, "update (not held)");
        m.show(octaves_q, "n: octaves of the reference above s0");
        m.show(tau, "tau = n + u, whole octaves");
        m.show(octaves_next, "next n = n + delta");
        m.show(delta, "delta");
        m.signal(sum_q, unsigned(n.state_fraction), "running sum l, in [1/2, 2)");
        m.signal(sum_next, unsigned(n.state_fraction), "next l = (l >> delta) + e");
        m.number(e, FactorForm::Shift(n.factor_significand).number(n));
        m.show_as(Row::Trace, e, "e = 2^(s - next R)");
        show_division(m, n, r, right, factor);
        m.watch(Quantity::Octaves, tau);
        m.watch_output(Quantity::Step, "step");
        m.watch(Quantity::Weight, e);
        m.watch_output(Quantity::Load, "load");
        m.watch_output_as(Quantity::Upper, "delta", Reading::Any);
        m.watch_each([(Quantity::Sum, sum_q), (Quantity::Reciprocal, r), (Quantity::Right, right)]);
        // The table's stage may be at the next query already.
        let reference = state.map(|_| {
            let base = delay(m, "loop_base_q", base_q, 1);
            let function = OctaveReferenceFunction { numerics: numerics() };
            m.call("reference", function, [base, octaves_q])[0]
        });
        let state_scalars = state_outputs(m, state, reference.unwrap_or(base_q), sum_q);
        ScalarOutputs { step, reads, lanes, state_scalars }
    })
}

//! FA2 in fixed point: `l` and `o` relative to a reference that is an integer power of two, so that moving the
//! reference is a shift. Scores are in base 2.
//!
//! * [`MaximumReference`]: the reference is the smallest integer M at or above the maximum. `e = 2^(s - M)`;
//!   `l` and `o` shift right when M grows, and grow with the number of keys: they need guard bits.
//! * [`LogReference`](super::log_reference::LogReference): the reference R follows the exponent of l, which stays in [1, 2). That costs a longer loop,
//!   and saves the guard bits.

use super::factor::{base_2_argument, factor_bits, table_factor};
use super::fixed_lane::lane_bits;
use super::inside::{Inside, Quantity};
use super::sum::{SumReciprocal, SumReciprocalFunction, sum_exponent_bits};
use crate::arith::fixed::clamp;
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Register, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::word::{Word, bits_for};
use crate::{circuit, function, unit};
use std::sync::Arc;

/// Width of the reference: an integer from `-2^IS` to `2^IS`.
pub fn reference_bits(n: &Numerics) -> u32 {
    n.score_integer + 2
}

/// Bits of a shift of the accumulator and of l: all ones shifts everything out.
pub fn delta_bits(n: &Numerics) -> u32 {
    bits_for(super::fa2_fixed_lane::accumulator_bits(n).max(n.sum_bits()).into())
}

/// Width of `tau = reference - s`, never negative, FS fraction bits.
pub(super) fn tau_bits(n: &Numerics) -> u32 {
    n.score_bits() + 2
}

function! {
    /// The maximum's reference.
    pub struct MaximumReferenceNextFunction { numerics: Arc<Numerics> }
    name(this) = "maximum_reference_next";
    doc = match this.numerics.hold_threshold {
        Some(t) => format!(
            "reference_next = max(reference, ceil(score)), ceil(score) for a first key;\ndelta = reference_next - reference; tau = reference_next - score; holds when score - reference <= -{}.",
            t as f64 / (this.numerics.score_fraction as f64).exp2()
        ),
        None => "reference_next = max(reference, ceil(score)), ceil(score) for a first key;\ndelta = reference_next - reference; tau = reference_next - score.".to_string(),
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
unit! {
    /// The maximum's reference.
    pub struct MaximumReferenceNext(MaximumReferenceNextFunction) { score, reference, first, valid }
        -> { reference_next, delta, tau, update }
}

function! {
    /// `2^-tau` as the lanes' factor.
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
unit! {
    /// `2^-tau` as the lanes' factor.
    pub struct TauFactor(TauFactorFunction) { tau } -> { e }
}

/// A factor in the fixed point of l, times `2^left`: FL fraction bits, rounded half up.
pub(super) fn factor_to_sum<W: Word>(n: &Numerics, e: &W, left: u32) -> W {
    let w = lane_bits(n).w;
    let (m, right) = (e.slice(0, w), e.drop_low(w));
    // m 2^(FL - (WM - 1) + left) 2^-right, with one more bit for rounding.
    let place = n.state_fraction + 1 + left;
    let placed = m.append_zeros(place).shr(&right).drop_low(w - 1).named("e_halves");
    let wide = placed.width() + 1;
    placed.zext(wide).add(&W::constant(wide, 1)).drop_low(1).named("e_fixed")
}

function! {
    /// The running sum relative to the maximum's reference.
    pub struct ShiftedSumFunction { numerics: Arc<Numerics> }
    name(this) = format!("shifted_sum_next_m{}", lane_bits(&this.numerics).w);
    doc = "sum_next = (sum >> delta) + e, saturating; e for a first key. overflow = the sum exceeds 65,536.";
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
        let limit = 1u64 << (n.state_fraction + crate::numerics::SUM_GUARD_BITS);
        let overflow = next.at_least(limit + 1);
        [next, overflow]
    }
}
unit! {
    /// The running sum relative to the maximum's reference.
    pub struct ShiftedSum(ShiftedSumFunction) { sum, delta, e, first } -> { sum_next, overflow }
}

circuit! {
    /// The scalar path of FA2 `fixed`: reference, exponential and running sum, a stage each.
    pub struct MaximumReference {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// Score, at the score stage.
            score: Bus<In>,
            /// A step is at the score stage.
            valid: Bus<In>,
            /// It is a first key.
            first: Bus<In>,
            /// The step at the value stage is its query's last.
            finish: Bus<In>,
            /// A step asks for its value.
            step: Bus<Out>,
            /// That step updates: it needs its value.
            reads: Bus<Out>,
            /// A step leaves for the lanes' registers.
            update: Bus<Out>,
            /// Its exponential.
            e: Bus<Out>,
            /// How far the reference moves.
            delta: Bus<Out>,
            /// It is a first key.
            load: Bus<Out>,
            /// The sum is beyond what the accumulators can hold.
            overflow: Bus<Out>,
            /// Normalised reciprocal of the sum, in the cycle of `finish`.
            r: Bus<Out>,
            /// The sum's exponent.
            right: Bus<Out>,
        }
        parts {
            /// M.
            reference_q: EnabledRegister,
            /// Next M.
            reference: MaximumReferenceNext,
            /// Exponential's stage.
            tau_q: EnabledRegister,
            /// Exponential's stage.
            exp_delta_q: EnabledRegister,
            /// Exponential's stage.
            exp_first_q: Register,
            /// Exponential's stage.
            exp_step_q: ResetRegister,
            /// Exponential's stage.
            exp_update_q: ResetRegister,
            /// 2^-tau.
            exponential: TauFactor,
            /// Sum's stage.
            e_q: EnabledRegister,
            /// Sum's stage.
            delta_q: EnabledRegister,
            /// Sum's stage.
            first_q: Register,
            /// Sum's stage.
            step_q: ResetRegister,
            /// Sum's stage.
            update_q: ResetRegister,
            /// l.
            sum_q: EnabledRegister,
            /// Next l.
            sum: ShiftedSum,
            /// The sum was beyond its range in this step.
            overflow_q: EnabledRegister,
            /// 1 / l.
            reciprocal: SumReciprocal,
        }
        config {}
    }
}

impl MaximumReference {
    /// The unit for a configuration.
    pub fn new(n: &Arc<Numerics>) -> Self {
        let factor = factor_bits(n, lane_bits(n).w);
        let sum = n.sum_bits();
        MaximumReference {
            tag: Tag::module(
                format!("maximum_reference_m{}", lane_bits(n).w),
                "M <- max(M, ceil(s)); e = 2^(s - M); l <- (l >> delta) + e.",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            score: Bus::new(n.score_bits()),
            valid: Bus::new(1),
            first: Bus::new(1),
            finish: Bus::new(1),
            step: Bus::new(1),
            reads: Bus::new(1),
            update: Bus::new(1),
            e: Bus::new(factor),
            delta: Bus::new(delta_bits(n)),
            load: Bus::new(1),
            overflow: Bus::new(1),
            r: Bus::new(n.reciprocal.table.value_fraction + 1),
            right: Bus::new(sum_exponent_bits()),
            reference_q: EnabledRegister::new(reference_bits(n)),
            reference: MaximumReferenceNext::new(MaximumReferenceNextFunction { numerics: n.clone() }),
            tau_q: EnabledRegister::new(tau_bits(n)),
            exp_delta_q: EnabledRegister::new(delta_bits(n)),
            exp_first_q: Register::new(1),
            exp_step_q: ResetRegister::new(1, 0),
            exp_update_q: ResetRegister::new(1, 0),
            exponential: TauFactor::new(TauFactorFunction { numerics: n.clone() }),
            e_q: EnabledRegister::new(factor),
            delta_q: EnabledRegister::new(delta_bits(n)),
            first_q: Register::new(1),
            step_q: ResetRegister::new(1, 0),
            update_q: ResetRegister::new(1, 0),
            sum_q: EnabledRegister::new(sum),
            sum: ShiftedSum::new(ShiftedSumFunction { numerics: n.clone() }),
            overflow_q: EnabledRegister::new(1),
            reciprocal: SumReciprocal::new(SumReciprocalFunction { numerics: n.clone(), bits: sum }),
        }
    }
}

impl MaximumReference {
    /// What is compared of a step.
    pub(super) fn inside(&self) -> Vec<Inside> {
        vec![
            Inside::new(Quantity::Below, &self.reference.tau),
            Inside::new(Quantity::Step, &self.step),
            Inside::new(Quantity::Weight, &self.e),
            Inside::new(Quantity::Load, &self.load),
            Inside::any(Quantity::Upper, &self.delta),
            Inside::new(Quantity::Sum, &self.sum_q.q),
            Inside::new(Quantity::Reciprocal, &self.reciprocal.r),
            Inside::new(Quantity::Right, &self.reciprocal.right),
        ]
    }
}

impl Logic for MaximumReference {
    #[hdl_gen]
    fn update(&mut self) {
        self.reference.score.next = self.score.val();
        self.reference.reference.next = self.reference_q.q.val();
        self.reference.first.next = self.first.val();
        self.reference.valid.next = self.valid.val();
        self.reference_q.clk.next = self.clk.val();
        self.reference_q.enable.next = self.reference.update.val();
        self.reference_q.d.next = self.reference.reference_next.val();
        self.tau_q.clk.next = self.clk.val();
        self.tau_q.enable.next = self.reference.update.val();
        self.tau_q.d.next = self.reference.tau.val();
        self.exp_delta_q.clk.next = self.clk.val();
        self.exp_delta_q.enable.next = self.reference.update.val();
        self.exp_delta_q.d.next = self.reference.delta.val();
        self.exp_first_q.clk.next = self.clk.val();
        self.exp_first_q.d.next = self.first.val();
        self.exp_step_q.clk.next = self.clk.val();
        self.exp_step_q.rst.next = self.rst.val();
        self.exp_step_q.d.next = self.valid.val();
        self.exp_update_q.clk.next = self.clk.val();
        self.exp_update_q.rst.next = self.rst.val();
        self.exp_update_q.d.next = self.reference.update.val();
        self.exponential.tau.next = self.tau_q.q.val();
        self.e_q.clk.next = self.clk.val();
        self.e_q.enable.next = self.exp_update_q.q.val();
        self.e_q.d.next = self.exponential.e.val();
        self.delta_q.clk.next = self.clk.val();
        self.delta_q.enable.next = self.exp_update_q.q.val();
        self.delta_q.d.next = self.exp_delta_q.q.val();
        self.first_q.clk.next = self.clk.val();
        self.first_q.d.next = self.exp_first_q.q.val();
        self.step_q.clk.next = self.clk.val();
        self.step_q.rst.next = self.rst.val();
        self.step_q.d.next = self.exp_step_q.q.val();
        self.update_q.clk.next = self.clk.val();
        self.update_q.rst.next = self.rst.val();
        self.update_q.d.next = self.exp_update_q.q.val();
        self.sum.sum.next = self.sum_q.q.val();
        self.sum.delta.next = self.delta_q.q.val();
        self.sum.e.next = self.e_q.q.val();
        self.sum.first.next = self.first_q.q.val();
        self.sum_q.clk.next = self.clk.val();
        self.sum_q.enable.next = self.update_q.q.val();
        self.sum_q.d.next = self.sum.sum_next.val();
        self.overflow_q.clk.next = self.clk.val();
        self.overflow_q.enable.next = self.update_q.q.val();
        self.overflow_q.d.next = self.sum.overflow.val();
        self.reciprocal.sum.next = self.sum_q.q.val();
        self.reciprocal.finish.next = self.finish.val();
        self.r.next = self.reciprocal.r.val();
        self.right.next = self.reciprocal.right.val();
        self.overflow.next = self.overflow_q.q.val();
        self.step.next = self.step_q.q.val();
        self.reads.next = self.update_q.q.val();
        self.update.next = self.update_q.q.val();
        self.e.next = self.e_q.q.val();
        self.delta.next = self.delta_q.q.val();
        self.load.next = self.first_q.q.val();
    }
}

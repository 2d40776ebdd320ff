//! FA2's scalar path with a reference that follows the exponent of l, see [`super::reference`].

use super::factor::{base_2_argument, factor_bits, table_factor};
use super::fixed_lane::lane_bits;
use super::inside::{Inside, Quantity};
use super::reference::{delta_bits, factor_to_sum, reference_bits, tau_bits};
use super::sum::{SumReciprocal, SumReciprocalFunction, sum_exponent_bits};
use crate::arith::fixed::clamp;
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Register, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::{circuit, function, unit};
use std::sync::Arc;

function! {
    /// Everything that a log-reference step decides, from the score to the new sum.
    pub struct LogReferenceNextFunction { numerics: Arc<Numerics> }
    name(this) = format!("log_reference_next_m{}", lane_bits(&this.numerics).w);
    doc = {
        let hold = match this.numerics.hold_threshold {
            Some(t) => format!(
                "; holds when score - reference <= -{}", t as f64 / (this.numerics.score_fraction as f64).exp2()
            ),
            None => String::new(),
        };
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
                // With the old reference, score - reference <= -T <=> tau >= T + 1.
                let far = above.not().and(&tau.at_least(threshold + (1 << fs))).named("far");
                valid.and(&first.or(&far.not()))
            }
        };
        let reference = base.add(&carry.zext(bits));
        [reference, next, clamp(&delta, delta_bits(n)), lanes_right.concat(&m), update]
    }
}
unit! {
    /// A log-reference step.
    pub struct LogReferenceNext(LogReferenceNextFunction) { score, reference, sum, first, valid }
        -> { reference_next, sum_next, delta, e, update }
}

/// Width of l in [1, 2).
pub fn log_sum_bits(n: &Numerics) -> u32 {
    n.state_fraction + 1
}

circuit! {
    /// The scalar path of FA2 `log-reference`: reference and sum in one loop.
    pub struct LogReference {
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
            /// Normalised reciprocal of the sum, in the cycle of `finish`.
            r: Bus<Out>,
            /// The sum's exponent.
            right: Bus<Out>,
        }
        parts {
            /// s, at the loop's stage.
            score_q: EnabledRegister,
            /// Loop's stage.
            valid_q: ResetRegister,
            /// Loop's stage.
            loop_first_q: Register,
            /// R.
            reference_q: EnabledRegister,
            /// l.
            sum_q: EnabledRegister,
            /// The loop.
            decide: LogReferenceNext,
            /// Lanes' stage.
            e_q: EnabledRegister,
            /// Lanes' stage.
            delta_q: EnabledRegister,
            /// Lanes' stage.
            first_q: Register,
            /// Lanes' stage.
            step_q: ResetRegister,
            /// Lanes' stage.
            update_q: ResetRegister,
            /// l at the value stage.
            final_sum_q: Register,
            /// 1 / l.
            reciprocal: SumReciprocal,
        }
        config {
            fraction: u32,
        }
    }
}

impl LogReference {
    /// The unit for a configuration.
    pub fn new(n: &Arc<Numerics>) -> Self {
        let factor = factor_bits(n, lane_bits(n).w);
        let bits = log_sum_bits(n);
        LogReference {
            tag: Tag::module(
                format!("log_reference_m{}", lane_bits(n).w),
                "R follows the exponent of l: e = 2^(s - R), l <- (l >> delta) + e stays in [1, 2).",
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
            r: Bus::new(n.reciprocal.table.value_fraction + 1),
            right: Bus::new(sum_exponent_bits()),
            score_q: EnabledRegister::new(n.score_bits()),
            valid_q: ResetRegister::new(1, 0),
            loop_first_q: Register::new(1),
            reference_q: EnabledRegister::new(reference_bits(n)),
            sum_q: EnabledRegister::new(bits),
            decide: LogReferenceNext::new(LogReferenceNextFunction { numerics: n.clone() }),
            e_q: EnabledRegister::new(factor),
            delta_q: EnabledRegister::new(delta_bits(n)),
            first_q: Register::new(1),
            step_q: ResetRegister::new(1, 0),
            update_q: ResetRegister::new(1, 0),
            final_sum_q: Register::new(bits),
            fraction: n.score_fraction,
            reciprocal: SumReciprocal::new(SumReciprocalFunction { numerics: n.clone(), bits }),
        }
    }
}

impl LogReference {
    /// What is compared of a step.
    pub(super) fn inside(&self) -> Vec<Inside> {
        vec![
            Inside::reference(&self.reference_q.q, self.fraction),
            Inside::new(Quantity::Step, &self.step),
            Inside::new(Quantity::Weight, &self.e),
            Inside::new(Quantity::Load, &self.load),
            Inside::any(Quantity::Upper, &self.delta),
            Inside::new(Quantity::Sum, &self.final_sum_q.q),
            Inside::new(Quantity::Reciprocal, &self.reciprocal.r),
            Inside::new(Quantity::Right, &self.reciprocal.right),
        ]
    }
}

impl Logic for LogReference {
    #[hdl_gen]
    fn update(&mut self) {
        self.score_q.clk.next = self.clk.val();
        self.score_q.enable.next = self.valid.val();
        self.score_q.d.next = self.score.val();
        self.valid_q.clk.next = self.clk.val();
        self.valid_q.rst.next = self.rst.val();
        self.valid_q.d.next = self.valid.val();
        self.loop_first_q.clk.next = self.clk.val();
        self.loop_first_q.d.next = self.first.val();
        self.decide.score.next = self.score_q.q.val();
        self.decide.reference.next = self.reference_q.q.val();
        self.decide.sum.next = self.sum_q.q.val();
        self.decide.first.next = self.loop_first_q.q.val();
        self.decide.valid.next = self.valid_q.q.val();
        self.reference_q.clk.next = self.clk.val();
        self.reference_q.enable.next = self.decide.update.val();
        self.reference_q.d.next = self.decide.reference_next.val();
        self.sum_q.clk.next = self.clk.val();
        self.sum_q.enable.next = self.decide.update.val();
        self.sum_q.d.next = self.decide.sum_next.val();
        self.e_q.clk.next = self.clk.val();
        self.e_q.enable.next = self.decide.update.val();
        self.e_q.d.next = self.decide.e.val();
        self.delta_q.clk.next = self.clk.val();
        self.delta_q.enable.next = self.decide.update.val();
        self.delta_q.d.next = self.decide.delta.val();
        self.first_q.clk.next = self.clk.val();
        self.first_q.d.next = self.loop_first_q.q.val();
        self.step_q.clk.next = self.clk.val();
        self.step_q.rst.next = self.rst.val();
        self.step_q.d.next = self.valid_q.q.val();
        self.update_q.clk.next = self.clk.val();
        self.update_q.rst.next = self.rst.val();
        self.update_q.d.next = self.decide.update.val();
        self.final_sum_q.clk.next = self.clk.val();
        self.final_sum_q.d.next = self.sum_q.q.val();
        self.reciprocal.sum.next = self.final_sum_q.q.val();
        self.reciprocal.finish.next = self.finish.val();
        self.r.next = self.reciprocal.r.val();
        self.right.next = self.reciprocal.right.val();
        self.step.next = self.step_q.q.val();
        self.reads.next = self.update_q.q.val();
        self.update.next = self.update_q.q.val();
        self.e.next = self.e_q.q.val();
        self.delta.next = self.delta_q.q.val();
        self.load.next = self.first_q.q.val();
    }
}

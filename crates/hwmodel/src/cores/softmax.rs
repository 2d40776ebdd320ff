//! FA2's maximum, exponential and running sum.
//!
//! With `m = max(m_old, s)`, one of `c = exp(m_old - m)` and `e = exp(s - m)` is always exactly 1: a single
//! exponential `exp(-|s - m_old|)` and one bit that says whether the maximum moved carry both.

use super::delay::Delay;
use super::factor::FactorForm;
use super::factor::{base_2_argument, one, table_factor};
use super::inside::{Inside, Quantity};
use super::partial::{Restore, restores};
use super::sum::RunningSum;
use crate::arith::exp::{exp_tail, octaves};
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Register, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::{circuit, function, unit};
use std::sync::Arc;

function! {
    /// The running maximum.
    pub struct ScoreMaximumFunction { numerics: Arc<Numerics> }
    name(this) = "score_maximum";
    doc = "maximum_next = max(score, maximum); distance = |score - maximum|; a first key sets the maximum.";
    inputs { score: this.numerics.score_bits(), maximum: this.numerics.score_bits(), first: 1 }
    outputs { maximum_next: this.numerics.score_bits(), moved: 1, distance: this.numerics.score_bits() }
    eval<W> {
        let bits = this.numerics.score_bits();
        let moved = maximum.slt(&score).named("maximum_moves");
        let difference = score.sext(bits + 1).sub(&maximum.sext(bits + 1)).named("difference");
        let distance = moved.select(&difference, &difference.negate()).named("magnitude");
        // Before a first key the maximum is whatever was there, in a simulator after power-up even unknown.
        let moves = first.not().and(&moved);
        [first.or(&moved).select(&score, &maximum), moves, distance.slice(0, bits)]
    }
}
unit! {
    /// The running maximum.
    pub struct ScoreMaximum(ScoreMaximumFunction) { score, maximum, first } -> { maximum_next, moved, distance }
}

function! {
    /// Whether a step changes anything.
    pub struct DistanceHoldFunction { numerics: Arc<Numerics> }
    name(this) = "distance_hold";
    doc = match this.numerics.hold_threshold {
        Some(t) => format!(
            "update = valid and not (s - m <= -{}); a first key always updates.",
            t as f64 / (this.numerics.score_fraction as f64).exp2()
        ),
        None => "update = valid.".to_string(),
    };
    inputs { distance: this.numerics.score_bits(), moved: 1, first: 1, valid: 1 }
    outputs { update: 1 }
    eval<W> {
        let Some(threshold) = this.numerics.hold_threshold else {
            return [valid];
        };
        let far = distance.at_least(threshold).named("far");
        [valid.and(&first.or(&moved).or(&far.not()))]
    }
}
unit! {
    /// Whether a step changes anything.
    pub struct DistanceHold(DistanceHoldFunction) { distance, moved, first, valid } -> { update }
}

function! {
    /// `2^-|s - m|` as the lanes' factor.
    pub struct ExpWeightFunction { numerics: Arc<Numerics>, form: FactorForm }
    name(this) = format!("exp_weight_{}", this.form.suffix(&this.numerics));
    doc = match this.form {
        FactorForm::Format => "e = 2^-distance; 1 for a first key.".to_string(),
        FactorForm::Shift(bits) => {
            format!("e = {{right, m}}: 2^-distance = m * 2^-({} + right); 1 for a first key.", bits - 1)
        }
    };
    inputs { distance: this.numerics.score_bits(), first: 1 }
    outputs { e: this.form.bits(&this.numerics) }
    eval<W> {
        let n = &this.numerics;
        let t = base_2_argument(n, &distance, n.score_fraction);
        let (e, one) = match this.form {
            FactorForm::Format => (exp_tail(&n.exp, n.weight, &octaves(&n.exp, &t)), n.weight.one()),
            FactorForm::Shift(bits) => {
                let (m, right) = table_factor(n, &n.exp.exp, &t, bits);
                (right.concat(&m), one(bits))
            }
        };
        let e = e.named("exponential");
        [first.select(&W::constant(e.width(), one), &e)]
    }
}
unit! {
    /// `2^-|s - m|`.
    pub struct ExpWeight(ExpWeightFunction) { distance, first } -> { e }
}

circuit! {
    /// The scalar path of FA2: maximum, exponential and running sum, a stage each, and the reciprocal of the sum.
    pub struct Softmax {
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
            /// With partial results: the step at the score stage is one, in place of a first key.
            state: Vec<Bus<In>>,
            /// Its maximum.
            state_m: Vec<Bus<In>>,
            /// Its sum.
            state_l: Vec<Bus<In>>,
            /// The maximum, a stage after the score stage.
            o_m: Vec<Bus<Out>>,
            /// The sum, two stages later.
            o_l: Vec<Bus<Out>>,
            /// A step asks for its value.
            step: Bus<Out>,
            /// That step updates: it needs its value.
            reads: Bus<Out>,
            /// A step leaves for the lanes' registers.
            update: Bus<Out>,
            /// Its exponential that is not 1.
            e: Bus<Out>,
            /// The maximum moved: e multiplies what was there.
            moved: Bus<Out>,
            /// It is a first key.
            load: Bus<Out>,
            /// Normalised reciprocal of the sum, in the cycle of `finish`.
            r: Bus<Out>,
            /// The sum's exponent.
            right: Bus<Out>,
        }
        parts {
            /// m.
            maximum_q: EnabledRegister,
            /// max(m, s).
            maximum: ScoreMaximum,
            /// Hold or update.
            updates: DistanceHold,
            /// Exponential's stage.
            distance_q: EnabledRegister,
            /// Exponential's stage.
            exp_moved_q: EnabledRegister,
            /// Exponential's stage.
            exp_first_q: Register,
            /// Exponential's stage.
            exp_step_q: ResetRegister,
            /// Exponential's stage.
            exp_update_q: ResetRegister,
            /// 2^-|s - m|.
            exponential: ExpWeight,
            /// Sum's stage.
            e_q: EnabledRegister,
            /// Sum's stage.
            moved_q: EnabledRegister,
            /// Sum's stage.
            first_q: Register,
            /// Sum's stage.
            step_q: ResetRegister,
            /// Sum's stage.
            update_q: ResetRegister,
            /// l and 1 / l.
            sum: RunningSum,
            /// The maximum or that of a partial result.
            restored: Vec<Restore>,
            /// Sum's stage: the step is a partial result.
            sum_state: Vec<Delay>,
            /// Sum's stage: its sum.
            sum_in: Vec<Delay>,
        }
        config {
            partials: usize,
        }
    }
}

impl Softmax {
    /// The unit for a configuration.
    pub fn new(n: &Arc<Numerics>, form: FactorForm) -> Self {
        let (score, factor) = (n.score_bits(), form.bits(n));
        let partials = n.partial as usize;
        Softmax {
            tag: Tag::module(
                format!("softmax_{}", form.suffix(n)),
                "m <- max(m, s); e = 2^-|s - m| is the factor of the old state where m moved, else of the new value;\nl <- moved ? l * e + 1 : l + e.",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            score: Bus::new(score),
            valid: Bus::new(1),
            first: Bus::new(1),
            finish: Bus::new(1),
            state: Bus::vector(partials, 1),
            state_m: Bus::vector(partials, score),
            state_l: Bus::vector(partials, n.sum_bits()),
            o_m: Bus::vector(partials, score),
            o_l: Bus::vector(partials, n.sum_bits()),
            step: Bus::new(1),
            reads: Bus::new(1),
            update: Bus::new(1),
            e: Bus::new(factor),
            moved: Bus::new(1),
            load: Bus::new(1),
            r: Bus::new(n.reciprocal.table.value_fraction + 1),
            right: Bus::new(super::sum::sum_exponent_bits()),
            maximum_q: EnabledRegister::new(score),
            maximum: ScoreMaximum::new(ScoreMaximumFunction { numerics: n.clone() }),
            updates: DistanceHold::new(DistanceHoldFunction { numerics: n.clone() }),
            distance_q: EnabledRegister::new(score),
            exp_moved_q: EnabledRegister::new(1),
            exp_first_q: Register::new(1),
            exp_step_q: ResetRegister::new(1, 0),
            exp_update_q: ResetRegister::new(1, 0),
            exponential: ExpWeight::new(ExpWeightFunction { numerics: n.clone(), form }),
            e_q: EnabledRegister::new(factor),
            moved_q: EnabledRegister::new(1),
            first_q: Register::new(1),
            step_q: ResetRegister::new(1, 0),
            update_q: ResetRegister::new(1, 0),
            sum: RunningSum::new(n, form),
            restored: restores(n, score),
            sum_state: (0..partials).map(|_| Delay::new(1, 2)).collect(),
            sum_in: (0..partials).map(|_| Delay::new(n.sum_bits(), 2)).collect(),
            partials,
        }
    }
}

impl Softmax {
    /// What is compared of a step.
    pub(super) fn inside(&self) -> Vec<Inside> {
        vec![
            // x = s - m_old, from its magnitude and sign.
            Inside::new(Quantity::Distance, &self.maximum.distance),
            Inside::new(Quantity::Above, &self.maximum.moved),
            Inside::new(Quantity::Step, &self.step),
            Inside::new(Quantity::Weight, &self.e_q.q),
            Inside::new(Quantity::Load, &self.load),
            Inside::new(Quantity::Upper, &self.moved),
            Inside::new(Quantity::Sum, &self.sum.sum_q.q),
            Inside::new(Quantity::Reciprocal, &self.sum.reciprocal.r),
            Inside::new(Quantity::Right, &self.sum.reciprocal.right),
        ]
    }
}

impl Logic for Softmax {
    #[hdl_gen]
    fn update(&mut self) {
        self.maximum.score.next = self.score.val();
        self.maximum.maximum.next = self.maximum_q.q.val();
        self.maximum.first.next = self.first.val();
        self.maximum_q.clk.next = self.clk.val();
        self.maximum_q.enable.next = self.valid.val();
        for _keys in self.partials..1 {
            self.maximum_q.d.next = self.maximum.maximum_next.val();
        }
        for p in 0..self.partials {
            self.restored[p].x.next = self.maximum.maximum_next.val();
            self.restored[p].state.next = self.state_m[p].val();
            self.restored[p].restore.next = self.state[p].val();
            self.maximum_q.d.next = self.restored[p].y.val();
            self.sum_state[p].clk.next = self.clk.val();
            self.sum_state[p].x.next = self.state[p].val();
            self.sum_in[p].clk.next = self.clk.val();
            self.sum_in[p].x.next = self.state_l[p].val();
            self.sum.restore[p].next = self.sum_state[p].y.val();
            self.sum.state_l[p].next = self.sum_in[p].y.val();
            self.o_m[p].next = self.maximum_q.q.val();
            self.o_l[p].next = self.sum.o_l[p].val();
        }
        self.updates.distance.next = self.maximum.distance.val();
        self.updates.moved.next = self.maximum.moved.val();
        self.updates.first.next = self.first.val();
        self.updates.valid.next = self.valid.val();
        self.distance_q.clk.next = self.clk.val();
        self.distance_q.enable.next = self.updates.update.val();
        self.distance_q.d.next = self.maximum.distance.val();
        self.exp_moved_q.clk.next = self.clk.val();
        self.exp_moved_q.enable.next = self.updates.update.val();
        self.exp_moved_q.d.next = self.maximum.moved.val();
        self.exp_first_q.clk.next = self.clk.val();
        self.exp_first_q.d.next = self.first.val();
        self.exp_step_q.clk.next = self.clk.val();
        self.exp_step_q.rst.next = self.rst.val();
        self.exp_step_q.d.next = self.valid.val();
        self.exp_update_q.clk.next = self.clk.val();
        self.exp_update_q.rst.next = self.rst.val();
        self.exp_update_q.d.next = self.updates.update.val();
        self.exponential.distance.next = self.distance_q.q.val();
        self.exponential.first.next = self.exp_first_q.q.val();
        self.e_q.clk.next = self.clk.val();
        self.e_q.enable.next = self.exp_update_q.q.val();
        self.e_q.d.next = self.exponential.e.val();
        self.moved_q.clk.next = self.clk.val();
        self.moved_q.enable.next = self.exp_update_q.q.val();
        self.moved_q.d.next = self.exp_moved_q.q.val();
        self.first_q.clk.next = self.clk.val();
        self.first_q.d.next = self.exp_first_q.q.val();
        self.step_q.clk.next = self.clk.val();
        self.step_q.rst.next = self.rst.val();
        self.step_q.d.next = self.exp_step_q.q.val();
        self.update_q.clk.next = self.clk.val();
        self.update_q.rst.next = self.rst.val();
        self.update_q.d.next = self.exp_update_q.q.val();
        self.sum.clk.next = self.clk.val();
        self.sum.update.next = self.update_q.q.val();
        self.sum.first.next = self.first_q.q.val();
        self.sum.e.next = self.e_q.q.val();
        self.sum.moved.next = self.moved_q.q.val();
        self.sum.finish.next = self.finish.val();
        self.r.next = self.sum.r.val();
        self.right.next = self.sum.right.val();
        self.step.next = self.step_q.q.val();
        self.reads.next = self.update_q.q.val();
        self.update.next = self.update_q.q.val();
        self.moved.next = self.moved_q.q.val();
        self.load.next = self.first_q.q.val();
        self.e.next = self.e_q.q.val();
    }
}

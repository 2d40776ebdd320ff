//! FLASH-D's default weight unit: the log-sum-exp recurrence, run on `x = s - L`.
//!
//! `x_i = s_i - L_{i-1}`, `w_i = sigmoid(x_i)`, `L_i = L_{i-1} + softplus(x_i)`; `x_i <= -T` holds L. The state is
//! x, not L: with `L_i = s_i - min(x_i, 0) + softplus(-|x_i|)`,
//!
//! ```text
//! x_{i+1} = (s_{i+1} - s_i + min(x_i, 0)) - softplus(-|x_i|)      softplus left out where key i was held
//! ```
//!
//! bit for bit the same numbers. The bracket waits for no table, so that one table and one subtraction are all that
//! lies in the loop over keys, and the same `|x|` serves the weight, which leaves in that stage. Scores come in
//! base 2, so that everything here is: `softplus(-t)` is `log2(1 + 2^-t)`, `sigmoid(-t)` is `1 / (1 + 2^t)`.
//!
//! The lanes get `sigmoid(-|x|)`, the smaller one of `w` and `1 - w`, and the bit that tells which:
//! `o + w (v - o) = v + (1 - w) (o - v)`. A float near 1 resolves `1 - w` badly, a float near 0 does not, and
//! `w = 1` becomes a factor of 0 that returns v by itself.

use super::factor::FactorForm;
use super::hold_budget::{HoldBudget, room_bits};
use super::inside::{Inside, Quantity};
use super::lse_step::{
    ExpArgument, ExpArgumentFunction, HoldDecision, HoldDecisionFunction, Log2p1Tail, Log2p1TailFunction,
    ScoreDifference, ScoreDifferenceFunction, ScoreStep, ScoreStepFunction, SigmoidWeight,
    SigmoidWeightFunction, Upper, UpperFunction,
};
use super::partial::{LogSumExp, LogSumExpFunction, LseRestore, LseRestoreFunction};
use crate::circuit;
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Register, ResetRegister, Tag, ast, hdl_gen, logic};
use std::sync::Arc;

circuit! {
    /// Weight unit: score, weight state, weight and its distribution, a stage each.
    pub struct LseWeight {
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
            /// With partial results: it is one, in place of a first key.
            state: Vec<Bus<In>>,
            /// Its log-sum-exp.
            state_lse: Vec<Bus<In>>,
            /// What its hold rule has left.
            state_room: Vec<Bus<In>>,
            /// The log-sum-exp after the step at the weight stage.
            o_lse: Vec<Bus<Out>>,
            /// What the hold rule has left then.
            o_room: Vec<Bus<Out>>,
            /// A step asks for its value.
            step: Bus<Out>,
            /// That step updates: it needs its value.
            reads: Bus<Out>,
            /// A step leaves for the lanes' registers: two stages after the weight state.
            update: Bus<Out>,
            /// The smaller one of its weight and one minus it.
            w: Bus<Out>,
            /// That one is `1 - w`, and scales the old output.
            upper: Bus<Out>,
            /// It is a first key.
            load: Bus<Out>,
        }
        parts {
            /// s, at the state's stage.
            score_q: EnabledRegister,
            /// State stage.
            valid_q: ResetRegister,
            /// State stage.
            first_q: Register,
            /// The next x but for the table's part.
            base: ScoreStep,
            /// The next x.
            difference: ScoreDifference,
            /// Weight stage: x, kept until the next key.
            x_q: EnabledRegister,
            /// s of that key.
            previous_q: EnabledRegister,
            /// Whether that key was a first one.
            weight_first_q: EnabledRegister,
            /// Weight stage.
            step_q: ResetRegister,
            /// What may still be held, where there is a budget.
            budget: Vec<HoldBudget>,
            /// Hold or update.
            updates: HoldDecision,
            /// |x|.
            argument: ExpArgument,
            /// log2(1 + 2^-|x|).
            tail: Log2p1Tail,
            /// w or 1 - w.
            sigmoid: SigmoidWeight,
            /// Which of them.
            side: Upper,
            /// Distribution stage.
            w_q: EnabledRegister,
            /// Distribution stage.
            upper_q: EnabledRegister,
            /// Distribution stage.
            load_q: Register,
            /// Distribution stage, where the value is asked for then.
            late_step_q: Vec<ResetRegister>,
            /// Distribution stage.
            late_update_q: ResetRegister,
            /// State stage: the step is a partial result.
            state_q: Vec<Register>,
            /// State stage: its log-sum-exp.
            lse_q: Vec<Register>,
            /// The next x and its score, or those of a partial result.
            restored: Vec<LseRestore>,
            /// The log-sum-exp.
            lse: Vec<LogSumExp>,
            /// State stage: what its hold rule has left.
            room_q: Vec<Register>,
            /// Weight stage, kept until the next key: the step is a partial result.
            weight_state_q: Vec<EnabledRegister>,
            /// The same of what its hold rule has left.
            weight_room_q: Vec<EnabledRegister>,
        }
        config {
            early: usize,
            budgets: usize,
            partials: usize,
            restored_budgets: usize,
        }
    }
}

impl LseWeight {
    /// The unit for a configuration. With `early_value` the value is asked for at the weight stage, otherwise a
    /// stage later.
    pub fn new(n: &Arc<Numerics>, form: FactorForm, early_value: bool) -> Self {
        let numerics = n.clone();
        let w_bits = form.bits(n);
        let partials = n.partial as usize;
        let restored_budgets = partials * n.budget.iter().len();
        LseWeight {
            tag: Tag::module(
                format!("lse_weight_{}", form.suffix(n)),
                "Weight unit, base 2: x = s - L, w = 1 / (1 + 2^-x), L <- L + log2(1 + 2^x), with x as the state:\nx <- s - s_previous + min(x, 0) - log2(1 + 2^-|x|).",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            score: Bus::new(n.score_bits()),
            valid: Bus::new(1),
            first: Bus::new(1),
            state: Bus::vector(partials, 1),
            state_lse: Bus::vector(partials, n.state_bits()),
            state_room: Bus::vector(restored_budgets, room_bits(n)),
            o_lse: Bus::vector(partials, n.state_bits()),
            o_room: Bus::vector(restored_budgets, room_bits(n)),
            step: Bus::new(1),
            reads: Bus::new(1),
            update: Bus::new(1),
            w: Bus::new(w_bits),
            upper: Bus::new(1),
            load: Bus::new(1),
            score_q: EnabledRegister::new(n.score_bits()),
            valid_q: ResetRegister::new(1, 0),
            first_q: Register::new(1),
            base: ScoreStep::new(ScoreStepFunction { numerics: numerics.clone() }),
            difference: ScoreDifference::new(ScoreDifferenceFunction { numerics: numerics.clone() }),
            x_q: EnabledRegister::new(n.state_bits() + 1),
            previous_q: EnabledRegister::new(n.score_bits()),
            weight_first_q: EnabledRegister::new(1),
            step_q: ResetRegister::new(1, 0),
            budget: n.budget.iter().map(|budget| HoldBudget::new(n, *budget)).collect(),
            updates: HoldDecision::new(HoldDecisionFunction { numerics: numerics.clone() }),
            argument: ExpArgument::new(ExpArgumentFunction { numerics: numerics.clone() }),
            tail: Log2p1Tail::new(Log2p1TailFunction { numerics: numerics.clone() }),
            sigmoid: SigmoidWeight::new(SigmoidWeightFunction { numerics: numerics.clone(), form }),
            side: Upper::new(UpperFunction {}),
            w_q: EnabledRegister::new(w_bits),
            upper_q: EnabledRegister::new(1),
            load_q: Register::new(1),
            late_step_q: (early_value as usize..1).map(|_| ResetRegister::new(1, 0)).collect(),
            late_update_q: ResetRegister::new(1, 0),
            state_q: (0..partials).map(|_| Register::new(1)).collect(),
            lse_q: (0..partials).map(|_| Register::new(n.state_bits())).collect(),
            restored: (0..partials)
                .map(|_| LseRestore::new(LseRestoreFunction { numerics: numerics.clone() }))
                .collect(),
            lse: (0..partials)
                .map(|_| LogSumExp::new(LogSumExpFunction { numerics: numerics.clone() }))
                .collect(),
            room_q: (0..restored_budgets).map(|_| Register::new(room_bits(n))).collect(),
            weight_state_q: (0..restored_budgets).map(|_| EnabledRegister::new(1)).collect(),
            weight_room_q: (0..restored_budgets).map(|_| EnabledRegister::new(room_bits(n))).collect(),
            early: early_value as usize,
            budgets: n.budget.iter().len(),
            partials,
            restored_budgets,
        }
    }
}

impl LseWeight {
    /// What is compared of a step.
    pub(super) fn inside(&self) -> Vec<Inside> {
        let (w, upper, load) = match self.early {
            1 => (&self.sigmoid.w, &self.side.upper, &self.weight_first_q.q),
            _ => (&self.w, &self.upper, &self.load),
        };
        vec![
            Inside::new(Quantity::Argument, &self.difference.x_next),
            Inside::new(Quantity::Step, &self.step),
            Inside::new(Quantity::Weight, w),
            Inside::new(Quantity::Load, load),
            Inside::new(Quantity::Upper, upper),
        ]
    }
}

impl Logic for LseWeight {
    #[hdl_gen]
    fn update(&mut self) {
        self.score_q.clk.next = self.clk.val();
        self.score_q.enable.next = self.valid.val();
        self.score_q.d.next = self.score.val();
        self.valid_q.clk.next = self.clk.val();
        self.valid_q.rst.next = self.rst.val();
        self.valid_q.d.next = self.valid.val();
        self.first_q.clk.next = self.clk.val();
        self.first_q.d.next = self.first.val();
        self.base.score.next = self.score_q.q.val();
        self.base.previous.next = self.previous_q.q.val();
        self.base.x.next = self.x_q.q.val();
        self.base.first.next = self.first_q.q.val();
        for _threshold in self.budgets..1 {
            self.updates.x.next = self.x_q.q.val();
        }
        for _budget in 0..self.budgets {
            self.budget[0].clk.next = self.clk.val();
            self.budget[0].x.next = self.x_q.q.val();
            self.budget[0].first.next = self.weight_first_q.q.val();
            self.budget[0].replaced.next = self.valid_q.q.val();
            self.updates.x.next = self.budget[0].above.val();
        }
        self.updates.first.next = self.weight_first_q.q.val();
        self.updates.valid.next = self.step_q.q.val();
        self.argument.x.next = self.x_q.q.val();
        self.tail.t.next = self.argument.t.val();
        self.difference.base.next = self.base.base.val();
        self.difference.tail.next = self.tail.tail.val();
        self.difference.grows.next = self.updates.grows.val();
        self.difference.first.next = self.first_q.q.val();
        self.x_q.clk.next = self.clk.val();
        self.x_q.enable.next = self.valid_q.q.val();
        self.previous_q.clk.next = self.clk.val();
        self.previous_q.enable.next = self.valid_q.q.val();
        for _keys in self.partials..1 {
            self.x_q.d.next = self.difference.x_next.val();
            self.previous_q.d.next = self.score_q.q.val();
        }
        for p in 0..self.partials {
            self.state_q[p].clk.next = self.clk.val();
            self.state_q[p].d.next = self.state[p].val();
            self.lse_q[p].clk.next = self.clk.val();
            self.lse_q[p].d.next = self.state_lse[p].val();
            self.restored[p].x.next = self.difference.x_next.val();
            self.restored[p].score.next = self.score_q.q.val();
            self.restored[p].lse.next = self.lse_q[p].q.val();
            self.restored[p].restore.next = self.state_q[p].q.val();
            self.x_q.d.next = self.restored[p].x_next.val();
            self.previous_q.d.next = self.restored[p].score_next.val();
            self.lse[p].score.next = self.previous_q.q.val();
            self.lse[p].x.next = self.x_q.q.val();
            self.lse[p].tail.next = self.tail.tail.val();
            self.lse[p].grows.next = self.updates.grows.val();
            self.o_lse[p].next = self.lse[p].lse.val();
        }
        for p in 0..self.restored_budgets {
            self.room_q[p].clk.next = self.clk.val();
            self.room_q[p].d.next = self.state_room[p].val();
            self.weight_state_q[p].clk.next = self.clk.val();
            self.weight_state_q[p].enable.next = self.valid_q.q.val();
            self.weight_state_q[p].d.next = self.state_q[p].q.val();
            self.weight_room_q[p].clk.next = self.clk.val();
            self.weight_room_q[p].enable.next = self.valid_q.q.val();
            self.weight_room_q[p].d.next = self.room_q[p].q.val();
            self.budget[p].restore[p].next = self.weight_state_q[p].q.val();
            self.budget[p].room_in[p].next = self.weight_room_q[p].q.val();
            self.o_room[p].next = self.budget[p].room_out[p].val();
        }
        self.weight_first_q.clk.next = self.clk.val();
        self.weight_first_q.enable.next = self.valid_q.q.val();
        self.weight_first_q.d.next = self.first_q.q.val();
        self.step_q.clk.next = self.clk.val();
        self.step_q.rst.next = self.rst.val();
        self.step_q.d.next = self.valid_q.q.val();
        self.sigmoid.t.next = self.argument.t.val();
        self.sigmoid.first.next = self.weight_first_q.q.val();
        self.side.negative.next = self.argument.negative.val();
        self.side.first.next = self.weight_first_q.q.val();
        self.w_q.clk.next = self.clk.val();
        self.w_q.enable.next = self.updates.update.val();
        self.w_q.d.next = self.sigmoid.w.val();
        self.upper_q.clk.next = self.clk.val();
        self.upper_q.enable.next = self.updates.update.val();
        self.upper_q.d.next = self.side.upper.val();
        self.load_q.clk.next = self.clk.val();
        self.load_q.d.next = self.weight_first_q.q.val();
        self.late_update_q.clk.next = self.clk.val();
        self.late_update_q.rst.next = self.rst.val();
        self.late_update_q.d.next = self.updates.update.val();
        for _early in 0..self.early {
            self.step.next = self.step_q.q.val();
            self.reads.next = self.updates.update.val();
        }
        for _late in self.early..1 {
            self.late_step_q[0].clk.next = self.clk.val();
            self.late_step_q[0].rst.next = self.rst.val();
            self.late_step_q[0].d.next = self.step_q.q.val();
            self.step.next = self.late_step_q[0].q.val();
            self.reads.next = self.late_update_q.q.val();
        }
        self.update.next = self.late_update_q.q.val();
        self.w.next = self.w_q.q.val();
        self.upper.next = self.upper_q.q.val();
        self.load.next = self.load_q.q.val();
    }
}

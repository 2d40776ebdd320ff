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

use super::factor::{factor_bits, table_factor};
use super::hold_budget::{HoldBudget, room_bits};
use super::partial::{LogSumExp, LogSumExpFunction, LseRestore, LseRestoreFunction};
use super::{Tap, WeightTap};
use crate::arith::exp::{log2p1_tail, octaves, sigmoid_tail};
use crate::arith::fixed::clamp;
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Register, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::word::ones;
use crate::{circuit, function, unit};
use std::sync::Arc;

function! {
    /// What the next x is before the table's part: `s - s_previous + min(x, 0)`.
    pub struct ScoreStepFunction { numerics: Arc<Numerics> }
    name(this) = "score_step";
    doc = "base = first ? 0 : score - previous + min(x, 0), scores aligned to the state's fraction.";
    inputs {
        score: this.numerics.score_bits(), previous: this.numerics.score_bits(), x: this.numerics.state_bits() + 1,
        first: 1
    }
    outputs { this.numerics.state_bits() + 1 }
    eval<W> {
        let n = &this.numerics;
        let wide = n.state_bits() + 1;
        let narrow = score.width() + 1;
        let step = score.sext(narrow).sub(&previous.sext(narrow)).named("step");
        let aligned = step.append_zeros(n.state_fraction - n.score_fraction);
        let negative_x = x.msb().repeat(wide).and(&x).named("negative_x");
        let base = aligned.sext(wide).add(&negative_x).named("sum");
        [first.not().repeat(wide).and(&base)]
    }
}
unit! {
    /// What the next x is before the table's part.
    pub struct ScoreStep(ScoreStepFunction) { score, previous, x, first } -> { base }
}

function! {
    /// Sign and clamped magnitude of x.
    pub struct ExpArgumentFunction { numerics: Arc<Numerics> }
    name(this) = "exp_argument";
    doc = "t = |x|, cut to the tables' fraction (one's complement) and clamped where 2^-t has vanished;\nnegative = x < 0.";
    inputs { x: this.numerics.state_bits() + 1 }
    outputs { this.numerics.octave_argument_bits(), 1 }
    eval<W> {
        let n = &this.numerics;
        // |x| less one unit of the state where x is negative: far below the table's error, and no carry chain in
        // the loop. Zero stays zero.
        let b = n.exp.value_fraction;
        let low = n.state_fraction.saturating_sub(b);
        let kept = x.slice(low, x.width() - 1 - low);
        let magnitude = kept.xor(&x.msb().repeat(kept.width())).named("magnitude");
        let aligned = magnitude.append_zeros(b.saturating_sub(n.state_fraction));
        [clamp(&aligned.zext(aligned.width().max(n.octave_argument_bits())), n.octave_argument_bits()), x.msb()]
    }
}
unit! {
    /// Sign and clamped magnitude of x.
    pub struct ExpArgument(ExpArgumentFunction) { x } -> { t, negative }
}

function! {
    /// Whether a step changes anything.
    pub struct HoldDecisionFunction { numerics: Arc<Numerics> }
    name(this) = "hold_decision";
    doc = match (this.numerics.hold_threshold, &this.numerics.budget) {
        (Some(t), _) => format!(
            "update = valid and not (x <= -{}); a first key always updates. grows: L exceeds max(s, L).",
            t as f64 / (this.numerics.score_fraction as f64).exp2()
        ),
        (None, Some(_)) => {
            "update = valid and x, which tells that x is above the budget's limit; a first key always updates.\ngrows: L exceeds max(s, L).".to_string()
        }
        (None, None) => "update = valid; grows: L exceeds max(s, L), but for a first key.".to_string(),
    };
    inputs { x: this.numerics.hold_bits(), first: 1, valid: 1 }
    outputs { 1, 1 }
    eval<W> {
        let n = &this.numerics;
        let above = match (n.hold_threshold, &n.budget) {
            (None, None) => return [valid, first.not()],
            (None, Some(_)) => x,
            (Some(threshold), _) => {
                let threshold = threshold << (n.state_fraction - n.score_fraction);
                // x <= -T  <=>  x < -T + 1 unit.
                let limit = W::constant(x.width(), (1u64.wrapping_sub(threshold)) & ones(x.width()));
                x.slt(&limit).not().named("above_threshold")
            }
        };
        [valid.and(&first.or(&above)), first.not().and(&above)]
    }
}
unit! {
    /// Whether a step changes anything.
    pub struct HoldDecision(HoldDecisionFunction) { x, first, valid } -> { update, grows }
}

function! {
    /// `log2(1 + 2^-t)` in the state's fixed point and one bit more, for rounding.
    pub struct Log2p1TailFunction { numerics: Arc<Numerics> }
    name(this) = format!("log2p1_tail_{}", this.numerics.exp.log2p1.segments);
    doc = format!(
        "tail = log2(1 + 2^-t), {} PWL segments per octave of 2^-t.", this.numerics.exp.log2p1.segments
    );
    inputs { t: this.numerics.octave_argument_bits() }
    outputs { this.numerics.state_fraction + 2 }
    eval<W> {
        let n = &this.numerics;
        let tail = log2p1_tail(&n.exp, &octaves(&n.exp, &t), n.state_fraction + 1);
        // At most 1: one integer bit is room enough.
        [tail.zext(tail.width().max(n.state_fraction + 2)).slice(0, n.state_fraction + 2)]
    }
}
unit! {
    /// `log2(1 + 2^-t)`.
    pub struct Log2p1Tail(Log2p1TailFunction) { t } -> { tail }
}

function! {
    /// The next x.
    pub struct ScoreDifferenceFunction { numerics: Arc<Numerics> }
    name(this) = "score_difference";
    doc = "x_next = base - (grows and not first ? tail : 0), L rounded half up; 0 for a first key.";
    inputs {
        base: this.numerics.state_bits() + 1, tail: this.numerics.state_fraction + 2, grows: 1, first: 1
    }
    outputs { this.numerics.state_bits() + 1 }
    eval<W> {
        let bits = base.width() + 1;
        let gain = grows.and(&first.not()).repeat(tail.width()).and(&tail).named("gain");
        // base - floor((gain + 1) / 2) = floor((2 base - gain) / 2).
        let difference = base.append_zeros(1).sub(&gain.zext(bits)).named("difference");
        [difference.drop_low(1)]
    }
}
unit! {
    /// The next x.
    pub struct ScoreDifference(ScoreDifferenceFunction) { base, tail, grows, first } -> { x_next }
}

/// What the lanes get as their factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorForm {
    /// A number of the weight's format.
    Format,
    /// Significand of this many bits and right shift, see [`super::factor`].
    Shift(u32),
}

impl FactorForm {
    /// Width of the bus.
    pub fn bits(self, n: &Numerics) -> u32 {
        match self {
            FactorForm::Format => n.weight.width(),
            FactorForm::Shift(significand) => factor_bits(n, significand),
        }
    }

    /// Significand bits.
    pub fn significand(self, n: &Numerics) -> u32 {
        match self {
            FactorForm::Format => n.weight.precision(),
            FactorForm::Shift(significand) => significand,
        }
    }

    /// For module names.
    pub fn suffix(self, n: &Numerics) -> String {
        match self {
            FactorForm::Format => n.weight.ident(),
            FactorForm::Shift(significand) => format!("m{significand}"),
        }
    }
}

function! {
    /// The weight, as the smaller one of `w` and `1 - w`.
    pub struct SigmoidWeightFunction { numerics: Arc<Numerics>, form: FactorForm }
    name(this) = format!("sigmoid_weight_{}", this.form.suffix(&this.numerics));
    doc = match this.form {
        FactorForm::Format => {
            "w = 1 / (1 + 2^t): the weight itself below 1/2, one minus the weight above; 0 for a first key."
                .to_string()
        }
        FactorForm::Shift(bits) => format!(
            "w = {{right, m}}: 1 / (1 + 2^t) = m * 2^-({} + right), the weight itself below 1/2, one minus the\nweight above; 0 for a first key.",
            bits - 1
        ),
    };
    inputs { t: this.numerics.octave_argument_bits(), first: 1 }
    outputs { this.form.bits(&this.numerics) }
    eval<W> {
        let n = &this.numerics;
        let sigmoid = match this.form {
            FactorForm::Format => sigmoid_tail(&n.exp, n.weight, &octaves(&n.exp, &t)),
            FactorForm::Shift(bits) => {
                let (m, right) = table_factor(n, &n.exp.sigmoid, &t, bits);
                right.concat(&m)
            }
        };
        let sigmoid = sigmoid.named("sigmoid");
        [first.not().repeat(sigmoid.width()).and(&sigmoid)]
    }
}
unit! {
    /// The weight.
    pub struct SigmoidWeight(SigmoidWeightFunction) { t, first } -> { w }
}

function! {
    /// Which operand the weight scales.
    pub struct UpperFunction {}
    name(this) = "weight_side";
    doc = "upper: the weight is above 1/2, so that 1 - w scales the old output; always for a first key.";
    inputs { negative: 1, first: 1 }
    outputs { 1 }
    eval<W> { [first.or(&negative.not())] }
}
unit! {
    /// Which operand the weight scales.
    pub struct Upper(UpperFunction) { negative, first } -> { upper }
}

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
    /// The step at the state's stage, and the one that asks for its value.
    pub(super) fn tap(&self) -> Tap {
        let argument = self.valid_q.q.val() != 0 && self.first_q.q.val() == 0;
        let (w, upper, load) = match self.early {
            1 => (&self.sigmoid.w, &self.side.upper, &self.weight_first_q.q),
            _ => (&self.w, &self.upper, &self.load),
        };
        Tap {
            score: None,
            x: argument.then(|| self.difference.x_next.val()),
            weight: (self.step.val() != 0).then(|| WeightTap {
                w: w.val(),
                update: self.reads.val() != 0,
                load: load.val() != 0,
                upper: upper.val() != 0,
            }),
        }
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

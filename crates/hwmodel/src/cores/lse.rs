//! FLASH-D's default weight unit: the log-sum-exp L is the state.
//!
//! `x = s - L`, `w = sigmoid(x)`, `L <- L + softplus(x) = max(s, L) + softplus(-|x|)`; `x <= -T` holds.
//! One table and one addition lie in the loop over keys; the sigmoid follows a cycle later.
//!
//! The lanes get `sigmoid(-|x|)`, the smaller one of `w` and `1 - w`, and the bit that tells which:
//! `o + w (v - o) = v + (1 - w) (o - v)`. A float near 1 resolves `1 - w` badly, a float near 0 does not, and
//! `w = 1` becomes a factor of 0 that returns v by itself.

use crate::arith::exp::{argument, sigmoid_tail, softplus_tail};
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Register, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::units::{ScoreToFixed, ScoreToFixedFunction};
use crate::word::ones;
use crate::{circuit, function, unit};
use std::sync::Arc;

function! {
    /// `x = s - L`.
    pub struct ScoreDifferenceFunction { numerics: Arc<Numerics> }
    name(this) = "score_difference";
    doc = "x = score - log_sum_exp, score aligned to the state's fraction.";
    inputs { score: this.numerics.score_bits(), log_sum_exp: this.numerics.state_bits() }
    outputs { this.numerics.state_bits() + 1 }
    eval<W> {
        let n = &this.numerics;
        let wide = n.state_bits() + 1;
        let aligned = score.append_zeros(n.state_fraction - n.score_fraction).sext(wide).named("score_aligned");
        [aligned.sub(&log_sum_exp.sext(wide))]
    }
}
unit! {
    /// `x = s - L`.
    pub struct ScoreDifference(ScoreDifferenceFunction) { score, log_sum_exp } -> { x }
}

function! {
    /// Sign and clamped magnitude of x.
    pub struct ExpArgumentFunction { numerics: Arc<Numerics> }
    name(this) = "exp_argument";
    doc = "t = |x|, rounded to the tables' fraction and clamped where exp(-t) has vanished; negative = x < 0.";
    inputs { x: this.numerics.state_bits() + 1 }
    outputs { this.numerics.exp.argument_bits(), 1 }
    eval<W> {
        let n = &this.numerics;
        let magnitude = x.msb().select(&x.negate(), &x).named("magnitude");
        [argument(&n.exp, &magnitude, n.state_fraction), x.msb()]
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
    doc = match this.numerics.hold_threshold {
        Some(t) => format!(
            "update = valid and not (x <= -{}); a first key always updates.",
            t as f64 / (this.numerics.state_fraction as f64).exp2()
        ),
        None => "update = valid.".to_string(),
    };
    inputs { x: this.numerics.state_bits() + 1, first: 1, valid: 1 }
    outputs { 1 }
    eval<W> {
        let Some(threshold) = this.numerics.hold_threshold else {
            return [valid];
        };
        // x <= -T  <=>  x < -T + 1 unit.
        let limit = W::constant(x.width(), (1u64.wrapping_sub(threshold)) & ones(x.width()));
        let below = x.slt(&limit).named("below_threshold");
        [valid.and(&first.or(&below.not()))]
    }
}
unit! {
    /// Whether a step changes anything.
    pub struct HoldDecision(HoldDecisionFunction) { x, first, valid } -> { update }
}

function! {
    /// `softplus(-t)` in the state's fixed point.
    pub struct SoftplusTailFunction { numerics: Arc<Numerics> }
    name(this) = format!("softplus_tail_{}", this.numerics.exp.softplus.segments);
    doc = format!(
        "tail = ln(1 + exp(-t)), {} PWL segments per octave of exp(-t).", this.numerics.exp.softplus.segments
    );
    inputs { t: this.numerics.exp.argument_bits() }
    outputs { this.numerics.state_fraction + 1 }
    eval<W> {
        let n = &this.numerics;
        let tail = softplus_tail(&n.exp, &t, n.state_fraction);
        // ln 2 < 1: one integer bit is room enough.
        [tail.zext(tail.width().max(n.state_fraction + 1)).slice(0, n.state_fraction + 1)]
    }
}
unit! {
    /// `softplus(-t)`.
    pub struct SoftplusTail(SoftplusTailFunction) { t } -> { tail }
}

function! {
    /// The next log-sum-exp.
    pub struct LogSumExpFunction { numerics: Arc<Numerics> }
    name(this) = "log_sum_exp_next";
    doc = "next = first ? score : max(score, log_sum_exp) + tail.";
    inputs {
        score: this.numerics.score_bits(), log_sum_exp: this.numerics.state_bits(),
        tail: this.numerics.state_fraction + 1, negative: 1, first: 1
    }
    outputs { this.numerics.state_bits() }
    eval<W> {
        let n = &this.numerics;
        let bits = n.state_bits();
        let aligned = score.append_zeros(n.state_fraction - n.score_fraction).sext(bits).named("score_aligned");
        let larger = first.not().and(&negative).select(&log_sum_exp, &aligned).named("larger");
        let gain = first.not().repeat(tail.width()).and(&tail).zext(bits).named("gain");
        [larger.add(&gain)]
    }
}
unit! {
    /// The next log-sum-exp.
    pub struct LogSumExp(LogSumExpFunction) { score, log_sum_exp, tail, negative, first } -> { log_sum_exp_next }
}

function! {
    /// The weight in the format, as the smaller one of `w` and `1 - w`.
    pub struct SigmoidWeightFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_sigmoid_weight", this.numerics.format.ident());
    doc = "w = sigmoid(-|x|): the weight itself below 1/2, one minus the weight above; 0 for a first key.";
    inputs { t: this.numerics.exp.argument_bits(), first: 1 }
    outputs { this.numerics.format.width() }
    eval<W> {
        let n = &this.numerics;
        let sigmoid = sigmoid_tail(&n.exp, n.format, &t).named("sigmoid");
        [first.not().repeat(n.format.width()).and(&sigmoid)]
    }
}
unit! {
    /// The weight in the format.
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
    /// Weight unit: score stage and weight stage.
    pub struct LseWeight {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// Dot product, at the score stage.
            dot: Bus<In>,
            /// A step is at the score stage.
            valid: Bus<In>,
            /// It is a first key.
            first: Bus<In>,
            /// A step is at the weight stage.
            step: Bus<Out>,
            /// That step updates.
            update: Bus<Out>,
            /// The smaller one of its weight and one minus it.
            w: Bus<Out>,
            /// That one is `1 - w`, and scales the old output.
            upper: Bus<Out>,
            /// It is a first key.
            load: Bus<Out>,
        }
        parts {
            /// The log-sum-exp L.
            log_sum_exp_q: EnabledRegister,
            /// s.
            score: ScoreToFixed,
            /// x.
            difference: ScoreDifference,
            /// Hold or update.
            updates: HoldDecision,
            /// |x|.
            argument: ExpArgument,
            /// softplus(-|x|).
            tail: SoftplusTail,
            /// Next L.
            log_sum_exp: LogSumExp,
            /// Weight stage.
            t_q: EnabledRegister,
            /// Weight stage.
            negative_q: EnabledRegister,
            /// Weight stage.
            first_q: Register,
            /// Weight stage.
            step_q: ResetRegister,
            /// Weight stage.
            update_q: ResetRegister,
            /// w or 1 - w.
            sigmoid: SigmoidWeight,
            /// Which of them.
            side: Upper,
        }
        config {}
    }
}

impl LseWeight {
    /// The unit for a configuration.
    pub fn new(n: &Arc<Numerics>) -> Self {
        let numerics = n.clone();
        LseWeight {
            tag: Tag::module(
                format!("{}_lse_weight", n.format.ident()),
                "Weight unit: x = s - L, L <- L + softplus(x), w = sigmoid(x) one cycle later.",
            ),
            quiet: false,
            clk: Bus::new(1),
            rst: Bus::new(1),
            dot: Bus::new(n.format.width()),
            valid: Bus::new(1),
            first: Bus::new(1),
            step: Bus::new(1),
            update: Bus::new(1),
            w: Bus::new(n.format.width()),
            upper: Bus::new(1),
            load: Bus::new(1),
            log_sum_exp_q: EnabledRegister::new(n.state_bits()),
            score: ScoreToFixed::new(ScoreToFixedFunction { numerics: numerics.clone() }),
            difference: ScoreDifference::new(ScoreDifferenceFunction { numerics: numerics.clone() }),
            updates: HoldDecision::new(HoldDecisionFunction { numerics: numerics.clone() }),
            argument: ExpArgument::new(ExpArgumentFunction { numerics: numerics.clone() }),
            tail: SoftplusTail::new(SoftplusTailFunction { numerics: numerics.clone() }),
            log_sum_exp: LogSumExp::new(LogSumExpFunction { numerics: numerics.clone() }),
            t_q: EnabledRegister::new(n.exp.argument_bits()),
            negative_q: EnabledRegister::new(1),
            first_q: Register::new(1),
            step_q: ResetRegister::new(1, 0),
            update_q: ResetRegister::new(1, 0),
            sigmoid: SigmoidWeight::new(SigmoidWeightFunction { numerics }),
            side: Upper::new(UpperFunction {}),
        }
    }
}

impl Logic for LseWeight {
    #[hdl_gen]
    fn update(&mut self) {
        self.score.dot.next = self.dot.val();
        self.difference.score.next = self.score.score.val();
        self.difference.log_sum_exp.next = self.log_sum_exp_q.q.val();
        self.updates.x.next = self.difference.x.val();
        self.updates.first.next = self.first.val();
        self.updates.valid.next = self.valid.val();
        self.argument.x.next = self.difference.x.val();
        self.tail.t.next = self.argument.t.val();
        self.log_sum_exp.score.next = self.score.score.val();
        self.log_sum_exp.log_sum_exp.next = self.log_sum_exp_q.q.val();
        self.log_sum_exp.tail.next = self.tail.tail.val();
        self.log_sum_exp.negative.next = self.argument.negative.val();
        self.log_sum_exp.first.next = self.first.val();
        self.log_sum_exp_q.clk.next = self.clk.val();
        self.log_sum_exp_q.enable.next = self.updates.update.val();
        self.log_sum_exp_q.d.next = self.log_sum_exp.log_sum_exp_next.val();
        self.t_q.clk.next = self.clk.val();
        self.t_q.enable.next = self.updates.update.val();
        self.t_q.d.next = self.argument.t.val();
        self.negative_q.clk.next = self.clk.val();
        self.negative_q.enable.next = self.updates.update.val();
        self.negative_q.d.next = self.argument.negative.val();
        self.first_q.clk.next = self.clk.val();
        self.first_q.d.next = self.first.val();
        self.step_q.clk.next = self.clk.val();
        self.step_q.rst.next = self.rst.val();
        self.step_q.d.next = self.valid.val();
        self.update_q.clk.next = self.clk.val();
        self.update_q.rst.next = self.rst.val();
        self.update_q.d.next = self.updates.update.val();
        self.sigmoid.t.next = self.t_q.q.val();
        self.sigmoid.first.next = self.first_q.q.val();
        self.side.negative.next = self.negative_q.q.val();
        self.side.first.next = self.first_q.q.val();
        self.step.next = self.step_q.q.val();
        self.update.next = self.update_q.q.val();
        self.w.next = self.sigmoid.w.val();
        self.upper.next = self.side.upper.val();
        self.load.next = self.first_q.q.val();
    }
}

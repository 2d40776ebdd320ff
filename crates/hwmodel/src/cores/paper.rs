//! The weight unit of the paper's Alg. 3, everything in the format:
//! `w_i = sigmoid(s_i - s_{i-1} + ln w_{i-1})` with the sign of its eq. (11), and its static skip rule.

use super::delay::Delay;
use super::inside::{Inside, Quantity};
use crate::arith::compare::less;
use crate::arith::exp::{ln_unit, paper_sigmoid_unit, paper_weight_limits};
use crate::numerics::{Numerics, static_limits};
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Register, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::units::{Mixed, Operation};
use crate::{circuit, function, unit};
use std::sync::Arc;

function! {
    /// The static rule on `D = s_i - s_{i-1}`.
    pub struct StaticSkipFunction { numerics: Arc<Numerics>, limits: (u64, u64) }
    name(this) = format!("{}_static_skip", this.numerics.format.ident());
    doc = match this.numerics.static_skip {
        true => "D <= -6 keeps o, D >= 11 loads v; a first key loads v.".to_string(),
        false => "Only a first key loads v.".to_string(),
    };
    inputs { difference: this.numerics.format.width(), first: 1 }
    outputs { keeps: 1, loads: 1 }
    eval<W> {
        let fmt = this.numerics.format;
        if !this.numerics.static_skip {
            return [W::zero(1), first];
        }
        let (low, high) = this.limits;
        let constant = |bits| W::constant(fmt.width(), bits);
        let below = less(fmt, &constant(low), &difference).not().named("at_most_minus_6");
        let above = less(fmt, &difference, &constant(high)).not().named("at_least_11");
        [first.not().and(&below), first.or(&above)]
    }
}
unit! {
    /// The static rule.
    pub struct StaticSkip(StaticSkipFunction) { difference, first } -> { keeps, loads }
}

function! {
    /// `ln w`.
    pub struct LnFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_ln_weight", this.numerics.format.ident());
    doc = format!("y = ln(w), w in (0, 1], {} PWL segments.", this.numerics.exp.ln.segments);
    inputs { w: this.numerics.format.width() }
    outputs { y: this.numerics.format.width() }
    eval<W> { [ln_unit(&this.numerics.exp, this.numerics.format, &w)] }
}
unit! {
    /// `ln w`.
    pub struct Ln(LnFunction) { w } -> { y }
}

function! {
    /// `sigmoid(x)` over the paper's active range.
    pub struct PaperSigmoidFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_paper_sigmoid", this.numerics.format.ident());
    doc = format!("y = sigmoid(x), x clamped to [-6, 11), {} PWL segments.", this.numerics.exp.paper_sigmoid.segments);
    inputs { x: this.numerics.format.width() }
    outputs { y: this.numerics.format.width() }
    eval<W> { [paper_sigmoid_unit(&this.numerics.exp, this.numerics.format, &x)] }
}
unit! {
    /// `sigmoid(x)` over the paper's active range.
    pub struct PaperSigmoid(PaperSigmoidFunction) { x } -> { y }
}

/// A weight as a person would write it: a power of two as such.
fn weight_text(weight: f64) -> String {
    let exponent = weight.log2();
    match exponent.is_finite() && exponent == exponent.trunc() && exponent < 0.0 {
        true => format!("2^{exponent}"),
        false => weight.to_string(),
    }
}

function! {
    /// The weight after first-key and skip rules.
    pub struct PaperSelectFunction { numerics: Arc<Numerics>, limits: (u64, u64) }
    name(this) = format!("{}_paper_weight_select", this.numerics.format.ident());
    doc = {
        // The ends of the sigmoid's table, not sigmoid(-6) and sigmoid(11).
        let weight = |bits: u64| weight_text(this.numerics.format.value(bits));
        format!("w = first ? 1 : keeps ? {} : loads ? {} : sigmoid.", weight(this.limits.0), weight(this.limits.1))
    };
    inputs { sigmoid: this.numerics.format.width(), first: 1, keeps: 1, loads: 1 }
    outputs { w: this.numerics.format.width() }
    eval<W> {
        let fmt = this.numerics.format;
        let (least, most) = this.limits;
        let constant = |bits| W::constant(fmt.width(), bits);
        let skipped = keeps.select(&constant(least), &constant(most)).named("skipped");
        let skips = keeps.or(&loads);
        let computed = skips.select(&skipped, &sigmoid).named("computed");
        [first.select(&constant(fmt.one()), &computed)]
    }
}
unit! {
    /// The weight after first-key and skip rules.
    pub struct PaperSelect(PaperSelectFunction) { sigmoid, first, keeps, loads } -> { w }
}

function! {
    /// Whether a step changes o.
    pub struct PaperUpdateFunction {}
    name(this) = "paper_update";
    doc = "update = step and not keeps.";
    inputs { step: 1, keeps: 1 }
    outputs { update: 1 }
    eval<W> { [step.and(&keeps.not())] }
}
unit! {
    /// Whether a step changes o.
    pub struct PaperUpdate(PaperUpdateFunction) { step, keeps } -> { update }
}

/// Stages that the score waits: `paper` needs none of those that the other variants spend on fixed point.
const STAGES_BEFORE: usize = 2;

circuit! {
    /// Weight unit: score stage and weight stage.
    pub struct PaperWeight {
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
            /// A step asks for its value.
            step: Bus<Out>,
            /// That step updates: it needs its value.
            reads: Bus<Out>,
            /// The same step leaves for the lanes' registers.
            update: Bus<Out>,
            /// Its weight.
            w: Bus<Out>,
            /// It loads the value.
            load: Bus<Out>,
        }
        parts {
            /// `s_i`, as late as the lanes allow.
            late_score: Delay,
            /// A step is there.
            late_valid_q: Vec<ResetRegister>,
            /// It is a first key.
            late_first: Delay,
            /// `s_{i-1}`.
            score_q: EnabledRegister,
            /// `D = s_i - s_{i-1}`.
            difference: Mixed,
            /// Static rule.
            skip: StaticSkip,
            /// Weight stage.
            difference_q: Register,
            /// Weight stage.
            first_q: Register,
            /// Weight stage.
            keeps_q: Register,
            /// Weight stage.
            loads_q: Register,
            /// Weight stage.
            step_q: ResetRegister,
            /// `w_{i-1}`.
            w_q: EnabledRegister,
            /// `ln w_{i-1}`.
            ln: Ln,
            /// `x = D + ln w_{i-1}`.
            x: Mixed,
            /// `sigmoid(x)`.
            sigmoid: PaperSigmoid,
            /// `w_i`.
            select: PaperSelect,
            /// Keep or update.
            update_o: PaperUpdate,
        }
        config {}
    }
}

impl PaperWeight {
    /// The unit for a configuration.
    pub fn new(n: &Arc<Numerics>) -> Self {
        let fmt = n.format;
        let width = fmt.width();
        PaperWeight {
            tag: Tag::module(
                format!("{}_paper_weight", fmt.ident()),
                "Weight unit of the paper's Alg. 3: w = sigmoid(s_i - s_{i-1} + ln w_{i-1}).",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            score: Bus::new(width),
            valid: Bus::new(1),
            first: Bus::new(1),
            step: Bus::new(1),
            reads: Bus::new(1),
            update: Bus::new(1),
            w: Bus::new(width),
            load: Bus::new(1),
            score_q: EnabledRegister::new(width),
            late_score: Delay::new(width, STAGES_BEFORE),
            late_valid_q: (0..STAGES_BEFORE).map(|_| ResetRegister::new(1, 0)).collect(),
            late_first: Delay::new(1, STAGES_BEFORE),
            difference: Mixed::uniform(Operation::Sub, fmt),
            skip: StaticSkip::new(StaticSkipFunction { numerics: n.clone(), limits: static_limits(fmt) }),
            difference_q: Register::new(width),
            first_q: Register::new(1),
            keeps_q: Register::new(1),
            loads_q: Register::new(1),
            step_q: ResetRegister::new(1, 0),
            w_q: EnabledRegister::new(width),
            ln: Ln::new(LnFunction { numerics: n.clone() }),
            x: Mixed::uniform(Operation::Add, fmt),
            sigmoid: PaperSigmoid::new(PaperSigmoidFunction { numerics: n.clone() }),
            select: PaperSelect::new(PaperSelectFunction {
                numerics: n.clone(),
                limits: paper_weight_limits(&n.exp, fmt),
            }),
            update_o: PaperUpdate::new(PaperUpdateFunction {}),
        }
    }
}

impl Logic for PaperWeight {
    #[hdl_gen]
    fn update(&mut self) {
        self.late_score.clk.next = self.clk.val();
        self.late_score.x.next = self.score.val();
        self.late_first.clk.next = self.clk.val();
        self.late_first.x.next = self.first.val();
        for i in 0..2 {
            self.late_valid_q[i].clk.next = self.clk.val();
            self.late_valid_q[i].rst.next = self.rst.val();
        }
        self.late_valid_q[0].d.next = self.valid.val();
        self.late_valid_q[1].d.next = self.late_valid_q[0].q.val();
        self.score_q.clk.next = self.clk.val();
        self.score_q.enable.next = self.late_valid_q[1].q.val();
        self.score_q.d.next = self.late_score.y.val();
        self.difference.a.next = self.late_score.y.val();
        self.difference.b.next = self.score_q.q.val();
        self.skip.difference.next = self.difference.y.val();
        self.skip.first.next = self.late_first.y.val();
        self.difference_q.clk.next = self.clk.val();
        self.difference_q.d.next = self.difference.y.val();
        self.first_q.clk.next = self.clk.val();
        self.first_q.d.next = self.late_first.y.val();
        self.keeps_q.clk.next = self.clk.val();
        self.keeps_q.d.next = self.skip.keeps.val();
        self.loads_q.clk.next = self.clk.val();
        self.loads_q.d.next = self.skip.loads.val();
        self.step_q.clk.next = self.clk.val();
        self.step_q.rst.next = self.rst.val();
        self.step_q.d.next = self.late_valid_q[1].q.val();
        self.ln.w.next = self.w_q.q.val();
        self.x.a.next = self.difference_q.q.val();
        self.x.b.next = self.ln.y.val();
        self.sigmoid.x.next = self.x.y.val();
        self.select.sigmoid.next = self.sigmoid.y.val();
        self.select.first.next = self.first_q.q.val();
        self.select.keeps.next = self.keeps_q.q.val();
        self.select.loads.next = self.loads_q.q.val();
        self.w_q.clk.next = self.clk.val();
        self.w_q.enable.next = self.step_q.q.val();
        self.w_q.d.next = self.select.w.val();
        self.update_o.step.next = self.step_q.q.val();
        self.update_o.keeps.next = self.keeps_q.q.val();
        self.step.next = self.step_q.q.val();
        self.reads.next = self.update_o.update.val();
        self.update.next = self.update_o.update.val();
        self.w.next = self.select.w.val();
        self.load.next = self.loads_q.q.val();
    }
}

impl PaperWeight {
    /// What is compared of a step.
    pub(super) fn inside(&self) -> Vec<Inside> {
        vec![
            Inside::new(Quantity::Argument, &self.x.y),
            Inside::new(Quantity::Step, &self.step),
            Inside::new(Quantity::Weight, &self.w),
            Inside::new(Quantity::Load, &self.load),
        ]
    }
}

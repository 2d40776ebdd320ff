//! The weight unit of the paper's Alg. 3, every operation rounded to the format:
//! `w_i = sigmoid(s_i - s_{i-1} + ln w_{i-1})`, signs as in its eq. (10) and (11), with its static hold rule.

use super::paper_lane::PaperScalars;
use crate::arith::compare::less;
use crate::arith::exp::{ln_unit, paper_sigmoid_unit, paper_weight_limits};
use crate::attention::delay::{delay, late_flag};
use crate::attention::scalar_path::{ScalarInputs, ScalarOutputs};
use crate::function;
use crate::rtl::Number::Float;
use crate::rtl::{Module, Quantity, Role, Row, Stage, Tag};
use crate::units::{MixedFunction, Operation};
use flashd_spec::numerics::{Numerics, static_limits};
use std::sync::Arc;

function! {
    /// The static rule on `D = s_i - s_{i-1}`: `keeps` where `D <= -6`, `loads` where `D >= 11` or the key is a first one.
    pub struct StaticHoldFunction { numerics: Arc<Numerics>, limits: (u64, u64) }
    name(this) = format!("{}_static_skip", this.numerics.formats.q.ident());
    doc = match this.numerics.static_hold {
        true => "D <= -6 keeps o, D >= 11 loads v; a first key loads v.".to_string(),
        false => "Only a first key loads v.".to_string(),
    };
    inputs { difference: this.numerics.formats.q.width(), first: 1 }
    outputs { keeps: 1, loads: 1 }
    eval<W> {
        let fmt = this.numerics.formats.q;
        if !this.numerics.static_hold {
            return [W::zero(1), first];
        }
        let (low, high) = this.limits;
        let constant = |bits| W::constant(fmt.width(), bits);
        let below = less(fmt, &constant(low), &difference).not().named("at_most_minus_6");
        let above = less(fmt, &difference, &constant(high)).not().named("at_least_11");
        [first.not().and(&below), first.or(&above)]
    }
}

function! {
    /// `ln w` of (10), for w in (0, 1].
    pub struct LnFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_ln_weight", this.numerics.formats.q.ident());
    doc = format!("y = ln(w), w in (0, 1], {} PWL segments.", this.numerics.exp.ln.segments);
    inputs { w: this.numerics.formats.q.width() }
    outputs { y: this.numerics.formats.q.width() }
    eval<W> { [ln_unit(&this.numerics.exp, this.numerics.formats.q, &w)] }
}

function! {
    /// `sigmoid(x)` over the paper's active range, x clamped to [-6, 11).
    pub struct PaperSigmoidFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_paper_sigmoid", this.numerics.formats.q.ident());
    doc = format!("y = sigmoid(x), x clamped to [-6, 11), {} PWL segments.", this.numerics.exp.paper_sigmoid.segments);
    inputs { x: this.numerics.formats.q.width() }
    outputs { y: this.numerics.formats.q.width() }
    eval<W> { [paper_sigmoid_unit(&this.numerics.exp, this.numerics.formats.q, &x)] }
}

/// A weight as text: `2^e` for a negative power of two, otherwise decimal.
fn weight_text(weight: f64) -> String {
    let exponent = weight.log2();
    match exponent.is_finite() && exponent == exponent.trunc() && exponent < 0.0 {
        true => format!("2^{exponent}"),
        false => weight.to_string(),
    }
}

function! {
    /// The weight: 1 for a first key, an end of the sigmoid's table where the static rule keeps or loads, otherwise the sigmoid.
    pub struct PaperSelectFunction { numerics: Arc<Numerics>, limits: (u64, u64) }
    name(this) = format!("{}_paper_weight_select", this.numerics.formats.q.ident());
    doc = {
        // The ends of the sigmoid's table, not sigmoid(-6) and sigmoid(11).
        let weight = |bits: u64| weight_text(this.numerics.formats.q.value(bits));
        format!("w = first ? 1 : keeps ? {} : loads ? {} : sigmoid.", weight(this.limits.0), weight(this.limits.1))
    };
    inputs { sigmoid: this.numerics.formats.q.width(), first: 1, keeps: 1, loads: 1 }
    outputs { w: this.numerics.formats.q.width() }
    eval<W> {
        let fmt = this.numerics.formats.q;
        let (least, most) = this.limits;
        let constant = |bits| W::constant(fmt.width(), bits);
        let skipped = keeps.select(&constant(least), &constant(most)).named("skipped");
        let skips = keeps.or(&loads);
        let computed = skips.select(&skipped, &sigmoid).named("computed");
        [first.select(&constant(fmt.one()), &computed)]
    }
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

/// Stages that the score is delayed by: the variants in fixed point need them to convert scores, `paper` does not.
const STAGES_BEFORE: usize = 2;

/// The score stage, which forms `s_i - s_{i-1}` and decides holds, and the weight stage.
pub fn paper_weight(
    around: &mut Module,
    n: &Arc<Numerics>,
    inputs: &ScalarInputs,
) -> ScalarOutputs<PaperScalars> {
    let fmt = n.formats.q;
    let tag = Tag::module(
        format!("{}_paper_weight", fmt.ident()),
        "Weight unit of the paper's Alg. 3: w = sigmoid(s_i - s_{i-1} + ln w_{i-1}).",
    );
    let numerics = || n.clone();
    around.part("weight", tag, |m| {
        let [score, valid, first] = inputs.step_ports(m);
        let late_score = delay(m, "late_score", score, STAGES_BEFORE);
        let late_valid = late_flag(m, "late_valid_q", valid, STAGES_BEFORE);
        let late_first = delay(m, "late_first", first, STAGES_BEFORE);
        let previous = m.register_if("score_q", late_valid, late_score);
        let sub = MixedFunction::of(Operation::Sub, fmt, fmt, fmt);
        let [difference] = m.call("difference", sub, [late_score, previous]);
        let skip = StaticHoldFunction { numerics: numerics(), limits: static_limits(fmt) };
        let [keeps, loads] = m.call("skip", skip, [difference, late_first]);

        m.stage(Stage::Score(1));
        m.show(("late_score", "stage_q"), "score s");
        m.stage(Stage::Score(2));
        m.show(keeps, "D <= -6: keep o");
        m.show(loads, "first or D >= 11: load v");
        m.show(late_score, "score s");
        m.show(previous, "previous score");
        m.signal(difference, Float(fmt), "D = s - previous");

        let difference = m.register("difference_q", difference);
        let first = m.register("first_q", late_first);
        let keeps = m.register("keeps_q", keeps);
        let load = m.register("loads_q", loads);
        let step = m.register_reset("step_q", 0, late_valid);
        let previous = m.state_if("w_q", fmt.width(), step);
        let [ln] = m.call("ln", LnFunction { numerics: numerics() }, [previous]);
        let [x] = m.call("x", MixedFunction::of(Operation::Add, fmt, fmt, fmt), [difference, ln]);
        let [sigmoid] = m.call("sigmoid", PaperSigmoidFunction { numerics: numerics() }, [x]);
        let select = PaperSelectFunction { numerics: numerics(), limits: paper_weight_limits(&n.exp, fmt) };
        let [w] = m.call("select", select, [sigmoid, first, keeps, load]);
        m.next(previous, w);
        let [update] = m.call("update_o", PaperUpdateFunction {}, [step, keeps]);

        m.watch(Quantity::Argument, x);
        let (step, reads) = (m.output("step", step), m.output("reads", update));
        let lanes = m.hand_out("", &PaperScalars { update, w, load });
        m.stage(Stage::Score(3));
        m.show_role(Role::Update, "update", "update (not held)");
        m.show(keeps, "D <= -6: keep o");
        m.show("load", "first or D >= 11: load v");
        m.show(difference, "D");
        m.show(previous, "previous w");
        m.signal(ln, Float(fmt), "ln of previous w");
        m.signal(x, Float(fmt), "x = D + ln w");
        m.signal(sigmoid, Float(fmt), "sigmoid(x)");
        m.number(w, Float(fmt));
        m.show_as(Row::Trace, "w", "weight w");

        m.watch_output_each([(Quantity::Step, "step"), (Quantity::Weight, "w"), (Quantity::Load, "load")]);
        ScalarOutputs { step, reads, lanes, state_scalars: Vec::new() }
    })
}

//! FA2's maximum, exponential and running sum: safe softmax, one key at a time.
//!
//! With `m = max(m_old, s)`, one of `c = exp(m_old - m)` and `e = exp(s - m)` is always exactly 1. A single exponential
//! `exp(-|s - m_old|)`, and a bit that says whether the maximum moved, give both.

use super::scalars::{Moved, Reciprocal, SeparateScalars, StepFlags, StepScalars, state_ports, step_ports};
use crate::arith::exp::{exp_tail, octaves};
use crate::attention::delay::delay;
use crate::attention::factor::{FactorForm, base_2_argument, one, table_factor};
use crate::attention::partial::restored;
use crate::attention::scalar_path::{ScalarInputs, ScalarOutputs};
use crate::function;
use crate::rtl::{Module, Quantity, Role, Row, Stage, Tag, signed, unsigned};
use crate::score::sum::running_sum;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

function! {
    /// The next running maximum, and the distance of the score from the old one.
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
        // At a first key the maximum is a leftover of the query before; after power-up a simulator has it unknown.
        let moves = first.not().and(&moved);
        [first.or(&moved).select(&score, &maximum), moves, distance.slice(0, bits)]
    }
}

function! {
    /// Whether a step updates, that is, does not hold.
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

function! {
    /// `2^-|s - m|` as the factor of the lanes.
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

/// The scalar path of FA2 `separate-scale`: a pipeline stage each for maximum, exponential and running sum, and the
/// reciprocal of the sum. Exponentials are in the format of weights.
pub fn softmax(
    around: &mut Module,
    n: &Arc<Numerics>,
    inputs: &ScalarInputs,
) -> ScalarOutputs<SeparateScalars<Moved>> {
    softmax_with(around, "weight", n, FactorForm::Format, inputs)
}

/// [`softmax`] as a part named `name`, with exponentials in the form `form`.
pub(super) fn softmax_with(
    around: &mut Module,
    name: &str,
    n: &Arc<Numerics>,
    form: FactorForm,
    inputs: &ScalarInputs,
) -> ScalarOutputs<SeparateScalars<Moved>> {
    let tag = Tag::module(
        format!("softmax_{}", form.suffix(n)),
        "m <- max(m, s); e = 2^-|s - m| is the factor of the old state where m moved, else of the new value;\nl <- moved ? l * e + 1 : l + e.",
    );
    let numerics = || n.clone();
    around.part(name, tag, |m| {
        let [score, valid, first, finish] = step_ports(m, inputs);
        let state = state_ports(m, inputs);

        let maximum_q = m.state_if("maximum_q", n.score_bits(), valid);
        let function = ScoreMaximumFunction { numerics: numerics() };
        let [maximum, moved, distance] = m.call("maximum", function, [score, maximum_q, first]);
        let function = DistanceHoldFunction { numerics: numerics() };
        let [update] = m.call("updates", function, [distance, moved, first, valid]);
        // Stage of the exponential.
        let distance_q = m.register_if("distance_q", update, distance);
        let exp_moved_q = m.register_if("exp_moved_q", update, moved);
        let exp = StepFlags { first, step: valid, update }.register(m, "exp_");
        let function = ExpWeightFunction { numerics: numerics(), form };
        let [e] = m.call("exponential", function, [distance_q, exp.first]);
        // Stage of the sum.
        let e_q = m.register_if("e_q", exp.update, e);
        let moved_q = m.register_if("moved_q", exp.update, exp_moved_q);
        let StepFlags { first: first_q, step: step_q, update: update_q } = exp.register(m, "");
        let restored = restored(m, maximum, state.map(|state| (state.step, state.maximum)));
        m.next(maximum_q, restored);
        let sum_state = state.map(|state| delay(m, "sum_state", state.step, 2));
        let sum_in = state.map(|state| delay(m, "sum_in", state.sum, 2));

        let o_m = m.optional_output("o_m", state.map(|_| maximum_q));
        let step = m.output("step", step_q);
        let reads = m.output("reads", update_q);
        let handed_out =
            m.output_each([("update", update_q), ("e", e_q), ("moved", moved_q), ("load", first_q)]);
        m.stage(Stage::Score(0));
        m.show_role(Role::Update, update, "update (not held)");
        m.show(moved, "maximum moves");
        m.signal(maximum_q, signed(n.score_fraction), "maximum m, log2 units");
        m.signal(distance, unsigned(n.score_fraction), "|s - m|, log2 units");
        m.signal(maximum, signed(n.score_fraction), "next m, log2 units");
        m.stage(Stage::Score(1));
        m.show_role(Role::Update, exp.update, "update (not held)");
        m.show(exp_moved_q, "maximum moved");
        m.show(distance_q, "|s - m|, log2 units");
        m.number(e, form.number(n));
        m.show_as(Row::Trace, e, "e = 2^-|s - m|");
        m.stage(Stage::Score(2));
        m.show_role(Role::Update, update_q, "update (not held)");
        m.show(moved_q, "maximum moved");
        m.show(e_q, "e");
        // The check puts x = s - m_old together from its magnitude and sign.
        m.watch_each([(Quantity::Distance, distance), (Quantity::Above, moved)]);
        m.watch_output(Quantity::Step, "step");
        m.watch(Quantity::Weight, e_q);
        m.watch_output_each([(Quantity::Load, "load"), (Quantity::Upper, "moved")]);
        let sum =
            [("update", update_q), ("first", first_q), ("e", e_q), ("moved", moved_q), ("finish", finish)];
        let ([r, right], l) = running_sum(m, n, form, sum, sum_state.zip(sum_in));
        let o_l = m.optional_output("o_l", l);
        let ([update, e, moved, load], [r, right]) =
            (handed_out, m.output_each([("r", r), ("right", right)]));
        let scalars = StepScalars { e, change: Moved { moved }, load };
        let lanes = SeparateScalars { update, step: scalars, end: Reciprocal { r, right } };
        m.stage(Stage::Score(3));
        m.show("r", "r: 1 / l = r 2^-right");
        m.show("right", "right");
        ScalarOutputs { step, reads, lanes, state_scalars: o_m.into_iter().chain(o_l).collect() }
    })
}

//! FLASH-D's default weight unit: the weights of (3) and (11) by the log-sum-exp recurrence, run on `x = s - L`.
//!
//! `x_i = s_i - L_{i-1}`, `w_i = sigmoid(x_i)`, `L_i = L_{i-1} + softplus(x_i)`; `x_i <= -T` holds L. The state is
//! x, not L: with `L_i = s_i - min(x_i, 0) + softplus(-|x_i|)`,
//!
//! ```text
//! x_{i+1} = (s_{i+1} - s_i + min(x_i, 0)) - softplus(-|x_i|)      softplus left out where key i was held
//! ```
//!
//! bit for bit the same numbers. The bracket needs no table, so the loop over keys contains only one table and one
//! subtraction; the same `|x|` gives the weight in that stage. Scores come in base 2, and so does everything
//! here: `softplus(-t)` is `log2(1 + 2^-t)`, `sigmoid(-t)` is `1 / (1 + 2^t)`.
//!
//! The lanes get `sigmoid(-|x|)`, the smaller of `w` and `1 - w`, and a bit that says which:
//! `o + w (v - o) = v + (1 - w) (o - v)`. A float resolves numbers near 0 finely and numbers near 1 coarsely; and
//! `w = 1` becomes a factor of 0, which gives v without a special case.

use super::fixed_lane::lane_bits;
use super::hold_budget::{hold_budget, room_bits};
use super::lse_step::{
    ExpArgumentFunction, HoldDecisionFunction, Log2p1TailFunction, ScoreDifferenceFunction,
    ScoreStepFunction, SigmoidWeightFunction, ThresholdFunction, UpperFunction,
};
use super::scalars::{WeightScalars, WeightWords};
use crate::attention::factor::FactorForm;
use crate::attention::partial::{LogSumExpFunction, LseRestoreFunction};
use crate::attention::scalar_path::{ScalarInputs, ScalarOutputs};
use crate::rtl::{Bundle, Module, Number, Quantity, Role, Row, Stage, Tag, Wire, signed, unsigned};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// Hands out the flags of a pipeline stage for the value, and makes them from `reads`, which is handed out, and whether the step is a first
/// key.
pub type ValueStage<R> = fn(&mut Module, Wire, Wire) -> R;

/// The weight unit of lanes that round every operation.
pub fn rounded_weight(
    m: &mut Module,
    n: &Arc<Numerics>,
    inputs: &ScalarInputs,
) -> ScalarOutputs<WeightScalars<(), ()>> {
    lse_weight(m, n, FactorForm::Format, None, |_, _, _| (), inputs)
}

/// The weight unit of lanes in fixed point, and the threshold of their differences.
pub fn fixed_weight<R>(
    m: &mut Module,
    n: &Arc<Numerics>,
    value: Option<ValueStage<R>>,
    inputs: &ScalarInputs,
) -> ScalarOutputs<WeightScalars<R, Wire>> {
    let threshold = |m: &mut Module, n: &Arc<Numerics>, step: [Wire; 2]| {
        let [threshold] = m.call("threshold", ThresholdFunction { numerics: n.clone() }, step);
        m.number(threshold, Number::Bits);
        threshold
    };
    lse_weight(m, n, FactorForm::Shift(lane_bits(n).w), value, threshold, inputs)
}

/// FLASH-D's weight unit: a pipeline stage each for state, weight and distribution. With a stage for the `value` it is requested at the
/// weight stage; otherwise a stage later. `threshold` is made from x and whether the step is a first key.
fn lse_weight<R, T: Bundle>(
    around: &mut Module,
    n: &Arc<Numerics>,
    form: FactorForm,
    value: Option<ValueStage<R>>,
    threshold: fn(&mut Module, &Arc<Numerics>, [Wire; 2]) -> T,
    inputs: &ScalarInputs,
) -> ScalarOutputs<WeightScalars<R, T>> {
    let tag = Tag::module(
        format!("lse_weight_{}", form.suffix(n)),
        "Weight unit, base 2: x = s - L, w = 1 / (1 + 2^-x), L <- L + log2(1 + 2^x), with x as the state:\nx <- s - s_previous + min(x, 0) - log2(1 + 2^-|x|).",
    );
    let numerics = || n.clone();
    around.part("weight", tag, |m| {
        let [score, valid, first] = inputs.step_ports(m);
        let partial = Partial::ports(m, n, inputs);

        // State stage.
        let score_q = m.register_if("score_q", valid, score);
        let valid_q = m.register_reset("valid_q", 0, valid);
        let first_q = m.register("first_q", first);
        let x = m.state_if("x_q", n.state_bits() + 1, valid_q);
        let previous = m.state_if("previous_q", n.score_bits(), valid_q);
        let [base] =
            m.call("base", ScoreStepFunction { numerics: numerics() }, [score_q, previous, x, first_q]);

        // Weight stage.
        let weight_first = m.register_if("weight_first_q", valid_q, first_q);
        let step_q = m.register_reset("step_q", 0, valid_q);
        let budget = n.budget.map(|budget| {
            let restore = partial.as_ref().and_then(|partial| partial.weight_room);
            let step = [("x", x), ("first", weight_first), ("replaced", valid_q)];
            hold_budget(m, n, budget, step, restore)
        });
        let looked_at = budget.map_or(x, |(above, _)| above);
        let decision = HoldDecisionFunction { numerics: numerics() };
        let [update, grows] = m.call("updates", decision, [looked_at, weight_first, step_q]);
        let [t, negative] = m.call("argument", ExpArgumentFunction { numerics: numerics() }, [x]);
        let [tail] = m.call("tail", Log2p1TailFunction { numerics: numerics() }, [t]);
        let difference = ScoreDifferenceFunction { numerics: numerics() };
        let [x_next] = m.call("difference", difference, [base, tail, grows, first_q]);
        let [w] = m.call("sigmoid", SigmoidWeightFunction { numerics: numerics(), form }, [t, weight_first]);
        let [upper] = m.call("side", UpperFunction {}, [negative, weight_first]);
        let threshold = threshold(m, n, [x, weight_first]);

        // Distribution stage.
        let w_q = m.register_if("w_q", update, w);
        let upper_q = m.register_if("upper_q", update, upper);
        let load_q = m.register("load_q", weight_first);
        let late_step = value.is_none().then(|| m.register_reset("late_step_q", 0, step_q));
        let late_update = m.register_reset("late_update_q", 0, update);
        let threshold = threshold.map(&mut |wire| m.register_if("threshold_q", update, wire));

        let (mut next, mut lse) = ([x_next, score_q], None);
        if let Some(partial) = &partial {
            // A restore sets the state from its log-sum-exp.
            let state = m.register("state_q", partial.state);
            let taken = m.register("lse_q", partial.lse);
            let restore = LseRestoreFunction { numerics: numerics() };
            next = m.call("restored", restore, [x_next, score_q, taken, state]);
            let function = LogSumExpFunction { numerics: numerics() };
            lse = Some(m.call("lse", function, [previous, x, tail, grows])[0]);
            if let Some((room, (weight_state, weight_room))) = partial.room.zip(partial.weight_room) {
                let room = m.register("room_q", room);
                if let Some(budget) = n.budget {
                    m.number(room, unsigned(budget.register));
                }
                let state = m.register_if("weight_state_q", valid_q, state);
                let room = m.register_if("weight_room_q", valid_q, room);
                m.drive_all(&[weight_state, weight_room], &[state, room]);
            }
        }
        m.next_all(&[x, previous], &next);

        let o_lse = m.optional_output("o_lse", lse);
        let o_room = m.optional_output("o_room", budget.and_then(|(_, room)| room));
        let step = m.output("step", late_step.unwrap_or(step_q));
        let reads = m.output("reads", if value.is_some() { update } else { late_update });
        let lanes = WeightScalars {
            update: m.output("update", late_update),
            words: m.hand_out("", &WeightWords { w: w_q, upper: upper_q, load: load_q, threshold }),
            reads: value.map(|value| value(m, reads, weight_first)),
        };

        show_state(m, n, [score_q, previous, base, tail, x_next]);
        show_weight(m, n, form, [update, negative, upper, x, t, w]);
        show_distribution(m);
        m.watch(Quantity::Argument, x_next);
        watch_step(m, value.is_some(), [w, weight_first, upper]);
        let state_scalars = o_lse.into_iter().chain(o_room).collect();
        ScalarOutputs { step, reads, lanes, state_scalars }
    })
}

/// Marks what checks compare of a step, in the stage that requests the value.
fn watch_step(m: &mut Module, early_value: bool, [w, first, upper]: [Wire; 3]) {
    m.watch_output(Quantity::Step, "step");
    match early_value {
        true => m.watch_each([(Quantity::Weight, w), (Quantity::Load, first), (Quantity::Upper, upper)]),
        false => {
            let outputs = [(Quantity::Weight, "w"), (Quantity::Load, "load"), (Quantity::Upper, "upper")];
            m.watch_output_each(outputs);
        }
    }
}

/// Signals of the state stage.
fn show_state(m: &mut Module, n: &Numerics, [score, previous, base, tail, x_next]: [Wire; 5]) {
    m.stage(Stage::Score(1));
    m.show(score, "score s, log2 units");
    m.signal(previous, signed(n.score_fraction), "score before");
    m.signal(base, signed(n.state_fraction), "s - score before + min(x before, 0)");
    m.signal(tail, unsigned(n.state_fraction + 1), "tail = log2(1 + 2^-|x before|)");
    m.signal(x_next, signed(n.state_fraction), "x = s - L, log2 units");
}

/// Signals of the weight stage.
fn show_weight(
    m: &mut Module,
    n: &Numerics,
    form: FactorForm,
    [update, negative, upper, x, t, w]: [Wire; 6],
) {
    m.stage(Stage::Score(2));
    m.show_role(Role::Update, update, "update (not held)");
    m.show(negative, "x < 0");
    m.show(upper, "w > 1/2: lanes get 1 - w");
    m.signal(x, signed(n.state_fraction), "x, log2 units");
    m.signal(t, unsigned(n.exp.value_fraction), "t = |x|, log2 units");
    m.signal(w, form.number(n), "1 / (1 + 2^t): w or 1 - w");
    if n.budget.is_some() {
        m.show(("budget", "room_q"), "hold budget left, 1 is all");
        m.show(("budget", "limit_q"), "limit: held if -floor(x) - 1 >= limit");
        m.show_as(Row::Late, ("budget", "closed_q"), "too little left to hold");
    }
}

/// Rows of the stage in which the scalars are on their way to the lanes.
fn show_distribution(m: &mut Module) {
    m.stage(Stage::Score(3));
    m.show_role(Role::Update, "update", "update (not held)");
    m.show("upper", "w > 1/2: lanes get 1 - w");
    m.show("w", "lanes' factor: w or 1 - w");
    m.show_weight("upper", "w", "weight w");
}

/// Wires for partial results.
struct Partial {
    /// At the score stage: the step is a restore; its log-sum-exp; the rest of its hold budget.
    state: Wire,
    lse: Wire,
    room: Option<Wire>,
    /// At the weight stage: the step is a restore, and the rest of its hold budget.
    weight_room: Option<(Wire, Wire)>,
}

impl Partial {
    fn ports(m: &mut Module, n: &Numerics, inputs: &ScalarInputs) -> Option<Partial> {
        let state = m.inputs("state", &[inputs.state?])[0];
        let lse = m.inputs("state_lse", &inputs.state_scalars[..1])[0];
        let room = m.inputs("state_room", &inputs.state_scalars[1..]).pop();
        let weight_room = room.map(|_| (m.later(1), m.later(room_bits(n))));
        Some(Partial { state, lse, room, weight_room })
    }
}

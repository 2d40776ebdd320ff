//! The scalar path of FA2 `literal`, Alg. 2 as the paper prints it: maximum, two exponentials and sum, all in the
//! format of the operands.

use super::literal_lane::LiteralScalars;
use super::scalars::step_ports;
use crate::arith::exp::{exp_unit, reciprocal_unit};
use crate::attention::scalar_path::{ScalarInputs, ScalarOutputs};
use crate::function;
use crate::rtl::Number::Float;
use crate::rtl::{Module, Quantity, Row, Stage, Tag, Wire};
use crate::units::{MixedFunction, Operation};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

function! {
    /// An exponential `e^x`, rounded to the format; 1 for a first key.
    pub struct LiteralExpFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_exp_or_one", this.numerics.formats.q.ident());
    doc = format!("y = first ? 1 : exp(x), x <= 0, {} PWL segments.", this.numerics.exp.exp.segments);
    inputs { x: this.numerics.formats.q.width(), first: 1 }
    outputs { y: this.numerics.formats.q.width() }
    eval<W> {
        let n = &this.numerics;
        let e = exp_unit(&n.exp, n.formats.q, &x).named("exponential");
        [first.select(&W::constant(n.formats.q.width(), n.formats.q.one()), &e)]
    }
}

function! {
    /// Chooses between two words: `y = first ? a : b`.
    pub struct FirstSelectFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_first_select", this.numerics.formats.q.ident());
    doc = "y = first ? a : b.";
    inputs { first: 1, a: this.numerics.formats.q.width(), b: this.numerics.formats.q.width() }
    outputs { y: this.numerics.formats.q.width() }
    eval<W> { [first.select(&a, &b)] }
}

function! {
    /// `1 / l`, rounded to the format.
    pub struct ReciprocalFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_reciprocal_finite", this.numerics.formats.q.ident());
    doc = "y = 1 / sum; the unit rests unless the sum is final.";
    inputs { sum: this.numerics.formats.q.width(), finish: 1 }
    outputs { y: this.numerics.formats.q.width() }
    eval<W> {
        let fmt = this.numerics.formats.q;
        let sum = finish.repeat(fmt.width()).and(&sum).named("final_sum");
        [reciprocal_unit(&this.numerics.reciprocal, fmt, &sum)]
    }
}

/// The running sum `l <- l c + e` in the format. Returns its reciprocal, which is valid while `finish` is high.
///
/// `step` are, by name: the step updates (`update`), it is a first key (`first`), `c = exp(m_old - m)`,
/// `e = exp(s - m)`, and the sum is final (`finish`).
fn literal_sum(around: &mut Module, n: &Arc<Numerics>, step: [(&str, Wire); 5]) -> Wire {
    let format = n.formats.q;
    let tag = Tag::module(format!("{}_literal_sum", format.ident()), "l <- l * c + e, and its reciprocal.");
    around.part("sum", tag, |m| {
        m.clock();
        let [update, first, c, e, finish] = m.input_each(step);
        let sum_q = m.state_if("sum_q", format.width(), update);
        let [scaled] = m.call("scaled", MixedFunction::uniform(Operation::Mul, format), [sum_q, c]);
        let [total] = m.call("total", MixedFunction::uniform(Operation::Add, format), [scaled, e]);
        let [sum] = m.call("select", FirstSelectFunction { numerics: n.clone() }, [first, e, total]);
        m.next(sum_q, sum);
        let [r] = m.call("reciprocal", ReciprocalFunction { numerics: n.clone() }, [sum_q, finish]);
        m.number(total, Float(format));
        m.stage(Stage::Score(2));
        m.signal(sum_q, Float(format), "running sum l");
        m.signal(scaled, Float(format), "l c");
        m.signal(sum, Float(format), "next l");
        m.stage(Stage::Score(3));
        m.show(("reciprocal", "sum"), "sum l");
        m.number(r, Float(format));
        m.watch_each([(Quantity::Sum, sum_q), (Quantity::Reciprocal, r)]);
        m.output("r", r)
    })
}

/// The scalar path of FA2 `literal`: a pipeline stage for maximum and exponentials, one for the sum, and the reciprocal
/// of the sum.
pub fn literal_softmax(
    around: &mut Module,
    n: &Arc<Numerics>,
    inputs: &ScalarInputs,
) -> ScalarOutputs<LiteralScalars> {
    let format = n.formats.q;
    let tag = Tag::module(
        format!("{}_literal_softmax", format.ident()),
        "m <- max(m_old, s); c = exp(m_old - m), e = exp(s - m); l <- l * c + e.",
    );
    let of = |operation| MixedFunction::uniform(operation, format);
    let exp = || LiteralExpFunction { numerics: n.clone() };
    around.part("weight", tag, |m| {
        let [score, valid, first, finish] = step_ports(m, inputs);

        // Stage of the exponentials.
        let score_q = m.register_if("score_q", valid, score);
        let valid_q = m.register_reset("valid_q", 0, valid);
        let exp_first_q = m.register("exp_first_q", first);
        let maximum_q = m.state_if("maximum_q", format.width(), valid_q);
        let [larger] = m.call("larger", of(Operation::Max), [maximum_q, score_q]);
        let function = FirstSelectFunction { numerics: n.clone() };
        let [maximum] = m.call("maximum", function, [exp_first_q, score_q, larger]);
        m.next(maximum_q, maximum);
        let [old_difference] = m.call("old_difference", of(Operation::Sub), [maximum_q, maximum]);
        let [new_difference] = m.call("new_difference", of(Operation::Sub), [score_q, maximum]);
        let [old_exp] = m.call("old_exp", exp(), [old_difference, exp_first_q]);
        let [new_exp] = m.call("new_exp", exp(), [new_difference, exp_first_q]);
        // Stage of the sum.
        let c_q = m.register_if("c_q", valid_q, old_exp);
        let e_q = m.register_if("e_q", valid_q, new_exp);
        let first_q = m.register("first_q", exp_first_q);
        let step_q = m.register_reset("step_q", 0, valid_q);

        let step = m.output("step", step_q);
        let reads = m.output("reads", step_q);
        let [update, c, e, load] =
            m.output_each([("update", step_q), ("c", c_q), ("e", e_q), ("load", first_q)]);
        m.number(larger, Float(format));
        m.stage(Stage::Score(1));
        m.show(score_q, "score s");
        m.signal(maximum_q, Float(format), "old maximum");
        m.signal(maximum, Float(format), "maximum m");
        m.signal(old_difference, Float(format), "old maximum - m");
        m.signal(new_difference, Float(format), "s - m");
        m.signal(old_exp, Float(format), "c = exp(old maximum - m)");
        m.number(new_exp, Float(format));
        m.show_as(Row::Trace, new_exp, "e = exp(s - m)");
        m.stage(Stage::Score(2));
        m.show("c", "c");
        m.show("e", "e");
        m.watch(Quantity::Argument, new_difference);
        m.watch_output_each([(Quantity::Step, "step"), (Quantity::Weight, "e"), (Quantity::Load, "load")]);
        let sum = [("update", step_q), ("first", first_q), ("c", c_q), ("e", e_q), ("finish", finish)];
        let r = literal_sum(m, n, sum);
        let lanes = LiteralScalars { update, c, e, load, r: m.output("r", r) };
        m.stage(Stage::Score(3));
        m.show("r", "r = 1 / l");
        ScalarOutputs { step, reads, lanes, state_scalars: Vec::new() }
    })
}

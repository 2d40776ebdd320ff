//! The scalar path of FA2 `shared-scale`, for lanes whose multiplier also does the final scale.

use super::scalars::{
    Moved, Reciprocal, SeparateScalars, SharedScalars, StepScalars, state_ports, step_ports,
};
use super::softmax::softmax_with;
use crate::attention::factor::{FactorForm, significand_and_right};
use crate::attention::scalar_path::{ScalarInputs, ScalarOutputs};
use crate::function;
use crate::rtl::{Module, Stage, Tag};
use crate::score::sum::sum_exponent_bits;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

function! {
    /// The factor for lanes whose multiplier also does the final scale: the exponential, or the final scale.
    pub struct SharedFactorFunction { numerics: Arc<Numerics>, form: FactorForm }
    name(this) = format!("shared_factor_{}", this.form.suffix(&this.numerics));
    doc = "factor = finish ? r * 2^-right : e, as {right, m}; the next step of a finished query's lanes is a first\nkey or none, which needs no factor.";
    inputs {
        r: this.numerics.reciprocal.table.value_fraction + 1, right: sum_exponent_bits(&this.numerics),
        e: this.form.bits(&this.numerics), finish: 1, update: 1
    }
    outputs { factor: this.form.bits(&this.numerics), take: 1 }
    eval<W> {
        let bits = this.form.bits(&this.numerics);
        let m = this.form.significand(&this.numerics);
        // l is at least 1 here, so its exponent is not negative.
        let octave = right.slice(0, right.width() - 1);
        let (scale, right) = significand_and_right(&r, &octave, m, bits - m);
        [finish.select(&right.concat(&scale), &e), finish.or(&update)]
    }
}

/// The scalar path of FA2 `shared-scale`: [`softmax`](super::softmax::softmax), and the factor that update and final
/// scale share.
pub fn shared_softmax(
    around: &mut Module,
    n: &Arc<Numerics>,
    inputs: &ScalarInputs,
) -> ScalarOutputs<SharedScalars<Moved>> {
    let form = FactorForm::Shift(n.factor_significand);
    let tag = Tag::module("shared_softmax", "Scalar path and shared factor.").dissolved();
    around.part("weight", tag, |m| {
        let [score, valid, first, finish] = step_ports(m, inputs);
        let state = state_ports(m, inputs);
        let state_scalars = state.map_or_else(Vec::new, |state| vec![state.maximum, state.sum]);
        let softmax_inputs = ScalarInputs {
            score,
            valid,
            first,
            state: state.map(|state| state.step),
            state_scalars: &state_scalars,
            finish: Some(finish),
        };
        let softmax = softmax_with(m, "softmax", n, form, &softmax_inputs);
        let SeparateScalars { update, step: StepScalars { e, change, load }, end } = softmax.lanes;
        let Reciprocal { r, right } = end;
        let function = SharedFactorFunction { numerics: n.clone(), form };
        let [factor, take] = m.call("factor", function, [r, right, e, finish, update]);
        m.stage(Stage::Score(3));
        m.signal(factor, form.number(n), "next factor: e, or 1 / l when l is final");

        let names = ["o_m", "o_l"];
        let state_scalars =
            names.iter().zip(softmax.state_scalars).map(|(name, wire)| m.output(name, wire)).collect();
        let step = m.output("step", softmax.step);
        let reads = m.output("reads", softmax.reads);
        let [update, e, take] = m.output_each([("update", update), ("e", factor), ("take", take)]);
        let scalars = StepScalars { e, change: m.hand_out("", &change), load: m.output("load", load) };
        let lanes = SharedScalars { update, take, step: scalars };
        ScalarOutputs { step, reads, lanes, state_scalars }
    })
}

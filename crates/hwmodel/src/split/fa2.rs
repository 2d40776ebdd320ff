//! FA2's scalars of a merge: the larger maximum, one exponential, and the sum of both parts.

use super::scalars::{ScalarInputs, ScalarOutputs, scalar_unit};
use crate::array::LowFunction;
use crate::attention::factor::FactorForm;
use crate::attention::signals::Signals;
use crate::fa2::softmax::{ExpWeightFunction, ScoreMaximumFunction};
use crate::function;
use crate::rtl::{Module, Tag};
use crate::score::sum::scaled_sum;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

function! {
    /// The sum of both parts.
    pub struct MergedSumFunction { numerics: Arc<Numerics>, form: FactorForm }
    name(this) = format!("merged_sum_{}", this.form.suffix(&this.numerics));
    doc = "The maximum of b is larger: a * e + b.  Otherwise: a + b * e.  One part empty: the other.  Saturating.";
    inputs {
        a: this.numerics.sum_bits(), b: this.numerics.sum_bits(), e: this.form.bits(&this.numerics), moved: 1,
        take_b: 1, keep_a: 1
    }
    outputs { sum: this.numerics.sum_bits() }
    eval<W> {
        let multiplicand = moved.select(&a, &b).named("multiplicand");
        let addend = moved.select(&b, &a).named("addend");
        let sum = scaled_sum(&this.numerics, this.form, &multiplicand, &addend, &e);
        [keep_a.select(&a, &take_b.select(&b, &sum))]
    }
}

function! {
    /// The maximum of both parts.
    pub struct MergedMaximumFunction { bits: u32 }
    name(this) = format!("merged_maximum_{}", this.bits);
    doc = "y = the larger of a and b, or the one that is not empty.";
    inputs { a: this.bits, larger: this.bits, b_empty: 1 }
    outputs { y: this.bits }
    eval<W> { [b_empty.select(&a, &larger)] }
}

/// Scalars of a merge, two stages: `w` is the exponential, `upper` that the maximum of part b is larger.
pub fn fa2_merge_weight(
    around: &mut Module,
    n: &Arc<Numerics>,
    form: FactorForm,
    inputs: &ScalarInputs,
) -> ScalarOutputs {
    let tag = Tag::module(
        format!("merge_softmax_{}", form.suffix(n)),
        "Scalars of a merge: m = max(m_a, m_b), e = 2^-|m_b - m_a|, l = l_a * e + l_b or l_a + l_b * e.",
    );
    scalar_unit(around, tag, inputs, |m, inputs| {
        let numerics = || n.clone();
        let ScalarInputs { a, b, a_empty, b_empty, valid } = *inputs;
        let maximum = ScoreMaximumFunction { numerics: numerics() };
        let [larger, moved, distance] = m.call("maximum", maximum, [b["m"], a["m"], a_empty]);
        let merged = MergedMaximumFunction { bits: n.score_bits() };
        let [maximum] = m.call("merged", merged, [a["m"], larger, b_empty]);
        // The second stage.
        let [distance, moved, maximum, a_l, b_l, a_empty, b_empty] = [
            ("distance_q", distance),
            ("moved_q", moved),
            ("m_q", maximum),
            ("a_l_q", a["l"]),
            ("b_l_q", b["l"]),
            ("a_empty_q", a_empty),
            ("b_empty_q", b_empty),
        ]
        .map(|(name, wire)| m.register(name, wire));
        // No merge is a first key.
        let [low] = m.call("low", LowFunction {}, []);
        let exponential = ExpWeightFunction { numerics: numerics(), form };
        let [e] = m.call("exponential", exponential, [distance, low]);
        let sum = MergedSumFunction { numerics: numerics(), form };
        let [sum] = m.call("sum", sum, [a_l, b_l, e, moved, a_empty, b_empty]);
        let scalars = Signals::from([
            ("m", m.register_if("m_qq", valid, maximum)),
            ("l", m.register_if("l_q", valid, sum)),
        ]);
        ScalarOutputs { scalars, w: e, upper: moved }
    })
}

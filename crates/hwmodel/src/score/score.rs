//! The score of softmax: from a dot product to fixed point in base 2, or to the format.
//!
//! Both designs work with powers of two: `exp(s) = 2^(s log2 e)`. Scores are multiplied by `log2(e)` here, once,
//! instead of in every exponential; maximum, log-sum-exp and thresholds follow in base 2.

use super::dot::dot_product;
use super::fused_dot::fused_dot;
use super::saturate::{saturate, saturate_if};
use super::scaled::{ScaledScoreFunction, SignificandsFunction, multiplier, operands};
use crate::arith::signed::signed_times;
use crate::attention::group::FlagOrFunction;
use crate::function;
use crate::rtl::Number::Float;
use crate::rtl::{Module, Pins, Tag, VectorFunction, VectorLeaf, Wire, signed};
use crate::units::ScoreScaleFunction;
use crate::word::{Word, bits_for, ones};
use flashd_spec::numerics::{LOG2E, LOG2E_FRACTION, NATURAL_SCORE_GUARD_BITS, Numerics};
use std::sync::Arc;

/// Converts the fused dot product's total to the natural score.
struct TotalToScoreFunction {
    numerics: Arc<Numerics>,
}

impl VectorFunction for TotalToScoreFunction {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let n = &self.numerics;
        let total = n.term_bits() + n.tree_levels;
        let rounded = match n.dot_guard {
            0 => "total + carry".to_string(),
            guard => format!("(total + carry) * 2^-{guard}, rounded half up"),
        };
        let large = n.term_spare() > 0;
        let doc = format!(
            "natural = {rounded}, {} integer and {} fraction bits, saturating{}.",
            n.score_integer,
            n.natural_fraction(),
            if large { "; always so if a product is too large" } else { "" }
        );
        let mut inputs = vec![Pins::word("total", total), Pins::word("carry", 1)];
        inputs.extend(large.then(|| Pins::word("oversize", 1)));
        let outputs = vec![Pins::word("natural", n.natural_bits()), Pins::word("saturated", 1)];
        (Tag::module(format!("total_to_score_{total}"), doc), inputs, outputs)
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let n = &self.numerics;
        let (total, carry) = (&inputs[0][0], &inputs[1][0]);
        let wide = total.width() + 1;
        // A one below the last place lets the adder of the rounding constant take the carry.
        let half = W::constant(wide, (1 << n.dot_guard) >> 1);
        let sum = total
            .sext(wide)
            .concat(&W::constant(1, 1))
            .add(&half.concat(carry))
            .named("sum_halves")
            .drop_low(1);
        let sum = sum.named("sum").drop_low(n.dot_guard);
        // The products of narrow formats do not fill the score.
        let sum = sum.sext(sum.width().max(n.natural_bits()));
        let large = inputs.get(2).map(|large| &large[0]);
        let (natural, saturated) = saturate_if(&sum, n.natural_bits() - 1, large);
        vec![vec![natural], vec![saturated]]
    }
}

function! {
    /// Converts the natural score to base 2.
    pub struct BaseTwoFunction { numerics: Arc<Numerics> }
    name(this) = format!("score_base_2_{}", this.numerics.score_bits());
    doc = {
        let n = &this.numerics;
        format!(
            "score = natural * log2(e), {} integer and {} fraction bits, rounded half up, saturating.",
            n.score_integer, n.score_fraction
        )
    };
    inputs { natural: this.numerics.natural_bits() }
    outputs { score: this.numerics.score_bits(), saturated: 1 }
    eval<W> {
        let n = &this.numerics;
        let constant = W::constant(bits_for(LOG2E), LOG2E);
        let wide = natural.width() + constant.width();
        // The product of the longest scores with their sign extended has more than 64 bits.
        let product = match wide + constant.width() {
            0..=64 => natural.sext(wide).mul(&constant).slice(0, wide),
            _ => signed_times(&natural, &constant),
        };
        let product = product.named("signed_product");
        let drop = LOG2E_FRACTION + NATURAL_SCORE_GUARD_BITS;
        let rounded = product.add(&W::constant(wide, (1 << (drop - 1)) & ones(wide))).named("rounded");
        let (score, saturated) = saturate(&rounded.drop_low(drop), n.score_bits() - 1);
        [score, saturated]
    }
}

/// A score at the score stage.
pub struct Scored {
    /// The score.
    pub score: Wire,
    /// The score, or a product that it is the sum of, is beyond its range. None where scores are numbers of the format.
    pub saturated: Option<Wire>,
}

/// From query and key, `d` elements of any encoding each, to the score in base 2, after the dot product's registers.
///
/// The words of scales, if there are scales, follow the elements in `q` and `k`.
pub fn score(around: &mut Module, n: &Arc<Numerics>, d: usize, q: &[Wire], k: &[Wire]) -> Scored {
    let doc = match n.is_exact() || n.has_significands() {
        true => "Score s = q . k * q_scale * k_scale * scale * log2(e).",
        false => "Score s = q . k * scale * log2(e).",
    };
    around.part("score", Tag::module("score_unit", doc).dissolved(), |m| {
        m.clock();
        let numerics = || n.clone();
        let (q, k) = (m.inputs("q", q), m.inputs("k", k));
        let scales = (n.is_exact() || n.has_significands()).then(|| multiplier(m, n, d, &q, &k));
        if let Some((multiplier, Some(places))) = scales {
            let sum = fused_dot(m, "fused", n, &q[..d], &k[..d]);
            m.show(sum.total, "dot product q k");
            m.show(("base_2", "multiplier"), "q scale, k scale, log2(e)");
            let function = ScaledScoreFunction { numerics: numerics() };
            let [score, saturated] = m.call("scaled", function, [sum.total, sum.carry, multiplier, places]);
            return Scored::hand_out(m, n, score, saturated);
        }
        let [q_operand, k_operand] = operands(n, d);
        let (q, k) = (q_operand.products(m, "q_scaled", &q), k_operand.products(m, "k_scaled", &k));
        let sum = fused_dot(m, "fused", n, &q, &k);
        m.show(sum.total, "dot product q k scale");
        let function = TotalToScoreFunction { numerics: numerics() };
        let sum: Vec<Wire> = [sum.total, sum.carry].into_iter().chain(sum.large).collect();
        let natural = m.leaf("exact", VectorLeaf::new(function), &sum);
        let [natural, beyond] = [natural[0], natural[1]];
        m.number(natural, signed(n.natural_fraction()));
        let [score, saturated] = match scales {
            Some((multiplier, _)) => {
                m.call("scaled", SignificandsFunction { numerics: numerics() }, [natural, multiplier])
            }
            None => m.call("base_2", BaseTwoFunction { numerics: numerics() }, [natural]),
        };
        match scales {
            Some(_) => m.show(("base_2", "multiplier"), "significands of scales, log2(e)"),
            None => m.show(("base_2", "natural"), "score, natural units"),
        }
        let [saturated] = m.call("saturates", FlagOrFunction {}, [beyond, saturated]);
        Scored::hand_out(m, n, score, saturated)
    })
}

impl Scored {
    /// Declares the outputs of the score unit.
    fn hand_out(m: &mut Module, n: &Numerics, score: Wire, saturated: Wire) -> Scored {
        m.number(score, signed(n.score_fraction));
        let outside = m.output("score", score);
        m.show("score", "score s, log2 units");
        Scored { score: outside, saturated: Some(m.output("saturated", saturated)) }
    }
}

/// From query and key to the score in the format, for the variants that follow the paper to the letter.
pub fn format_score(around: &mut Module, n: &Arc<Numerics>, d: usize, q: &[Wire], k: &[Wire]) -> Scored {
    let tag = Tag::module("format_score_unit", "Score s = q . k * scale in the format.").dissolved();
    around.part("score", tag, |m| {
        m.clock();
        let (q, k) = (m.inputs("q", &q[..d]), m.inputs("k", &k[..d]));
        let dot = dot_product(m, "dot", n, &q, &k);
        let [score] = m.call("scale", ScoreScaleFunction { numerics: n.clone() }, [dot]);
        m.number(score, Float(n.formats.q));
        m.show(dot, "dot product q k");
        let outside = m.output("score", score);
        m.show("score", "score s");
        Scored { score: outside, saturated: None }
    })
}

//! The score of softmax: from a dot product to fixed point in base 2, or to the format.
//!
//! Both designs work with powers of two: `exp(s) = 2^(s log2 e)`. Scores are multiplied by `log2(e)` here, once,
//! instead of in every exponential; maximum, log-sum-exp and thresholds follow in base 2.

use super::dot::dot_product;
use super::fused_dot::fused_dot;
use super::saturate::saturate;
use super::scaled::{ScaledScoreFunction, SignificandsFunction, multiplier, operands};
use crate::arith::fused::signed_times;
use crate::arith::to_fixed;
use crate::function;
use crate::rtl::{Module, Tag, Wire};
use crate::units::ScoreScaleFunction;
use crate::word::{bits_for, ones};
use flashd_spec::config::Dot;
use flashd_spec::numerics::{LOG2E, LOG2E_FRACTION, NATURAL_SCORE_GUARD_BITS, Numerics};
use std::sync::Arc;

function! {
    /// Converts the fused dot product's total to the natural score.
    pub struct TotalToScoreFunction { numerics: Arc<Numerics> }
    name(this) = format!("total_to_score_{}", this.numerics.term_bits() + this.numerics.tree_levels);
    doc = {
        let n = &this.numerics;
        let rounded = match n.dot_guard {
            0 => "total + carry".to_string(),
            guard => format!("(total + carry) * 2^-{guard}, rounded half up"),
        };
        format!(
            "natural = {rounded}, {} integer and {} fraction bits, saturating.",
            n.score_integer, n.natural_fraction()
        )
    };
    inputs { total: this.numerics.term_bits() + this.numerics.tree_levels, carry: 1 }
    outputs { natural: this.numerics.natural_bits() }
    eval<W> {
        let n = &this.numerics;
        let wide = total.width() + 1;
        // A one below the last place lets the adder of the rounding constant take the carry.
        let half = W::constant(wide, (1 << n.dot_guard) >> 1);
        let sum = total.sext(wide).concat(&W::constant(1, 1)).add(&half.concat(&carry)).named("sum_halves").drop_low(1);
        [saturate(&sum.named("sum").drop_low(n.dot_guard), n.natural_bits() - 1)]
    }
}

function! {
    /// Converts the rounded dot product to the natural score.
    pub struct DotToScoreFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_to_score", this.numerics.formats.q.ident());
    doc = {
        let n = &this.numerics;
        format!(
            "natural = dot * 2^{}, {} integer and {} fraction bits, saturating.",
            n.score_shift, n.score_integer, n.natural_fraction()
        )
    };
    inputs { dot: this.numerics.formats.q.width() }
    outputs { natural: this.numerics.natural_bits() }
    eval<W> {
        let n = &this.numerics;
        let scale = n.score_shift + n.natural_fraction() as i32;
        [to_fixed(n.formats.q, &dot, scale, n.natural_bits() - 1)]
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
    outputs { score: this.numerics.score_bits() }
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
        [saturate(&rounded.drop_low(drop), n.score_bits() - 1)]
    }
}

/// From query and key, `d` elements of any encoding each, to the score in base 2, after the dot product's registers.
///
/// The words of scales, if there are scales, follow the elements in `q` and `k`.
pub fn score(around: &mut Module, n: &Arc<Numerics>, d: usize, q: &[Wire], k: &[Wire]) -> Wire {
    let doc = match n.is_exact() || n.has_significands() {
        true => "Score s = q . k * q_scale * k_scale * scale * log2(e).",
        false => "Score s = q . k * scale * log2(e).",
    };
    around.part("score", Tag::module("score_unit", doc).dissolved(), |m| {
        m.clock();
        let numerics = || n.clone();
        if n.dot == Dot::Tree {
            let (q, k) = (m.inputs("q", &q[..d]), m.inputs("k", &k[..d]));
            let dot = dot_product(m, ("dot", 0), n, &q, &k);
            let [natural] = m.call(("rounded", 0), DotToScoreFunction { numerics: numerics() }, [dot]);
            let [score] = m.call("base_2", BaseTwoFunction { numerics: numerics() }, [natural]);
            return m.output("score", score);
        }
        let (q, k) = (m.inputs("q", q), m.inputs("k", k));
        let scales = (n.is_exact() || n.has_significands()).then(|| multiplier(m, n, d, &q, &k));
        if let Some((multiplier, Some(places))) = scales {
            let sum = fused_dot(m, ("fused", 0), n, &q[..d], &k[..d]);
            let function = ScaledScoreFunction { numerics: numerics() };
            let [score] = m.call("scaled", function, [sum.total, sum.carry, multiplier, places]);
            return m.output("score", score);
        }
        let [q_operand, k_operand] = operands(n, d);
        let (q, k) = (q_operand.products(m, ("q_scaled", 0), &q), k_operand.products(m, ("k_scaled", 0), &k));
        let sum = fused_dot(m, ("fused", 0), n, &q, &k);
        let function = TotalToScoreFunction { numerics: numerics() };
        let [natural] = m.call(("exact", 0), function, [sum.total, sum.carry]);
        let [score] = match scales {
            Some((multiplier, _)) => {
                m.call("scaled", SignificandsFunction { numerics: numerics() }, [natural, multiplier])
            }
            None => m.call("base_2", BaseTwoFunction { numerics: numerics() }, [natural]),
        };
        m.output("score", score)
    })
}

/// From query and key to the score in the format, for the variants that follow the paper to the letter.
pub fn format_score(around: &mut Module, n: &Arc<Numerics>, d: usize, q: &[Wire], k: &[Wire]) -> Wire {
    let tag = Tag::module("format_score_unit", "Score s = q . k * scale in the format.").dissolved();
    around.part("score", tag, |m| {
        m.clock();
        let (q, k) = (m.inputs("q", &q[..d]), m.inputs("k", &k[..d]));
        let dot = dot_product(m, "dot", n, &q, &k);
        let [score] = m.call("scale", ScoreScaleFunction { numerics: n.clone() }, [dot]);
        m.output("score", score)
    })
}

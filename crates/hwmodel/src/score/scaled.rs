//! The score of integers with a scale for each query and each key, (1): `s = (q . k) q_scale k_scale 2^shift log2(e)`.
//!
//! ```text
//!  q . k     integers: products and sums are exact
//!  c         both scales' significands times log2(e), rounded to 16 bits, while the sum is formed
//!  s         (q . k) c, right by the scales' exponents, rounded once
//! ```
//!
//! A scale is a positive bf16 number. A subnormal one counts as zero; one that is negative, Inf or NaN counts as zero and marks the query
//! invalid.

use super::fused_dot::fused_dot;
use super::saturate::saturate;
use crate::arith::fixed::clamp;
use crate::arith::fused::{shift_right_signed, signed_times};
use crate::attention::delay::delay;
use crate::attention::schedule::dot_stages;
use crate::function;
use crate::rtl::{Module, Pins, Tag, VectorFunction, VectorLeaf, Wire};
use crate::word::{Word, bits_for, ones};
use flashd_spec::format::Format;
use flashd_spec::numerics::{LOG2E, Numerics, SCALE_PRODUCT_BITS, SCALE_PRODUCT_DROPPED, scaled_right};
use std::sync::Arc;

/// The format of scales.
const SCALE: Format = Format::BF16;

/// Width of the product of the sum of terms and `c`, with room for what scales above 1 move left.
fn product_bits(n: &Numerics) -> u32 {
    n.term_bits() + n.tree_levels + 1 + SCALE_PRODUCT_BITS + scaled_right(n).1
}

/// Bits of its shift right.
fn right_bits(n: &Numerics) -> u32 {
    bits_for(product_bits(n).into())
}

/// Whether a scale counts as zero, and whether it is one that no scale may be.
fn flaws<W: Word>(scale: &W) -> (W, W) {
    let exponent = scale.slice(SCALE.fraction_bits, SCALE.exponent_bits);
    let special = scale.msb().or(&exponent.all());
    (special.or(&exponent.any().not()), special)
}

function! {
    /// Whether a query's or a key's scale is negative, Inf or NaN.
    pub struct ScaleSpecialFunction {}
    name(this) = "scale_special";
    doc = "special = scale, a bf16 number, is negative, Inf or NaN.";
    inputs { scale: SCALE.width() }
    outputs { special: 1 }
    eval<W> { [flaws(&scale).1] }
}

function! {
    /// Both scales, multiplied.
    pub struct ScalesFunction {}
    name(this) = "scales";
    doc = "product = 1.f of q_scale * 1.f of k_scale, 0 where one counts as zero; exponents = sum of both exponent fields.";
    inputs { q_scale: SCALE.width(), k_scale: SCALE.width() }
    outputs { product: 2 * SCALE.precision(), exponents: SCALE.exponent_bits + 1 }
    eval<W> {
        let significand = |scale: &W| W::constant(1, 1).concat(&scale.slice(0, SCALE.fraction_bits));
        let exponent = |scale: &W| scale.slice(SCALE.fraction_bits, SCALE.exponent_bits).zext(SCALE.exponent_bits + 1);
        let product = significand(&q_scale).mul(&significand(&k_scale)).named("significands");
        let zero = flaws(&q_scale).0.or(&flaws(&k_scale).0).named("zero");
        [zero.not().repeat(product.width()).and(&product), exponent(&q_scale).add(&exponent(&k_scale))]
    }
}

function! {
    /// What the sum of products is multiplied by.
    pub struct ScaleProductFunction { numerics: Arc<Numerics> }
    name(this) = format!("scale_in_base_2_{}", right_bits(&this.numerics));
    doc = format!(
        "multiplier = product * log2(e) to {SCALE_PRODUCT_BITS} bits, rounded half up; (q . k) multiplier goes right by places = {} - exponents, at least 0.",
        scaled_right(&this.numerics).0
    );
    inputs { product: 2 * SCALE.precision(), exponents: SCALE.exponent_bits + 1 }
    outputs { multiplier: SCALE_PRODUCT_BITS, places: right_bits(&this.numerics) }
    eval<W> {
        let n = &this.numerics;
        let product = product.mul(&W::constant(bits_for(LOG2E), LOG2E)).named("in_base_2");
        let half = W::constant(product.width(), 1 << (SCALE_PRODUCT_DROPPED - 1));
        let c = product.add(&half).named("rounded").drop_low(SCALE_PRODUCT_DROPPED);
        let (most, _) = scaled_right(n);
        let wide = (exponents.width() + 1).max(bits_for(most.unsigned_abs().into()) + 1);
        let most = W::constant(wide, most as i64 as u64 & ones(wide));
        let right = most.sub(&exponents.zext(wide)).named("distance");
        let right = right.msb().not().repeat(wide - 1).and(&right.slice(0, wide - 1)).named("not_left");
        [c, clamp(&right, right_bits(n))]
    }
}

function! {
    /// The sum of products as the score.
    pub struct ScaledScoreFunction { numerics: Arc<Numerics> }
    name(this) = format!("scaled_score_{}_{}", product_bits(&this.numerics), this.numerics.score_bits());
    doc = {
        let n = &this.numerics;
        format!(
            "score = (total + carry) * multiplier * 2^({} - places), {} integer and {} fraction bits, rounded half up, saturating.",
            scaled_right(n).1, n.score_integer, n.score_fraction
        )
    };
    inputs {
        total: this.numerics.term_bits() + this.numerics.tree_levels, carry: 1,
        multiplier: SCALE_PRODUCT_BITS, places: right_bits(&this.numerics)
    }
    outputs { score: this.numerics.score_bits() }
    eval<W> {
        let n = &this.numerics;
        let wide = total.width() + 1;
        let sum = total.sext(wide).add(&carry.zext(wide)).named("sum");
        // A zero below for the rounding.
        let product = signed_times(&sum, &multiplier).append_zeros(scaled_right(n).1 + 1);
        let shifted = shift_right_signed(&product, &places).named("halves");
        let one = W::constant(shifted.width() + 1, 1);
        let rounded = shifted.sext(shifted.width() + 1).add(&one).named("rounded").drop_low(1);
        [saturate(&rounded, n.score_bits() - 1)]
    }
}

/// Words of a port as one, the low one first.
struct JoinedWords {
    words: usize,
    width: u32,
}

impl VectorFunction for JoinedWords {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let JoinedWords { words, width } = *self;
        let tag = Tag::module(format!("joined_{words}_{width}"), "y = the words of x, the first one lowest.");
        let y = Pins::word("y", words as u32 * width);
        (tag, vec![Pins::vector("x", words, width)], vec![y])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let joined = inputs[0].iter().rev().cloned().reduce(|high, low| high.concat(&low));
        vec![joined.into_iter().collect()]
    }
}

/// The scale behind the elements of a query or a key.
pub(crate) fn scale_of(m: &mut Module, name: &str, words: &[Wire]) -> Wire {
    m.leaf(name, VectorLeaf::new(JoinedWords { words: words.len(), width: words[0].width() }), words)[0]
}

/// From query and key, integers with scales behind them, to the score in base 2, after the dot product's registers.
pub(super) fn scaled_score(around: &mut Module, n: &Arc<Numerics>, d: usize, q: &[Wire], k: &[Wire]) -> Wire {
    let tag = Tag::module("score_unit", "Score s = q . k * q_scale * k_scale * scale * log2(e).").dissolved();
    around.part("score", tag, |m| {
        m.clock();
        let (q, k) = (m.inputs("q", q), m.inputs("k", k));
        let q_scale = scale_of(m, "q_scale", &q[d..]);
        let k_scale = scale_of(m, "k_scale", &k[d..]);
        let [product, exponents] = m.call("scales", ScalesFunction {}, [q_scale, k_scale]);
        // Two multiplications, in a stage each if there are two.
        let stages = dot_stages(n.tree_levels) as usize;
        let before = stages.min(1);
        let product = delay(m, "late_product", product, before);
        let exponents = delay(m, "late_exponents", exponents, before);
        let function = ScaleProductFunction { numerics: n.clone() };
        let [multiplier, places] = m.call("base_2", function, [product, exponents]);
        let stages = stages - before;
        let multiplier = delay(m, "late_multiplier", multiplier, stages);
        let places = delay(m, "late_places", places, stages);
        let sum = fused_dot(m, ("fused", 0), n, &q[..d], &k[..d]);
        let function = ScaledScoreFunction { numerics: n.clone() };
        let [score] = m.call("scaled", function, [sum.total, sum.carry, multiplier, places]);
        m.output("score", score)
    })
}

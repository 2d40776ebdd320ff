//! The bias of a key: `s <- s + b log2(e)`, b a bf16 number in natural units.
//!
//! ```text
//!  significand 1.f * log2(e)     exact, by the constant that scores are multiplied by
//!  bias        right by the exponent, rounded once to the score's last place, saturating
//!  score       score + bias, saturating
//! ```
//!
//! The first two are computed in the cycle in which the key arrives; only the adder is at the score stage. A subnormal
//! bias counts as zero, as everywhere in bf16. Inf and NaN count as zero and mark the query invalid, so a bias of -Inf
//! does not hide a key: its mask does.

use super::saturate::saturate;
use super::score::Scored;
use crate::array::flag_tree::flag_tree;
use crate::attention::delay::delay;
use crate::attention::group::FlagOrFunction;
use crate::attention::schedule::score_stage;
use crate::function;
use crate::rtl::Number::Float;
use crate::rtl::{Module, Tag, Wire, signed};
use crate::word::{bits_for, ones};
use flashd_spec::numerics::{BIAS, LOG2E, LOG2E_FRACTION, Numerics};
use std::sync::Arc;

function! {
    /// Converts a bias to base 2.
    pub struct BiasFunction { numerics: Arc<Numerics> }
    name(this) = format!("bias_base_2_{}", this.numerics.score_bits());
    doc = {
        let n = &this.numerics;
        format!(
            "bias = k_bias * log2(e), {} integer and {} fraction bits, rounded half away from zero, saturating; 0 where k_bias,\na bf16 number, is subnormal, Inf or NaN, of which special tells the last two. saturated: too large a number.",
            n.score_integer, n.score_fraction
        )
    };
    inputs { k_bias: BIAS.width() }
    outputs { bias: this.numerics.score_bits(), special: 1, saturated: 1 }
    eval<W> {
        let n = &this.numerics;
        let bits = n.score_bits() - 1;
        let exponent = k_bias.slice(BIAS.fraction_bits, BIAS.exponent_bits).named("exponent");
        let special = exponent.all().named("special");
        let counts = exponent.any().and(&special.not()).named("counts");
        let significand = W::constant(1, 1).concat(&k_bias.slice(0, BIAS.fraction_bits));
        let product = significand.mul(&W::constant(bits_for(LOG2E), LOG2E)).named("product");
        // The product's last bit weighs 2^(exponent - bias - fractions + FS) units. The product is placed at the top of
        // `room` bits, one of them above the largest bias and one below the unit, and shifted right by `top -
        // exponent`.
        let room = (bits + 2).max(product.width());
        let fractions = BIAS.bias + (BIAS.fraction_bits + LOG2E_FRACTION) as i32;
        let top = bits as i32 + 1 + fractions - n.score_fraction as i32 - product.width() as i32;
        let wide = BIAS.exponent_bits.max(bits_for(top.unsigned_abs().into())) + 1;
        let right = W::constant(wide, top as i64 as u64 & ones(wide)).sub(&exponent.zext(wide)).named("right");
        let amount_bits = bits_for(room.into()).min(wide - 1);
        let far = right.slice(0, wide - 1).any_above(amount_bits);
        let left = right.msb().named("left");
        let shifted = product.append_zeros(room - product.width()).shr(&right.slice(0, amount_bits)).named("shifted");
        let kept = far.or(&left).not().repeat(bits + 2).and(&shifted.top(bits + 2)).named("kept");
        let rounded = kept.drop_low(1).add(&kept.bit(0).zext(bits + 1)).named("rounded");
        let too_large = left.or(&rounded.msb()).named("too_large");
        let magnitude = too_large.repeat(bits).or(&rounded.slice(0, bits)).and(&counts.repeat(bits)).named("magnitude");
        let sign = k_bias.msb();
        let signed = W::zero(1).concat(&magnitude).xor(&sign.repeat(bits + 1)).add(&sign.zext(bits + 1));
        [signed, special, too_large.and(&counts)]
    }
}

function! {
    /// Adds the bias to a score.
    pub struct BiasedScoreFunction { bits: u32 }
    name(this) = format!("biased_score_{}", this.bits);
    doc = "biased = score + bias, saturating.";
    inputs { score: this.bits, bias: this.bits }
    outputs { biased: this.bits, saturated: 1 }
    eval<W> {
        let wide = this.bits + 1;
        let (biased, saturated) =
            saturate(&score.sext(wide).add(&bias.sext(wide)).named("sum"), this.bits - 1);
        [biased, saturated]
    }
}

/// A key's bias on its way to the score.
pub struct KeyBias {
    /// The bias in base 2, delayed to the score stage.
    score: Wire,
    /// It saturates, in the same stage.
    saturated: Wire,
}

/// Converts a bias from the port and delays it to the score stage. Also returns `special` or-ed with whether the bias
/// is Inf or NaN.
pub fn key_bias(m: &mut Module, n: &Arc<Numerics>, k_bias: Wire, special: Wire) -> (KeyBias, Wire) {
    let [bias, own, saturated] = m.call("bias", BiasFunction { numerics: n.clone() }, [k_bias]);
    m.signal(k_bias, Float(BIAS), "bias of the key");
    m.signal(bias, signed(n.score_fraction), "bias, log2 units");
    let special = m.call("key_special", FlagOrFunction {}, [special, own])[0];
    let score = delay(m, "late_bias", bias, score_stage(n) as usize);
    let saturated = delay(m, "late_bias_saturated", saturated, score_stage(n) as usize);
    (KeyBias { score, saturated }, special)
}

/// The sum of a score and its bias, saturating, in the same cycle.
pub fn biased_score(around: &mut Module, n: &Numerics, score: Scored, bias: &KeyBias) -> Scored {
    let tag = Tag::module("biased_score_unit", "Score s + b log2(e).").dissolved();
    around.part("biased", tag, |m| {
        let [own, added] = m.input_each([("score", score.score), ("bias", bias.score)]);
        let [biased, beyond] = m.call("sum", BiasedScoreFunction { bits: n.score_bits() }, [own, added]);
        let of_bias = m.input("bias_saturated", bias.saturated);
        let of_score = m.optional_input("score_saturated", score.saturated);
        let flags: Vec<Wire> = [of_bias, beyond].into_iter().chain(of_score).collect();
        let saturated = flag_tree(m, "saturates", &flags);
        m.number(biased, signed(n.score_fraction));
        let score = m.output("biased", biased);
        m.show("biased", "score with its bias, log2 units");
        Scored { score, saturated: Some(m.output("saturated", saturated)) }
    })
}

//! The score with a scale for each query and each key: `s = (q . k) q_scale k_scale 2^shift log2(e)`.
//!
//! ```text
//!  q . k     of integers: products and sums are exact; of others: elements have the powers of two of their scales
//!  c         both scales' significands times log2(e), rounded to 24 bits, while the sum is formed: of bf16 1.7, of Q0.16 1.15
//!  s         (q . k) c, rounded once; of integers right by the scales' exponents before that
//! ```
//!
//! A missing scale and a power of two have the significand one.

use super::operand::{Operand, flaws, normalise_q16};
use super::saturate::saturate;
use crate::arith::fixed::clamp;
use crate::arith::signed::{shift_right_signed, signed_times};
use crate::attention::delay::delay;
use crate::attention::schedule::dot_stages;
use crate::function;
use crate::rtl::{Module, Pins, Tag, VectorFunction, VectorLeaf, Wire, unsigned};
use crate::word::{Word, bits_for, ones};
use flashd_spec::format::{Format, ScaleFormat};
use flashd_spec::numerics::{
    LOG2E, Numerics, SCALE_PRODUCT_BITS, SCALE_PRODUCT_DROPPED, SCALE_PRODUCT_FRACTION, scaled_right,
};
use std::sync::Arc;

/// The format of most scales with a significand, and of all exponent fields.
const SCALE: Format = Format::BF16;

/// Width of the product of two significands of [`SCALE`].
const PRODUCT_BITS: u32 = 2 * SCALE.precision();

/// Width of the product of the sum of terms and `c`, with room for the left shift of large scales.
fn product_bits(n: &Numerics) -> u32 {
    n.term_bits() + n.tree_levels + SCALE_PRODUCT_BITS + scaled_right(n).1
}

/// Bits of the right shift of that product.
fn right_bits(n: &Numerics) -> u32 {
    bits_for(product_bits(n).into())
}

/// Query and key as operands of d elements.
pub(super) fn operands(n: &Numerics, d: usize) -> [Operand; 2] {
    let (formats, scales) = (n.encodings.formats, n.encodings.scales);
    [(formats.q, scales.q), (formats.k, scales.k)].map(|(format, scale)| Operand { format, d, scale })
}

/// Multiplies both scales. A missing one counts as one.
struct ScalesFunction {
    q: Option<ScaleFormat>,
    k: Option<ScaleFormat>,
    /// Whether the sum of the exponent fields is an output.
    exponents: bool,
}

impl ScalesFunction {
    fn present(&self) -> impl Iterator<Item = (&'static str, ScaleFormat)> {
        [("q_scale", self.q), ("k_scale", self.k)]
            .into_iter()
            .filter_map(|(name, scale)| Some((name, scale?)))
    }

    /// Width of the product of both significands.
    fn product_bits(&self) -> u32 {
        let precision =
            |scale: Option<ScaleFormat>| 1 + scale.map_or(SCALE.fraction_bits, ScaleFormat::fraction_bits);
        precision(self.q) + precision(self.k)
    }
}

impl VectorFunction for ScalesFunction {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let word = |scale: Option<ScaleFormat>| match scale {
            Some(ScaleFormat::Bf16) => "",
            Some(ScaleFormat::Q16) => "_q16",
            Some(_) => "_e8m0",
            None => "_none",
        };
        let name = match (self.q, self.k) {
            (Some(ScaleFormat::Bf16), Some(ScaleFormat::Bf16)) => "scales".to_string(),
            _ => format!("scales{}_by{}", word(self.q), word(self.k)),
        };
        let name = if self.exponents { name } else { format!("{name}_significands") };
        let exponents = if self.exponents { "; exponents = sum of both exponent fields" } else { "" };
        let doc = format!(
            "product = 1.f of q_scale * 1.f of k_scale, 0 where one counts as zero{exponents}.\nA scale that is not there is one."
        );
        let inputs = self.present().map(|(name, scale)| Pins::word(name, scale.bits())).collect();
        let mut outputs = vec![Pins::word("product", self.product_bits())];
        outputs.extend(self.exponents.then(|| Pins::word("exponents", SCALE.exponent_bits + 1)));
        (Tag::module(name, doc), inputs, outputs)
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let scales = || self.present().zip(inputs.iter().map(|words| &words[0]));
        let zero = scales()
            .filter(|((_, format), _)| format.has_flaws())
            .map(|((_, format), scale)| flaws(format, scale).0)
            .reduce(|a, b| a.or(&b))
            .map(|zero| zero.named("zero"));
        // The significand 1.f, unless the scale is a power of two, and the exponent field.
        let parts = |((_, format), scale): ((&str, ScaleFormat), &W)| match format {
            ScaleFormat::Bf16 => (
                Some(W::constant(1, 1).concat(&scale.slice(0, SCALE.fraction_bits))),
                scale.slice(SCALE.fraction_bits, SCALE.exponent_bits),
            ),
            ScaleFormat::Q16 => {
                let (significand, exponent) = normalise_q16(scale);
                (Some(significand), exponent)
            }
            _ => (None, scale.clone()),
        };
        let parts: Vec<(Option<W>, W)> = scales().map(parts).collect();
        let width = self.product_bits();
        let mut significands = parts.iter().filter_map(|(significand, _)| significand.as_ref());
        let product = match (significands.next(), significands.next()) {
            (Some(a), Some(b)) => a.mul(b),
            (Some(a), None) => a.append_zeros(SCALE.fraction_bits).zext(width),
            _ => W::constant(width, 1 << (2 * SCALE.fraction_bits)),
        };
        let product = product.named("significands");
        let product = vec![zero.map_or(product.clone(), |zero| zero.not().repeat(width).and(&product))];
        if !self.exponents {
            return vec![product];
        }
        let wide = SCALE.exponent_bits + 1;
        let exponents = match &parts[..] {
            [(_, a), (_, b)] => a.zext(wide).add(&b.zext(wide)),
            [(_, a)] => a.zext(wide).add(&W::constant(wide, SCALE.bias as u64)),
            _ => W::constant(wide, 2 * SCALE.bias as u64),
        };
        vec![product, vec![exponents]]
    }
}

function! {
    /// The multiplier of the sum of products: the product of significands, of `bits` bits, in base 2.
    pub struct ScaleMultiplierFunction { bits: u32 }
    name(this) = match this.bits {
        PRODUCT_BITS => "scale_in_base_2".to_string(),
        bits => format!("scale_in_base_2_of_{bits}"),
    };
    doc = format!("multiplier = product * log2(e) to {SCALE_PRODUCT_BITS} bits, rounded half up.");
    inputs { product: this.bits }
    outputs { multiplier: SCALE_PRODUCT_BITS }
    eval<W> {
        // Longer significands leave the multiplier's fraction as it is.
        let dropped = SCALE_PRODUCT_DROPPED + this.bits - PRODUCT_BITS;
        let product = product.mul(&W::constant(bits_for(LOG2E), LOG2E)).named("in_base_2");
        let half = W::constant(product.width(), 1 << (dropped - 1));
        [product.add(&half).named("rounded").drop_low(dropped)]
    }
}

function! {
    /// The right shift of a sum of integers times its multiplier.
    pub struct ScalePlacesFunction { numerics: Arc<Numerics> }
    name(this) = format!("scale_places_{}", right_bits(&this.numerics));
    doc = format!(
        "(q . k) multiplier goes right by places = {} - exponents, at least 0.", scaled_right(&this.numerics).0
    );
    inputs { exponents: SCALE.exponent_bits + 1 }
    outputs { places: right_bits(&this.numerics) }
    eval<W> {
        let n = &this.numerics;
        let (most, _) = scaled_right(n);
        let wide = (exponents.width() + 1).max(bits_for(most.unsigned_abs().into()) + 1);
        let most = W::constant(wide, most as i64 as u64 & ones(wide));
        let right = most.sub(&exponents.zext(wide)).named("distance");
        let right = right.msb().not().repeat(wide - 1).and(&right.slice(0, wide - 1)).named("not_left");
        [clamp(&right, right_bits(n))]
    }
}

function! {
    /// Converts a sum of integer products to the score.
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
    outputs { score: this.numerics.score_bits(), saturated: 1 }
    eval<W> {
        let n = &this.numerics;
        // The largest integers leave a bit of each term free, which takes the carry of the sum and that of rounding.
        let sum = total.add(&carry.zext(total.width())).named("sum");
        // One of the appended zeros is the rounding bit.
        let product = signed_times(&sum, &multiplier).append_zeros(scaled_right(n).1 + 1);
        let shifted = shift_right_signed(&product, &places).named("halves");
        let rounded = shifted.add(&W::constant(shifted.width(), 1)).named("rounded").drop_low(1);
        let (score, saturated) = saturate(&rounded, n.score_bits() - 1);
        [score, saturated]
    }
}

function! {
    /// Multiplies the natural score by the multiplier of both scales.
    pub struct SignificandsFunction { numerics: Arc<Numerics> }
    name(this) = format!("natural_to_scaled_score_{}_{}", this.numerics.natural_bits(), this.numerics.score_bits());
    doc = {
        let n = &this.numerics;
        format!(
            "score = natural * multiplier * 2^-{SCALE_PRODUCT_FRACTION}, {} integer and {} fraction bits, rounded half up, saturating.",
            n.score_integer, n.score_fraction
        )
    };
    inputs { natural: this.numerics.natural_bits(), multiplier: SCALE_PRODUCT_BITS }
    outputs { score: this.numerics.score_bits(), saturated: 1 }
    eval<W> {
        let n = &this.numerics;
        let product = signed_times(&natural, &multiplier).named("product");
        let drop = SCALE_PRODUCT_FRACTION + n.natural_fraction() - n.score_fraction;
        let wide = product.width() + 1;
        let half = W::constant(wide, 1 << (drop - 1));
        let rounded = product.sext(wide).add(&half).named("rounded").drop_low(drop);
        let (score, saturated) = saturate(&rounded, n.score_bits() - 1);
        [score, saturated]
    }
}

/// The multiplier of a sum of products and, only for sums of integers, its right shift, both in the cycle of the sum.
/// The query is in its register; scales are in the words after the d elements of q, k or both.
pub(super) fn multiplier(
    m: &mut Module,
    n: &Arc<Numerics>,
    d: usize,
    q: &[Wire],
    k: &[Wire],
) -> (Wire, Option<Wire>) {
    let [q_operand, k_operand] = operands(n, d);
    // The elements include the scales of blocks already. They include the exponents of scales of vectors too, unless
    // they are exact integers.
    let of_vector = |operand: Operand| {
        let format = operand.scale.format()?;
        (operand.scale.has_significand() || n.is_exact()).then_some(format)
    };
    let function =
        ScalesFunction { q: of_vector(q_operand), k: of_vector(k_operand), exponents: n.is_exact() };
    let mut numbers = Vec::new();
    if function.q.is_some() {
        numbers.extend(q_operand.scales(m, "q_scale", &q[q_operand.d..]));
    }
    if function.k.is_some() {
        numbers.extend(k_operand.scales(m, "k_scale", &k[k_operand.d..]));
    }
    let both = m.leaf("scales", VectorLeaf::new(function), &numbers);
    // Two multiplications, each in a separate stage if the dot product has two stages.
    let stages = dot_stages(n.tree_levels) as usize;
    let before = stages.min(1);
    let product = delay(m, "late_product", both[0], before);
    let [multiplier] = m.call("base_2", ScaleMultiplierFunction { bits: product.width() }, [product]);
    m.number(multiplier, unsigned(SCALE_PRODUCT_FRACTION));
    let multiplier = delay(m, "late_multiplier", multiplier, stages - before);
    let places = both.get(1).map(|&exponents| {
        let exponents = delay(m, "late_exponents", exponents, before);
        let [places] = m.call("places", ScalePlacesFunction { numerics: n.clone() }, [exponents]);
        delay(m, "late_places", places, stages - before)
    });
    (multiplier, places)
}

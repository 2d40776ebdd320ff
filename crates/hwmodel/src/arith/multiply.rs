//! Multiplication.

use super::round::{Unrounded, round_pack};
use super::unpack;
use crate::word::Word;
use flashd_spec::format::{Format, Subnormals};

/// `a * b`, rounded once to `to`. Operands are canonical and the formats have equal bias. The sign of a zero is
/// the exclusive or of the signs.
///
/// ```text
///   1.f * 1.f = product, pa + pb bits      1 x . x x x   or   0 1 . x x x
/// ```
pub fn multiply<W: Word>(fa: Format, a: &W, fb: Format, b: &W, to: Format) -> W {
    assert!(fa.bias == fb.bias && fa.bias == to.bias);
    let ua = unpack(fa, a, "a");
    let ub = unpack(fb, b, "b");
    let sign = ua.sign.xor(&ub.sign).named("sign");
    let product = ua.significand.mul(&ub.significand).named("product");
    let n = product.width();
    let wide = fa.exponent_bits.max(fb.exponent_bits) + 2;
    // Biased exponent of the product's top bit: e_a + e_b - bias + 1.
    let sum = ua.exponent.zext(wide).add(&ub.exponent.zext(wide)).named("exponent_sum");
    let offset = W::constant(wide, (fa.bias - 1) as u64);
    let (significand, exponent) = match to.subnormals {
        // Canonical operands are normal or zero: at most one leading zero.
        Subnormals::Flushed => {
            let high = product.msb();
            let shifted = product.slice(0, n - 1).append_zeros(1);
            let exponent = sum.sub(&offset).sub(&high.not().zext(wide));
            (high.select(&product, &shifted), exponent)
        }
        Subnormals::Supported => {
            let (significand, leading_zeros) = product.normalise();
            let wide = wide.max(leading_zeros.width() + 2);
            let exponent = sum.sub(&offset).sext(wide).sub(&leading_zeros.named("leading_zeros").zext(wide));
            (significand, exponent)
        }
    };
    let unrounded = Unrounded::new(sign, exponent.named("exponent"), significand.named("normalised"));
    round_pack(to, &unrounded)
}

//! FLASH-D's update with one rounding.

use super::fixed::clamp;
use super::round::{Unrounded, round_pack};
use super::unpack;
use crate::word::{Word, bits_for};
use flashd_spec::format::Format;

/// Bits kept below the accumulator's last place when both operands are aligned.
pub const ALIGN_GUARD_BITS: u32 = 3;
/// Bits that the product keeps below those.
pub const PRODUCT_GUARD_BITS: u32 = 2;

/// `o + u (v - o)`, or `v + u (o - v)` when `upper`, rounded once to the accumulator's format;
/// `u = m 2^-(WM - 1) 2^-right`.
///
/// Both operands are aligned to the larger exponent and truncated to [`ALIGN_GUARD_BITS`] guard bits; from there on
/// difference, product and sum are integers.
pub fn flash_d_update<W: Word>(acc: Format, o: &W, fmt: Format, v: &W, m: &W, right: &W, upper: &W) -> W {
    let (uo, uv) = (unpack(acc, o, "o"), unpack(fmt, v, "v"));
    let (p, e) = (acc.precision(), acc.exponent_bits);
    let n = p + ALIGN_GUARD_BITS;
    // 1. Align to the larger exponent.
    let o_lower = uo.exponent.lt(&uv.exponent).named("o_is_lower");
    let difference = uo.exponent.zext(e + 1).sub(&uv.exponent.zext(e + 1)).named("exponent_difference");
    let distance = o_lower.select(&difference.negate(), &difference).slice(0, e).named("distance");
    let amount_bits = bits_for(n as u64).min(e);
    let far = distance.any_above(amount_bits);
    let o_wide = uo.significand.append_zeros(n - p).named("o_wide");
    let v_wide = uv.significand.append_zeros(n - fmt.precision()).named("v_wide");
    let lower = o_lower.select(&o_wide, &v_wide);
    let shifted = lower.shr(&distance.slice(0, amount_bits)).and(&far.not().repeat(n)).named("aligned");
    let signed = |sign: &W, magnitude: &W, name: &str| {
        let x = magnitude.zext(n + 1).named(name);
        sign.select(&x.negate(), &x)
    };
    let o_fixed = signed(&uo.sign, &o_lower.select(&shifted, &o_wide), "o_magnitude").named("o_fixed");
    let v_fixed = signed(&uv.sign, &o_lower.select(&v_wide, &shifted), "v_magnitude").named("v_fixed");
    // 2. Multiply the difference by the factor.
    let d = n + 2;
    let way = v_fixed.sext(d).sub(&o_fixed.sext(d)).named("difference");
    let product = signed_times(&way, m).append_zeros(PRODUCT_GUARD_BITS).named("product");
    let shift = clamp(right, bits_for(product.width() as u64));
    let scaled = shift_right_signed(&product, &shift).drop_low(m.width() - 1).named("scaled");
    // 3. Add and round once.
    let wide = (n + PRODUCT_GUARD_BITS + 3).max(scaled.width() + 1);
    let base = upper.select(&v_fixed, &o_fixed).named("base").append_zeros(PRODUCT_GUARD_BITS).sext(wide);
    let step = scaled.sext(wide).xor(&upper.repeat(wide)).named("step");
    let sum = base.add(&step).add(&upper.zext(wide)).named("sum");
    let sign = sum.msb();
    let magnitude = sign.select(&sum.negate(), &sum).named("magnitude");
    let (significand, leading_zeros) = magnitude.normalise();
    let leading_zeros = leading_zeros.named("leading_zeros");
    let larger = o_lower.select(&uv.exponent, &uo.exponent);
    // The bit of weight 2^(exponent - bias) stands at n - 1 + PRODUCT_GUARD_BITS.
    let above = (wide - 1) - (n - 1 + PRODUCT_GUARD_BITS);
    let exponents = (e + 2).max(bits_for(wide as u64) + 2);
    let exponent = larger
        .zext(exponents)
        .add(&W::constant(exponents, above as u64))
        .sub(&leading_zeros.zext(exponents))
        .named("exponent");
    let sign = sign.and(&significand.msb());
    round_pack(acc, &Unrounded::new(sign, exponent, significand.named("normalised")))
}

/// `x m` for signed `x` and unsigned `m`: signed, as wide as both together.
pub fn signed_times<W: Word>(x: &W, m: &W) -> W {
    let (low, correction) = signed_terms(x, m);
    low.sub(&correction).named("signed_product")
}

/// `x m - less` for signed `x`, unsigned `m` and a bit `less`: signed, as wide as x and m together.
pub fn signed_times_less<W: Word>(x: &W, m: &W, less: &W) -> W {
    let (low, correction) = signed_terms(x, m);
    // low - correction - less = low + ~correction + ~less.
    let halves = low.concat(&W::constant(1, 1)).add(&correction.not().concat(&less.not()));
    halves.named("signed_product_halves").drop_low(1)
}

/// The product of x without its sign bit, and what that is too large: `m 2^(width - 1)` if the bit is set.
fn signed_terms<W: Word>(x: &W, m: &W) -> (W, W) {
    let wide = x.width() + m.width();
    let low = x.slice(0, x.width() - 1).mul(m).named("unsigned_product").zext(wide);
    (low, x.msb().repeat(m.width()).and(m).append_zeros(x.width() - 1).zext(wide))
}

/// `x >> amount`, arithmetic.
pub fn shift_right_signed<W: Word>(x: &W, amount: &W) -> W {
    let sign = x.msb().repeat(x.width()).named("sign_of_all");
    // ~x of a negative x is not negative; the second complement turns the zeros shifted in into ones.
    x.xor(&sign).shr(amount).xor(&sign)
}

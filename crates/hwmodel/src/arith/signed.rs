//! Products and shifts of signed numbers.

use crate::word::Word;

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

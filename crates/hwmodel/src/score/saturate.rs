//! Saturation of scores.

use crate::word::Word;

/// `x`, signed, cut to `1 + bits` bits; saturates at `+-(2^bits - 1)`.
pub(super) fn saturate<W: Word>(x: &W, bits: u32) -> W {
    let rest = x.drop_low(bits);
    let (negative, low) = (x.msb(), x.slice(0, bits));
    let fits = rest.all().or(&rest.any().not()).named("fits");
    // -2^bits fits, but its magnitude is above the limit.
    let lowest = negative.and(&low.any().not());
    let limit = negative.concat(&negative.not().repeat(bits - 1)).concat(&W::constant(1, 1));
    fits.and(&lowest.not()).select(&negative.concat(&low), &limit)
}

//! Saturation of scores.

use crate::word::Word;

/// `x`, signed, cut to `1 + bits` bits; saturates at `+-(2^bits - 1)`. Also returns whether it does.
pub(super) fn saturate<W: Word>(x: &W, bits: u32) -> (W, W) {
    saturate_if(x, bits, None)
}

/// As [`saturate`], and saturates also where `beyond` is high, with the sign of x.
pub(super) fn saturate_if<W: Word>(x: &W, bits: u32, beyond: Option<&W>) -> (W, W) {
    let rest = x.drop_low(bits);
    let (negative, low) = (x.msb(), x.slice(0, bits));
    let fits = rest.all().or(&rest.any().not()).named("fits");
    let fits = beyond.map_or_else(|| fits.clone(), |beyond| fits.and(&beyond.not()));
    // -2^bits fits, but its magnitude is above the limit.
    let lowest = negative.and(&low.any().not());
    let limit = negative.concat(&negative.not().repeat(bits - 1)).concat(&W::constant(1, 1));
    let saturates = fits.and(&lowest.not()).not().named("saturates");
    (saturates.select(&limit, &negative.concat(&low)), saturates)
}

//! Comparison and maximum.

use crate::word::Word;
use flashd_spec::format::Format;

/// `a < b` for canonical numbers (1 bit); +0 and -0 are equal.
pub fn less<W: Word>(fmt: Format, a: &W, b: &W) -> W {
    let (ma, mb) = (a.slice(0, fmt.width() - 1), b.slice(0, fmt.width() - 1));
    let both_zero = ma.or(&mb).any().not().named("both_zero");
    let (sa, sb) = (a.msb(), b.msb());
    // Sign-magnitude order: with equal signs the magnitudes decide, reversed for negative numbers.
    let of_negative = sb.select(&mb.lt(&ma), &both_zero.not()).named("less_than_negative");
    let of_positive = sb.not().and(&ma.lt(&mb));
    sa.select(&of_negative, &of_positive).named("less")
}

/// The larger of two canonical numbers; `a` if they are equal.
pub fn max<W: Word>(fmt: Format, a: &W, b: &W) -> W {
    less(fmt, a, b).select(b, a)
}

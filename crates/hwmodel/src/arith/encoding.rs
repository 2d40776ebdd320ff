//! Encodings: their fields and the numbers that the hardware computes with.

use crate::word::Word;
use flashd_spec::format::{Encoding, Format, Specials, Subnormals};

/// The fields of a canonical number.
#[derive(Clone, Debug)]
pub struct Unpacked<W> {
    /// Sign bit.
    pub sign: W,
    /// Biased exponent, E bits; subnormals have 1, flushed zeros have 0.
    pub exponent: W,
    /// Hidden bit and fraction, p bits; zero for zero.
    pub significand: W,
}

/// Splits a canonical encoding into its fields; `name` prefixes the names of intermediate wires.
pub fn unpack<W: Word>(fmt: Format, x: &W, name: &str) -> Unpacked<W> {
    let exponent = x.slice(fmt.fraction_bits, fmt.exponent_bits);
    let fraction = x.slice(0, fmt.fraction_bits);
    let hidden = exponent.any().label(|| format!("{name}_hidden"));
    let exponent = match fmt.subnormals {
        Subnormals::Flushed => exponent,
        // A subnormal has the exponent of the smallest normal.
        Subnormals::Supported if fmt.exponent_bits == 1 => W::constant(1, 1),
        Subnormals::Supported => exponent
            .drop_low(1)
            .concat(&exponent.bit(0).or(&hidden.not()))
            .label(|| format!("{name}_exponent")),
    };
    let significand = hidden.concat(&fraction).label(|| format!("{name}_significand"));
    Unpacked { sign: x.msb(), exponent, significand }
}

/// Set if the encoding is Inf or NaN (1 bit).
pub fn is_special<W: Word>(fmt: Format, x: &W) -> W {
    match fmt.specials {
        Specials::Ieee => x.slice(fmt.fraction_bits, fmt.exponent_bits).all(),
        Specials::AllOnes => x.slice(0, fmt.width() - 1).all(),
        Specials::None => W::zero(1),
    }
}

/// The number the hardware computes with: +0 for Inf and NaN, a zero with its sign for a flushed subnormal, sign and magnitude for an
/// integer.
pub fn canonical<W: Word>(fmt: Format, x: &W) -> W {
    if fmt.encoding == Encoding::TwosComplement {
        let sign = x.msb();
        let negated = x.slice(0, x.width() - 1).xor(&sign.repeat(x.width() - 1)).zext(x.width());
        let magnitude = negated.add(&sign.zext(x.width())).named("magnitude");
        // The lowest integer has no positive counterpart and saturates to the one above it.
        return sign.concat(&magnitude.msb().repeat(x.width() - 1).or(&magnitude.slice(0, x.width() - 1)));
    }
    let special = is_special(fmt, x);
    let x = match fmt.subnormals {
        Subnormals::Supported => x.clone(),
        Subnormals::Flushed => {
            let normal = x.slice(fmt.fraction_bits, fmt.exponent_bits).any();
            let fraction = x.slice(0, fmt.fraction_bits).and(&normal.repeat(fmt.fraction_bits));
            x.top(1 + fmt.exponent_bits).concat(&fraction)
        }
    };
    match fmt.specials {
        Specials::None => x,
        _ => special.select(&W::zero(fmt.width()), &x),
    }
}

/// Re-encodes a canonical number in a format with the same bias and fields at least as wide: exact, and no
/// gates.
pub fn widen<W: Word>(from: Format, x: &W, to: Format) -> W {
    assert!(from.bias == to.bias && from.subnormals == to.subnormals, "{from} to {to}");
    assert!(to.exponent_bits >= from.exponent_bits && to.fraction_bits >= from.fraction_bits);
    let exponent = x.slice(from.fraction_bits, from.exponent_bits).zext(to.exponent_bits);
    let fraction = x.slice(0, from.fraction_bits).append_zeros(to.fraction_bits - from.fraction_bits);
    x.msb().concat(&exponent).concat(&fraction)
}

/// The smallest format that holds every number of both formats; they must have the same bias.
pub fn common(a: Format, b: Format) -> Format {
    assert!(a.bias == b.bias && a.subnormals == b.subnormals);
    Format {
        exponent_bits: a.exponent_bits.max(b.exponent_bits),
        fraction_bits: a.fraction_bits.max(b.fraction_bits),
        specials: Specials::None,
        ..a
    }
}

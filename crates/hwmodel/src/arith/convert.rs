//! Conversions: float to fixed and back, float to a narrower float.

use super::round::{Unrounded, round_pack};
use super::unpack;
use crate::word::{Word, bits_for, ones};
use flashd_spec::format::{Format, Subnormals};

/// Converts a canonical number to another format, rounded once.
pub fn convert<W: Word>(from: Format, x: &W, to: Format) -> W {
    if from == to {
        return x.clone();
    }
    if to.is_integer() {
        return to_fixed(from, x, to.integer_fraction(), to.width() - 1);
    }
    if from.bias != to.bias {
        let (exponent, significand) = normalised(from, x);
        let offset = to.bias - from.bias;
        let wide = exponent.width().max(bits_for(offset.unsigned_abs() as u64) + 1) + 1;
        let offset = W::constant(wide, offset as i64 as u64 & ones(wide));
        let exponent = exponent.sext(wide).add(&offset).named("rebiased");
        return round_pack(to, &Unrounded::new(x.msb(), exponent, significand));
    }
    let u = unpack(from, x, "x");
    let wide = from.exponent_bits + 1;
    let unrounded = Unrounded {
        sign: u.sign,
        exponent: u.exponent.zext(wide),
        significand: u.significand,
        // With equal bias both formats have the same subnormal exponent: no further shift.
        aligned: true,
        one_more: None,
    };
    round_pack(to, &unrounded)
}

/// `|x| 2^scale`, rounded to nearest even to an unsigned integer of `bits` bits; all ones if it does not fit.
///
/// ```text
///   significand at the top of `bits`, then >> (top - exponent):   integer | guard | sticky
/// ```
pub fn to_magnitude<W: Word>(fmt: Format, x: &W, scale: i32, bits: u32) -> W {
    let p = fmt.precision();
    // The biased exponent at which the leading one lands on bit `bits - 1`.
    let top = bits as i32 - 1 + fmt.bias - scale;
    let guard_sticky = 2;
    let n = bits.max(p) + guard_sticky;
    // Subnormals (exponent 1, leading zeros) need no normalisation unless they reach the top.
    let (exponent, significand) = match top >= 1 {
        true => {
            let u = unpack(fmt, x, "x");
            (u.exponent.zext(fmt.exponent_bits + 1), u.significand)
        }
        false => normalised(fmt, x),
    };
    let placed = significand.append_zeros(n - p).named("placed");
    let nonzero = significand.msb();
    let largest = W::constant(bits, ones(bits));
    // top - exponent; negative where the value is too large.
    let wide = exponent.width().max(bits_for(top.unsigned_abs() as u64) + 1) + 1;
    let top = W::constant(wide, top as i64 as u64 & ones(wide));
    let distance = top.sub(&exponent.sext(wide)).named("distance");
    let too_large = distance.msb().and(&nonzero).named("too_large");
    let amount_bits = bits_for(n as u64).min(wide - 1);
    let far = distance.slice(0, wide - 1).any_above(amount_bits);
    let amount = far.repeat(amount_bits).or(&distance.slice(0, amount_bits)).named("shift");
    let shifted = placed.shift_right_sticky(&amount).named("shifted");
    let kept = shifted.top(bits);
    let guard = shifted.bit(n - bits - 1);
    let round_up = guard.and(&shifted.slice(0, n - bits - 1).any().or(&kept.bit(0))).named("round_up");
    let rounded = kept.zext(bits + 1).add(&round_up.zext(bits + 1)).named("rounded");
    too_large.or(&rounded.msb()).select(&largest, &rounded.slice(0, bits))
}

/// `x 2^scale`, rounded to nearest even to a two's complement integer of `1 + bits` bits, saturating at
/// `+-(2^bits - 1)`.
pub fn to_fixed<W: Word>(fmt: Format, x: &W, scale: i32, bits: u32) -> W {
    let magnitude = to_magnitude(fmt, x, scale, bits).zext(bits + 1).named("magnitude");
    x.msb().select(&magnitude.negate(), &magnitude)
}

/// `value 2^-fraction 2^-right` rounded to the format; `value` and `right` are unsigned words.
pub fn from_fixed<W: Word>(fmt: Format, sign: &W, value: &W, fraction: i32, right: &W) -> W {
    let (significand, leading_zeros) = value.normalise();
    let leading_zeros = leading_zeros.named("leading_zeros");
    // Biased exponent of the value's top bit before normalisation.
    let top = value.width() as i32 - 1 - fraction + fmt.bias;
    let reach = top.unsigned_abs() as u64 + ones(right.width()) + value.width() as u64;
    let wide = bits_for(reach) + 1;
    let top = W::constant(wide, (top as i64 as u64) & ones(wide));
    let exponent = top.sub(&right.zext(wide)).sub(&leading_zeros.zext(wide)).named("exponent");
    let unrounded = Unrounded::new(sign.clone(), exponent, significand.named("normalised"));
    round_pack(fmt, &unrounded)
}

/// The exponent of the leading one (biased, signed) and the normalised significand of a magnitude. Zero has
/// significand zero.
pub fn normalised<W: Word>(fmt: Format, x: &W) -> (W, W) {
    let u = unpack(fmt, x, "x");
    let wide = fmt.exponent_bits + 2;
    match fmt.subnormals {
        Subnormals::Flushed => (u.exponent.zext(wide), u.significand),
        Subnormals::Supported => {
            let (significand, leading_zeros) = u.significand.normalise();
            let wide = wide.max(leading_zeros.width() + 2);
            let exponent = u.exponent.zext(wide).sub(&leading_zeros.zext(wide)).named("x_exponent");
            (exponent, significand.named("x_normalised"))
        }
    }
}

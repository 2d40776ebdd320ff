//! Conversion between floats and the lanes' fixed point, which is scaled by the exponent of `max|v|`.
//!
//! `x`, the exponent field of `max|v|`, is loaded with q. Values are below `2^(x - bias + 1)`, and lanes
//! hold fractions of that power.

use super::normalise::normalise_filled;
use super::round::{Unrounded, gradual_exponent, round_pack};
use super::{canonical, unpack};
use crate::word::{Word, bits_for, ones};
use flashd_spec::format::{Format, Subnormals};

/// A value as a fraction of `2^(x - bias + 1)`: `+-significand 2^-p 2^-right`. If its exponent is above x, it
/// saturates to the largest significand at x and `outside` is set.
#[derive(Clone, Debug)]
pub struct Relative<W> {
    /// Sign.
    pub sign: W,
    /// Significand, p bits; all ones when outside.
    pub significand: W,
    /// `x - exponent`, E bits; 0 when outside.
    pub right: W,
    /// The exponent is above x.
    pub outside: W,
}

/// Aligns a value (any encoding) to the exponent field `x`.
pub fn relative<W: Word>(fmt: Format, v: &W, x: &W) -> Relative<W> {
    let u = unpack(fmt, &canonical(fmt, v).named("v_finite"), "v");
    let e = fmt.exponent_bits;
    if fmt.is_integer() {
        return Relative { sign: u.sign, significand: u.significand, right: W::zero(e), outside: W::zero(1) };
    }
    let distance = x.zext(e + 1).sub(&u.exponent.zext(e + 1)).named("distance");
    let nonzero = u.significand.any().named("nonzero");
    let outside = distance.msb().and(&nonzero).named("outside");
    let p = fmt.precision();
    Relative {
        sign: u.sign.and(&nonzero).named("negative"),
        significand: outside.repeat(p).or(&u.significand).named("v_saturated"),
        right: outside.not().repeat(e).and(&distance.slice(0, e)).named("v_right"),
        outside,
    }
}

/// `magnitude >> right`, with the top of `magnitude` at the top of the result. Returns `bits` bits and the guard
/// bit below them; the rest is dropped.
pub fn shift_with_guard<W: Word>(magnitude: &W, right: &W, bits: u32) -> (W, W) {
    let room = magnitude.width().max(bits + 1);
    let placed = magnitude.append_zeros(room - magnitude.width());
    let amount_bits = bits_for(room as u64).min(right.width());
    let shifted = placed.shr(&right.slice(0, amount_bits)).named("shifted");
    let shifted = match right.width() - amount_bits {
        0 => shifted,
        _ => right.drop_low(amount_bits).any().not().repeat(room).and(&shifted).named("shifted_in"),
    };
    (shifted.top(bits), shifted.bit(room - bits - 1))
}

/// `x >> right` with `fill` (1 bit) shifted in.
pub fn shift_right_filled<W: Word>(x: &W, right: &W, fill: &W) -> W {
    let width = x.width();
    (0..right.width()).fold(x.clone(), |x, i| {
        let step = (1 << i).min(width);
        let incoming = fill.repeat(step);
        let moved = if step < width { incoming.concat(&x.top(width - step)) } else { incoming };
        right.bit(i).select(&moved, &x).label(|| format!("right_by_{step}"))
    })
}

/// Converts a value to a fraction of `2^(x - bias + 1)` in two's complement, `bits` bits with the sign, rounded half away
/// from zero, saturating. Also returns whether the value is above the range.
pub fn value_to_fixed<W: Word>(fmt: Format, v: &W, x: &W, bits: u32) -> (W, W) {
    if fmt.is_integer() && bits >= fmt.width() {
        // The integer itself; only the lowest saturates.
        let lowest = v.msb().and(&v.slice(0, fmt.width() - 1).any().not()).named("lowest");
        let value = v.drop_low(1).concat(&v.bit(0).or(&lowest)).named("value");
        return (value.append_zeros(bits - fmt.width()), W::zero(1));
    }
    let r = relative(fmt, v, x);
    let (magnitude, guard) = shift_with_guard(&r.significand, &r.right, bits - 1);
    // The largest magnitude is not rounded up, and values outside saturate to it.
    let guard = guard.and(&magnitude.all().not());
    let magnitude = r.outside.repeat(bits - 1).or(&magnitude).named("magnitude");
    let round = guard.and(&r.outside.not()).named("round_up");
    // -m - g = ~m + (1 - g): one incrementer for sign and rounding.
    let coded = W::zero(1).concat(&magnitude).xor(&r.sign.repeat(bits)).named("coded");
    let fixed = coded.add(&round.xor(&r.sign).zext(bits));
    (fixed, r.outside)
}

/// Bits of a signed word that holds the difference of two biases, with room for a sum.
pub fn rebias_bits(rebias: i32) -> u32 {
    bits_for(rebias.unsigned_abs() as u64) + 3
}

/// Rounds a word of two's complement, whose last two bits are the guard and a sticky bit, to an integer format: to nearest, ties to even,
/// saturating. `beyond`: any number but zero saturates.
fn round_integer<W: Word>(to: Format, word: &W, beyond: Option<&W>) -> W {
    let bits = to.width();
    let kept = word.drop_low(2);
    let kept = kept.sext(kept.width().max(bits));
    let up = word.bit(1).and(&word.bit(0).or(&kept.bit(0))).named("round_up");
    let rounded = kept.slice(0, bits).sext(bits + 1).add(&up.zext(bits + 1)).named("rounded");
    let (sign, carried, low) = (rounded.msb(), rounded.bit(bits - 1), rounded.slice(0, bits - 1));
    // Two's complement has one number more below zero, which results do not use.
    let lowest = sign.and(&low.any().not());
    let over = sign.xor(&carried).or(&lowest).named("saturates");
    // A number that does not fit before rounding does not fit after.
    let above = (kept.width() > bits).then(|| kept.drop_low(bits - 1));
    let outside = above.map(|above| above.any().and(&above.all().not()).named("outside"));
    let over = outside.iter().chain(beyond).fold(over, |over, also| over.or(also).named("over"));
    // Rounding leaves the sign of a number that saturates as it is.
    let negative = word.msb();
    let limit = negative.concat(&negative.not().repeat(bits - 2).concat(&W::constant(1, 1)));
    over.select(&limit, &sign.concat(&low))
}

/// The place of the unit of integer results in an accumulator of values with the exponent field 0. Each step of the exponent is a place
/// less.
fn unit_place<W: Word>(from: Format, o: &W, to: Format) -> i32 {
    o.width() as i32 - 2 + from.bias - to.integer_fraction()
}

/// Converts `o`, a two's complement accumulator of integer values, to an integer format, rounded once.
pub fn fixed_to_integer<W: Word>(from: Format, o: &W, to: Format) -> W {
    // The one exponent of an integer format is 1.
    let place = unit_place(from, o, to) - 1;
    let placed = o.append_zeros((2 - place).max(0) as u32);
    let word = match place - 2 {
        dropped if dropped > 0 => {
            // A result in large units may lie wholly above the accumulator.
            let placed = placed.sext(placed.width().max(dropped as u32 + 3));
            let sticky = placed.slice(0, dropped as u32 + 1).any();
            placed.drop_low(dropped as u32 + 1).concat(&sticky).named("with_sticky")
        }
        _ => placed,
    };
    round_integer(to, &word, None)
}

/// Converts `o`, a two's complement fraction of `2^(x - bias + 1)`, to an integer format, rounded once; x is an exponent field of `from`.
fn float_range_to_integer<W: Word>(from: Format, o: &W, x: &W, to: Format) -> W {
    let place = unit_place(from, o, to);
    // A number that is to be shifted left by more than the result has bits saturates. Up to there, shift right from that far left.
    let room = to.width();
    let placed = o.append_zeros(room + 2);
    let wide = (from.exponent_bits + 2).max(rebias_bits(place + room as i32));
    let right = W::constant(wide, (place + room as i32) as i64 as u64 & ones(wide));
    let right = right.sub(&x.zext(wide)).named("right");
    let (beyond, amount) = (right.msb(), right.slice(0, wide - 1));
    let shifted = shift_right_signed_sticky(&placed, &amount);
    let beyond = beyond.and(&o.any()).named("beyond");
    round_integer(to, &shifted, Some(&beyond))
}

/// `x >> amount` in two's complement. Its last bit is the OR of itself and of all bits that are shifted out.
fn shift_right_signed_sticky<W: Word>(x: &W, amount: &W) -> W {
    let (width, sign) = (x.width(), x.msb());
    let stages = bits_for(width.into()).min(amount.width());
    let shifted = (0..stages).fold(x.clone(), |x, i| {
        let step = (1 << i).min(width - 1);
        let sticky = x.slice(0, step + 1).any();
        let moved = match width - step {
            1 => sticky,
            left => x.top(left).drop_low(1).concat(&sticky),
        };
        amount.bit(i).select(&sign.repeat(step).concat(&moved), &x).label(|| format!("right_by_{step}"))
    });
    match amount.width() - stages {
        0 => shifted,
        _ => {
            let far = amount.drop_low(stages).any();
            far.select(&sign.repeat(width - 1).concat(&x.any()), &shifted).named("shifted")
        }
    }
}

/// Converts `o`, a two's complement fraction of `2^(x - bias + 1)`, to the format `to`, rounded once; x is an exponent field of `from`.
pub fn fixed_to_format<W: Word>(from: Format, o: &W, x: &W, to: Format) -> W {
    if to.is_integer() {
        return match from.is_integer() {
            true => fixed_to_integer(from, o, to),
            false => float_range_to_integer(from, o, x, to),
        };
    }
    let sign = o.msb();
    let rebias = to.bias - from.bias;
    let bits = o.width().max(to.precision()) + 1;
    let wide = (to.exponent_bits.max(from.exponent_bits) + 2)
        .max(bits_for(bits as u64) + 2)
        .max(rebias_bits(rebias));
    // The exponent of a leading one `above` places over 2^(x - bias), less the leading zeros.
    let exponent_after = |above: i32, leading_zeros: &W| {
        let top = match above + rebias {
            0 => x.zext(wide),
            places => x.zext(wide).add(&W::constant(wide, places as i64 as u64 & ones(wide))),
        };
        top.sub(&leading_zeros.zext(wide)).named("exponent")
    };
    if to.subnormals == Subnormals::Supported && (rebias != 0 || from.subnormals != to.subnormals) {
        // x can be far below the exponents of `to`. Rounding then shifts to the subnormal quantum, which needs the exact magnitude.
        // The word's top bit weighs 2^(x - bias + 1); only the magnitude of -1 reaches it.
        let o = o.append_zeros(bits - o.width());
        let magnitude = sign.select(&o.negate(), &o).named("magnitude");
        let (significand, leading_zeros) = magnitude.normalise();
        let exponent = exponent_after(1, &leading_zeros.named("leading_zeros"));
        return round_pack(to, &Unrounded::new(sign, exponent, significand.named("normalised")));
    }
    // -o = ~o + 1: normalisation shifts ones in, and rounding adds the one (`one_more`). With subnormals the sign's place stays:
    // x + 1 - leading zeros is then at least 1 if x is the room. Without, the last place of -o is that of o, and a carry leaves it where
    // that is 0: a magnitude of 1 has its leading one within the word, and that of -1 gets it by rounding.
    let (above, room, magnitude, more) = match to.subnormals {
        Subnormals::Supported => {
            let wide = o.append_zeros(bits - o.width());
            (1, Some(x), wide.xor(&sign.repeat(bits)), sign.clone())
        }
        Subnormals::Flushed => {
            let fraction = o.slice(0, o.width() - 1);
            let fraction = fraction.append_zeros((to.precision() + 1).saturating_sub(fraction.width()));
            let upper = fraction.drop_low(1).xor(&sign.repeat(fraction.width() - 1));
            let last = fraction.slice(0, 1);
            (0, None, upper.concat(&last.or(&sign)), sign.and(&last.not()).named("carries"))
        }
    };
    let magnitude = magnitude.named("magnitude");
    let (significand, leading_zeros) = normalise_filled(&magnitude, room, &more);
    let leading_zeros = leading_zeros.named("leading_zeros");
    let exponent = exponent_after(above, &leading_zeros);
    let significand = significand.named("normalised");
    let (exponent, aligned) = gradual_exponent(to, &exponent, &significand);
    round_pack(to, &Unrounded { sign, exponent, significand, aligned, one_more: Some(more) })
}

/// Saturates an unsigned word to `bits` bits; a narrower word stays as it is.
pub fn clamp<W: Word>(right: &W, bits: u32) -> W {
    if right.width() <= bits {
        return right.clone();
    }
    let beyond = right.drop_low(bits).any();
    beyond.repeat(bits).or(&right.slice(0, bits)).named("clamped")
}

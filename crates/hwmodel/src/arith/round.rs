//! Rounding to a format: to nearest, ties to even, saturating, with the format's underflow rule.

use crate::word::{Word, ones};
use flashd_spec::format::{Encoding, Format, Subnormals};

/// A sign and magnitude before rounding, exact or with a sticky bit.
///
/// ```text
///   significand, n bits      1 f f f f | g s s s     (leading one at the top, unless the value is zero)
///                            p bits kept  ^ guard, the rest is sticky
///   value = significand / 2^(n-1) * 2^(exponent - bias),  exponent signed
/// ```
#[derive(Clone, Debug)]
pub struct Unrounded<W> {
    /// Sign bit, kept even if the magnitude is zero or rounds to zero.
    pub sign: W,
    /// Biased exponent of the leading one, two's complement.
    pub exponent: W,
    /// Normalised significand; its lowest bit may be sticky.
    pub significand: W,
    /// If set, a significand without its leading one has exponent 1: it is subnormal and needs no further
    /// shift. Otherwise a missing leading one means zero.
    pub aligned: bool,
    /// One bit that is added to the significand's last place, as in `-o = ~o + 1`: rounding includes it without another
    /// carry chain. Not allowed if rounding has to shift to the subnormal quantum.
    pub one_more: Option<W>,
}

impl<W> Unrounded<W> {
    /// A normalised significand, or zero.
    pub fn new(sign: W, exponent: W, significand: W) -> Self {
        Unrounded { sign, exponent, significand, aligned: false, one_more: None }
    }
}

/// The exponent after a left shift that stops at exponent 1: without its leading one a significand, zero too, has
/// exponent 1. Also returns the value for [`Unrounded::aligned`]: true if the format keeps subnormals.
pub fn gradual_exponent<W: Word>(fmt: Format, exponent: &W, significand: &W) -> (W, bool) {
    match fmt.subnormals {
        Subnormals::Flushed => (exponent.clone(), false),
        Subnormals::Supported => {
            let one = W::constant(exponent.width(), 1);
            (significand.msb().select(exponent, &one).named("gradual_exponent"), true)
        }
    }
}

/// Rounds to nearest even and packs; overflow saturates to the largest finite number.
///
/// With subnormals, the significand is first shifted right to the subnormal quantum. Without, it is rounded to `p` bits with an
/// unbounded exponent; then results below the smallest normal become zero with their sign.
pub fn round_pack<W: Word>(fmt: Format, x: &Unrounded<W>) -> W {
    let p = fmt.precision();
    let f = fmt.fraction_bits;
    // Room for the signed exponent, one carry, and every exponent field of the format.
    let exponent_bits = x.exponent.width().max(fmt.exponent_bits + 1) + 1;
    let exponent = x.exponent.sext(exponent_bits).label(|| "exponent_signed".into());
    let gradual = fmt.subnormals == Subnormals::Supported && !x.aligned;
    // At least one bit below the kept ones is the guard. A shift to the quantum collects the dropped bits in the last bit, which must
    // not be the guard.
    let n = x.significand.width().max(p + 1 + u32::from(gradual));
    let significand = x.significand.append_zeros(n - x.significand.width());

    let nonzero = significand.msb();
    let (exponent, significand) = if gradual {
        let one = W::constant(exponent_bits, 1);
        let below = exponent.slt(&one).named("below_normal");
        let room = one.sub(&exponent).named("subnormal_shift");
        // A shift by n moves everything into the sticky bit, so larger shifts are clamped.
        let amount_bits = crate::word::bits_for(n as u64);
        let far = room.drop_low(amount_bits.min(exponent_bits - 1)).any();
        let near = room.slice(0, amount_bits.min(exponent_bits - 1));
        let clamped =
            far.select(&W::constant(near.width(), ones(near.width())), &near).named("subnormal_clamped");
        let shift = below.repeat(near.width()).and(&clamped).named("subnormal_amount");
        let shifted = significand.shift_right_sticky(&shift).named("denormalised");
        (below.not().repeat(exponent_bits).and(&exponent).named("exponent_field"), shifted)
    } else if x.aligned {
        // Without its leading one the significand has exponent 1, and the field is 0.
        let low = exponent.slice(0, 1).and(&nonzero);
        (exponent.drop_low(1).concat(&low).named("exponent_field"), significand)
    } else {
        (exponent, significand)
    };
    let kept = significand.top(p);
    let guard = significand.bit(n - p - 1);
    let odd = kept.bit(0);
    let up = match n - p {
        1 => guard.and(&odd),
        _ => guard.and(&significand.slice(0, n - p - 1).any().or(&odd)),
    };
    let round_up = match &x.one_more {
        None => up,
        Some(more) => {
            assert!(!gradual && n == x.significand.width());
            // One more than the bits below: above half if the guard is set, exactly half if all below the guard are ones.
            let half = match n - p {
                1 => odd.clone(),
                _ => significand.slice(0, n - p - 1).all().and(&odd),
            };
            more.select(&guard.or(&half).named("up_with_one_more"), &up.named("up_without"))
        }
    }
    .named("round_up");
    // Exponent field and fraction are one integer: a carry out of the fraction adds one to the field. The hidden bit is not part of it;
    // where it is missing, the field is 0 or the result becomes zero below.
    let bits = exponent_bits + f;
    let unrounded = exponent.concat(&kept.slice(0, f)).named("unrounded");
    let magnitude = unrounded.add(&round_up.zext(bits)).named("rounded");
    let largest = W::constant(bits, fmt.max_finite());
    let saturate = largest.slt(&magnitude).named("saturate");
    let packed = saturate
        .select(&W::constant(fmt.width() - 1, fmt.max_finite()), &magnitude.slice(0, fmt.width() - 1));
    let packed = match fmt.subnormals {
        Subnormals::Flushed => {
            let underflow = magnitude.slt(&W::constant(bits, 1 << f)).or(&nonzero.not()).named("underflow");
            underflow.select(&W::zero(fmt.width() - 1), &packed)
        }
        Subnormals::Supported if gradual => nonzero.select(&packed, &W::zero(fmt.width() - 1)),
        Subnormals::Supported => packed,
    };
    encoded(fmt, &x.sign, &packed.named("encoded"))
}

/// The encoding of a magnitude with a sign: sign and magnitude, or two's complement, which has one zero.
fn encoded<W: Word>(fmt: Format, sign: &W, magnitude: &W) -> W {
    match fmt.encoding {
        Encoding::SignMagnitude => sign.concat(magnitude),
        Encoding::TwosComplement => {
            let bits = fmt.width();
            let flipped = magnitude.zext(bits).xor(&sign.repeat(bits)).named("flipped");
            flipped.add(&sign.zext(bits))
        }
    }
}

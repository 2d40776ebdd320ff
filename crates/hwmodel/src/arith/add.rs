//! Addition and subtraction.

use super::normalise::normalise_limited;
use super::round::{Unrounded, gradual_exponent, round_pack};
use super::{common, unpack, widen};
use crate::word::Word;
use flashd_spec::format::{Format, Subnormals};

/// Guard, round and sticky: the bits that alignment keeps below the last one, so that the sum rounds correctly.
pub const GUARD_ROUND_STICKY_BITS: u32 = 3;

/// `a + b`, rounded once to `to`. Operands are canonical and their formats have equal bias. An exact zero is +0
/// unless both operands are -0.
///
/// ```text
///   large   1 f f f f f f f | 0 0 0
///   small     >> (e_large - e_small), sticky
///   sum   c 1 f f f f f f f | g r s        one carry bit on top
/// ```
pub fn add<W: Word>(fa: Format, a: &W, fb: Format, b: &W, to: Format) -> W {
    let fmt = common(common(fa, fb), to);
    add_common(fmt, &widen(fa, a, fmt).named("a_wide"), &widen(fb, b, fmt).named("b_wide"), to)
}

/// `a - b`, rounded once to `to`.
pub fn sub<W: Word>(fa: Format, a: &W, fb: Format, b: &W, to: Format) -> W {
    let negated = b.msb().not().concat(&b.slice(0, b.width() - 1));
    add(fa, a, fb, &negated, to)
}

fn add_common<W: Word>(fmt: Format, a: &W, b: &W, to: Format) -> W {
    let magnitude = fmt.width() - 1;
    // 1. The operand of larger magnitude leads.
    let swap = a.slice(0, magnitude).lt(&b.slice(0, magnitude)).named("swap");
    let large = swap.select(b, a).named("larger");
    let small = swap.select(a, b).named("smaller");
    let l = unpack(fmt, &large, "larger");
    let s = unpack(fmt, &small, "smaller");
    let effective_subtraction = l.sign.xor(&s.sign).named("effective_subtraction");
    // 2. Align the smaller one.
    let distance = l.exponent.sub(&s.exponent).named("distance");
    let aligned = s
        .significand
        .append_zeros(GUARD_ROUND_STICKY_BITS)
        .named("smaller_extended")
        .shift_right_sticky(&distance)
        .named("smaller_aligned");
    // 3. Add or subtract; the result is never negative.
    let n = fmt.precision() + GUARD_ROUND_STICKY_BITS + 1;
    let augend = l.significand.append_zeros(GUARD_ROUND_STICKY_BITS).zext(n);
    let addend = aligned.zext(n).xor(&effective_subtraction.repeat(n)).named("addend");
    // One's complement and a carry in.
    let sum = augend.add(&addend).named("sum_less_carry").add(&effective_subtraction.zext(n)).named("sum");
    // 4. Normalise. The leading one sits at most one place above the larger operand's.
    // Subnormals have exponent 1; the shift stops there.
    let (normalised, leading_zeros) = match fmt.subnormals {
        Subnormals::Supported => normalise_limited(&sum, &l.exponent),
        Subnormals::Flushed => sum.normalise(),
    };
    let normalised = normalised.named("normalised");
    let leading_zeros = leading_zeros.named("leading_zeros");
    let wide = (fmt.exponent_bits + 2).max(leading_zeros.width() + 2);
    let top_exponent = l.exponent.zext(wide).add(&W::constant(wide, 1)).named("top_exponent");
    let exponent = top_exponent.sub(&leading_zeros.zext(wide)).named("exponent");
    let (exponent, aligned) = gradual_exponent(fmt, &exponent, &normalised);
    // 5. Round. Sign: the larger operand's; an exact difference of zero is +0.
    let zero = normalised.msb().not();
    let both_negative = l.sign.and(&s.sign);
    let sign = match fmt.subnormals {
        // A sum of subnormals has no leading one to test; it is zero only if all bits are.
        Subnormals::Supported => sum.any().select(&l.sign, &both_negative),
        Subnormals::Flushed => zero.select(&both_negative, &l.sign),
    }
    .named("sign");
    round_pack(to, &Unrounded { sign, exponent, significand: normalised, aligned, one_more: None })
}

//! What FA2's fixed-point scalar paths share: the widths of a reference and of the distance from it, and the addend of l.

use crate::word::Word;
use flashd_spec::numerics::Numerics;

/// Width of the reference, two's complement: an integer from `-2^IS` to `2^IS` plus the exponent of l.
pub fn reference_bits(n: &Numerics) -> u32 {
    n.reference_bits()
}

/// Width of tau, unsigned with FS fraction bits: 1 and the reference less the score.
pub(super) fn tau_bits(n: &Numerics) -> u32 {
    n.score_bits() + 2
}

/// The hold rule for the header of a module; empty without one.
pub(super) fn hold_text(n: &Numerics) -> String {
    n.hold_threshold.map_or(String::new(), |t| {
        format!("; holds when score - reference <= -{}", t as f64 / (n.score_fraction as f64).exp2())
    })
}

/// A factor e times `2^left` in the fixed point of l: FL fraction bits, rounded half up.
pub(super) fn factor_to_sum<W: Word>(n: &Numerics, e: &W, left: u32) -> W {
    let w = n.factor_significand;
    let (m, right) = (e.slice(0, w), e.drop_low(w));
    // m 2^(FL - (WM - 1) + left) 2^-right, with one more fraction bit for rounding.
    let place = n.state_fraction + 1 + left;
    let placed = m.append_zeros(place).shr(&right).drop_low(w - 1).named("e_halves");
    let wide = placed.width() + 1;
    placed.zext(wide).add(&W::constant(wide, 1)).drop_low(1).named("e_fixed")
}

//! The lanes' factor as significand and right shift, which needs no rounding to a format, no packing and no
//! unpacking: `u = m 2^-(WM - 1) 2^-right`, `m` with its leading one (or zero for zero).

use crate::arith::exp::{octave_value, octaves};
use crate::arith::normalise::normalise_within;
use crate::word::Word;
use flashd_spec::numerics::{ExpNumerics, Numerics};
use flashd_spec::pwl::Table;

/// Width of `right`: the octave and a place for normalisation and rounding.
pub fn right_bits(n: &Numerics) -> u32 {
    n.octave_bits + 1
}

/// Width of a factor: `right` above `m`.
pub fn factor_bits(n: &Numerics, significand: u32) -> u32 {
    right_bits(n) + significand
}

/// `|x|` (fixed point with `fraction` bits) as a base-2 argument: rounded half up to B fraction bits, saturated.
pub fn base_2_argument<W: Word>(n: &Numerics, magnitude: &W, fraction: u32) -> W {
    crate::arith::exp::rounded_argument(n.exp.value_fraction, n.octave_argument_bits(), magnitude, fraction)
}

/// The value of a table of powers of two at `t = k + f`, as `(significand, right)` of `WM` bits.
pub fn table_factor<W: Word>(n: &Numerics, table: &Table, t: &W, significand: u32) -> (W, W) {
    let exp: &ExpNumerics = &n.exp;
    let r = octaves(exp, t);
    significand_and_right(&octave_value(table, &r), &r.octave, significand, right_bits(n))
}

/// `value` (one integer bit, never zero) `2^-octave`: rounded half up to `bits` significand bits, with the shift
/// that is left, in `right_bits` bits.
pub fn significand_and_right<W: Word>(value: &W, octave: &W, bits: u32, right_bits: u32) -> (W, W) {
    // Tables of powers of two and of sigmoids, and reciprocals, are above 1/4.
    let (normalised, leading_zeros) = normalise_within(value, 2);
    let wide = normalised.width().max(bits + 1);
    let normalised = normalised.append_zeros(wide - normalised.width()).named("normalised");
    let half = W::constant(wide + 1, 1 << (wide - bits - 1));
    let rounded = normalised.zext(wide + 1).add(&half).top(bits + 1).named("rounded");
    // All ones rounds up to the next power of two.
    let carry = rounded.msb();
    let m = carry.concat(&W::zero(bits - 1)).or(&rounded.slice(0, bits)).named("m");
    let right = octave.zext(right_bits).add(&leading_zeros.zext(right_bits)).named("right_unrounded");
    (m, right.sub(&carry.zext(right_bits)).named("right_of_m"))
}

/// The constant one as a factor.
pub fn one(significand: u32) -> u64 {
    1 << (significand - 1)
}

/// What the lanes get as their factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorForm {
    /// A number of the weight's format.
    Format,
    /// Significand of this many bits and right shift, see the head of this file.
    Shift(u32),
}

impl FactorForm {
    /// Width of the bus.
    pub fn bits(self, n: &Numerics) -> u32 {
        match self {
            FactorForm::Format => n.weight.width(),
            FactorForm::Shift(significand) => factor_bits(n, significand),
        }
    }

    /// Significand bits.
    pub fn significand(self, n: &Numerics) -> u32 {
        match self {
            FactorForm::Format => n.weight.precision(),
            FactorForm::Shift(significand) => significand,
        }
    }

    /// For module names.
    pub fn suffix(self, n: &Numerics) -> String {
        match self {
            FactorForm::Format => n.weight.ident(),
            FactorForm::Shift(significand) => format!("m{significand}"),
        }
    }
}

//! The factor of the lanes as a significand and a right shift: `u = m 2^-(WM - 1) 2^-right`.
//!
//! `m` has WM bits and its leading one, or is 0 for `u = 0`. This form needs no rounding to a format, no packing and no
//! unpacking.

use crate::arith::exp::{octave_value, octaves};
use crate::arith::normalise::normalise_within;
use crate::rtl::Number;
use crate::word::Word;
use flashd_spec::numerics::{ExpNumerics, Numerics};
use flashd_spec::pwl::Table;

/// Width of `right`: one bit more than an octave, because normalisation and rounding change it.
pub fn right_bits(n: &Numerics) -> u32 {
    n.octave_bits + 1
}

/// Width of a factor `{right, m}`, with a significand m of `significand` bits.
pub fn factor_bits(n: &Numerics, significand: u32) -> u32 {
    right_bits(n) + significand
}

/// Converts `|x|`, fixed point with `fraction` fraction bits, to a base-2 argument t: rounded half up to B fraction
/// bits, saturating.
pub fn base_2_argument<W: Word>(n: &Numerics, magnitude: &W, fraction: u32) -> W {
    crate::arith::exp::rounded_argument(n.exp.value_fraction, n.octave_argument_bits(), magnitude, fraction)
}

/// Reads a table of powers of two at `t = k + f`. Returns `(m, right)`, m with `significand` bits.
pub fn table_factor<W: Word>(n: &Numerics, table: &Table, t: &W, significand: u32) -> (W, W) {
    let exp: &ExpNumerics = &n.exp;
    let r = octaves(exp, t);
    significand_and_right(&octave_value(table, &r), &r.octave, significand, right_bits(n))
}

/// Normalises `value 2^-octave`, where `value` has one integer bit and is above 1/4. Returns `(m, right)`: m rounded
/// half up to `bits` bits, and the right shift in `right_bits` bits.
pub fn significand_and_right<W: Word>(value: &W, octave: &W, bits: u32, right_bits: u32) -> (W, W) {
    // Tables of powers of two and of sigmoids, and reciprocals, are above 1/4.
    let (normalised, leading_zeros) = normalise_within(value, 2);
    let wide = normalised.width().max(bits + 1);
    let normalised = normalised.append_zeros(wide - normalised.width()).named("normalised");
    let half = W::constant(wide + 1, 1 << (wide - bits - 1));
    let rounded = normalised.zext(wide + 1).add(&half).top(bits + 1).named("rounded");
    // A significand of all ones rounds up to the next power of two.
    let carry = rounded.msb();
    let m = carry.concat(&W::zero(bits - 1)).or(&rounded.slice(0, bits)).named("m");
    let right = octave.zext(right_bits).add(&leading_zeros.zext(right_bits)).named("right_unrounded");
    (m, right.sub(&carry.zext(right_bits)).named("right_of_m"))
}

/// The factor 1: `{right = 0, m = 2^(WM - 1)}`, with WM = `significand`.
pub fn one(significand: u32) -> u64 {
    1 << (significand - 1)
}

/// How the factor of the lanes is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorForm {
    /// A number of the format of weights.
    Format,
    /// `{right, m}` with a significand m of this many bits; see [`table_factor`].
    Shift(u32),
}

impl FactorForm {
    /// Width of the factor.
    pub fn bits(self, n: &Numerics) -> u32 {
        match self {
            FactorForm::Format => n.weight.width(),
            FactorForm::Shift(significand) => factor_bits(n, significand),
        }
    }

    /// The format of its number.
    pub fn number(self, n: &Numerics) -> Number {
        match self {
            FactorForm::Format => Number::Float(n.weight),
            // Where exponentials reach 2, their wire carries half of them.
            FactorForm::Shift(significand) => {
                Number::Factor { significand, fraction: significand - 1 - n.exponential_octaves() }
            }
        }
    }

    /// Bits of its significand.
    pub fn significand(self, n: &Numerics) -> u32 {
        match self {
            FactorForm::Format => n.weight.precision(),
            FactorForm::Shift(significand) => significand,
        }
    }

    /// Its part of the names of modules.
    pub fn suffix(self, n: &Numerics) -> String {
        match self {
            FactorForm::Format => n.weight.ident(),
            FactorForm::Shift(significand) => format!("m{significand}"),
        }
    }
}

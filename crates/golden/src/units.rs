//! The arithmetic units of a format as pure functions on encodings.
//!
//! All round to nearest, ties to even, saturate at the largest finite number and read Inf and NaN as +0.
//! They take formats of up to 26 significand bits, which covers every intermediate format of the cores.

use crate::carrier::Carrier;
use crate::round::{Rounder, decode, encode};
use crate::scalar::{self, Scalar};
use flashd_spec::format::Format;
use flashd_spec::numerics::{ExpNumerics, ReciprocalNumerics, argument_integer_bits};
use std::sync::OnceLock;

/// Sum `a + b`. The exact sum of opposite numbers is +0.
pub fn add(fmt: Format, a: u64, b: u64) -> u64 {
    round(fmt, decode(fmt, a).add_odd(decode(fmt, b)))
}

/// Difference `a - b`, the sum of `a` and the negated `b`.
pub fn sub(fmt: Format, a: u64, b: u64) -> u64 {
    round(fmt, decode(fmt, a).add_odd(-decode(fmt, b)))
}

/// Product `a * b`; its sign is the exclusive or of the signs, even for zero.
pub fn mul(fmt: Format, a: u64, b: u64) -> u64 {
    round(fmt, decode(fmt, a) * decode(fmt, b))
}

/// The larger number; `a` if they are equal, as +0 and -0 are.
pub fn max(fmt: Format, a: u64, b: u64) -> u64 {
    let (x, y) = (decode(fmt, a), decode(fmt, b));
    encode(fmt, if y > x { y } else { x })
}

/// Rounds x once to the format, to nearest, ties to even, saturating. NaN becomes +0.
pub fn round_from_f64(fmt: Format, x: f64) -> u64 {
    if x.is_nan() { 0 } else { round(fmt, x) }
}

/// `exp(x)` for `x <= 0`, from a table of `segments` segments; a positive x counts as zero.
pub fn exp(fmt: Format, segments: u32, a: u64) -> u64 {
    unit(fmt, segments, a, Scalar::exp_unit)
}

/// `sigmoid(x)`. For negative x its relative error is bounded down to `x = -32`; below that it is constant.
pub fn sigmoid(fmt: Format, segments: u32, a: u64) -> u64 {
    unit(fmt, segments, a, Scalar::sigmoid_unit)
}

/// `softplus(x) = ln(1 + e^x)`.
pub fn softplus(fmt: Format, segments: u32, a: u64) -> u64 {
    unit(fmt, segments, a, Scalar::softplus_unit)
}

/// `log2(1 + 2^x)` for `x <= 0`; the sign of x is ignored.
pub fn log2p1(fmt: Format, segments: u32, a: u64) -> u64 {
    unit(fmt, segments, a, Scalar::log2p1_unit)
}

/// `ln(x)` for `x` in (0, 1]. Zero and negative arguments count as the smallest positive number; from 1 on
/// the result is +0.
pub fn ln(fmt: Format, segments: u32, a: u64) -> u64 {
    unit(fmt, segments, a, Scalar::ln_unit)
}

/// The paper's sigmoid, its argument clamped to [-6, 11).
pub fn paper_sigmoid(fmt: Format, segments: u32, a: u64) -> u64 {
    unit(fmt, segments, a, Scalar::paper_sigmoid_unit)
}

/// `1 / x` from FA2's divider; `1 / +-0` is the largest finite number with the zero's sign.
pub fn reciprocal(fmt: Format, a: u64) -> u64 {
    // Searching for the cheapest divider of a precision is slow: do it once.
    static DIVIDERS: [OnceLock<ReciprocalNumerics>; 32] = [const { OnceLock::new() }; 32];
    let p = fmt.precision();
    let divider = DIVIDERS[p as usize].get_or_init(|| ReciprocalNumerics::new(p));
    encode(fmt, reciprocal_value(fmt, divider, decode(fmt, a)))
}

/// [`reciprocal`] of a value, as a value.
pub(crate) fn reciprocal_value(fmt: Format, numerics: &ReciprocalNumerics, x: f64) -> f64 {
    if x == 0.0 {
        return decode(fmt, fmt.max_finite()).copysign(x);
    }
    let bits = numerics.table.value_fraction;
    let (exponent, f) = scalar::split(x.abs(), bits);
    let r = scalar::reciprocal(numerics, f) as f64;
    let scaled = r * crate::round::pow2(-(bits as i32) - exponent);
    Rounder::<f64>::new(fmt).round(scaled.copysign(x))
}

/// Converts float to fixed point: the integer nearest to `value * 2^shift_plus_fraction`, ties to even, saturated
/// at `+-(2^width_magnitude_bits - 1)`, with at most 50 magnitude bits.
pub fn fixed_from_float(fmt: Format, bits: u64, shift_plus_fraction: i32, width_magnitude_bits: u32) -> i64 {
    scalar::fixed(decode(fmt, bits), shift_plus_fraction, (1 << width_magnitude_bits) - 1)
}

fn round(fmt: Format, x: f64) -> u64 {
    encode(fmt, Rounder::<f64>::new(fmt).round(x))
}

fn unit(fmt: Format, segments: u32, a: u64, f: impl Fn(&Scalar, f64) -> f64) -> u64 {
    encode(
        fmt,
        f(&Scalar::new(fmt, ExpNumerics::new(segments, argument_integer_bits(fmt, 0))), decode(fmt, a)),
    )
}

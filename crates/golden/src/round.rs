//! Rounding from a carrier to a format, and conversion between encodings and values.

use crate::carrier::Carrier;
use flashd_spec::format::{Format, Subnormals};

/// Rounds a carrier to a format: to nearest, ties to even, saturating at the largest finite number. Subnormals
/// are flushed or kept as the format says. The result keeps the argument's sign, even if it is zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounder<C> {
    /// Carrier bits below the format's significand, at least 1.
    dropped: u32,
    /// Largest finite number.
    max: C,
    /// Magnitudes below this underflow. With gradual underflow it is the smallest normal number. With flushing it is half an ulp
    /// of a p-bit significand below that: numbers from there on round up to the smallest normal number.
    small: C,
    /// Adding and subtracting this rounds a small magnitude to a multiple of the smallest subnormal.
    magic: C,
    /// The format flushes subnormals.
    flush: bool,
}

impl<C: Carrier> Rounder<C> {
    pub(crate) fn new(format: Format) -> Self {
        let p = format.precision();
        assert!(p + 2 <= C::PRECISION, "{format} does not fit its carrier");
        let min_normal = pow2(format.min_exponent());
        let quantum = format.min_exponent() - format.fraction_bits as i32;
        let flush = format.subnormals == Subnormals::Flushed;
        let small = if flush { min_normal * (1.0 - pow2(-(p as i32) - 1)) } else { min_normal };
        Rounder {
            dropped: C::PRECISION - p,
            max: C::from_f64(decode(format, format.max_finite())),
            small: C::from_f64(small),
            magic: C::from_f64(if flush { 0.0 } else { pow2(quantum + C::PRECISION as i32 - 1) }),
            flush,
        }
    }

    /// The rounded value, and whether it saturated. `FLUSH` must equal `self.flush`; as a constant it keeps the
    /// branch out of loops over lanes.
    #[inline(always)]
    pub(crate) fn round_flag<const FLUSH: bool>(&self, x: C) -> (C, bool) {
        let magnitude = x.abs();
        let normal = magnitude.drop_bits(self.dropped);
        let tiny = if FLUSH { C::default() } else { (magnitude + self.magic) - self.magic };
        let rounded = if magnitude < self.small { tiny } else { normal };
        let over = rounded > self.max;
        (if over { self.max } else { rounded }.copysign(x), over)
    }

    /// The rounded value; see [`Rounder::round_flag`] for `FLUSH`.
    #[inline(always)]
    pub(crate) fn round_as<const FLUSH: bool>(&self, x: C) -> C {
        self.round_flag::<FLUSH>(x).0
    }

    /// The rounded value, and whether it saturated.
    #[inline]
    pub(crate) fn round_by_format(&self, x: C) -> (C, bool) {
        if self.flush { self.round_flag::<true>(x) } else { self.round_flag::<false>(x) }
    }

    /// The rounded value.
    #[inline]
    pub(crate) fn round(&self, x: C) -> C {
        self.round_by_format(x).0
    }
}

/// `2^e` for `-1022 <= e <= 1023`, from its bits.
#[inline(always)]
pub(crate) fn pow2(e: i32) -> f64 {
    debug_assert!((-1022..=1023).contains(&e));
    f64::from_bits(((e + 1023) as u64) << 52)
}

/// Value of an encoding as the hardware reads it: Inf and NaN are +0, and a subnormal of a flushing format is
/// a zero with its sign. Exact for every format of up to 53 significand bits.
#[inline(always)]
pub fn decode(format: Format, bits: u64) -> f64 {
    let magnitude = format.magnitude(bits);
    if magnitude > format.max_finite() {
        return 0.0;
    }
    let fraction = magnitude & format.fraction_mask();
    let exponent = (magnitude >> format.fraction_bits) as i32;
    let value = match (exponent, format.subnormals) {
        (0, Subnormals::Flushed) => 0.0,
        (0, Subnormals::Supported) => {
            fraction as f64 * pow2(format.min_exponent() - format.fraction_bits as i32)
        }
        _ => {
            let fraction = fraction << (52 - format.fraction_bits);
            f64::from_bits(fraction | (((exponent - format.bias + 1023) as u64) << 52))
        }
    };
    if bits & format.sign_bit() != 0 { -value } else { value }
}

/// Encoding of a value that the format represents exactly. Any other value is the caller's error and is
/// truncated; [`crate::units::round_from_f64`] rounds.
pub fn encode(format: Format, x: f64) -> u64 {
    let negative = x.is_sign_negative();
    let magnitude = x.abs();
    if magnitude == 0.0 {
        return format.signed(0, negative);
    }
    if magnitude < pow2(format.min_exponent()) {
        let bits = (magnitude * pow2(format.fraction_bits as i32 - format.min_exponent())) as u64;
        return format.signed(bits, negative);
    }
    let bits = magnitude.to_bits();
    let exponent = (bits >> 52) as i32 - 1023 + format.bias;
    let fraction = (bits & ((1 << 52) - 1)) >> (52 - format.fraction_bits);
    format.signed(((exponent as u64) << format.fraction_bits) | fraction, negative)
}

/// Exponent field of an encoding; 1 for zeros and subnormals.
#[inline(always)]
pub(crate) fn biased_exponent(format: Format, bits: u64) -> u64 {
    ((format.magnitude(bits) >> format.fraction_bits) & format.exponent_mask()).max(1)
}

/// The exponent to which fixed-point lanes scale values: the largest exponent field of the encodings without Inf and NaN, at
/// least 1. Every value's magnitude is below `2^(v_exponent - bias + 1)`.
pub fn v_exponent(format: Format, v: &[u64]) -> u64 {
    // The largest magnitude has the largest exponent. A host asks this of every value: no branch.
    let most = format.max_finite();
    let magnitudes = v.iter().map(|&bits| format.magnitude(bits));
    let largest = magnitudes.fold(0, |largest, m| if m > most { largest } else { largest.max(m) });
    biased_exponent(format, largest)
}

/// The exponent to which lanes scale when a caller gives `exponent`. Integer formats have only one, 1, and their cores have no
/// port for it.
pub(crate) fn given_exponent(format: Format, exponent: u64) -> u64 {
    if format.is_integer() { 1 } else { exponent }
}

/// Splits a positive value of the format into `significand * 2^exponent`. The significand is an integer with
/// the hidden bit (without it for a subnormal).
pub(crate) fn parts(format: Format, x: f64) -> (u64, i32) {
    let bits = encode(format, x);
    let fraction = bits & format.fraction_mask();
    let exponent = ((bits >> format.fraction_bits) & format.exponent_mask()) as i32;
    let hidden = if exponent == 0 { 0 } else { 1 << format.fraction_bits };
    (hidden | fraction, exponent.max(1) - format.bias - format.fraction_bits as i32)
}

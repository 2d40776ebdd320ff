//! Number formats as data: every width and constant follows from one description.
//!
//! A format is `sign | exponent | fraction`; named formats are only aliases. An integer of W bits is described as a float with 1 exponent bit, W - 2 fraction
//! bits and subnormals with an ulp of 1: its magnitude field is then the integer's magnitude. Only the encoding differs: two's complement.
//!
//! ```text
//!   W-1    W-2 .. F      F-1 .. 0
//!  +------+-------------+----------+
//!  | sign |  exponent E | fraction F|   W = 1 + E + F, p = F + 1 (with the hidden bit)
//!  +------+-------------+----------+
//! ```

mod integers;
mod names;
mod operands;
mod scale;

pub use names::{FORMAT_ALIASES, SCALE_ALIASES, SCALED_FORMATS, UnknownFormat, scaled_format};
pub use operands::{Encodings, Formats, Words};
pub use scale::{Scale, ScaleFormat, Scales};

use serde::{Deserialize, Serialize};
use std::fmt;

/// Which encodings are not finite numbers (specials).
///
/// A special computes as +0 and marks its query invalid. No unit produces one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Specials {
    /// IEEE 754: an exponent of all ones is Inf or NaN.
    Ieee,
    /// OCP e4m3: only `S.1111.111` is NaN, there is no infinity.
    AllOnes,
    /// Every encoding is a finite number (internal formats).
    None,
}

/// Treatment of numbers below the smallest normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Subnormals {
    /// Gradual underflow, as in IEEE 754.
    Supported,
    /// Subnormal operands count as zero with their sign. A result is rounded to p bits with an unbounded exponent, then flushed to zero with its sign if it is
    /// below the smallest normal.
    Flushed,
}

/// Encoding of negative numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Encoding {
    /// A sign bit above the magnitude.
    SignMagnitude,
    /// Two's complement. The lowest encoding has no positive counterpart and counts as the one above it: -128 as -127.
    TwosComplement,
}

/// A binary floating-point format. Results round to nearest, ties to even, and saturate at
/// [`Format::max_finite`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// Exponent field width E in bits.
    pub exponent_bits: u32,
    /// Fraction field width F in bits (without the hidden bit).
    pub fraction_bits: u32,
    /// Exponent bias: a normal number is `(-1)^sign * 1.fraction * 2^(exponent - bias)`.
    pub bias: i32,
    /// Encodings that are not finite.
    pub specials: Specials,
    /// Treatment of subnormal numbers.
    pub subnormals: Subnormals,
    /// Encoding of negative numbers.
    pub encoding: Encoding,
}

// Rounding a tensor calls the accessors for each of its elements, from other crates: `inline` lets these hoist a format's constants.
impl Format {
    /// bfloat16, 1-8-7, subnormals flushed.
    pub const BF16: Format = Format::ieee(8, 7, Subnormals::Flushed);
    /// OCP fp8 e4m3, 1-4-3: bias 7, no infinities, NaN = `S.1111.111`, largest 448.
    pub const FP8_E4M3: Format =
        Format { specials: Specials::AllOnes, ..Format::ieee(4, 3, Subnormals::Supported) };
    /// OCP fp8 e5m2, 1-5-2: IEEE-like, largest 57344.
    pub const FP8_E5M2: Format = Format::ieee(5, 2, Subnormals::Supported);
    /// IEEE binary16, 1-5-10.
    pub const FP16: Format = Format::ieee(5, 10, Subnormals::Supported);
    /// IEEE binary32, 1-8-23, subnormals flushed.
    pub const FP32: Format = Format::ieee(8, 23, Subnormals::Flushed);

    /// The named formats of results, in the order in which users see them.
    pub const NAMED: [(&'static str, Format); 5] = [
        ("bf16", Format::BF16),
        ("fp8-e4m3", Format::FP8_E4M3),
        ("fp8-e5m2", Format::FP8_E5M2),
        ("fp16", Format::FP16),
        ("fp32", Format::FP32),
    ];

    /// OCP fp6 e3m2, 1-3-2: bias 3, every encoding a finite number, largest 28.
    pub const FP6_E3M2: Format =
        Format { specials: Specials::None, ..Format::ieee(3, 2, Subnormals::Supported) };
    /// OCP fp6 e2m3, 1-2-3: bias 1, every encoding a finite number, largest 7.5.
    pub const FP6_E2M3: Format =
        Format { specials: Specials::None, ..Format::ieee(2, 3, Subnormals::Supported) };
    /// OCP fp4 e2m1, 1-2-1: bias 1, every encoding a finite number, largest 6.
    pub const FP4_E2M1: Format =
        Format { specials: Specials::None, ..Format::ieee(2, 1, Subnormals::Supported) };

    /// Named floats that are too narrow for results: elements of blocks that share a scale.
    pub const NARROW: [(&'static str, Format); 3] =
        [("fp6-e3m2", Format::FP6_E3M2), ("fp6-e2m3", Format::FP6_E2M3), ("fp4-e2m1", Format::FP4_E2M1)];

    /// Element formats of OCP Microscaling.
    pub const MX: [Format; 6] = [
        Format::FP8_E4M3,
        Format::FP8_E5M2,
        Format::FP6_E3M2,
        Format::FP6_E2M3,
        Format::FP4_E2M1,
        Format::INT8,
    ];

    /// The names of the floats in [`Format::NAMED`], as messages list them.
    pub fn float_names() -> String {
        Format::NAMED.map(|(name, _)| name).join(", ")
    }

    /// All named formats: result floats, integers, narrow floats.
    pub fn named() -> impl Iterator<Item = (&'static str, Format)> {
        Format::NAMED.into_iter().chain(Format::INTEGERS).chain(Format::NARROW)
    }

    /// Set if the format is a float of 8 bits or more.
    pub const fn is_wide_float(self) -> bool {
        !self.is_integer() && self.width() >= 8
    }

    /// Set if results can have this format: floats and integers of 8 bits or more.
    pub const fn is_of_results(self) -> bool {
        self.width() >= 8
    }

    /// The names of the formats of results, as messages list them.
    pub fn result_names() -> String {
        format!(
            "{}, int8, int16, or {} with so many fraction bits",
            Format::float_names(),
            Format::fixed_names()
        )
    }

    /// Exponent and fraction fields of an encoding, without the sign; of an integer, its magnitude.
    #[inline]
    pub const fn magnitude(&self, bits: u64) -> u64 {
        let (sign, low) = (bits & self.sign_bit(), bits & (self.sign_bit() - 1));
        match self.encoding {
            Encoding::TwosComplement if sign != 0 && low == 0 => self.max_finite(),
            Encoding::TwosComplement if sign != 0 => self.sign_bit() - low,
            _ => low,
        }
    }

    /// Encodes a magnitude (exponent and fraction fields) with a sign.
    #[inline]
    pub const fn signed(&self, magnitude: u64, negative: bool) -> u64 {
        match (negative, self.encoding) {
            (false, _) => magnitude,
            (true, Encoding::SignMagnitude) => self.sign_bit() | magnitude,
            (true, Encoding::TwosComplement) => magnitude.wrapping_neg() & (2 * self.sign_bit() - 1),
        }
    }

    const fn ieee(exponent_bits: u32, fraction_bits: u32, subnormals: Subnormals) -> Format {
        Format {
            exponent_bits,
            fraction_bits,
            bias: (1 << (exponent_bits - 1)) - 1,
            specials: Specials::Ieee,
            subnormals,
            encoding: Encoding::SignMagnitude,
        }
    }

    /// Total width W = 1 + E + F in bits.
    #[inline]
    pub const fn width(&self) -> u32 {
        1 + self.exponent_bits + self.fraction_bits
    }

    /// Significand width p = F + 1, hidden bit included.
    pub const fn precision(&self) -> u32 {
        self.fraction_bits + 1
    }

    /// Mask of the fraction field.
    #[inline]
    pub const fn fraction_mask(&self) -> u64 {
        (1 << self.fraction_bits) - 1
    }

    /// Largest value of the exponent field.
    #[inline]
    pub const fn exponent_mask(&self) -> u64 {
        (1 << self.exponent_bits) - 1
    }

    /// Mask of the sign bit.
    #[inline]
    pub const fn sign_bit(&self) -> u64 {
        1 << (self.width() - 1)
    }

    /// Unbiased exponent of the smallest normal number.
    #[inline]
    pub const fn min_exponent(&self) -> i32 {
        1 - self.bias
    }

    /// Magnitude bits (exponent and fraction) of the largest finite number.
    #[inline]
    pub const fn max_finite(&self) -> u64 {
        let all = self.sign_bit() - 1;
        match self.specials {
            Specials::Ieee => all - self.fraction_mask() - 1,
            Specials::AllOnes => all - 1,
            Specials::None => all,
        }
    }

    /// Magnitude bits of the smallest positive number that is not flushed.
    pub const fn min_positive(&self) -> u64 {
        match self.subnormals {
            Subnormals::Supported => 1,
            Subnormals::Flushed => 1 << self.fraction_bits,
        }
    }

    /// Bit pattern of 1.0; of fixed-point numbers below 1, of the largest.
    pub const fn one(&self) -> u64 {
        match self.is_integer() {
            true if self.integer_fraction() > self.fraction_bits as i32 => self.max_finite(),
            true => 1 << self.integer_fraction(),
            false => (self.bias as u64) << self.fraction_bits,
        }
    }

    /// Set if the encoding is Inf or NaN.
    #[inline]
    pub const fn is_special(&self, bits: u64) -> bool {
        self.magnitude(bits) > self.max_finite()
    }

    /// Default format of results for operands in this one: the same for fixed-point numbers and floats of 8 bits or more, a float for all others. A mean needs
    /// fraction bits that those do not have, and an exponent: most means are far below the largest value. The float is bf16, and fp16 for int16, whose
    /// largest number it exceeds.
    pub const fn of_results(self) -> Format {
        match self.is_wide_float() || self.is_fixed_point() {
            true => self,
            false if self.width() > 8 => Format::FP16,
            false => Format::BF16,
        }
    }

    /// The same exponents and policies with `fraction_bits` bits of fraction, as sign and magnitude.
    pub(crate) const fn with_fraction(self, fraction_bits: u32) -> Format {
        Format { fraction_bits, encoding: Encoding::SignMagnitude, ..self }
    }

    /// Set if every finite number of `other` is one of this format.
    pub fn holds(&self, other: Format) -> bool {
        let (largest, smallest) =
            (|f: &Format| f.value(f.max_finite()), |f: &Format| f.value(f.min_positive()));
        // The smallest normal number uses all fraction bits; a subnormal has none to spare.
        let fraction = self.fraction_bits >= other.fraction_bits;
        let reaches = match (self.subnormals, other.subnormals) {
            (Subnormals::Supported, Subnormals::Flushed) => {
                self.min_exponent()
                    - (self.fraction_bits - other.fraction_bits.min(self.fraction_bits)) as i32
                    <= other.min_exponent()
            }
            _ => smallest(self) <= smallest(&other),
        };
        fraction && largest(self) >= largest(&other) && reaches
    }

    /// Format of a wider accumulator: the same exponents with `fraction_bits` bits of fraction. `AllOnes` becomes `None`, so that e4m3's largest magnitudes
    /// stay finite; with at least the format's own fraction bits it holds every number of `self`.
    pub const fn accumulator(&self, fraction_bits: u32) -> Format {
        Format {
            exponent_bits: self.exponent_bits,
            fraction_bits,
            bias: self.bias,
            specials: match self.specials {
                Specials::Ieee => Specials::Ieee,
                Specials::AllOnes | Specials::None => Specials::None,
            },
            subnormals: self.subnormals,
            encoding: Encoding::SignMagnitude,
        }
    }

    /// Format of a sum that may be `2^octaves` times the largest number: the same bias, and exponent bits that reach so far; `fraction_bits` of fraction, no
    /// specials. Eight exponent bits reach far beyond any value and stay.
    pub const fn sum(&self, fraction_bits: u32, octaves: u32) -> Format {
        let reaches = crate::bits::bits_for(self.exponent_mask() + octaves as u64);
        let sum = self.accumulator(fraction_bits);
        match self.exponent_bits < Format::BF16.exponent_bits {
            true => Format { exponent_bits: reaches, specials: Specials::None, ..sum },
            false => sum,
        }
    }

    /// The format, with a larger bias and more exponent bits if `2^-octaves` is below its normal numbers.
    pub(crate) const fn with_least_weight(self, octaves: u32) -> Format {
        let bits = crate::bits::bits_for(octaves as u64 + 1) + 1;
        match self.bias > octaves as i32 {
            true => self,
            false => Format { exponent_bits: bits, bias: (1 << (bits - 1)) - 1, ..self },
        }
    }

    /// Format of an intermediate result that does not saturate (a difference, a product): one exponent bit more with the same bias, so that twice the largest
    /// value fits; `fraction_bits` of fraction, no specials.
    pub const fn intermediate(&self, fraction_bits: u32) -> Format {
        Format {
            exponent_bits: self.exponent_bits + 1,
            fraction_bits,
            bias: self.bias,
            specials: Specials::None,
            subnormals: self.subnormals,
            encoding: Encoding::SignMagnitude,
        }
    }

    /// The number that the hardware computes with: specials are +0, flushed subnormals are zero with their sign.
    #[inline]
    pub fn value(&self, bits: u64) -> f64 {
        if self.is_special(bits) {
            return 0.0;
        }
        let sign = if bits & self.sign_bit() != 0 { -1.0 } else { 1.0 };
        let bits = self.magnitude(bits);
        let exponent = ((bits >> self.fraction_bits) & self.exponent_mask()) as i32;
        let fraction = (bits & self.fraction_mask()) as f64;
        let hidden = (1u64 << self.fraction_bits) as f64;
        // A power of two that is normal in f64, because exponents have few bits.
        let scale =
            |e: i32| f64::from_bits(((1023 + e - self.bias - self.fraction_bits as i32) as u64) << 52);
        match (exponent, self.subnormals) {
            (0, Subnormals::Flushed) => sign * 0.0,
            (0, Subnormals::Supported) => sign * fraction * scale(1),
            _ => sign * (hidden + fraction) * scale(exponent),
        }
    }

    /// Both formats as part of a name, joined by `between`; one if they are equal.
    pub fn ident_with(&self, between: &str, other: Format) -> String {
        if *self == other { self.ident() } else { format!("{}_{between}{}", self.ident(), other.ident()) }
    }

    /// Name with underscores, as in module and file names: `bf16`, `fp8_e4m3`, or `e8f16` for a format that has no name.
    pub fn ident(&self) -> String {
        self.to_string().replace('-', "_")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Format::named().find(|(_, named)| named == self) {
            Some((name, _)) => f.write_str(name),
            None if self.is_integer() => write!(f, "int{}q{}", self.width(), self.integer_fraction()),
            None => write!(f, "e{}f{}", self.exponent_bits, self.fraction_bits),
        }
    }
}

impl Serialize for Format {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let name = String::deserialize(d)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

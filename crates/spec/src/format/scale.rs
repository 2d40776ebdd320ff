//! Scales of operands, and the format of a scaled element.

use super::{Encoding, Format, Specials, Subnormals};
use crate::bits::{bits_for, ones};
use serde::{Deserialize, Serialize};

/// What multiplies the elements of an operand, and how many elements share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// None. The host folds the scale of a tensor into `score_shift` or into the results.
    None,
    /// A positive bf16 number for each vector.
    Row,
    /// A power of two for each vector, E8M0.
    RowE8m0,
    /// Queries only: a number of at most 1 for each query, Q0.16. An attention unit gives all queries of a job the job's SCALE.
    RowQ16,
    /// OCP Microscaling: a power of two, E8M0, for each block of 32 elements.
    #[serde(alias = "mxfp8", alias = "mxfp6", alias = "mxfp4", alias = "mxint8", alias = "ocp-mx")]
    Mx,
    /// NVFP4: an e4m3 number for each block of 16 elements, which are e2m1.
    #[serde(alias = "nv")]
    Nvfp4,
}

/// Encoding of a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScaleFormat {
    /// bf16. A subnormal counts as zero. A negative number, Inf or NaN counts as zero and marks the query invalid.
    Bf16,
    /// OCP E8M0: `2^(bits - 127)`, without sign or zero. All ones is NaN, which counts as zero and marks the query invalid.
    E8m0,
    /// OCP e4m3 with subnormals. A negative number or NaN counts as zero and marks the query invalid; -0 is zero.
    E4m3,
    /// Q0.16: `bits / 2^16`, where 0 encodes 1. Every encoding is a positive number.
    Q16,
}

impl ScaleFormat {
    /// Bias of E8M0: the encoding 127 is 1.
    pub const E8M0_BIAS: i32 = 127;

    /// Width in bits.
    pub const fn bits(self) -> u32 {
        match self {
            ScaleFormat::Bf16 | ScaleFormat::Q16 => 16,
            ScaleFormat::E8m0 | ScaleFormat::E4m3 => 8,
        }
    }

    /// Its float format; `None` for E8M0, which is an exponent alone, and Q0.16, which has none.
    pub const fn float(self) -> Option<Format> {
        match self {
            ScaleFormat::Bf16 => Some(Format::BF16),
            ScaleFormat::E8m0 | ScaleFormat::Q16 => None,
            ScaleFormat::E4m3 => Some(Format::FP8_E4M3),
        }
    }

    /// The encoding of 1.
    pub const fn one(self) -> u64 {
        match self {
            ScaleFormat::Bf16 => Format::BF16.one(),
            ScaleFormat::E8m0 => Self::E8M0_BIAS as u64,
            ScaleFormat::E4m3 => Format::FP8_E4M3.one(),
            ScaleFormat::Q16 => 0,
        }
    }

    /// Set if some encodings are zero or make a query invalid.
    pub fn has_flaws(self) -> bool {
        self != ScaleFormat::Q16
    }

    /// Fraction bits of the significand that multiplies a whole sum; a power of two has as many as bf16.
    pub const fn fraction_bits(self) -> u32 {
        match self {
            ScaleFormat::Q16 => self.bits() - 1,
            _ => Format::BF16.fraction_bits,
        }
    }

    /// The number that a core computes with, and whether the encoding is invalid as a scale.
    pub fn value(self, bits: u64) -> (f64, bool) {
        match self.float() {
            None if self == ScaleFormat::Q16 => {
                let one = 1u64 << self.bits();
                (if bits == 0 { 1.0 } else { bits as f64 / one as f64 }, false)
            }
            None if bits == ones(self.bits()) => (0.0, true),
            None => (f64::from(bits as i32 - Self::E8M0_BIAS).exp2(), false),
            Some(format) => {
                let value = format.value(bits);
                let flushed = format.subnormals == Subnormals::Flushed;
                // Any bf16 scale with the sign bit set is invalid; an e4m3 one may be -0.
                let negative = bits & format.sign_bit() != 0 && (flushed || value != 0.0);
                let special = negative || format.is_special(bits);
                (if special { 0.0 } else { value.abs() }, special)
            }
        }
    }
}

impl Scale {
    /// Its option word.
    pub const fn word(self) -> &'static str {
        match self {
            Scale::None => "none",
            Scale::Row => "row",
            Scale::RowE8m0 => "row-e8m0",
            Scale::RowQ16 => "row-q16",
            Scale::Mx => "mx",
            Scale::Nvfp4 => "nvfp4",
        }
    }

    /// Encoding of its numbers; `None` without scales.
    pub const fn format(self) -> Option<ScaleFormat> {
        match self {
            Scale::None => None,
            Scale::Row => Some(ScaleFormat::Bf16),
            Scale::RowQ16 => Some(ScaleFormat::Q16),
            Scale::RowE8m0 | Scale::Mx => Some(ScaleFormat::E8m0),
            Scale::Nvfp4 => Some(ScaleFormat::E4m3),
        }
    }

    /// Elements per block that share a scale; `None` if there are no blocks.
    pub const fn block(self) -> Option<usize> {
        match self {
            Scale::None | Scale::Row | Scale::RowE8m0 | Scale::RowQ16 => None,
            Scale::Mx => Some(32),
            Scale::Nvfp4 => Some(16),
        }
    }

    /// Elements that share a scale, in a vector of d elements.
    pub fn shared_by(self, d: usize) -> usize {
        self.block().unwrap_or(d)
    }

    /// Scales of a vector of d elements, `ceil(d / block)`; the last block may be shorter.
    pub fn count(self, d: usize) -> usize {
        if self == Scale::None { 0 } else { d.div_ceil(self.shared_by(d)) }
    }

    /// Words that hold the scales of a vector of d elements. These words are as wide as an element and follow the elements; scales are packed from the lowest
    /// bit on, and the rest of the last word is 0.
    pub fn words(self, element: Format, d: usize) -> usize {
        let bits = self.format().map_or(0, ScaleFormat::bits) as usize * self.count(d);
        bits.div_ceil(element.width() as usize)
    }

    /// Set if blocks of elements share a scale.
    pub const fn is_of_blocks(self) -> bool {
        self.block().is_some()
    }

    /// Set if the scale's significand multiplies the whole score, and only its power of two the elements.
    pub const fn has_significand(self) -> bool {
        matches!(self, Scale::Row | Scale::RowQ16)
    }

    /// Set if blocks of these elements can have this scale; always set without blocks.
    pub fn takes(self, element: Format) -> bool {
        match self {
            Scale::None | Scale::Row | Scale::RowE8m0 | Scale::RowQ16 => true,
            Scale::Mx => Format::MX.contains(&element),
            Scale::Nvfp4 => element == Format::FP4_E2M1,
        }
    }

    /// Exponent of the elements' ulp relative to the scale: OCP's int8 in MX has 2 integer and 6 fraction bits.
    pub fn element_exponent(self, element: Format) -> i32 {
        if self == Scale::Mx && element.is_integer() { -(element.fraction_bits as i32) } else { 0 }
    }

    /// Format of a scaled element: a float that holds exactly every product of an element with its scale. Of a scale with a significand only the power of two is multiplied
    /// here; its significand multiplies the whole sum.
    pub fn product(self, element: Format) -> Format {
        let Some(scale) = self.format() else { return element };
        // Exponents of the smallest and the largest positive number.
        let ends = |format: Format| {
            let exponent = |bits: u64| format.value(bits).log2().floor() as i32;
            (exponent(format.min_positive()), exponent(format.max_finite()))
        };
        let (low, high) = ends(element);
        let (scale_low, scale_high, places) = match scale {
            ScaleFormat::E8m0 => (-ScaleFormat::E8M0_BIAS, ScaleFormat::E8M0_BIAS, 0),
            ScaleFormat::Bf16 => (Format::BF16.min_exponent(), Format::BF16.bias, 0),
            ScaleFormat::Q16 => (-(scale.bits() as i32), 0, 0),
            // The product of two significands has the sum of their lengths and may carry into the next octave.
            ScaleFormat::E4m3 => {
                let (low, high) = ends(Format::FP8_E4M3);
                (low, high + 1, Format::FP8_E4M3.precision())
            }
        };
        let least = low + scale_low + self.element_exponent(element);
        let most = high + scale_high + self.element_exponent(element);
        Format {
            // Exponent field 0 encodes zero alone.
            exponent_bits: bits_for((most - least + 1) as u64),
            fraction_bits: element.fraction_bits + places,
            bias: 1 - least,
            specials: Specials::None,
            subnormals: Subnormals::Flushed,
            encoding: Encoding::SignMagnitude,
        }
    }
}

/// The scales of a core's operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scales {
    /// Scale of queries.
    pub q: Scale,
    /// Scale of keys.
    pub k: Scale,
    /// Scale of values.
    pub v: Scale,
}

impl Scales {
    /// No scales.
    pub const NONE: Scales = Scales { q: Scale::None, k: Scale::None, v: Scale::None };

    /// The scales with the letters of their operands.
    pub fn by_operand(&self) -> [(&'static str, Scale); 3] {
        [("q", self.q), ("k", self.k), ("v", self.v)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q16_is_a_fraction_and_zero_is_one() {
        let scale = ScaleFormat::Q16;
        assert_eq!((scale.value(0), scale.value(scale.one())), ((1.0, false), (1.0, false)));
        for bits in 1..1u64 << 16 {
            assert_eq!(scale.value(bits), (bits as f64 / 65536.0, false), "{bits:#x}");
        }
        // A product with any of them is a number of the elements' product format.
        for format in [Format::BF16, Format::FP8_E4M3, Format::INT8, Format::fixed(16, 8)] {
            let product = Scale::RowQ16.product(format);
            let ends = [format.min_positive(), format.max_finite()].map(|bits| format.value(bits));
            for end in [ends[0] / 65536.0, ends[1]] {
                let (low, high) = (product.min_positive(), product.max_finite());
                assert!((product.value(low)..=product.value(high)).contains(&end), "{format} {end}");
            }
        }
    }
}

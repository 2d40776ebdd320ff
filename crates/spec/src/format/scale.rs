//! What the elements of an operand are multiplied by, and what they are then.

use super::{Encoding, Format, Specials, Subnormals};
use crate::bits::{bits_for, ones};
use serde::{Deserialize, Serialize};

/// What the elements of an operand are multiplied by, and where that comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Nothing: what a tensor is scaled by, the host folds into `score_shift` or into the results.
    None,
    /// A positive bf16 number for each vector.
    Row,
    /// A power of two for each vector, E8M0.
    RowE8m0,
    /// OCP Microscaling: a power of two, E8M0, for each block of 32 elements.
    Mx,
    /// NVFP4: an e4m3 number for each block of 16 elements, which are e2m1.
    Nvfp4,
}

/// How the number that is a scale is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScaleFormat {
    /// A bf16 number. A subnormal one counts as zero; one that is negative, Inf or NaN counts as zero and marks the query invalid.
    Bf16,
    /// OCP E8M0: `2^(bits - 127)`, no sign and no zero; all ones is NaN, which counts as zero and marks the query invalid.
    E8m0,
    /// OCP e4m3, subnormals kept. One that is negative or NaN counts as zero and marks the query invalid; -0 is zero.
    E4m3,
}

impl ScaleFormat {
    /// Bias of E8M0: 127 is one.
    pub const E8M0_BIAS: i32 = 127;

    /// Width in bits.
    pub const fn bits(self) -> u32 {
        match self {
            ScaleFormat::Bf16 => 16,
            ScaleFormat::E8m0 | ScaleFormat::E4m3 => 8,
        }
    }

    /// The float that it is encoded as; none of E8M0, which is an exponent alone.
    pub const fn float(self) -> Option<Format> {
        match self {
            ScaleFormat::Bf16 => Some(Format::BF16),
            ScaleFormat::E8m0 => None,
            ScaleFormat::E4m3 => Some(Format::FP8_E4M3),
        }
    }

    /// The encoding of one.
    pub const fn one(self) -> u64 {
        match self.float() {
            Some(format) => format.one(),
            None => Self::E8M0_BIAS as u64,
        }
    }

    /// The number that a scale is, as a core computes with it, and whether it is one that no scale may be.
    pub fn value(self, bits: u64) -> (f64, bool) {
        match self.float() {
            None if bits == ones(self.bits()) => (0.0, true),
            None => (f64::from(bits as i32 - Self::E8M0_BIAS).exp2(), false),
            Some(format) => {
                let value = format.value(bits);
                let flushed = format.subnormals == Subnormals::Flushed;
                // A bf16 scale has no sign to be, an e4m3 one may be -0.
                let negative = bits & format.sign_bit() != 0 && (flushed || value != 0.0);
                let special = negative || format.is_special(bits);
                (if special { 0.0 } else { value.abs() }, special)
            }
        }
    }
}

impl Scale {
    /// Its word, as options have it.
    pub const fn word(self) -> &'static str {
        match self {
            Scale::None => "none",
            Scale::Row => "row",
            Scale::RowE8m0 => "row-e8m0",
            Scale::Mx => "mx",
            Scale::Nvfp4 => "nvfp4",
        }
    }

    /// How its numbers are encoded; none where there are none.
    pub const fn format(self) -> Option<ScaleFormat> {
        match self {
            Scale::None => None,
            Scale::Row => Some(ScaleFormat::Bf16),
            Scale::RowE8m0 | Scale::Mx => Some(ScaleFormat::E8m0),
            Scale::Nvfp4 => Some(ScaleFormat::E4m3),
        }
    }

    /// Elements that share a number where it is not one for the whole vector.
    pub const fn block(self) -> Option<usize> {
        match self {
            Scale::None | Scale::Row | Scale::RowE8m0 => None,
            Scale::Mx => Some(32),
            Scale::Nvfp4 => Some(16),
        }
    }

    /// Elements of a vector of d that share a number.
    pub fn shared_by(self, d: usize) -> usize {
        self.block().unwrap_or(d)
    }

    /// Numbers of a vector of d elements; a last block may be shorter than the others.
    pub fn count(self, d: usize) -> usize {
        if self == Scale::None { 0 } else { d.div_ceil(self.shared_by(d)) }
    }

    /// Words of these numbers behind the elements of a vector, which are as wide as those: the numbers one after another from the
    /// lowest bit on, and zeros above them in the last word.
    pub fn words(self, element: Format, d: usize) -> usize {
        let bits = self.format().map_or(0, ScaleFormat::bits) as usize * self.count(d);
        bits.div_ceil(element.width() as usize)
    }

    /// Whether blocks share a scale.
    pub const fn is_of_blocks(self) -> bool {
        self.block().is_some()
    }

    /// The elements that blocks with this scale have; any where there are no blocks.
    pub fn takes(self, element: Format) -> bool {
        match self {
            Scale::None | Scale::Row | Scale::RowE8m0 => true,
            Scale::Mx => Format::MX.contains(&element),
            Scale::Nvfp4 => element == Format::FP4_E2M1,
        }
    }

    /// The power of two that an element in a block counts besides its scale: OCP's int8 is a number of two bits and six places.
    pub fn element_exponent(self, element: Format) -> i32 {
        if self == Scale::Mx && element.is_integer() { -(element.fraction_bits as i32) } else { 0 }
    }

    /// What an element is when it is multiplied: a float that holds every product of a number of the format with what of the scale is
    /// multiplied with each element, exactly. Of a bf16 scale that is its power of two; the significand is one for the whole sum.
    pub fn product(self, element: Format) -> Format {
        let Some(scale) = self.format() else { return element };
        // Exponents of the smallest and the largest number.
        let ends = |format: Format| {
            let exponent = |bits: u64| format.value(bits).log2().floor() as i32;
            (exponent(format.min_positive()), exponent(format.max_finite()))
        };
        let (low, high) = ends(element);
        let (scale_low, scale_high, places) = match scale {
            ScaleFormat::E8m0 => (-ScaleFormat::E8M0_BIAS, ScaleFormat::E8M0_BIAS, 0),
            ScaleFormat::Bf16 => (Format::BF16.min_exponent(), Format::BF16.bias, 0),
            // Significands multiplied: their lengths add up, and the product may be twice as large.
            ScaleFormat::E4m3 => {
                let (low, high) = ends(Format::FP8_E4M3);
                (low, high + 1, Format::FP8_E4M3.precision())
            }
        };
        let least = low + scale_low + self.element_exponent(element);
        let most = high + scale_high + self.element_exponent(element);
        Format {
            // 0 is for zero alone.
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
    /// Of queries.
    pub q: Scale,
    /// Of keys.
    pub k: Scale,
    /// Of values.
    pub v: Scale,
}

impl Scales {
    /// Without any.
    pub const NONE: Scales = Scales { q: Scale::None, k: Scale::None, v: Scale::None };

    /// Each by the letter of its operand.
    pub fn by_operand(&self) -> [(&'static str, Scale); 3] {
        [("q", self.q), ("k", self.k), ("v", self.v)]
    }
}

//! Integers and fixed-point numbers: two's complement in units of a power of two.

use super::{Encoding, Format, Specials, Subnormals};
use std::ops::RangeInclusive;

impl Format {
    /// Integers of 16 bits, -32767 to 32767; -32768 counts as -32767.
    pub const INT16: Format = Format::fixed(16, 0);
    /// Integers of 8 bits, -127 to 127; -128 counts as -127.
    pub const INT8: Format = Format::fixed(8, 0);
    /// Integers of 4 bits, -7 to 7; -8 counts as -7.
    pub const INT4: Format = Format::fixed(4, 0);

    /// The named integers.
    pub const INTEGERS: [(&'static str, Format); 3] =
        [("int16", Format::INT16), ("int8", Format::INT8), ("int4", Format::INT4)];

    /// Widths of fixed-point numbers: `int8qN` and `int16qN`.
    pub const FIXED_WIDTHS: [u32; 2] = [8, 16];

    /// Fraction bits N of fixed-point numbers of `width` bits, `int{width}qN`. With more than `width - 1` all numbers are below 1.
    pub const fn fractions(width: u32) -> RangeInclusive<i32> {
        1..=width as i32 + 4
    }

    /// All fixed-point numbers, by width.
    pub fn fixed_points() -> impl Iterator<Item = Format> {
        let of = |width| Format::fractions(width).map(move |fraction| Format::fixed(width, fraction));
        Format::FIXED_WIDTHS.into_iter().flat_map(of)
    }

    /// The names of fixed-point numbers, as messages list them: `int8q1 to int8q12 or int16q1 to int16q20`.
    pub fn fixed_names() -> String {
        let of = |width| {
            let (least, most) = Format::fractions(width).into_inner();
            format!("int{width}q{least} to int{width}q{most}")
        };
        Format::FIXED_WIDTHS.map(of).join(" or ")
    }

    /// Two's complement of `width` bits in units of `2^-fraction`: `int8q4` has the numbers from -127/16 to 127/16.
    pub const fn fixed(width: u32, fraction: i32) -> Format {
        let fraction_bits = width - 2;
        Format {
            exponent_bits: 1,
            fraction_bits,
            bias: 1 - fraction_bits as i32 + fraction,
            specials: Specials::None,
            subnormals: Subnormals::Supported,
            encoding: Encoding::TwosComplement,
        }
    }

    /// Set if the numbers are integers, or integers of a unit that is a power of two.
    #[inline]
    pub const fn is_integer(&self) -> bool {
        matches!(self.encoding, Encoding::TwosComplement)
    }

    /// Set if the format is fixed point: integers of a unit that is not 1. The unit is given, so its numbers have no scale by default.
    pub const fn is_fixed_point(&self) -> bool {
        self.is_integer() && self.integer_fraction() != 0
    }

    /// Fraction bits N of an integer format: its unit is `2^-N`.
    pub const fn integer_fraction(&self) -> i32 {
        self.bias - 1 + self.fraction_bits as i32
    }
}

//! f32 and f64 as carriers of narrower formats.
//!
//! A carrier holds every value of a format exactly. An operation is the carrier's own, followed by one
//! rounding to the format ([`crate::round::Rounder`]). The result is correctly rounded if the carrier's own
//! rounding, the first of the two, does no harm. It does none, operation by operation (`p` significand bits of
//! the target format, `P` of the carrier):
//!
//! - **Multiply**: the exact product of `a` and `b` bits needs `a + b` bits. f32 is chosen only where every
//!   product has `a + b <= 24`; in f64 the widest is FLASH-D's factor times difference for fp32, 24 + 26 = 50, and
//!   FA2's last multiply, 24 + 29 = 53. So products are exact and only one rounding happens.
//! - **Add in the adder tree**: both operands and the target have `p` bits and `P >= 2p + 2` (bf16 8, fp16
//!   11 in f32's 24; fp32 24 in f64's 53). The carrier's sum is inexact only if the exponents are more than
//!   `P - p` apart. The larger operand is a `p`-bit number, and the smaller one cannot move it near a midpoint of
//!   two `p`-bit numbers: rounding twice equals rounding once.
//! - **Add in the lanes and in scalar units**: here an operand can be *longer* than the target (the update
//!   adds a product with two guard bits; a wide accumulator meets a narrower difference), so it can *be* a
//!   midpoint, and a tiny second operand decides the direction. [`Carrier::add_odd`] rounds such sums to odd
//!   in the carrier: an inexact result has its last bit set, like a sticky bit. If `P >= p + 2`, rounding to odd
//!   and then to `p` bits equals rounding the exact sum, whatever the lengths of the operands.
//! - **Integers**: the fused dot product, FA2's fixed-point addends and the fused update compute integers in a
//!   carrier. Adding `1.5 * 2^(P-1)` rounds to the nearest integer; see [`crate::dot`] for ties.
//!
//! Range: in f64 no format's sum or product over- or underflows. f32 serves e4m3, e5m2 and fp16 with room to
//! spare. bf16 has f32's exponent range: an overflow to infinity is also an overflow of the format and
//! saturates; a sum below the smallest normal is exact; a product of `a + b <= 23` bits is exact down to 2^-127,
//! and anything below is flushed to zero, exact or not. Only FLASH-D's difference and product and FA2's product
//! have one exponent bit more than bf16 and can leave f32: the lanes use f64 unless all values are small.

use std::ops::{Add, Mul, Neg, Sub};

/// Which carriers a run uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carriers {
    /// The narrowest carriers that are exact.
    Fastest,
    /// f64 and i64 everywhere, as a reference for tests.
    Widest,
}

/// An integer as wide as its carrier.
pub trait Integer: Copy + Default + Send + Sync + Into<i64> {
    /// `self + other` modulo 2^width.
    fn wrapping_add(self, other: Self) -> Self;

    /// `self - other` modulo 2^width.
    fn wrapping_sub(self, other: Self) -> Self;

    /// `self * times` modulo 2^width.
    fn wrapping_times(self, times: usize) -> Self;
}

macro_rules! integer {
    ($int:ty) => {
        impl Integer for $int {
            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            fn wrapping_times(self, times: usize) -> Self {
                self.wrapping_mul(times as $int)
            }
        }
    };
}

integer!(i32);
integer!(i64);

/// f32 or f64 as the carrier of a narrower format.
pub trait Carrier:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
{
    /// Significand bits P, hidden bit included.
    const PRECISION: u32;

    /// The integer type as wide as the carrier.
    type Integer: Integer;

    /// The constant that [`Carrier::biased_integer`] adds.
    const INTEGER_BIAS: Self::Integer;

    /// Converts `x`, which the carrier must represent exactly.
    fn from_f64(x: f64) -> Self;

    /// Converts to f64, exactly.
    fn to_f64(self) -> f64;

    /// Magnitude.
    fn abs(self) -> Self;

    /// `self` with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;

    /// Rounds a magnitude to nearest, ties to even, dropping its `dropped >= 1` lowest significand bits. A carry
    /// goes into the exponent field as it should; infinity stays infinity.
    fn drop_bits(self, dropped: u32) -> Self;

    /// `self + other` rounded to odd: an inexact sum becomes the neighbour with an odd significand.
    fn add_odd(self, other: Self) -> Self;

    /// The nearest integer, ties to even, plus [`Carrier::INTEGER_BIAS`], modulo 2^width; for magnitudes up to
    /// `2^(P-2)`.
    fn biased_integer(self) -> Self::Integer;

    /// The nearest integer, ties to even; for magnitudes up to `2^(P-2)`.
    #[inline(always)]
    fn nearest_integer(self) -> Self::Integer {
        self.biased_integer().wrapping_sub(Self::INTEGER_BIAS)
    }

    /// The largest integer not above `self`; for magnitudes up to `2^(P-2)`.
    fn floor(self) -> Self;

    /// The next number away from zero; zero stays zero.
    fn away(self) -> Self;
}

/// The carrier's constant for rounding to integers.
pub(crate) trait Constants {
    /// `1.5 * 2^(P-1)`: adding it rounds to an integer, which is then in the sum's low bits.
    const INTEGERS: Self;
}

macro_rules! carrier {
    ($float:ty, $bits:ty, $int:ty) => {
        impl Constants for $float {
            const INTEGERS: $float = (3u64 << (<$float>::MANTISSA_DIGITS - 2)) as $float;
        }

        impl Carrier for $float {
            const PRECISION: u32 = <$float>::MANTISSA_DIGITS;

            type Integer = $int;

            const INTEGER_BIAS: $int = Self::INTEGERS.to_bits() as $int;

            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $float
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }

            #[inline(always)]
            fn abs(self) -> Self {
                <$float>::abs(self)
            }

            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                <$float>::copysign(self, sign)
            }

            #[inline(always)]
            fn drop_bits(self, dropped: u32) -> Self {
                let below_half = ((1 as $bits) << (dropped - 1)) - 1;
                let bits = self.to_bits();
                let odd = (bits >> dropped) & 1;
                <$float>::from_bits((bits + below_half + odd) & (<$bits>::MAX << dropped))
            }

            #[inline(always)]
            fn add_odd(self, other: Self) -> Self {
                let sum = self + other;
                // Exact error of the sum (Knuth's TwoSum).
                let part = sum - self;
                let error = (self - (sum - part)) + (other - part);
                // An even significand moves one ulp towards the exact sum, to its odd neighbour. An odd one stays.
                let bits = sum.to_bits();
                let inwards = (bits ^ error.to_bits()) >> (<$bits>::BITS - 1);
                let unit = (1 as $bits).wrapping_sub(inwards << 1);
                let step = if error != 0.0 && bits & 1 == 0 { unit } else { 0 };
                <$float>::from_bits(bits.wrapping_add(step))
            }

            #[inline(always)]
            fn biased_integer(self) -> $int {
                (self + Self::INTEGERS).to_bits() as $int
            }

            #[inline(always)]
            fn floor(self) -> Self {
                let nearest = (self + Self::INTEGERS) - Self::INTEGERS;
                nearest - if nearest > self { 1.0 } else { 0.0 }
            }

            #[inline(always)]
            fn away(self) -> Self {
                <$float>::from_bits(self.to_bits() + <$bits>::from(self != 0.0))
            }
        }
    };
}

carrier!(f32, u32, i32);
carrier!(f64, u64, i64);

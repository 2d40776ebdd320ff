//! Correctly rounded results without any of the project's arithmetic: a number is rounded by looking for its
//! neighbours in the list of all numbers of the format.

use flashd_hwmodel::units::FormatUnit;
use flashd_spec::format::{Format, Specials, Subnormals};

/// A number that a result can round to.
struct RoundingCandidate {
    value: f64,
    magnitude: u64,
    even: bool,
}

/// All numbers of a format that are not negative, in order.
pub struct UnitReference {
    format: Format,
    candidates: Vec<RoundingCandidate>,
}

impl UnitReference {
    /// The list of a format of up to 16 bits.
    pub fn new(format: Format) -> UnitReference {
        let mut candidates = vec![RoundingCandidate { value: 0.0, magnitude: 0, even: true }];
        if format.subnormals == Subnormals::Flushed {
            // The octave below the smallest normal number: rounded as if it were there, then zero.
            let fraction = format.fraction_bits as i32;
            for significand in 1u64 << fraction..2 << fraction {
                let value = significand as f64 * 2f64.powi(-format.bias - fraction);
                candidates.push(RoundingCandidate { value, magnitude: 0, even: significand % 2 == 0 });
            }
        }
        for magnitude in 1..format.sign_bit() {
            match decode(format, magnitude) {
                Some(value) if value > 0.0 => {
                    candidates.push(RoundingCandidate { value, magnitude, even: magnitude % 2 == 0 });
                }
                _ => {}
            }
        }
        UnitReference { format, candidates }
    }

    /// The nearest number, ties to the even one; beyond the largest, the largest. `negative` is the sign of a zero.
    fn round(&self, x: f64, negative: bool) -> u64 {
        let sign = if x < 0.0 || x == 0.0 && negative { self.format.sign_bit() } else { 0 };
        let above = self.candidates.partition_point(|c| c.value < x.abs());
        let nearest = match (self.candidates.get(above), above.checked_sub(1).map(|i| &self.candidates[i])) {
            (Some(up), Some(down)) => {
                let (to_up, to_down) = (up.value - x.abs(), x.abs() - down.value);
                if to_up < to_down || to_up == to_down && up.even { up } else { down }
            }
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => return sign,
        };
        nearest.magnitude | sign
    }

    /// A unit of two operands, exact in f64 for formats of 8 bits. Inf and NaN count as +0. None for other units.
    pub fn rounded(&self, unit: FormatUnit, a: u64, b: u64) -> Option<u64> {
        let [x, y] = [a, b].map(|bits| decode(self.format, bits).unwrap_or(0.0));
        let negative = |x: f64| x.is_sign_negative();
        match unit {
            FormatUnit::Add => Some(self.round(x + y, negative(x) && negative(y))),
            FormatUnit::Sub => Some(self.round(x - y, negative(x) && !negative(y))),
            FormatUnit::Mul => Some(self.round(x * y, negative(x) != negative(y))),
            FormatUnit::Max => {
                Some(if y > x { self.round(y, negative(y)) } else { self.round(x, negative(x)) })
            }
            _ => None,
        }
    }

    /// How far `y` is from the exact function of `a`, in units of the last place of the exact result, where operand and
    /// result are in range. None for units of two operands.
    pub fn error_in_ulp(&self, unit: FormatUnit, a: u64, y: u64) -> Option<f64> {
        let x = decode(self.format, a)?;
        let subnormal_zero = x == 0.0 && a & (self.format.sign_bit() - 1) != 0;
        let exact = match unit {
            FormatUnit::Exp if x <= 0.0 => x.exp(),
            FormatUnit::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            FormatUnit::Softplus if x > 0.0 => x + (-x).exp().ln_1p(),
            FormatUnit::Softplus => x.exp().ln_1p(),
            FormatUnit::Ln if x > 0.0 && x <= 1.0 => x.ln(),
            FormatUnit::Reciprocal if x != 0.0 => 1.0 / x,
            _ => return None,
        };
        let smallest = self.candidates.iter().find(|c| c.magnitude > 0)?.value;
        let largest = self.candidates.last()?.value;
        if subnormal_zero || exact.abs() > largest || exact != 0.0 && exact.abs() < smallest {
            return None;
        }
        // The last place of the octave of the exact result.
        let lowest = 1 - self.format.bias;
        let mut exponent = lowest;
        while 2f64.powi(exponent + 1) <= exact.abs() {
            exponent += 1;
        }
        let ulp = 2f64.powi(exponent - self.format.fraction_bits as i32);
        Some((decode(self.format, y)? - exact).abs() / ulp)
    }
}

/// The number of an encoding, None for Inf and NaN; subnormals of a flushing format are zero.
fn decode(format: Format, bits: u64) -> Option<f64> {
    let sign = if bits & format.sign_bit() != 0 { -1.0 } else { 1.0 };
    let magnitude = bits & (format.sign_bit() - 1);
    let (exponent, fraction) =
        (magnitude >> format.fraction_bits, magnitude & ((1 << format.fraction_bits) - 1));
    let special = match format.specials {
        Specials::Ieee => exponent == (1 << format.exponent_bits) - 1,
        Specials::AllOnes => magnitude == format.sign_bit() - 1,
        Specials::None => false,
    };
    let last_place = |exponent: u64| 2f64.powi(exponent as i32 - format.bias - format.fraction_bits as i32);
    let hidden = 1u64 << format.fraction_bits;
    match (special, exponent, format.subnormals) {
        (true, ..) => None,
        (_, 0, Subnormals::Flushed) => Some(0.0 * sign),
        (_, 0, Subnormals::Supported) => Some(sign * fraction as f64 * last_place(1)),
        _ => Some(sign * (hidden | fraction) as f64 * last_place(exponent)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_and_ties() {
        let e4m3 = UnitReference::new(Format::FP8_E4M3);
        // 17 is between 16 (even) and 18; 19 between 18 and 20 (even).
        assert_eq!(decode(Format::FP8_E4M3, e4m3.round(17.0, false)), Some(16.0));
        assert_eq!(decode(Format::FP8_E4M3, e4m3.round(19.0, false)), Some(20.0));
        assert_eq!(decode(Format::FP8_E4M3, e4m3.round(-1e9, false)), Some(-448.0));
        assert_eq!(e4m3.round(2f64.powi(-10), true), 0);
        assert_eq!(e4m3.round(-(2f64.powi(-10)), false), 0x80);
    }

    #[test]
    fn bfloat16_is_that_of_half() {
        let reference = UnitReference::new(Format::BF16);
        let mut x = 1.0e-37f64;
        while x < 1e38 {
            // One rounding: the operand is a float32.
            let wide = x as f32;
            let expected = half::bf16::from_f32(wide).to_bits();
            assert_eq!(reference.round(f64::from(wide), false), u64::from(expected), "{wide}");
            x *= 1.000_37;
        }
    }
}

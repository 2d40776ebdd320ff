//! Correct rounding to a format: one rounding, to nearest, ties to even.

use flashd_spec::format::{Format, Subnormals};

/// The rounding to a format, with what follows from the format worked out once.
///
/// A float format takes no branch, so that a loop over many numbers is one of vector instructions.
#[derive(Clone, Copy, Debug)]
pub struct FormatRounding {
    format: Format,
    /// The largest number of the format.
    largest: f64,
    /// The smallest normal number of a float format.
    normal: f64,
    /// What is below becomes zero, and what is not at least this: of a format that flushes, the smallest number that rounds to a normal
    /// one, and the smallest normal one; otherwise 0.
    kept: (f64, f64),
    /// Bits of f64's fraction that the format does not have.
    dropped: u32,
    /// The place of the sign.
    sign: u32,
    /// The difference of the biases, in the format's exponent field.
    rebias: u64,
    /// `2^52` units of the subnormal numbers: a sum with it is rounded to a whole number of units. Of an integer format, its units in 1.
    units: f64,
}

impl FormatRounding {
    /// The rounding to a format.
    #[inline]
    pub fn new(format: Format) -> FormatRounding {
        let (largest, sign) = (format.value(format.max_finite()), format.width() - 1);
        if format.is_integer() {
            return FormatRounding {
                format,
                largest,
                normal: 0.0,
                kept: (0.0, 0.0),
                dropped: 0,
                sign,
                rebias: 0,
                units: f64::from(format.integer_fraction()).exp2(),
            };
        }
        let power = |exponent: i32| f64::from_bits(((1023 + exponent) as u64) << 52);
        let (normal, fraction_bits) = (power(format.min_exponent()), format.fraction_bits as i32);
        let kept = match format.subnormals {
            Subnormals::Supported => (0.0, 0.0),
            // Half a unit of the numbers below, whose exponent has no bound: a tie goes to the normal number, which is even.
            Subnormals::Flushed => (normal - power(format.min_exponent() - fraction_bits - 2), normal),
        };
        FormatRounding {
            format,
            largest,
            normal,
            kept,
            dropped: 52 - format.fraction_bits,
            sign,
            rebias: ((1023 - format.bias) as u64) << fraction_bits,
            units: power(format.min_exponent() - fraction_bits + 52),
        }
    }

    /// The magnitude that is left of a number to be rounded to a float format, in the format's range.
    #[inline(always)]
    fn within(&self, x: f64) -> f64 {
        let (a, (tie, least)) = (x.abs(), self.kept);
        let a = if a >= tie { a } else { 0.0 };
        let a = if a < least && a > 0.0 { least } else { a };
        if a > self.largest { self.largest } else { a }
    }

    /// A normal magnitude in f64's encoding, rounded; the dropped bits are not zero. A carry goes on into the exponent.
    #[inline(always)]
    fn carried(&self, a: f64) -> u64 {
        let bits = a.to_bits();
        // Unsigned, and no shift is of 64 or more: a check of either would be a branch.
        let half = (1u64 << (self.dropped.wrapping_sub(1) & 63)).wrapping_sub(1);
        bits.wrapping_add(half).wrapping_add(bits >> (self.dropped & 63) & 1)
    }

    /// The encoding in a float format.
    #[inline(always)]
    fn float_bits(&self, x: f64) -> u64 {
        // NaN has a sign, too.
        let x = if x.is_nan() { 0.0 } else { x };
        let a = self.within(x);
        let normal = (self.carried(a) >> (self.dropped & 63)).wrapping_sub(self.rebias);
        let subnormal = (a + self.units).to_bits().wrapping_sub(self.units.to_bits());
        x.to_bits() >> 63 << (self.sign & 63) | if a >= self.normal { normal } else { subnormal }
    }

    /// The encoding in an integer format. NaN becomes 0.
    #[inline(always)]
    fn integer_bits(&self, x: f64) -> u64 {
        let rounded = self.nearest_units(x) as i64;
        self.format.signed(rounded.unsigned_abs(), rounded < 0)
    }

    /// The nearest number of an integer format, in its units; NaN stays.
    #[inline(always)]
    fn nearest_units(&self, x: f64) -> f64 {
        self.unbounded_units(x).clamp(-self.most_units(), self.most_units())
    }

    /// The nearest whole number of units.
    #[inline(always)]
    fn unbounded_units(&self, x: f64) -> f64 {
        (x * self.units).round_ties_even()
    }

    /// The largest number of an integer format, in its units.
    #[inline(always)]
    fn most_units(&self) -> f64 {
        self.largest * self.units
    }

    /// [`round_to`] this format.
    #[inline(always)]
    pub fn bits(&self, x: f64) -> u64 {
        if self.format.is_integer() { self.integer_bits(x) } else { self.float_bits(x) }
    }

    /// Writes the encodings in a float format. By value: the compiler knows then that no word that is written changes it.
    fn fill(self, numbers: &[f64], words: &mut [u64]) {
        for (word, &x) in words.iter_mut().zip(numbers) {
            *word = self.float_bits(x);
        }
    }

    /// Appends the encodings of numbers; returns how many of them saturate.
    pub fn append(&self, numbers: &[f64], words: &mut Vec<u64>) -> usize {
        if self.format.is_integer() {
            words.extend(numbers.iter().map(|&x| self.integer_bits(x)));
            return numbers.iter().filter(|&&x| self.unbounded_units(x).abs() > self.most_units()).count();
        }
        let from = words.len();
        words.resize(from + numbers.len(), 0);
        self.fill(numbers, &mut words[from..]);
        numbers.iter().map(|x| usize::from(x.abs() > self.largest)).sum()
    }

    /// The nearest number of the format: the value of the encoding.
    #[inline(always)]
    pub fn value(&self, x: f64) -> f64 {
        if self.format.is_integer() {
            // Integers have no negative zero.
            return if x.is_nan() { 0.0 } else { self.nearest_units(x) / self.units + 0.0 };
        }
        let x = if x.is_nan() { 0.0 } else { x };
        let a = self.within(x);
        let normal = f64::from_bits(self.carried(a) >> (self.dropped & 63) << (self.dropped & 63));
        let magnitude = if a >= self.normal { normal } else { (a + self.units) - self.units };
        magnitude.copysign(x)
    }
}

/// Rounds to the nearest number of the format, ties to even, in one step, and returns its encoding.
///
/// Overflow saturates at [`Format::max_finite`]. A format that flushes rounds to its precision as if the
/// exponent were unbounded, and what is then below the smallest normal number becomes zero with its sign.
/// NaN becomes +0, which is what a core computes with.
pub fn round_to(format: Format, x: f64) -> u64 {
    FormatRounding::new(format).bits(x)
}

/// The nearest number of the format: the value of [`round_to`]'s encoding.
pub fn round_value(format: Format, x: f64) -> f64 {
    FormatRounding::new(format).value(x)
}

/// `floor(log2(x))` of a positive finite number.
pub(crate) fn floor_log2(x: f64) -> i32 {
    let field = |x: f64| (x.to_bits() >> 52) as i32;
    match field(x) {
        // A subnormal f64: bring it into the normal range first.
        0 => field(x * 2f64.powi(64)) - 64 - 1023,
        biased => biased - 1023,
    }
}

/// A factor `2^exponent`, in three steps, which reach every product; two of them are by 1 unless `2^exponent` alone is out of range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PowerOfTwo([f64; 3]);

impl PowerOfTwo {
    #[inline]
    pub(crate) fn new(exponent: i32) -> PowerOfTwo {
        let mut left = exponent;
        PowerOfTwo([(); 3].map(|()| {
            let step = left.clamp(-1000, 1000);
            left -= step;
            f64::from_bits(((1023 + step) as u64) << 52)
        }))
    }

    /// The product, rounded once at most (where it is subnormal).
    #[inline(always)]
    pub(crate) fn times(self, x: f64) -> f64 {
        let PowerOfTwo([a, b, c]) = self;
        x * a * b * c
    }
}

/// `x * 2^exponent`, rounded once at most (where the result is subnormal).
#[inline]
pub(crate) fn scale_by_power_of_two(x: f64, exponent: i32) -> f64 {
    PowerOfTwo::new(exponent).times(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [`round_to`] by arithmetic that follows the definition.
    fn by_definition(format: Format, x: f64) -> u64 {
        if format.is_integer() {
            let largest = format.max_finite() as f64;
            let rounded = x.round_ties_even().clamp(-largest, largest) as i64;
            return format.signed(rounded.unsigned_abs(), rounded < 0);
        }
        if x.is_nan() {
            return 0;
        }
        let sign = if x.is_sign_negative() { format.sign_bit() } else { 0 };
        let magnitude = x.abs();
        if magnitude == 0.0 {
            return sign;
        }
        if magnitude.is_infinite() {
            return sign | format.max_finite();
        }
        let fraction_bits = format.fraction_bits as i32;
        let exponent = match format.subnormals {
            Subnormals::Supported => floor_log2(magnitude).max(format.min_exponent()),
            Subnormals::Flushed => floor_log2(magnitude),
        };
        // The significand as an integer of p bits: below 2^F only for a subnormal number, 2^(F+1) after a carry.
        let significand = scale_by_power_of_two(magnitude, fraction_bits - exponent).round_ties_even() as i64;
        // Exponent and fraction are one integer, so the hidden bit and a carry both add one to the exponent.
        let bits = (i64::from(exponent - format.min_exponent()) << fraction_bits) + significand;
        if bits < format.min_positive() as i64 { sign } else { sign | (bits as u64).min(format.max_finite()) }
    }

    #[test]
    fn rounding_without_branches_follows_the_definition() {
        for (name, format) in Format::NAMED {
            let rounding = FormatRounding::new(format);
            let check = |x: f64| {
                let bits = by_definition(format, x);
                assert_eq!(rounding.bits(x), bits, "{name}, {x:e}");
                assert_eq!(rounding.value(x).to_bits(), format.value(bits).to_bits(), "{name}, {x:e}");
                let mut words = Vec::new();
                let saturated = rounding.append(&[x], &mut words);
                let beyond = if format.is_integer() { x.round_ties_even() } else { x };
                assert_eq!(
                    (words, saturated == 1),
                    (vec![bits], beyond.abs() > format.value(format.max_finite()))
                );
            };
            // Numbers between any two of a format, and next to their middle; fp32's by a step.
            let step = if format.width() > 16 { 65_521 } else { 1 };
            for bits in (0..=format.max_finite()).step_by(step) {
                let (low, high) = (format.value(bits), format.value(bits + 1));
                for x in [low, (low + high) / 2.0, high] {
                    for x in [x.next_down(), x, x.next_up()] {
                        check(x);
                        check(-x);
                    }
                }
            }
            for x in [f64::NAN, f64::INFINITY, -f64::INFINITY, f64::MAX, f64::MIN_POSITIVE, 5e-324, 0.0, -0.0]
            {
                check(x);
            }
        }
    }
}

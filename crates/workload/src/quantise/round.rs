//! Correct rounding to a format: one rounding, to nearest, ties to even.

use flashd_spec::format::{Format, Subnormals};

/// Rounds to the nearest number of the format, ties to even, in one step, and returns its encoding.
///
/// Overflow saturates at [`Format::max_finite`]. A format that flushes rounds to its precision as if the
/// exponent were unbounded, and what is then below the smallest normal number becomes zero with its sign.
/// NaN becomes +0, which is what a core computes with.
#[inline]
pub fn round_to(format: Format, x: f64) -> u64 {
    if format.is_integer() {
        let largest = format.max_finite() as f64;
        // NaN becomes 0.
        let rounded = x.round_ties_even().clamp(-largest, largest) as i64;
        return format.signed(rounded.unsigned_abs(), rounded < 0);
    }
    let fraction_bits = format.fraction_bits;
    let biased = (x.to_bits() >> 52 & 0x7ff) as i32;
    // Of nearly every number: its own significand is rounded in integers, a carry going on into the exponent.
    if biased < 0x7ff && biased - 1023 >= format.min_exponent() && fraction_bits < 52 {
        let (magnitude, dropped) = (x.to_bits() & (u64::MAX >> 1), 52 - fraction_bits);
        let half = (1u64 << (dropped - 1)) - 1 + (magnitude >> dropped & 1);
        let rounded = ((magnitude + half) >> dropped) - (((1023 - format.bias) as u64) << fraction_bits);
        let sign = if x.is_sign_negative() { format.sign_bit() } else { 0 };
        return sign | rounded.min(format.max_finite());
    }
    round_any(format, x)
}

/// Whether rounding a number saturates: it is beyond the largest of a float format, or rounds to an integer beyond the largest.
#[inline]
pub fn saturates(format: Format, x: f64) -> bool {
    let x = if format.is_integer() { x.round_ties_even() } else { x };
    x.abs() > format.value(format.max_finite())
}

/// [`round_to`] of any number.
fn round_any(format: Format, x: f64) -> u64 {
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

/// The nearest number of the format: the value of [`round_to`]'s encoding.
pub fn round_value(format: Format, x: f64) -> f64 {
    format.value(round_to(format, x))
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

/// `x * 2^exponent`, rounded once at most (where the result is subnormal).
#[inline]
pub(crate) fn scale_by_power_of_two(x: f64, exponent: i32) -> f64 {
    // Most tensors are taken as they are.
    if exponent == 0 {
        return x;
    }
    // Three steps reach every product; two of them are by 1 unless 2^exponent alone is out of range.
    let mut left = exponent;
    let mut step = || {
        let step = left.clamp(-1000, 1000);
        left -= step;
        f64::from_bits(((1023 + step) as u64) << 52)
    };
    x * step() * step() * step()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_rounds_like_the_long_one() {
        for (name, format) in Format::NAMED {
            // Numbers between any two of a format, and just beside their middle; fp32's by a step.
            let step = if format.width() > 16 { 65_521 } else { 1 };
            for bits in (0..=format.max_finite()).step_by(step) {
                let (low, high) = (format.value(bits), format.value(bits + 1));
                for x in [low, (low + high) / 2.0, high] {
                    for x in [x.next_down(), x, x.next_up()] {
                        for x in [x, -x] {
                            assert_eq!(round_to(format, x), round_any(format, x), "{name}, {x:e}");
                        }
                    }
                }
            }
            for x in [f64::NAN, f64::INFINITY, -f64::INFINITY, f64::MAX, f64::MIN_POSITIVE, 5e-324, 0.0, -0.0]
            {
                assert_eq!(round_to(format, x), round_any(format, x), "{name}, {x:e}");
            }
        }
    }
}

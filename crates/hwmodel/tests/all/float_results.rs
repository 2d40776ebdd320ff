//! Results of fixed-point lanes in float formats: every number of a narrow lane against f64, which holds all of these exactly.

use flashd_hwmodel::arith::fixed::fixed_to_format;
use flashd_hwmodel::word::Num;
use flashd_spec::format::{Format, Subnormals};

/// The nearest number of a format, ties to even, saturating; where subnormals are flushed, rounded numbers below the smallest normal
/// one are zero.
fn nearest(to: Format, x: f64) -> f64 {
    let least = to.min_exponent();
    let own = if x == 0.0 { least } else { ((x.to_bits() >> 52 & 0x7ff) as i32) - 1023 };
    let exponent = if to.subnormals == Subnormals::Supported { own.max(least) } else { own };
    let unit = f64::from(exponent + 1 - to.precision() as i32).exp2();
    let rounded = (x / unit).round_ties_even() * unit;
    let largest = to.value(to.max_finite());
    match to.subnormals {
        Subnormals::Flushed if rounded.abs() < f64::from(least).exp2() => 0.0,
        _ => rounded.clamp(-largest, largest),
    }
}

#[test]
fn every_number_of_a_lane_at_all_exponents() {
    let own = [Format::BF16, Format::FP16, Format::FP8_E4M3, Format::FP8_E5M2].map(|format| (format, format));
    let others = [
        (Format::BF16, Format::FP8_E4M3),
        (Format::FP8_E4M3, Format::BF16),
        (Format::FP8_E5M2, Format::FP8_E4M3),
    ];
    for (from, to) in own.into_iter().chain(others) {
        // Shorter than a significand, as long, and longer. A word of 17 bits has 16 after the sign, one more than four stages of a shift reach.
        for (width, step) in [(6, 1), (9, 1), (12i32, 1), (17, 97)] {
            for x in (1..=from.exponent_mask()).step_by(step) {
                let unit = f64::from(x as i32 - from.bias + 2 - width).exp2();
                for o in -(1i64 << (width - 1))..1 << (width - 1) {
                    let word = Num::new(width as u32, o as u64 & ((1 << width) - 1));
                    let y = fixed_to_format(from, &word, &Num::new(from.exponent_bits, x), to).value();
                    let context = || format!("{from} to {to}: {o} of {width} bits, exponent {x}");
                    assert_eq!(
                        to.value(y & !to.sign_bit()),
                        nearest(to, o as f64 * unit).abs(),
                        "{}",
                        context()
                    );
                    assert_eq!(y & to.sign_bit() != 0, o < 0, "{}", context());
                }
            }
        }
    }
}

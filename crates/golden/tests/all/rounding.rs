//! Rounding, add, subtract, multiply and conversions against exact integers and the `half` crate.

use crate::common::{Dyadic, any_finite, near_one, rng};
use flashd_golden::units::{add, fixed_from_float, max, mul, round_from_f64, sub};
use flashd_golden::{decode, encode};
use flashd_hwmodel::rtl::Function;
use flashd_hwmodel::units::ScoreScaleFunction;
use flashd_hwmodel::word::Num;
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use half::{bf16, f16};
use rand::RngExt;
use std::sync::Arc;

/// `bits` with the sign that IEEE 754 gives to an exact zero product or sum.
fn with_zero_sign(format: Format, bits: u64, negative: bool) -> u64 {
    if bits & (format.sign_bit() - 1) == 0 && negative { bits | format.sign_bit() } else { bits }
}

fn negative(format: Format, bits: u64) -> bool {
    !format.is_special(bits) && bits & format.sign_bit() != 0
}

fn check_pair(format: Format, a: u64, b: u64) {
    let (x, y) = (Dyadic::of(format, a), Dyadic::of(format, b));
    let (neg_a, neg_b) = (negative(format, a), negative(format, b));
    // A rounded sum is zero only if the exact sum is zero or flushed. A flushed one keeps its sign.
    let sum = |x: Dyadic, y: Dyadic, both: bool| {
        let exact = x.add(y);
        with_zero_sign(
            format,
            exact.round(format),
            if exact.mantissa == 0 { both } else { exact.mantissa < 0 },
        )
    };
    assert_eq!(add(format, a, b), sum(x, y, neg_a && neg_b), "{format}: {a:#x} + {b:#x}");
    assert_eq!(sub(format, a, b), sum(x, y.neg(), neg_a && !neg_b), "{format}: {a:#x} - {b:#x}");
    let product = with_zero_sign(format, x.mul(y).round(format), neg_a != neg_b);
    assert_eq!(mul(format, a, b), product, "{format}: {a:#x} * {b:#x}");
    let (va, vb) = (decode(format, a), decode(format, b));
    let larger = if vb > va { vb } else { va };
    assert_eq!(decode(format, max(format, a, b)).to_bits(), larger.to_bits());
}

#[test]
fn fp8_arithmetic_is_exact_for_all_pairs() {
    for format in [Format::FP8_E4M3, Format::FP8_E5M2] {
        for a in 0..256 {
            for b in 0..256 {
                check_pair(format, a, b);
            }
        }
    }
}

#[test]
fn wider_arithmetic_is_exact_for_random_pairs() {
    let formats = [
        Format::BF16,
        Format::FP16,
        Format::FP32,
        Format::BF16.accumulator(16),
        Format::BF16.intermediate(9),
        Format::FP8_E4M3.accumulator(23),
        Format::FP32.intermediate(25),
    ];
    let seed = 21;
    let mut rng = rng(seed);
    for format in formats {
        for spread in [2, 12, 35] {
            for _ in 0..60_000 {
                let (a, b) = (near_one(&mut rng, format, spread), near_one(&mut rng, format, spread));
                check_pair(format, a, b);
            }
        }
        // The ends of the exponent range: underflow and saturation.
        let fraction = format.fraction_bits;
        for end in [1, format.max_finite() >> fraction] {
            for _ in 0..30_000 {
                let mut operand = |exponent: u64| {
                    let exponent = exponent.saturating_sub(rng.random_range(0..3));
                    let bits = (exponent << fraction) | (rng.random::<u64>() & format.fraction_mask());
                    bits.min(format.max_finite()) | if rng.random() { format.sign_bit() } else { 0 }
                };
                let (a, b) = (operand(end), operand(end));
                check_pair(format, a, b);
                // A product next to the smallest normal number.
                let other = operand(format.bias as u64);
                check_pair(format, a, other);
            }
        }
    }
}

#[test]
fn rounding_agrees_with_half() {
    let seed = 22;
    let mut rng = rng(seed);
    for i in 0..2_000_000u32 {
        let x = f32::from_bits(rng.random());
        if !x.is_finite() {
            continue;
        }
        let reference = bf16::from_f32(x);
        let wanted = match () {
            _ if reference.is_infinite() => bf16::MAX.copysign(reference),
            // `half` keeps subnormals; flushing below the smallest normal number has its own test.
            _ if x.abs() < f32::MIN_POSITIVE => continue,
            _ => reference,
        };
        assert_eq!(round_from_f64(Format::BF16, x.into()), wanted.to_bits() as u64, "sample {i}: {x:e}");
        let x = x.abs().powf(0.2).copysign(x);
        let reference = f16::from_f32(x);
        let wanted = if reference.is_infinite() { f16::MAX.copysign(reference) } else { reference };
        assert_eq!(round_from_f64(Format::FP16, x.into()), wanted.to_bits() as u64, "sample {i}: {x:e}");
    }
}

#[test]
fn fp32_arithmetic_is_the_machines() {
    let seed = 23;
    let mut rng = rng(seed);
    let format = Format::FP32;
    let machine = |x: f32, exact_tiny: bool| match () {
        _ if x.is_infinite() => f32::MAX.copysign(x),
        _ if x.abs() < f32::MIN_POSITIVE && !exact_tiny => 0f32.copysign(x),
        _ => x,
    };
    for i in 0..1_000_000 {
        let (a, b) = (any_finite(&mut rng, format), any_finite(&mut rng, format));
        let (x, y) = (decode(format, a) as f32, decode(format, b) as f32);
        let wanted = machine(x + y, false).to_bits() as u64;
        assert_eq!(add(format, a, b), wanted, "sample {i}: {x:e} + {y:e}");
        let product = x * y;
        // Just below the smallest normal number the machine rounds to fewer bits than we do before we flush.
        if product.abs() > f32::MIN_POSITIVE || product.abs() < f32::MIN_POSITIVE / 2.0 {
            let wanted = machine(product, false).to_bits() as u64;
            assert_eq!(mul(format, a, b), wanted, "sample {i}: {x:e} * {y:e}");
        }
    }
}

#[test]
fn flush_rounds_first() {
    let smallest = 2f64.powi(-126);
    let half_unit = 2f64.powi(-126 - 9);
    let round = |x: f64| round_from_f64(Format::BF16, x);
    assert_eq!(round(smallest - half_unit), 0x0080, "a tie goes to the even significand");
    assert_eq!(round(smallest - half_unit * 1.000001), 0);
    assert_eq!(round(-(smallest - half_unit * 1.000001)), 0x8000);
    assert_eq!(round(-smallest), 0x8080);
    assert_eq!(round(f64::MIN_POSITIVE / 8.0), 0);
    assert_eq!(round(-f64::MIN_POSITIVE / 8.0), 0x8000);
}

#[test]
fn gradual_underflow_ties_to_even() {
    let unit = 2f64.powi(-9);
    for (x, wanted) in [(0.5, 0), (0.5000001, 1), (1.5, 2), (2.5, 2), (7.5, 8), (-0.5, 0x80), (-3.5, 0x84)] {
        assert_eq!(round_from_f64(Format::FP8_E4M3, x * unit), wanted, "{x} units");
    }
}

/// All encodings, scaled by all score factors 2^-k for d up to 4,096: results are rounded once, to nearest even, also
/// subnormal ones.
#[test]
fn scores_are_scaled_to_the_nearest_number() {
    for format in [Format::FP8_E4M3, Format::FP8_E5M2, Format::FP16, Format::BF16] {
        for d in [2, 4, 8, 16, 64, 256, 1024, 4096] {
            let numerics = Numerics::new(&CoreConfig::new(Design::FlashD, d, format));
            let scale = (numerics.score_shift as f64).exp2();
            let unit = ScoreScaleFunction { numerics: Arc::new(numerics) };
            for dot in (0..1u64 << format.width()).filter(|&dot| encode(format, decode(format, dot)) == dot) {
                let [score] = unit.eval([Num::new(format.width(), dot)]);
                let expected = round_from_f64(format, decode(format, dot) * scale);
                assert_eq!(score.value(), expected, "{format}, d {d}: {dot:#x} * {scale}");
            }
        }
    }
}

#[test]
fn saturation_and_not_a_number() {
    for (_, format) in Format::NAMED {
        let max = format.max_finite();
        assert_eq!(round_from_f64(format, f64::INFINITY), max);
        assert_eq!(round_from_f64(format, -1e300), max | format.sign_bit());
        assert_eq!(round_from_f64(format, f64::NAN), 0);
        assert_eq!(add(format, max, max), max);
        assert_eq!(mul(format, max | format.sign_bit(), max), max | format.sign_bit());
        for bits in max + 1..=(max + 3).min(format.sign_bit() - 1) {
            assert_eq!(add(format, bits, format.one()), format.one(), "specials count as +0");
        }
    }
}

#[test]
fn encodings_survive_a_round_trip() {
    let mut formats: Vec<Format> = Format::NAMED.iter().map(|(_, f)| *f).collect();
    formats.extend([
        Format::FP8_E4M3.intermediate(5),
        Format::BF16.intermediate(9),
        Format::FP16.accumulator(20),
    ]);
    for format in formats {
        let step = if format.width() > 20 { 65_521 } else { 1 };
        for bits in (0..format.sign_bit() << 1).step_by(step) {
            let x = decode(format, bits);
            assert_eq!(x.to_bits(), format.value(bits).to_bits(), "{format} {bits:#x}");
            if x != 0.0 {
                assert_eq!(encode(format, x), bits);
                assert_eq!(round_from_f64(format, x), bits);
            }
        }
    }
}

#[test]
fn fixed_point_rounds_to_even_and_saturates() {
    let fixed = |x: f64, shift| fixed_from_float(Format::FP32, round_from_f64(Format::FP32, x), shift, 19);
    assert_eq!(fixed(0.5, 0), 0);
    assert_eq!(fixed(1.5, 0), 2);
    assert_eq!(fixed(-2.5, 0), -2);
    assert_eq!(fixed(-1.25, 10), -1280);
    assert_eq!(fixed(1e30, 10), (1 << 19) - 1);
    assert_eq!(fixed(-1e30, 10), -((1 << 19) - 1));
    assert_eq!(fixed(f32::MAX as f64, -64), (1 << 19) - 1);
    assert_eq!(fixed(1e-30, 10), 0);
}

//! Every unit: the Word arithmetic of the hardware against the independent model, bit for bit.

use flashd_golden::units as model;
use flashd_hwmodel::units::{FormatFunction, FormatUnit};
use flashd_spec::format::Format;
use rayon::prelude::*;

fn expected(unit: FormatUnit, fmt: Format, segments: u32, a: u64, b: u64) -> u64 {
    match unit {
        FormatUnit::Add => model::add(fmt, a, b),
        FormatUnit::Sub => model::sub(fmt, a, b),
        FormatUnit::Mul => model::mul(fmt, a, b),
        FormatUnit::Max => model::max(fmt, a, b),
        FormatUnit::Sigmoid => model::sigmoid(fmt, segments, a),
        FormatUnit::Softplus => model::softplus(fmt, segments, a),
        FormatUnit::Ln => model::ln(fmt, segments, a),
        FormatUnit::Exp => model::exp(fmt, segments, a),
        FormatUnit::Reciprocal => model::reciprocal(fmt, a),
    }
}

fn check(unit: FormatUnit, fmt: Format, segments: u32, a: u64, b: u64, function: &FormatFunction) {
    let (hardware, model) = (function.compute(a, b), expected(unit, fmt, segments, a, b));
    assert_eq!(
        hardware,
        model,
        "{fmt} {} ({segments} segments): a = {a:#x} ({}), b = {b:#x} ({}): hardware {hardware:#x} ({}), model {model:#x} ({})",
        unit.name(),
        fmt.value(a),
        fmt.value(b),
        fmt.value(hardware),
        fmt.value(model)
    );
}

#[test]
fn two_operand_units_all_pairs_in_8_bits() {
    for fmt in [Format::FP8_E4M3, Format::FP8_E5M2] {
        for unit in FormatUnit::ALL.into_iter().filter(|u| u.is_binary()) {
            let function = FormatFunction::new(unit, fmt, 8);
            for a in 0..256 {
                for b in 0..256 {
                    check(unit, fmt, 8, a, b, &function);
                }
            }
        }
    }
}

#[test]
fn one_operand_units_all_inputs_in_8_and_16_bits() {
    for fmt in [Format::FP8_E4M3, Format::FP8_E5M2, Format::BF16, Format::FP16] {
        for unit in FormatUnit::ALL.into_iter().filter(|u| !u.is_binary()) {
            for segments in [4, 8, 16, 32] {
                let function = FormatFunction::new(unit, fmt, segments);
                (0..1u64 << fmt.width()).into_par_iter().for_each(|a| {
                    check(unit, fmt, segments, a, 0, &function);
                });
            }
        }
    }
}

/// Zeros, subnormals, the smallest and largest numbers, one, halves, specials, and the neighbours of each.
fn interesting(fmt: Format) -> Vec<u64> {
    let mut magnitudes = Vec::new();
    let around = [0, fmt.min_positive(), 1 << fmt.fraction_bits, fmt.one(), fmt.one() / 2, fmt.max_finite()];
    for m in around {
        for delta in -2i64..=2 {
            magnitudes.push(m.wrapping_add_signed(delta) & (fmt.sign_bit() - 1));
        }
    }
    // Every binade with fractions that make ties.
    for exponent in (0..=fmt.exponent_mask()).step_by((1 << fmt.exponent_bits) / 32) {
        for fraction in [0, 1, fmt.fraction_mask() / 2, fmt.fraction_mask() / 2 + 1, fmt.fraction_mask()] {
            magnitudes.push(exponent << fmt.fraction_bits | fraction);
        }
    }
    magnitudes.iter().flat_map(|m| [*m, m | fmt.sign_bit()]).collect()
}

fn random_pairs(seed: u64, count: u64, fmt: Format) {
    for unit in FormatUnit::ALL.into_iter().filter(|u| u.is_binary()) {
        let function = FormatFunction::new(unit, fmt, 8);
        let values = interesting(fmt);
        for &a in &values {
            for &b in &values {
                check(unit, fmt, 8, a, b, &function);
            }
        }
        println!("{fmt} {}: seed {seed:#x}, {count} random pairs", unit.name());
        (0..count).into_par_iter().for_each(|i| {
            // SplitMix64: any number of reproducible pairs without state.
            let mut z = seed.wrapping_add((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^= z >> 31;
            let mask = (1u64 << fmt.width()) - 1;
            let a = z & mask;
            let mut b = z >> 32 & mask;
            if i % 2 == 1 {
                // Half of the pairs with exponents close together, where alignment and cancellation matter.
                let near = a >> fmt.fraction_bits & fmt.exponent_mask();
                let shift = (z >> 62) as i64 * 3 - 4;
                let exponent = near.wrapping_add_signed(shift) & fmt.exponent_mask();
                b = b & !(fmt.exponent_mask() << fmt.fraction_bits) | exponent << fmt.fraction_bits;
            }
            check(unit, fmt, 8, a, b, &function);
        });
    }
}

#[test]
fn two_operand_units_bf16() {
    random_pairs(0xb16_0001, 10_000_000, Format::BF16);
}

#[test]
fn two_operand_units_fp16_and_fp32() {
    random_pairs(0xf16_0001, 500_000, Format::FP16);
    random_pairs(0xf32_0001, 500_000, Format::FP32);
}

#[test]
fn one_operand_units_fp32() {
    for unit in FormatUnit::ALL.into_iter().filter(|u| !u.is_binary()) {
        let function = FormatFunction::new(unit, Format::FP32, 8);
        (0..200_000u64).into_par_iter().for_each(|i| {
            check(unit, Format::FP32, 8, i.wrapping_mul(0x9e37_79b9) & 0xffff_ffff, 0, &function);
        });
    }
}

#[test]
fn float_to_fixed_at_every_scale() {
    use flashd_hwmodel::arith::to_fixed;
    use flashd_hwmodel::word::Num;
    use flashd_spec::bits::signed;
    for (_, fmt) in Format::NAMED {
        for bits in [6, 12, 19, 24] {
            for scale in (-80..=84).step_by(if fmt.width() == 8 { 1 } else { 7 }) {
                let step = if fmt.width() == 8 { 1 } else { (1u64 << fmt.width()) / 509 };
                for a in (0..1u64 << fmt.width()).step_by(step as usize) {
                    if fmt.is_special(a) || fmt.value(a) == 0.0 && a & (fmt.sign_bit() - 1) != 0 {
                        continue;
                    }
                    let hardware = to_fixed(fmt, &Num::new(fmt.width(), a), scale, bits).value();
                    let model = model::fixed_from_float(fmt, a, scale, bits);
                    assert_eq!(signed(hardware, bits + 1), model, "{fmt} {a:#x} * 2^{scale} in {bits} bits");
                }
            }
        }
    }
}

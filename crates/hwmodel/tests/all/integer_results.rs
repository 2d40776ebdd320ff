//! Results that are integers: every number of a lane against f64, which holds all of these exactly.

use flashd_hwmodel::arith::fixed::fixed_to_format;
use flashd_hwmodel::arith::{canonical, convert};
use flashd_hwmodel::word::Num;
use flashd_spec::format::Format;

/// int8 and int16 in units of 1 and in smaller ones.
fn results() -> [Format; 9] {
    let of = [(8, 0), (8, 1), (8, 4), (8, 7), (8, 12), (16, 0), (16, 8), (16, 15), (16, 20)];
    of.map(|(width, fraction)| Format::fixed(width, fraction))
}

/// The nearest number of units, ties to even, in two's complement.
fn nearest(to: Format, x: f64) -> u64 {
    let units = x * f64::from(to.integer_fraction()).exp2();
    let (limit, mask) = if to.width() == 8 { (127.0, 0xff) } else { (32767.0, 0xffff) };
    units.round_ties_even().clamp(-limit, limit) as i64 as u64 & mask
}

#[test]
fn their_names_are_read_and_written() {
    let names = ["int8", "int8q1", "int8q12", "int16", "int16q1", "int16q8", "int16q20"];
    assert_eq!(names.map(|name| name.parse::<Format>().unwrap().to_string()), names);
    assert_eq!("int8q4".parse::<Format>().unwrap().value(0x81), -127.0 / 16.0);
    assert_eq!("INT16Q8".parse::<Format>().unwrap().value(0xff01), -255.0 / 256.0);
    let unknown = ["int8q0", "int8q13", "int4q1", "int8q", "int8q-1", "int16q0", "int16q21", "int32q8"];
    assert!(unknown.iter().all(|name| name.parse::<Format>().is_err()));
    assert_eq!(Format::fixed_points().count(), 32);
}

#[test]
fn every_number_of_a_fixed_point_lane() {
    for from in [Format::INT8, Format::INT4, Format::FP8_E4M3, Format::FP8_E5M2, Format::FP4_E2M1] {
        let exponents = if from.is_integer() { 1..=1 } else { 0..=from.exponent_mask() };
        for (width, to) in [8, 9, 11].into_iter().flat_map(|width| results().map(|to| (width, to))) {
            for x in exponents.clone() {
                let unit = f64::from(x as i32 - from.bias + 2 - width).exp2();
                for o in -(1i64 << (width - 1))..1 << (width - 1) {
                    let word = Num::new(width as u32, o as u64 & ((1 << width) - 1));
                    let y = fixed_to_format(from, &word, &Num::new(from.exponent_bits, x), to);
                    let expected = nearest(to, o as f64 * unit);
                    assert_eq!(y.value(), expected, "{from} to {to}: {o} of {width} bits, exponent {x}");
                }
            }
        }
    }
}

/// Accumulators of 16-bit values, with and without fraction bits: all of 17 bits, and every seventh of 21.
#[test]
fn numbers_of_a_lane_of_16_bit_values() {
    for from in [Format::INT16, Format::fixed(16, 8), Format::fixed(16, 20)] {
        for (width, step, to) in
            [(17, 1), (21, 7)].iter().flat_map(|&(w, step)| results().map(|to| (w, step, to)))
        {
            let unit = f64::from(15 - from.integer_fraction() + 1 - width).exp2();
            for o in (-(1i64 << (width - 1))..1 << (width - 1)).step_by(step) {
                let word = Num::new(width as u32, o as u64 & ((1 << width) - 1));
                let y = fixed_to_format(from, &word, &Num::new(1, 1), to);
                assert_eq!(y.value(), nearest(to, o as f64 * unit), "{from} to {to}: {o} of {width} bits");
            }
        }
    }
}

#[test]
fn lanes_of_bf16_at_all_exponents() {
    for (x, to) in (0..255).flat_map(|x| results().map(|to| (x, to))) {
        let unit = f64::from(x - 127 + 2 - 23).exp2();
        for o in (-(1i64 << 22)..1 << 22).step_by(400_961).chain(-300..300) {
            let word = Num::new(23, o as u64 & ((1 << 23) - 1));
            let y = fixed_to_format(Format::BF16, &word, &Num::new(8, x as u64), to);
            assert_eq!(y.value(), nearest(to, o as f64 * unit), "{to}: {o}, exponent {x}");
        }
    }
}

#[test]
fn every_number_of_a_float_lane() {
    let floats = [Format::BF16, Format::FP16, Format::FP8_E4M3, Format::FP8_E5M2];
    for (from, to) in floats.into_iter().flat_map(|from| results().map(|to| (from, to))) {
        for bits in 0..1u64 << from.width() {
            let x = canonical(from, &Num::new(from.width(), bits));
            let y = convert(from, &x, to);
            assert_eq!(y.value(), nearest(to, from.value(bits)), "{from} to {to}: {bits:#x}");
        }
    }
}

//! The rounding to a format against independent ways to get the same encodings.

use flashd_spec::format::Format;
use flashd_workload::{round_to, round_value};
use half::{bf16, f16};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Every finite encoding of a sign, in the order of its magnitude.
fn magnitudes(format: Format) -> Vec<(u64, f64)> {
    let kept = |&bits: &u64| bits == 0 || bits >= format.min_positive();
    (0..=format.max_finite()).filter(kept).map(|bits| (bits, format.value(bits))).collect()
}

/// The nearest of all numbers by search, ties to the even encoding. Differences are exact: both operands have few bits.
fn nearest(all: &[(u64, f64)], x: f64) -> u64 {
    let distance = |&(bits, value): &(u64, f64)| ((value - x).abs(), bits % 2);
    let closest = all.iter().min_by(|a, b| distance(a).partial_cmp(&distance(b)).unwrap());
    closest.unwrap().0
}

#[test]
fn eight_bit_formats_agree_with_a_search_for_the_nearest() {
    let toy = Format::FP8_E4M3.accumulator(3);
    let mut compared = 0;
    for format in [Format::FP8_E4M3, Format::FP8_E5M2, toy] {
        let all = magnitudes(format);
        let mut check = |x: f64| {
            let expected = nearest(&all, x);
            assert_eq!(round_to(format, x), expected, "{format}: {x}");
            assert_eq!(round_to(format, -x), expected | format.sign_bit(), "{format}: -{x}");
            compared += 2;
        };
        for pair in all.windows(2) {
            let (low, high) = (pair[0].1, pair[1].1);
            for part in 0..=64 {
                check(low + (high - low) * f64::from(part) / 64.0);
            }
            // Next to the tie: the smallest steps of f64.
            let middle = (low + high) / 2.0;
            check(middle.next_down());
            check(middle.next_up());
        }
        let largest = format.value(format.max_finite());
        for beyond in [largest.next_up(), largest * 1.01, largest * 1.07, largest * 2.0, largest * 1e6] {
            check(beyond);
        }
    }
    assert!(compared > 40_000, "{compared}");
}

#[test]
fn every_encoding_rounds_to_itself() {
    for format in [Format::FP8_E4M3, Format::FP8_E5M2, Format::FP16, Format::BF16] {
        for (bits, value) in magnitudes(format) {
            assert_eq!(round_to(format, value), bits, "{format}");
            assert_eq!(round_to(format, -value), bits | format.sign_bit(), "{format}");
        }
    }
}

#[test]
fn bf16_and_fp16_agree_with_half() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let saturated = |format: Format, bits: u16| {
        let sign = u64::from(bits) & format.sign_bit();
        if format.is_special(bits.into()) { sign | format.max_finite() } else { bits.into() }
    };
    let smallest = Format::BF16.value(Format::BF16.min_positive());
    let mut compared = 0;
    for _ in 0..1_000_000 {
        // Exponents around the format's range, so that its limits are tested as well.
        let bits = random.next_u32();
        let narrow = f32::from_bits(bits & 0x87ff_ffff | (127 - 26 + (bits >> 24 & 0x2b)) << 23);
        let half = f16::from_f32(narrow).to_bits();
        assert_eq!(round_to(Format::FP16, narrow.into()), saturated(Format::FP16, half), "{narrow:e}");
        let wide = f32::from_bits(bits);
        // Below the smallest normal number the two differ: `half` keeps subnormals, the core flushes them.
        if !wide.is_nan() && f64::from(wide.abs()) >= smallest {
            let brain = bf16::from_f32(wide).to_bits();
            assert_eq!(round_to(Format::BF16, wide.into()), saturated(Format::BF16, brain), "{wide:e}");
            compared += 1;
        }
    }
    assert!(compared > 900_000, "{compared}");
}

/// Tensors are read with `half`; a core's numbers are the same, but subnormals of bf16 are zero.
#[test]
fn values_of_halves_agree_with_half() {
    for bits in 0..=u16::MAX {
        let (word, half, brain) = (u64::from(bits), f16::from_bits(bits), bf16::from_bits(bits));
        if half.is_finite() {
            assert_eq!(Format::FP16.value(word).to_bits(), half.to_f64().to_bits(), "{bits:#x}");
        }
        if brain.is_finite() {
            let expected = if brain.is_normal() { brain.to_f64() } else { 0f64.copysign(brain.to_f64()) };
            assert_eq!(Format::BF16.value(word).to_bits(), expected.to_bits(), "{bits:#x}");
        }
    }
}

/// `half` drops the lower 32 bits of an f64 before it rounds. So a number above a tie by less goes to the even neighbour, and operands,
/// which are f64, are rounded by [`round_to`].
#[test]
fn half_rounds_an_f64_twice() {
    let above = |places: i32| 1.0 + f64::powi(2.0, -places) + f64::powi(2.0, -40);
    assert_eq!(round_value(Format::BF16, above(8)), 1.0 + f64::powi(2.0, -7));
    assert_eq!(bf16::from_f64(above(8)).to_f64(), 1.0);
    assert_eq!(round_value(Format::FP16, above(11)), 1.0 + f64::powi(2.0, -10));
}

/// Nanoseconds for a value, by `half` and by us.
#[test]
#[ignore = "a measurement"]
fn speed_of_half() {
    let words: Vec<u16> = (0..1 << 22).map(|i: u32| (i.wrapping_mul(0x9e37_79b9) >> 16) as u16).collect();
    let time = |what: &str, each: &dyn Fn(u16) -> f64| {
        let run = || {
            let started = std::time::Instant::now();
            std::hint::black_box(words.iter().map(|&word| each(word)).sum::<f64>());
            started.elapsed().as_secs_f64() * 1e9 / words.len() as f64
        };
        println!("{what}: {:.2} ns", (0..5).map(|_| run()).fold(f64::INFINITY, f64::min));
    };
    time("fp16 to f64, half", &|word| f16::from_bits(word & 0x7bff).to_f64());
    time("fp16 to f64, ours", &|word| Format::FP16.value((word & 0x7bff).into()));
    time("bf16 to f64, half", &|word| bf16::from_bits(word & 0x7f7f).to_f64());
    time("bf16 to f64, ours", &|word| Format::BF16.value((word & 0x7f7f).into()));
    time("f64 to bf16, half", &|word| f64::from(bf16::from_f64(f64::from(word) * 1.1).to_bits()));
    time("f64 to bf16, ours", &|word| round_to(Format::BF16, f64::from(word) * 1.1) as f64);
    time("f64 to fp16, half", &|word| f64::from(f16::from_f64(f64::from(word) * 0.9).to_bits()));
    time("f64 to fp16, ours", &|word| round_to(Format::FP16, f64::from(word) * 0.9) as f64);
}

#[test]
fn fp32_agrees_with_the_conversion_of_the_machine() {
    let mut random = ChaCha8Rng::seed_from_u64(8);
    for _ in 0..1_000_000 {
        let bits = random.next_u64();
        let x = f64::from_bits(bits & 0x800f_ffff_ffff_ffff | (1023 - 126 + (bits >> 54) % 253) << 52);
        assert_eq!(round_to(Format::FP32, x), u64::from((x as f32).to_bits()), "{x:e}");
    }
}

#[test]
fn a_flushing_format_rounds_first_and_flushes_then() {
    let smallest = 2f64.powi(-126);
    let bits = |x: f64| round_to(Format::BF16, x);
    assert_eq!(bits(smallest), 0x0080);
    assert_eq!(bits(-smallest), 0x8080);
    // With an unbounded exponent the next lower number is 2^-134 away; half of that still rounds up to even.
    assert_eq!(bits(smallest - 2f64.powi(-135)), 0x0080);
    assert_eq!(bits((smallest - 2f64.powi(-135)).next_down()), 0);
    assert_eq!(bits(-(smallest - 2f64.powi(-134))), 0x8000, "zero keeps its sign");
    assert_eq!(bits(smallest * 0.75), 0);
}

#[test]
fn special_values_are_rounded() {
    for (_, format) in Format::NAMED {
        assert_eq!(round_to(format, f64::INFINITY), format.max_finite());
        assert_eq!(round_to(format, f64::NEG_INFINITY), format.max_finite() | format.sign_bit());
        assert_eq!(round_to(format, f64::NAN), 0);
        assert_eq!(round_to(format, -0.0), format.sign_bit());
        assert_eq!(round_to(format, f64::from_bits(1)), 0, "the smallest number of all");
        assert_eq!(round_value(format, 1.0), 1.0);
    }
}

//! Terms of the fused dot product against wide integers: every pair of encodings of 8 bits, and random pairs of wider formats.

use flashd_hwmodel::rtl::VectorFunction;
use flashd_hwmodel::score::fused_dot::TermFunction;
use flashd_hwmodel::word::Num;
use flashd_spec::bits::signed;
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::{Format, Formats, Scale};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// A number as `mantissa 2^exponent`.
fn parts(format: Format, bits: u64) -> (i128, i32) {
    let value = format.value(bits);
    if value == 0.0 {
        return (0, 0);
    }
    // The exponent at which the mantissa is an integer.
    let exponent = value.abs().log2().floor() as i32 - format.fraction_bits as i32;
    let (half, rest) = (exponent / 2, exponent - exponent / 2);
    ((value * 2f64.powi(-half) * 2f64.powi(-rest)) as i128, exponent)
}

/// The core of two formats, without scales.
fn numerics(q: Format, k: Format, d: usize, shift: Option<i32>, integer: u32) -> Arc<Numerics> {
    let config =
        CoreConfig::new(Design::FlashD, d, q).with_formats(Formats { q, k, v: q, o: q.of_results() });
    let config =
        CoreConfig { score_shift: shift, score_integer_bits: integer, scales: Some(Scale::None), ..config };
    config.validate().unwrap();
    Arc::new(Numerics::new(&config))
}

/// Compares one term. Returns whether its product is too large.
fn check(n: &Arc<Numerics>, a: u64, b: u64) -> bool {
    let Formats { q, k, .. } = n.formats;
    let inputs = [vec![Num::new(q.width(), a)], vec![Num::new(k.width(), b)]];
    let outputs = TermFunction { numerics: n.clone() }.eval(&inputs);
    let bits = n.term_bits();
    let got = i128::from(signed(outputs[0][0].value(), bits)) + i128::from(outputs[1][0].value());
    let ((ma, ea), (mb, eb)) = (parts(q, a), parts(k, b));
    let (product, exponent) = (ma * mb, ea + eb + n.term_shift());
    let magnitude = product.abs();
    // Rounded half away from zero; `None` beyond 2^100, which no term reaches.
    let rounded = match exponent {
        _ if magnitude == 0 => Some(0),
        0.. if magnitude.ilog2() as i32 + exponent > 100 => None,
        0.. => Some(magnitude << exponent),
        -120..0 => Some(((magnitude >> (-exponent - 1)) + 1) >> 1),
        _ => Some(0),
    };
    // Too large: before it is rounded.
    let limit = 1i128 << (bits - 1);
    let large = rounded.is_none_or(|rounded| match exponent {
        0.. => rounded >= limit,
        _ => exponent > -120 && magnitude >> -exponent >= limit,
    });
    let case = format!("{a:#x} {q} * {b:#x} {k}, shift {}", n.score_shift);
    assert_eq!(outputs.get(2).is_some_and(|large| large[0].value() == 1), large, "{case}");
    match rounded.filter(|_| !large) {
        Some(rounded) => assert_eq!(got, product.signum() * rounded, "{case}"),
        None => assert!(got * product.signum() >= limit / 2, "{case}: {got}"),
    }
    large
}

#[test]
fn every_pair_of_8_bits() {
    let [e4m3, e5m2] = [Format::FP8_E4M3, Format::FP8_E5M2];
    for (q, k) in [(e4m3, e4m3), (e5m2, e5m2), (e4m3, e5m2)] {
        for (shift, integer) in [(None, 16), (Some(0), 16), (Some(-9), 5), (Some(9), 16), (Some(40), 20)] {
            let n = numerics(q, k, 16, shift, integer);
            let mut large = 0;
            for (a, b) in (0..256).flat_map(|a| (0..256).map(move |b| (a, b))) {
                large += usize::from(check(&n, a, b));
            }
            assert!(
                large == 0 || q != e4m3 || k != e4m3 || shift.is_some_and(|shift| shift > 0),
                "{q} {k} {shift:?}"
            );
        }
    }
}

#[test]
fn narrow_formats() {
    let fixed = Format::fixed_points().filter(|format| format.width() == 8);
    let named = [Format::FP6_E3M2, Format::FP6_E2M3, Format::FP4_E2M1, Format::INT8, Format::INT4];
    for format in named.into_iter().chain(fixed) {
        for shift in [None, Some(0), Some(-20), Some(14), Some(30)] {
            let n = numerics(format, format, 16, shift, 16);
            let all = 1 << format.width();
            (0..all).flat_map(|a| (0..all).map(move |b| (a, b))).for_each(|(a, b)| {
                check(&n, a, b);
            });
        }
    }
}

#[test]
fn random_pairs() {
    let mut state = 71u64;
    println!("seed {state}");
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 16
    };
    let formats =
        [Format::BF16, Format::FP16, Format::FP32, Format::FP8_E4M3, Format::INT16, Format::fixed(16, 8)];
    for (q, k) in formats.into_iter().flat_map(|q| formats.map(|k| (q, k))) {
        for (shift, integer) in [(None, 16), (Some(0), 9), (Some(-7), 20), (Some(20), 12), (Some(45), 5)] {
            let n = numerics(q, k, 64, shift, integer);
            let mut draw = |format: Format| {
                let bits = random() & (2 * format.sign_bit() - 1);
                let rest = bits & (format.sign_bit() | format.fraction_mask());
                // Two of three near the exponents from which on products are too large, or near zero.
                let exponent = match random() % 3 {
                    0 => return bits,
                    1 => (format.bias + (random() % 12) as i32).max(0) as u64,
                    _ => random() % 3,
                };
                rest | exponent.min(format.exponent_mask()) << format.fraction_bits
            };
            for _ in 0..20_000 {
                let (a, b) = (draw(q), draw(k));
                check(&n, a, b);
            }
        }
    }
}

/// Products of 16-bit integers at the ends of their range: the largest, the lowest encoding, and powers of two.
#[test]
fn corners_of_16_bits() {
    let corners: Vec<u64> =
        (0..16).flat_map(|bit| [1u64 << bit, (1 << bit) - 1, 0xffff & !(1 << bit)]).collect();
    let formats = [Format::INT16, Format::fixed(16, 8), Format::fixed(16, 15), Format::fixed(16, 20)];
    for (q, k) in formats.into_iter().flat_map(|q| formats.map(|k| (q, k))) {
        for (shift, integer) in [(None, 16), (Some(0), 9), (Some(-24), 20), (Some(12), 5), (Some(16), 20)] {
            let n = numerics(q, k, 576, shift, integer);
            for (&a, &b) in corners.iter().flat_map(|a| corners.iter().map(move |b| (a, b))) {
                check(&n, a, b);
            }
        }
    }
}

/// A shift that makes terms wider than a word of the models is refused with the largest one.
#[test]
fn a_shift_beyond_the_terms_is_refused() {
    let config = CoreConfig::new(Design::FlashD, 576, Format::INT16);
    let scales = Some(Scale::None);
    let config = CoreConfig { score_shift: Some(17), score_integer_bits: 20, scales, ..config };
    let error = config.validate().unwrap_err().by_flag();
    assert_eq!(
        error,
        "--score-shift: 17 with products of int16 and int16 is more than 16, the most whose terms fit 64 bits"
    );
}

#[test]
fn products_of_the_bound_fit() {
    for (q, k) in [(Format::BF16, Format::BF16), (Format::FP32, Format::FP32), (Format::FP16, Format::FP16)] {
        let n = numerics(q, k, 64, Some(0), 16);
        // The largest number below 512; its square is just below 2^18.
        let largest = |format: Format| (format.one() + (8 << format.fraction_bits)) | format.fraction_mask();
        assert!(!check(&n, largest(q), largest(k)), "{q}");
        assert!(!check(&n, largest(q) | q.sign_bit(), largest(k)), "{q}");
        assert!(check(&n, largest(q) + 1, largest(k) + 1), "{q}");
    }
}

//! Biases in base 2 for every encoding, against 128-bit integers.

use flashd_hwmodel::rtl::Function;
use flashd_hwmodel::score::bias::{BiasFunction, BiasedScoreFunction};
use flashd_hwmodel::word::Num;
use flashd_spec::bits::signed;
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// `|bias| log2(e)` in units of `2^-fraction`, rounded half up by a division, at most `most`.
fn expected(bits: u64, fraction: u32, most: i64) -> i64 {
    let (field, significand) = (bits >> 7 & 255, 128 + (bits & 127));
    if field == 0 || field == 255 {
        return 0;
    }
    // bias = significand 2^(field - 134), log2(e) = 189097 / 2^17.
    let exponent = field as i32 - 134 - 17 + fraction as i32;
    let product = u128::from(significand * 189_097);
    let magnitude = match exponent {
        0..64 => product << exponent,
        64.. => u128::MAX,
        -100..0 => (2 * product / (1 << -exponent)).div_ceil(2),
        _ => 0,
    };
    let magnitude = magnitude.min(most as u128) as i64;
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

#[test]
fn every_encoding_at_every_width() {
    let core = CoreConfig::new(Design::FlashD, 16, Format::BF16);
    for integer in [5, 9, 12, 16, 20] {
        for fraction in [2, 7, 10, 12, 20].into_iter().filter(|fraction| integer + fraction <= 32) {
            let config = CoreConfig {
                score_integer_bits: integer,
                score_fraction_bits: Some(fraction),
                ..core.clone()
            };
            let config = CoreConfig { state_fraction_bits: Some(fraction.max(18)), ..config };
            let n = Arc::new(Numerics::new(&config));
            let function = BiasFunction { numerics: n.clone() };
            for bits in 0..1 << 16 {
                let [bias, special, saturated] = function.eval([Num::new(16, bits)]);
                let got = signed(bias.value(), n.score_bits());
                let most = (1 << (integer + fraction)) - 1;
                assert_eq!(got, expected(bits, fraction, most), "{bits:#x}, {integer}.{fraction}");
                let beyond = expected(bits, fraction, i64::MAX >> 1).abs() > most;
                assert_eq!(saturated.value() == 1, beyond, "{bits:#x}, {integer}.{fraction}");
                assert_eq!(special.value() == 1, bits >> 7 & 255 == 255, "{bits:#x}");
            }
        }
    }
}

#[test]
fn sums_saturate() {
    let bits = 6;
    let function = BiasedScoreFunction { bits };
    for a in 0..1u64 << bits {
        for b in 0..1u64 << bits {
            let [sum, saturated] = function.eval([Num::new(bits, a), Num::new(bits, b)]);
            let exact = signed(a, bits) + signed(b, bits);
            assert_eq!(signed(sum.value(), bits), exact.clamp(-31, 31), "{a} + {b}");
            assert_eq!(saturated.value() == 1, exact.abs() > 31, "{a} + {b}");
        }
    }
}

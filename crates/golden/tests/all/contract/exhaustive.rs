//! Lanes of the 8-bit formats for all operands: equal to the contract, and weighted means where they must be.

use super::lanes;
use super::scalar::Scalar;
use crate::common::variant_of;
use flashd_golden::{fa2_fixed_lane, flash_d_fixed_lane};
use flashd_spec::config::{CoreConfig, Fa2Variant, FlashDVariant, LaneBits};
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use rayon::prelude::*;

const FORMATS: [Format; 2] = [Format::FP8_E4M3, Format::FP8_E5M2];

fn encodings(format: Format) -> std::ops::Range<u64> {
    0..format.sign_bit() << 1
}

/// Every factor of `bits` bits with a right shift of `least` to `least + 4`, and some so small that nothing is left.
fn factors(bits: u32, least: i128) -> impl Iterator<Item = (i128, i128)> + Clone {
    let significands = 1i128 << (bits - 1)..1 << bits;
    let rights = (least..least + 5).chain([20]);
    let all = rights.flat_map(move |right| significands.clone().map(move |m| (m, right)));
    all.filter(move |&(m, right)| right > least || m == 1 << (bits - 1))
}

#[test]
fn flash_d_fixed_lanes() {
    for format in FORMATS {
        let fixed = variant_of(2, format, FlashDVariant::Fixed);
        for (o, v, w) in [(8, 4, 3), (8, 7, 3), (9, 6, 3)] {
            let config = CoreConfig { lane: Some(LaneBits { o, v, w }), ..fixed.clone() };
            let n = Numerics::new(&config);
            let largest = ((1i128 << (v - 1)) - 1) << (o - v);
            (-largest..=largest).into_par_iter().for_each(|old| {
                let scalar = Scalar::new(&config, &n);
                for (bits, x) in encodings(format).flat_map(|v| [5, format.bias as u64].map(|x| (v, x))) {
                    let (new, _) = lanes::fixed_value(format, bits, x.into(), v);
                    let end = new << (o - v);
                    // The first key's factor is zero.
                    for (m, right) in factors(w, 1).chain([(0, 0)]) {
                        for (upper, dither) in
                            [(false, 0), (true, 0), (false, -1), (true, -1), (m & 1 == 0, 5)]
                        {
                            let wanted = lanes::fixed(&scalar, old, new, (m, right, dither), upper);
                            let step = ((right << w | m) as u64, upper, dither as i64);
                            let got = flash_d_fixed_lane(&config, x, old as i64, bits, step);
                            let case = || {
                                format!("{} {old} {bits:#x} {x} {m} {right} {upper} {dither}", config.name())
                            };
                            assert_eq!(i128::from(got), wanted, "{}", case());
                            // A dithered difference may be up to one place of v too long, and is halved at least.
                            let beyond = (1 << (o - v)) / 2;
                            assert!(
                                (old.min(end) - beyond..=old.max(end) + beyond).contains(&wanted),
                                "not between: {}",
                                case()
                            );
                            if m == 0 {
                                assert_eq!(wanted, if upper { end } else { old }, "{}", case());
                            }
                        }
                    }
                }
            });
        }
    }
}

#[test]
fn log_reference_lanes() {
    for format in FORMATS {
        for (o, w) in [(8, 4), (11, 3)] {
            let core = variant_of(2, format, Fa2Variant::LogReference);
            let config = CoreConfig { lane: Some(LaneBits { o, v: 8, w }), ..core };
            let n = Numerics::new(&config);
            let scalar = Scalar::new(&config, &n);
            let largest = 1i128 << (o - 1);
            let olds = [0, -1, 77, -100, largest, -largest, 3 * largest / 2];
            let exponents = [0, 1, 5, format.bias as u64, format.exponent_mask()];
            let operands: Vec<_> = encodings(format).flat_map(|v| exponents.map(|x| (v, x))).collect();
            operands.par_iter().for_each(|&(v, x)| {
                for (m, right) in factors(w, 0) {
                    for (i, old) in olds.into_iter().enumerate() {
                        let delta = [0, 1, 3, 60][(i + m as usize) % 4];
                        let (wanted, _) = lanes::sum(&scalar, old, v, x.into(), (m, right, delta));
                        let record = (right << w | m) as u64;
                        let got = fa2_fixed_lane(&config, x, old as i64, v, record, delta as u32);
                        let case = format_args!("{} {old} {v:#x} {x} {m} {right} {delta}", config.name());
                        assert_eq!(i128::from(got), wanted, "{case}");
                    }
                }
            });
        }
    }
}

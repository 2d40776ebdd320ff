//! Factors, and rounding half up.

use flashd_golden::parts::{Factor, round_half_up};

#[test]
fn a_factor_is_its_value_rounded() {
    let fraction = 10;
    for value in 1..=1u64 << fraction {
        for bits in 3..=15 {
            let factor = Factor::new(value, fraction, 3, bits);
            let exact = value as f64 / 8192.0;
            assert_eq!(factor.m.ilog2() + 1, bits, "{value} {bits}: {factor:?}");
            let half_unit = 2f64.powi(-(bits as i32)) * 2f64.powi(exact.log2().floor() as i32);
            assert!((factor.value() - exact).abs() <= half_unit, "{value} {bits}: {factor:?}");
            if bits > fraction {
                assert_eq!(factor.value(), exact);
            }
        }
    }
    assert_eq!((Factor::zero(4).record(), Factor::one(4).record()), (0, 8));
    let factor = Factor { m: 9, bits: 4, right: 5 };
    assert_eq!((factor.record(), Factor::from_record(0x59, 4)), (0x59, factor));
}

#[test]
fn half_goes_up() {
    assert_eq!([-3, -1, 1, 3].map(|x| round_half_up(x, 1)), [-1, 0, 1, 2]);
    assert_eq!((round_half_up(5, -2), round_half_up(5, 0), round_half_up(i64::MAX / 4, 63)), (20, 5, 0));
}

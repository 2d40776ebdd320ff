//! Sums rounded to odd and rounding to integers, in the carriers f32 and f64.

use flashd_golden::parts::Carrier;
use rand::{RngExt, SeedableRng};

/// Rounds `x * 2^-scale` to odd with `precision` bits, in integers only.
fn odd_reference(x: i128, precision: u32, scale: i32) -> f64 {
    let mag = x.unsigned_abs();
    let length = 128 - mag.leading_zeros();
    let drop = length.saturating_sub(precision);
    let kept = (mag >> drop) | u128::from(mag & ((1u128 << drop) - 1) != 0);
    let value = kept as f64 * 2f64.powi(drop as i32 - scale);
    if x < 0 { -value } else { value }
}

#[test]
fn sums_round_to_odd() {
    let seed = 11;
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    for i in 0..400_000 {
        let (wide, narrow) = (1i128 << 24, 1i128 << 10);
        let a = rng.random_range(-wide..=wide) << rng.random_range(0..80);
        let b = rng.random_range(-narrow..=narrow) << rng.random_range(0..80);
        let (x, y) = (a as f64, b as f64);
        let exact = odd_reference(a + b, 53, 0);
        assert_eq!(x.add_odd(y), exact, "seed {seed}, sample {i}: {a} + {b} in f64");
        let (x, y) = (a as f32 * 2f32.powi(-60), b as f32 * 2f32.powi(-60));
        let exact = odd_reference(a + b, 24, 60);
        assert_eq!(x.add_odd(y) as f64, exact, "seed {seed}, sample {i}: {a} + {b} in f32");
    }
}

#[test]
fn integers_of_a_carrier() {
    fn check<C: Carrier>(x: f64) {
        let carried = C::from_f64(x);
        let nearest: i64 = carried.nearest_integer().into();
        assert_eq!(nearest as f64, x.round_ties_even(), "{x}");
        assert_eq!(carried.floor().to_f64(), x.floor(), "{x}");
        // After `away`, the nearest integer is x rounded half away from zero.
        let away: i64 = carried.away().nearest_integer().into();
        assert_eq!(away as f64, x.round(), "{x}");
    }
    for i in -4096..4096 {
        for x in [i as f64 / 4.0, i as f64 * 512.0, i as f64 * 2f64.powi(-30)] {
            check::<f32>(x);
            check::<f64>(x);
        }
    }
    check::<f64>(2f64.powi(50) - 0.5);
}

#[test]
fn zeros_keep_the_sign_of_the_machine() {
    assert!((-0.0f64).add_odd(-0.0).is_sign_negative());
    assert!((-0.0f32).add_odd(0.0).is_sign_positive());
    assert!(1.5f32.add_odd(-1.5).is_sign_positive());
}

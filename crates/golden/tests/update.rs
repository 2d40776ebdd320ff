//! FLASH-D's lane update: its exact value, and the properties that make it a weighted mean.

mod common;

use common::{Dyadic, near_one, rng};
use flashd_golden::units::round_from_f64;
use flashd_golden::{decode, flash_d_lane};
use flashd_hwmodel::config::{Accumulator, CoreConfig, Design};
use flashd_hwmodel::format::Format;
use flashd_hwmodel::numerics::Numerics;
use rand::RngExt;

/// `w = 1` returns `v`, `w = 0` returns `o`, every result lies between `o` and `v`.
fn check_properties(config: &CoreConfig, o: u64, v: u64, w: u64) {
    let (format, accumulator) = (config.format, config.accumulator_format());
    let result = decode(accumulator, flash_d_lane(config, o, v, w));
    let (x, y) = (decode(accumulator, o), decode(format, v));
    let case = || {
        format!(
            "{}: o = {o:#x} ({x}), v = {v:#x} ({y}), w = {w:#x}: {result}",
            config.name()
        )
    };
    assert!(
        result >= x.min(y) && result <= x.max(y),
        "{}",
        case()
    );
    if w == format.one() {
        assert_eq!(result, y, "{}", case());
    }
    if decode(format, w) == 0.0 {
        assert_eq!(result, x, "{}", case());
    }
}

#[test]
fn e4m3_stays_between_for_all_operands() {
    let format = Format::FP8_E4M3;
    let config = CoreConfig::new(Design::FlashD, 16, format);
    let finite: Vec<u64> = (0..256).filter(|&b| !format.is_special(b)).collect();
    for &o in &finite {
        for &v in &finite {
            for w in 0..=format.one() {
                check_properties(&config, o, v, w);
            }
        }
    }
}

#[test]
fn every_format_and_accumulator_stays_between() {
    let seed = 31;
    let mut rng = rng(seed);
    for (_, format) in Format::NAMED {
        for accumulator in [None, Some(format.fraction_bits + 1), Some(16), Some(23)] {
            let accumulator = match accumulator {
                Some(f) if f > format.fraction_bits && f <= 23 => Accumulator::Fraction(f),
                _ => Accumulator::Format,
            };
            let config = CoreConfig {
                accumulator,
                ..CoreConfig::new(Design::FlashD, 16, format)
            };
            let acc = config.accumulator_format();
            for _ in 0..40_000 {
                let spread = [1, 9, 130][rng.random_range(0..3)];
                let o = near_one(&mut rng, acc, spread);
                let v = near_one(&mut rng, format, spread);
                let w = round_from_f64(
                    format,
                    rng.random_range(0f64..=1.0).powi(rng.random_range(1..12)),
                );
                // The accumulator only ever holds means of values of the format.
                if decode(acc, o).abs() <= decode(format, format.max_finite()) {
                    check_properties(&config, o, v, w);
                }
            }
        }
    }
}

#[test]
fn updates_are_the_exact_ones_rounded() {
    let seed = 32;
    let mut rng = rng(seed);
    for (_, format) in Format::NAMED {
        for fraction in [format.fraction_bits, 16.max(format.fraction_bits), 23] {
            let accumulator = Accumulator::Fraction(fraction);
            let config = CoreConfig {
                accumulator,
                ..CoreConfig::new(Design::FlashD, 16, format)
            };
            let n = Numerics::new(&config);
            for i in 0..60_000 {
                let spread = [1, 8, 20, 27][i % 4];
                let (o, v) = (
                    near_one(&mut rng, n.accumulator, spread),
                    near_one(&mut rng, format, spread),
                );
                let w = near_one(&mut rng, format, spread) & (format.sign_bit() - 1);
                let w = if decode(format, w) >= 1.0 {
                    format.one() - 1 - i as u64 % 3
                } else {
                    w
                };
                let difference = Dyadic::of(format, v).add(Dyadic::of(n.accumulator, o).neg());
                let difference = Dyadic::of(n.difference, difference.round(n.difference));
                let product = Dyadic::of(format, w).mul(difference).round(n.difference);
                let sum = Dyadic::of(n.accumulator, o).add(Dyadic::of(n.difference, product));
                let wanted = sum.round(n.accumulator);
                let got = flash_d_lane(&config, o, v, w);
                // A zero's sign has its own tests.
                let same = got == wanted
                    || decode(n.accumulator, got) == 0.0 && decode(n.accumulator, wanted) == 0.0;
                assert!(
                    same,
                    "{} seed {seed}: o {o:#x} v {v:#x} w {w:#x}: {got:#x}, not {wanted:#x}",
                    config.name()
                );
            }
        }
    }
}

#[test]
fn a_tiny_accumulator_decides_a_tie() {
    // w (v - o) rounds to the midpoint 1 + 2^-8 of two bf16 numbers; o = +-2^-90 is lost in f64 as well.
    let config = CoreConfig::new(Design::FlashD, 16, Format::BF16);
    let lane = |o: f64, v: f64, w: f64| {
        let bits = |x| round_from_f64(Format::BF16, x);
        decode(
            Format::BF16,
            flash_d_lane(&config, bits(o), bits(v), bits(w)),
        )
    };
    let found = (128..256u32).find_map(|a| {
        (128..256u32)
            .find(|b| a * b == 257 << 7)
            .map(|b| (a as f64 / 256.0, b as f64 / 128.0))
    });
    // 257 is prime, so the exact product never is that midpoint; the rounded one is.
    assert_eq!(found, None);
    let (w, v) = (128..256u32)
        .flat_map(|a| (128..256u32).map(move |b| (a, b)))
        .find(|&(a, b)| {
            let product = (a * b) as f64 / (1 << 14) as f64 / 2.0;
            (product * 512.0).round_ties_even() / 512.0 == 1.0 + 1.0 / 256.0
        })
        .map(|(a, b)| (a as f64 / 256.0, b as f64 / 128.0))
        .expect("some product rounds to the midpoint");
    assert_eq!(
        lane(0.0, v, w),
        1.0,
        "w = {w}, v = {v}: a tie goes to the even significand"
    );
    assert_eq!(lane(-2f64.powi(-90), v, w), 1.0);
    assert_eq!(lane(2f64.powi(-90), v, w), 1.0 + 1.0 / 128.0);
}

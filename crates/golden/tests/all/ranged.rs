//! Ranged lanes of both designs: how precise a step of FLASH-D is, that `v_exponent` and the size of a channel do not matter, and
//! averages of many keys.

use crate::common::{Rng, any_finite, normal, rng};
use flashd_golden::units::round_from_f64;
use flashd_golden::{Head, Model, decode, flash_d_ranged_lane};
use flashd_spec::bits::{ones, signed};
use flashd_spec::config::{CoreConfig, Fa2Variant, FlashDVariant, Hold, LaneBits};
use flashd_spec::format::Format;
use flashd_spec::numerics::fixed_result_bits;
use rand::RngExt;
use std::ops::Range;

fn core(d: usize, format: Format) -> CoreConfig {
    CoreConfig::with_datapath(FlashDVariant::Ranged.into(), d, format)
}

fn fa2(d: usize, format: Format) -> CoreConfig {
    CoreConfig::with_datapath(Fa2Variant::Ranged.into(), d, format)
}

/// A state as a number.
fn number(config: &CoreConfig, state: u64) -> f64 {
    let o = config.lane_bits().o;
    let unit = (state >> o) as i32 - config.format.bias + 2 - o as i32;
    signed(state & ones(o), o) as f64 * 2f64.powi(unit)
}

/// All finite encodings of 8-bit formats.
fn finite(format: Format) -> impl Iterator<Item = u64> {
    (0..1 << format.width()).filter(move |&bits| !format.is_special(bits))
}

#[test]
fn a_weight_of_one_returns_v_and_steps_stay_between_o_and_v() {
    let mut rng = rng(191);
    for format in [Format::FP8_E4M3, Format::FP8_E5M2] {
        let config = core(4, format);
        let lane = config.lane_bits();
        let kept = fixed_result_bits(lane);
        for v in finite(format) {
            let first = flash_d_ranged_lane(&config, rng.random::<u64>() & ones(lane.o + 3), v, (0, true, 0));
            assert_eq!(number(&config, first), decode(format, v), "{format}: {v:#x}");
            for before in finite(format) {
                let o = flash_d_ranged_lane(&config, 0, before, (0, true, 0));
                let from = number(&config, o);
                let exponent = (first >> lane.o).max(o >> lane.o);
                // The last place in `bits` bits: v is rounded to that of `lane.v`, and o to that of `kept` if the
                // exponent grows.
                let place = |bits: u32| 2f64.powi(exponent as i32 - format.bias + 2 - bits as i32);
                for (w, upper) in [(1, false), (ones(lane.w), false), (1, true), (ones(lane.w), true)] {
                    // A factor of at most 1/2.
                    let w = (1 << (lane.w - 1)) | w | (rng.random_range(2..8) << lane.w);
                    let next = flash_d_ranged_lane(&config, o, v, (w, upper, rng.random()));
                    assert_eq!(next >> lane.o, exponent, "{format}: the exponent is the larger one's");
                    let (next, to) = (number(&config, next), number(&config, first));
                    // A dithered difference is up to one place of `lane.v` too long, and halved at least.
                    let slack = place(lane.v) + place(kept);
                    let (low, high) = (from.min(to) - slack, from.max(to) + slack);
                    assert!((low..=high).contains(&next), "{format}: {from} to {to} by {w:#x}: {next}");
                }
                // A tiny weight leaves o as it was.
                let same = flash_d_ranged_lane(
                    &config,
                    o,
                    v,
                    ((60 << lane.w) | (1 << (lane.w - 1)), false, rng.random()),
                );
                assert!((number(&config, same) - from).abs() <= place(kept), "{format}: {from} and {v:#x}");
            }
        }
    }
}

/// If a channel is scaled by a power of two, so are its results, bit for bit, as long as nothing is subnormal.
#[test]
fn the_size_of_a_channel_does_not_matter() {
    let (d, keys) = (8, 120);
    let mut rng = rng(192);
    let formats = [Format::BF16, Format::FP8_E4M3, Format::FP16];
    for config in formats.into_iter().flat_map(|format| [core(d, format), fa2(d, format)]) {
        let format = config.format;
        let q = normal(&mut rng, format, 2.0, 3 * d);
        let k = normal(&mut rng, format, 2.0, keys * d);
        let octaves = if format.exponent_bits > 4 { 5 } else { 2 };
        let v: Vec<u64> = (0..keys * d)
            .map(|_| normal_number(&mut rng, format, format.bias as u64 - 3..format.bias as u64 + 1))
            .collect();
        let scaled: Vec<u64> = (v.iter().enumerate())
            .map(|(i, &v)| v + (octaves * (i % d % 2) as u64) * (1 << format.fraction_bits))
            .collect();
        let run = |v: &[u64]| Model::new(&config).run(Head::new(&q, &k, v, &[40, 80, keys]));
        for (plain, scaled) in run(&v).iter().zip(&run(&scaled)) {
            for (j, (&plain, &scaled)) in plain.o.iter().zip(&scaled.o).enumerate() {
                let by = 2f64.powi((octaves * (j % 2) as u64) as i32);
                let (plain, scaled) = (decode(format, plain), decode(format, scaled));
                // Subnormal results may round differently.
                if plain.abs() >= 2f64.powi(format.min_exponent()) {
                    assert_eq!(plain * by, scaled, "{}, channel {j}", config.name());
                }
            }
        }
    }
}

/// A normal number with a random sign and fraction.
fn normal_number(rng: &mut Rng, format: Format, exponents: Range<u64>) -> u64 {
    let sign = if rng.random_range(0..2) == 0 { 0 } else { format.sign_bit() };
    let fraction = rng.random::<u64>() & format.fraction_mask();
    sign | (rng.random_range(exponents) << format.fraction_bits) | fraction
}

/// `v_exponent` has no effect, and no value is too large.
#[test]
fn there_is_no_exponent_from_outside() {
    let (d, keys) = (4, 60);
    let mut rng = rng(193);
    for config in Format::NAMED.into_iter().flat_map(|(_, format)| [core(d, format), fa2(d, format)]) {
        let format = config.format;
        let lane = (format == Format::FP32).then_some(LaneBits { o: 28, v: 20, w: 12 });
        let config = CoreConfig { lane, ..config };
        assert!(!config.has_value_exponent());
        let q = normal(&mut rng, format, 2.0, d);
        let k = normal(&mut rng, format, 2.0, keys * d);
        let v: Vec<u64> = (0..keys * d).map(|_| any_finite(&mut rng, format)).collect();
        let run = |x: u64| {
            let exponents = [x];
            Model::new(&config).run(Head::new(&q, &k, &v, &[keys]).with_exponents(&exponents))
        };
        let (small, large) = (run(1), run(format.exponent_mask()));
        assert_eq!(small[0].o, large[0].o);
        assert!(!small[0].overflow && !large[0].overflow);
    }
}

/// The mean of 65,536 values with equal scores.
#[test]
fn equal_scores() {
    const KEYS: usize = 65_536;
    let d = 4;
    let mut rng = rng(194);
    for (format, limit) in [(Format::BF16, 3e-4), (Format::FP8_E4M3, 3e-3)] {
        let config = CoreConfig { hold: Some(Hold::None), ..core(d, format) };
        let v = normal(&mut rng, format, 1.0, KEYS * d);
        let zeros = vec![0; KEYS * d];
        let result = &Model::new(&config).run(Head::new(&zeros[..d], &zeros, &v, &[KEYS]))[0];
        for (j, &o) in result.o.iter().enumerate() {
            let column = || (0..KEYS).map(|i| decode(format, v[i * d + j]));
            let mean = column().sum::<f64>() / KEYS as f64;
            let largest = column().fold(0f64, |m, v| m.max(v.abs()));
            let error = (decode(format, o) - mean).abs() / largest;
            assert!(error < limit, "{format}: off by {error} of max|v|");
        }
    }
    // The mean of equal values is exact.
    for format in [Format::BF16, Format::FP8_E4M3] {
        let config = core(d, format);
        let (v, zeros) = (vec![format.one() + 1; KEYS * d], vec![0; KEYS * d]);
        let result = &Model::new(&config).run(Head::new(&zeros[..d], &zeros, &v, &[KEYS]))[0];
        assert_eq!(result.o, vec![format.one() + 1; d], "{format}");
    }
}

/// The mean of 65,536 values in 0..1 with equal scores: the error of FA2 is that of one rounding.
#[test]
fn equal_scores_of_values_with_a_mean() {
    const KEYS: usize = 65_536;
    let d = 16;
    let mut rng = rng(195);
    for format in [Format::BF16, Format::FP8_E4M3, Format::FP8_E5M2, Format::FP16] {
        let config = fa2(d, format);
        let v: Vec<u64> = (0..KEYS * d).map(|_| round_from_f64(format, rng.random_range(0.0..1.0))).collect();
        let zeros = vec![0; KEYS * d];
        let result = &Model::new(&config).run(Head::new(&zeros[..d], &zeros, &v, &[KEYS]))[0];
        let (mut own, mut rounded) = (0.0, 0.0);
        for (j, &o) in result.o.iter().enumerate() {
            let mean = (0..KEYS).map(|i| decode(format, v[i * d + j])).sum::<f64>() / KEYS as f64;
            own += (decode(format, o) - mean).abs();
            rounded += (decode(format, round_from_f64(format, mean)) - mean).abs();
        }
        println!("{format}: {:.3} of the error of one rounding", own / rounded);
        assert!(own <= 1.1 * rounded, "{format}: {own} and {rounded}");
    }
}

//! Cores with fixed-point lanes as a whole: ranges, flags, exact results, and held steps.

use crate::common::{any_finite, bits_of, normal, rng, variants};
use flashd_golden::{
    Action, Head, Model, Step, decode, encode, flash_d_fixed_lane, flash_d_lane, flash_d_ranged_lane,
    v_exponent,
};
use flashd_spec::bits::{ones, signed};
use flashd_spec::config::{CoreConfig, Design, Hold, LaneBits, Update};
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use flashd_spec::numerics::fixed_result_bits;

/// The variants with fixed-point lanes.
fn fixed_variants(d: usize, format: Format) -> Vec<CoreConfig> {
    variants(d, format).into_iter().filter(CoreConfig::has_fixed_lanes).collect()
}

#[test]
fn flash_d_never_leaves_the_range_of_the_values() {
    let (seed, d, keys) = (91, 16, 200);
    let mut rng = rng(seed);
    for (_, format) in Format::NAMED {
        for (o, v, w) in [(8, 4, 3), (12, 12, 12), (28, 20, 12), (20, 12, 7)] {
            let lane = Some(LaneBits { o, v, w });
            let [_, fixed, .., ranged] = variants(d, format);
            for (config, deviation) in [(&fixed, 0.5), (&fixed, 4.0), (&ranged, 0.5), (&ranged, 4.0)] {
                let config = CoreConfig { lane, ..config.clone() };
                let q = normal(&mut rng, format, deviation, 8 * d);
                let k = normal(&mut rng, format, deviation, keys * d);
                let values: Vec<u64> = (0..keys * d).map(|_| any_finite(&mut rng, format)).collect();
                let lengths = [1, 2, 3, 17, 60, 100, 150, 200];
                let exponent = v_exponent(format, &values);
                let unit = 2f64.powi(exponent as i32 - format.bias + 2 - v as i32);
                for (result, &n) in
                    Model::new(&config).run(Head::new(&q, &k, &values, &lengths)).iter().zip(&lengths)
                {
                    assert!(!result.overflow);
                    for (j, &o) in result.o.iter().enumerate() {
                        // A value rounds by at most half a unit, at the end of the range by a whole one.
                        let column = (0..n).map(|i| decode(format, values[i * d + j]));
                        let (lo, hi) =
                            column.fold((f64::MAX, f64::MIN), |(lo, hi), v| (lo.min(v), hi.max(v)));
                        let o = decode(format, o);
                        let slack = unit + o.abs() * 2f64.powi(-(format.precision() as i32));
                        let case = format_args!("{}, seed {seed}: {o} outside {lo}..{hi}", config.name());
                        assert!((lo - slack..=hi + slack).contains(&o), "{case}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_first_key_returns_a_representable_value() {
    for (_, format) in Format::NAMED {
        for config in fixed_variants(4, format) {
            // Values of one significand bit are exact in every width, and so is their product with an exponential of 1.
            let v = [1.0, -0.25, 0.0, -0.0].map(|x| encode(format, x));
            let q = [format.one(), 0, 0, 0];
            let result = &Model::new(&config).run(Head::new(&q, &[0; 4], &v, &[1]).with_steps())[0];
            let numbers: Vec<f64> = result.o.iter().map(|&o| decode(format, o)).collect();
            assert_eq!(numbers, [1.0, -0.25, 0.0, 0.0], "{}", config.name());
            assert_eq!(&result.o[2..], [0, 0], "{}: zeros are +0", config.name());
            let Step { action, x, upper, .. } = result.steps[0];
            assert_eq!((action, x, upper, result.overflow), (Action::Load, 0, false, false));
        }
    }
}

#[test]
fn values_beyond_the_exponent_are_reported_and_saturate() {
    for (_, format) in Format::NAMED {
        for config in fixed_variants(2, format).into_iter().filter(CoreConfig::has_value_exponent) {
            let (one, two, half) = (format.one(), bits_of(format, 2.0), bits_of(format, 0.5));
            let exponent = v_exponent(format, &[one, half]);
            assert_eq!(exponent, format.bias as u64);
            let run = |v: [u64; 4], exponents: [u64; 2]| {
                Model::new(&config).run(Head::new(&[0; 4], &[0; 4], &v, &[1, 2]).with_exponents(&exponents))
            };
            let flags = |results: Vec<flashd_golden::QueryResult>| [results[0].overflow, results[1].overflow];
            assert_eq!(flags(run([one, half, half, one], [exponent; 2])), [false; 2]);
            // Only the second query reads the large values. Then each query has its own exponent.
            let results = run([one, one, two, two], [exponent; 2]);
            assert_eq!(results.iter().map(|r| r.overflow).collect::<Vec<_>>(), [false, true]);
            assert_eq!(flags(run([one, half, two, one], [exponent, exponent + 1])), [false; 2]);
            assert_eq!(flags(run([two, half, two, one], [exponent, exponent + 1])), [true, false]);
            // The mean of 1 and of almost 2.
            let mean = decode(format, results[1].o[0]);
            assert!((1.4..=1.5).contains(&mean), "{}: {mean}", config.name());
            // Inf, NaN and zeros do not overflow.
            let special = format.max_finite() + 1;
            assert_eq!(v_exponent(format, &[special, one, 0]), exponent);
            let results = run([special, 0, one, half], [exponent; 2]);
            assert!(results[0].invalid && !results[0].overflow);
            assert_eq!(v_exponent(format, &[]), 1);
        }
    }
}

#[test]
fn fa2s_fixed_sum_takes_65536_equal_keys() {
    let (d, keys) = (2, 65_537);
    let format = Format::BF16;
    let three_quarters = bits_of(format, 0.75);
    for config in fixed_variants(d, format) {
        let lengths = [65_535, 65_536, 65_537];
        let results = Model::new(&config).run(Head::new(
            &[0; 6],
            &vec![0; keys * d],
            &vec![three_quarters; keys * d],
            &lengths,
        ));
        let flags: Vec<bool> = results.iter().map(|r| r.overflow).collect();
        assert_eq!(flags, [false; 3], "{}", config.name());
        assert_eq!(results[1].o, [three_quarters; 2], "{}", config.name());
    }
}

#[test]
fn held_steps_keep_everything_in_every_variant() {
    let (seed, d, keys) = (92, 8, 300);
    let mut rng = rng(seed);
    for (_, format) in [Format::NAMED[0], Format::NAMED[1]] {
        for threshold in [3.0, 12.0] {
            let (q, k) = (normal(&mut rng, format, 4.0, d), normal(&mut rng, format, 4.0, keys * d));
            let v = normal(&mut rng, format, 1.0, keys * d);
            for config in variants(d, format) {
                let config = CoreConfig { hold: Some(Hold::Below(threshold)), ..config };
                let n = Numerics::new(&config);
                let limit = -((threshold * std::f64::consts::LOG2_E * 2f64.powi(n.score_fraction as i32))
                    .round() as i64);
                let align = match config.design() {
                    Design::FlashD => n.state_fraction - n.score_fraction,
                    Design::Fa2 => 0,
                };
                let lengths: Vec<usize> = (1..=keys).collect();
                let exponents = vec![v_exponent(format, &v); keys];
                let results = Model::new(&config).run(
                    Head::new(&q.repeat(keys), &k, &v, &lengths).with_exponents(&exponents).with_steps(),
                );
                let mut held = 0;
                for i in 1..keys {
                    let step = results[keys - 1].steps[i];
                    // Logarithmic and fixed references count as they are before the step.
                    let below = step.x <= limit << align;
                    assert_eq!(step.action == Action::Hold, below, "{} {i}: {step:?}", config.name());
                    if below {
                        held += 1;
                        assert_eq!((&results[i].o, step.w, step.upper), (&results[i - 1].o, 0, false));
                    }
                }
                assert!(held > 10, "{}, seed {seed}: {held} held", config.name());
            }
        }
    }
}

#[test]
fn recorded_factors_replay_the_output() {
    let (seed, d, keys) = (93, 3, 150);
    let mut rng = rng(seed);
    for (_, format) in Format::NAMED {
        let [rounded, fixed, .., ranged] = variants(d, format);
        for config in [rounded, fixed, ranged] {
            let (q, k) = (normal(&mut rng, format, 3.0, d), normal(&mut rng, format, 3.0, keys * d));
            let v = normal(&mut rng, format, 1.0, keys * d);
            let result = &Model::new(&config).run(Head::new(&q, &k, &v, &[keys]).with_steps())[0];
            let exponent = v_exponent(format, &v);
            let (mut o, mut bits) = (vec![0i64; d], vec![0u64; d]);
            let float = flash_d_lane(&config);
            for (i, step) in result.steps.iter().enumerate() {
                let upper = step.upper || i == 0;
                if step.action != Action::Hold {
                    for (j, &v) in v[i * d..][..d].iter().enumerate() {
                        match config.update() {
                            Some(Update::Fixed) => {
                                o[j] =
                                    flash_d_fixed_lane(&config, exponent, o[j], v, (step.w, upper, step.x));
                            }
                            Some(Update::Ranged) => {
                                bits[j] = flash_d_ranged_lane(&config, bits[j], v, (step.w, upper, step.x));
                            }
                            _ => bits[j] = float(bits[j], v, step.w, upper),
                        }
                    }
                }
            }
            let lane = config.lane_bits().o as i32;
            let unit = 2f64.powi(exponent as i32 - format.bias + 2 - lane);
            let accumulator = config.accumulator_format();
            let cut = |o: i64| {
                let cut = lane - fixed_result_bits(config.lane_bits()) as i32;
                (o >> cut << cut) as f64
            };
            let number = |j: usize| match config.update() {
                Some(Update::Ranged) => {
                    let o = signed(bits[j] & ones(lane as u32), lane as u32);
                    cut(o) * 2f64.powi((bits[j] >> lane) as i32 - format.bias + 2 - lane)
                }
                Some(Update::Fixed) => cut(o[j]) * unit,
                _ => decode(accumulator, bits[j]),
            };
            let rounded: Vec<u64> =
                (0..d).map(|j| flashd_golden::units::round_from_f64(format, number(j))).collect();
            assert_eq!(result.o, rounded, "{}, seed {seed}", config.name());
        }
    }
}

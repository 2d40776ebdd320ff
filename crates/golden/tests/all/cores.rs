//! The four cores as a whole: corner cases, invariants, and distance from exact attention.

use crate::common::{bits_of, cores, normal, rng};
use flashd_golden::f64_attention::safe_softmax_of_scores;
use flashd_golden::units::{paper_sigmoid, round_from_f64};
use flashd_golden::{Action, Head, Model, decode, encode, flash_d_lane};
use flashd_spec::config::{Accumulator, CoreConfig, Design, Fa2Variant, FlashDVariant, Hold, WeightUnit};
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use rand::RngExt;

fn every_core(d: usize) -> impl Iterator<Item = CoreConfig> {
    Format::NAMED.into_iter().flat_map(move |(_, format)| cores(d, format))
}

#[test]
fn one_key_returns_its_value() {
    let mut rng = rng(41);
    for config in every_core(5) {
        let format = config.format;
        let mut v = normal(&mut rng, format, 1.0, 5);
        v[0] = format.sign_bit();
        v[1] = format.max_finite();
        v[2] = format.min_positive() | format.sign_bit();
        let (q, k) = (normal(&mut rng, format, 1.0, 5), normal(&mut rng, format, 1.0, 5));
        let result = &Model::new(&config).run(Head::new(&q, &k, &v, &[1]).with_steps())[0];
        // FLASH-D `lse` and FA2 add the value to zero, which turns -0 into +0. The others copy it.
        let copies = config.weight() == Some(WeightUnit::Paper) || config.fa2() == Some(Fa2Variant::Literal);
        let wanted = if copies { v.clone() } else { [&[0], &v[1..]].concat() };
        assert_eq!(result.o, wanted, "{}", config.name());
        assert_eq!((result.invalid, result.saturated, result.steps.len()), (false, 0, 1));
        // The factor of `lse` is 1 - w, and w = 1.
        let lse = config.design() == Design::FlashD && config.weight() == Some(WeightUnit::Lse);
        let step = result.steps[0];
        assert_eq!(
            (step.action, step.w, step.upper, step.x),
            (Action::Load, if lse { 0 } else { config.weight_format().one() }, false, 0),
            "{}",
            config.name()
        );
    }
}

#[test]
fn no_key_returns_zeros() {
    for config in every_core(3) {
        let special = config.format.max_finite() + 1;
        let result =
            &Model::new(&config).run(Head::new(&[special; 3], &[0; 3], &[0; 3], &[0]).with_steps())[0];
        assert_eq!((result.o.as_slice(), result.invalid, result.steps.len()), ([0; 3].as_slice(), false, 0));
    }
}

#[test]
fn specials_are_zero_and_reported_where_they_are_read() {
    for config in every_core(2) {
        let format = config.format;
        let (one, special) = (format.one(), format.max_finite() + 1);
        let model = Model::new(&config);
        let run = |q: [u64; 2], k: [u64; 4], v: [u64; 4]| {
            model.run(Head::new(&q, &k, &v, &[2]).with_steps())[0].clone()
        };
        let zeroed = |x: [u64; 4]| x.map(|b| if format.is_special(b) { 0 } else { b });
        let (q, k, v) = ([one; 2], [one, one, one, one], [one; 4]);
        assert!(!run(q, k, v).invalid);
        let bad_q = run([special, one], k, v);
        assert!(bad_q.invalid);
        assert_eq!(bad_q.steps, run([0, one], k, v).steps);
        for position in 0..4 {
            let mut bad = k;
            bad[position] = special | format.sign_bit();
            let (result, clean) = (run(q, bad, v), run(q, zeroed(bad), v));
            assert!(result.invalid && !clean.invalid, "{} k[{position}]", config.name());
            assert_eq!((result.o, result.steps), (clean.o, clean.steps));
            let mut bad = v;
            bad[position] = special;
            let (result, clean) = (run(q, k, bad), run(q, k, zeroed(bad)));
            assert!(result.invalid && !clean.invalid, "{} v[{position}]", config.name());
            assert_eq!((result.o, result.steps), (clean.o, clean.steps));
        }
    }
}

#[test]
fn a_value_that_is_held_is_not_read() {
    for (_, format) in Format::NAMED {
        for config in &cores(2, format)[..2] {
            let bits = |x| bits_of(format, x);
            let q = [bits(1.0), bits(0.0)];
            let k = [bits(8.0), bits(0.0), bits(-8.0), bits(0.0)];
            let v = [bits(1.0), bits(2.0), format.max_finite() + 1, bits(1.0)];
            let config = CoreConfig { score_shift: Some(0), ..config.clone() };
            let result = &Model::new(&config).run(Head::new(&q, &k, &v, &[2]).with_steps())[0];
            assert_eq!(result.steps[1].action, Action::Hold, "{}", config.name());
            assert_eq!((result.invalid, result.o.as_slice()), (false, &v[..2]));
            // A special key still makes the query invalid.
            let special_k = [k[0], k[1], k[2], format.max_finite() + 1];
            assert!(Model::new(&config).run(Head::new(&q, &special_k, &v, &[2]))[0].invalid);
        }
    }
}

#[test]
fn scores_saturate() {
    for (_, format) in Format::NAMED {
        for config in [&cores(2, format)[0], &cores(2, format)[2]] {
            let n = Numerics::new(config);
            let max = format.max_finite();
            let q = [max, 0];
            let k = [max, 0, max | format.sign_bit(), 0];
            let config = CoreConfig { score_shift: Some(3), ..config.clone() };
            let steps =
                Model::new(&config).run(Head::new(&q, &k, &[0; 4], &[2]).with_steps())[0].steps.clone();
            let limit = (1i64 << (n.score_integer + n.score_fraction)) - 1;
            assert_eq!((steps[0].s, steps[1].s), (limit, -limit), "{}", config.name());
        }
    }
}

#[test]
fn fa2_saturates_where_flash_d_does_not() {
    let format = Format::FP8_E4M3;
    let max = format.max_finite();
    let run = |config: &CoreConfig| {
        Model::new(config).run(Head::new(&[0; 2], &[0; 16], &[max; 16], &[8]))[0].clone()
    };
    let [lse, _, fa2, literal] = cores(2, format);
    let flash_d = run(&lse);
    assert_eq!((flash_d.saturated, flash_d.o), (0, vec![max; 2]));
    // FA2's accumulator has exponent bits for the sum of its most keys.
    let wide = run(&fa2);
    assert_eq!((wide.saturated, wide.o), (0, vec![max; 2]));
    // One in the format stays at its largest number, 448, from the second key on in both lanes.
    let narrow = CoreConfig { accumulator: Some(Accumulator::Format), ..fa2.clone() };
    for (config, mean) in [(narrow, 56.0), (literal, 56.0)] {
        let result = run(&config);
        assert_eq!(result.saturated, 14, "{}", config.name());
        assert_eq!(decode(format, result.o[0]), mean, "{}", config.name());
    }
}

#[test]
fn hold_keeps_output_and_state() {
    let (seed, d, keys) = (42, 8, 400);
    let mut rng = rng(seed);
    let format = Format::BF16;
    let (q, k) = (normal(&mut rng, format, 4.0, d), normal(&mut rng, format, 4.0, keys * d));
    let v = normal(&mut rng, format, 1.0, keys * d);
    for threshold in [None, Some(3.0), Some(12.0)] {
        let hold = Some(threshold.map_or(Hold::None, Hold::Below));
        let config = CoreConfig {
            hold,
            datapath: FlashDVariant::Rounded.into(),
            ..CoreConfig::new(Design::FlashD, d, format)
        };
        let shift = config.state_fraction() - config.score_fraction();
        // The threshold in base 2 is rounded to the score's last place.
        let unit = std::f64::consts::LOG2_E * 2f64.powi(config.score_fraction() as i32);
        let limit = threshold.map(|t| -(((t * unit).round() as i64) << shift));
        let model = Model::new(&config);
        let lengths: Vec<usize> = (1..=keys).collect();
        let results = model.run(Head::new(&q.repeat(keys), &k, &v, &lengths).with_steps());
        let steps = &results[keys - 1].steps;
        let mut held = 0;
        for i in 1..keys {
            let (step, before) = (steps[i], &results[i - 1].o);
            let must_hold = limit.is_some_and(|limit| step.x <= limit);
            assert_eq!(step.action == Action::Hold, must_hold, "seed {seed}, key {i}: {step:?}");
            if must_hold {
                held += 1;
                assert_eq!(&results[i].o, before);
                if let Some(next) = steps.get(i + 1) {
                    let state = |step: &flashd_golden::Step| (step.s << shift) - step.x;
                    assert_eq!(state(&step), state(next), "the log-sum-exp stays");
                }
            }
            assert_eq!(&results[i].steps[..i], &steps[..i], "a longer query begins like a shorter one");
        }
        assert!(threshold.is_none() == (held == 0), "T = {threshold:?}: {held} held");
    }
}

#[test]
fn lse_output_is_a_weighted_mean() {
    let (seed, d, keys) = (43, 16, 300);
    let mut rng = rng(seed);
    for (_, format) in Format::NAMED {
        for deviation in [0.5, 3.0] {
            let (q, k) =
                (normal(&mut rng, format, deviation, 9 * d), normal(&mut rng, format, deviation, keys * d));
            // Values of all magnitudes.
            let v: Vec<u64> = (0..keys * d).map(|_| crate::common::any_finite(&mut rng, format)).collect();
            let lengths: Vec<usize> = (0..9).map(|_| rng.random_range(1..=keys)).collect();
            for accumulator in [None, Some(Accumulator::Format), Some(Accumulator::Fraction(23))] {
                let config = CoreConfig {
                    accumulator,
                    datapath: FlashDVariant::Rounded.into(),
                    ..CoreConfig::new(Design::FlashD, d, format)
                };
                let name = config.name();
                let results = Model::new(&config).run(Head::new(&q, &k, &v, &lengths));
                for (result, &n) in results.iter().zip(&lengths) {
                    for (j, &o) in result.o.iter().enumerate() {
                        let column = (0..n).map(|i| decode(format, v[i * d + j]));
                        let (lo, hi) =
                            column.fold((f64::MAX, f64::MIN), |(lo, hi), v| (lo.min(v), hi.max(v)));
                        let o = decode(format, o);
                        assert!(
                            (lo..=hi).contains(&o),
                            "{name}, seed {seed}, lane {j}: {o} outside {lo}..{hi}"
                        );
                    }
                    assert_eq!(result.saturated, 0, "{name}");
                }
            }
        }
    }
}

#[test]
fn recorded_steps_replay_the_output() {
    let (seed, d, keys) = (45, 4, 200);
    let mut rng = rng(seed);
    let (mut lower, mut upper, mut held) = (0, 0, 0);
    for (_, format) in Format::NAMED {
        for accumulator in [None, Some(Accumulator::Format)] {
            let config = CoreConfig {
                accumulator,
                datapath: FlashDVariant::Rounded.into(),
                ..CoreConfig::new(Design::FlashD, d, format)
            };
            let acc = config.accumulator_format();
            let (q, k) = (normal(&mut rng, format, 3.0, d), normal(&mut rng, format, 3.0, keys * d));
            let v = normal(&mut rng, format, 1.0, keys * d);
            let result = &Model::new(&config).run(Head::new(&q, &k, &v, &[keys]).with_steps())[0];
            let (lane, mut o) = (flash_d_lane(&config), vec![0; d]);
            for (i, step) in result.steps.iter().enumerate() {
                assert!(decode(config.weight_format(), step.w) <= 0.5, "{step:?}");
                assert_eq!(step.upper, step.action == Action::Update && step.x >= 0, "{step:?}");
                assert_eq!(step.action == Action::Load, i == 0, "{step:?}");
                for (o, &v) in o.iter_mut().zip(&v[i * d..]) {
                    match step.action {
                        // A -0 becomes +0.
                        Action::Load => *o = encode(acc, decode(format, v) + 0.0),
                        Action::Update => *o = lane(*o, v, step.w, step.upper),
                        Action::Hold | Action::Masked | Action::Restore => assert_eq!(step.w, 0),
                    }
                }
                *match (step.action, step.upper) {
                    (Action::Hold, _) => &mut held,
                    (_, true) => &mut upper,
                    (_, false) => &mut lower,
                } += 1;
            }
            let rounded: Vec<u64> = o.iter().map(|&o| round_from_f64(format, decode(acc, o))).collect();
            assert_eq!(result.o, rounded, "{}, seed {seed}", config.name());
        }
    }
    assert!(lower > 50 && upper > 20 && held > 50, "{lower} below, {upper} above one half, {held} held");
}

#[test]
fn the_static_rule_fails_where_it_must() {
    let format = Format::BF16;
    let bits = |x| bits_of(format, x);
    let (q, scores, v) = ([bits(1.0), 0], [0.0, -20.0, -9.0], [1.0, -1.0, -1.0]);
    let k: Vec<u64> = scores.iter().flat_map(|&s| [bits(s), 0]).collect();
    let vb: Vec<u64> = v.iter().flat_map(|&v| [bits(v), 0]).collect();
    let config = CoreConfig {
        score_shift: Some(0),
        datapath: FlashDVariant::Rounded.into(),
        ..CoreConfig::new(Design::FlashD, 2, format)
    };
    let first = |config: &CoreConfig| {
        let result = &Model::new(config).run(Head::new(&q, &k, &vb, &[3]).with_steps())[0];
        (decode(format, result.o[0]), result.steps.clone())
    };
    let exact = safe_softmax_of_scores(&scores, &v, 1)[0];
    let paper = CoreConfig { datapath: FlashDVariant::Paper.into(), ..config.clone() };
    let (o, steps) = first(&paper);
    assert_eq!(o, -1.0);
    let actions: Vec<Action> = steps.iter().map(|s| s.action).collect();
    assert_eq!(actions, [Action::Load, Action::Hold, Action::Load]);
    assert_eq!(steps[1].w, paper_sigmoid(format, 8, bits(-100.0)));
    assert_eq!(steps[2].w, paper_sigmoid(format, 8, bits(100.0)));
    assert!((first(&config).0 - exact).abs() < 0.01, "lse is right");
    let no_skip = CoreConfig { hold: Some(Hold::None), ..paper };
    assert!(first(&no_skip).1.iter().skip(1).all(|s| s.action == Action::Update));
}

#[test]
fn queries_do_not_depend_on_their_neighbours() {
    let (seed, d, keys) = (44, 7, 60);
    for config in every_core(d) {
        let mut rng = rng(seed);
        let format = config.format;
        let q = normal(&mut rng, format, 2.0, 37 * d);
        let (k, v) = (normal(&mut rng, format, 2.0, keys * d), normal(&mut rng, format, 1.0, keys * d));
        let lengths: Vec<usize> = (0..37).map(|_| rng.random_range(0..=keys)).collect();
        let model = Model::new(&config);
        let together = model.run(Head::new(&q, &k, &v, &lengths).with_steps());
        for (i, result) in together.iter().enumerate() {
            let alone = model.run(Head::new(&q[i * d..(i + 1) * d], &k, &v, &lengths[i..i + 1]).with_steps());
            assert_eq!(&alone[0], result, "{}, seed {seed}, query {i}", config.name());
            assert_eq!(result.steps.len(), lengths[i]);
        }
    }
}

//! Streams that look for trouble: every core in lock-step, and FLASH-D's errors where the paper's rule fails.

use flashd_golden::{Action, Head, Model, QueryResult};
use flashd_simulator::{ExactResults, Frame, Gaps, RtlEngine, Running, Scenario, Workload, prepare, run};
use flashd_spec::config::{
    Accumulator, BUDGET_FRACTIONS, CoreConfig, DEFAULT_BUDGET, DEFAULT_HOLD, Design, Fa2Variant,
    FlashDVariant, Hold, LaneBits,
};
use flashd_spec::format::Format;
use flashd_spec::machine::Machine;
use flashd_spec::ports::Port;
use flashd_workload::{Attention, Bias, ScoreScale, TensorScale, Visible, synthetic};

fn scenario(attention: Attention) -> Scenario {
    Scenario {
        softcap: None,
        bias: Bias::None,
        sink: None,
        attention: attention.into(),
        visible: Visible::default(),
        score_scale: ScoreScale::Auto,
        tensor_scale: TensorScale::None,
        scale_rule: Default::default(),
    }
}

fn designs(d: usize, format: Format) -> Vec<CoreConfig> {
    let flash_d = CoreConfig::new(Design::FlashD, d, format);
    let fa2 = CoreConfig::new(Design::Fa2, d, format);
    let fixed = CoreConfig { datapath: FlashDVariant::Fixed.into(), ..flash_d.clone() };
    let mut all = CoreConfig::variants(d, format);
    all.extend(CoreConfig::mixed_precision(d).into_iter().filter(|config| config.format == format));
    all.extend(CoreConfig::with_hold(d, format, Hold::Below(DEFAULT_HOLD)));
    for fraction in [BUDGET_FRACTIONS.0, BUDGET_FRACTIONS.1] {
        all.extend(CoreConfig::with_hold(d, format, Hold::Budget(fraction)));
    }
    all.extend([
        CoreConfig { hold: Some(Hold::None), ..flash_d.clone() },
        CoreConfig { hold: Some(Hold::Below(6.5)), segments: Some(16), ..flash_d.clone() },
        CoreConfig {
            datapath: FlashDVariant::Rounded.into(),
            accumulator: Some(Accumulator::Format),
            segments: Some(4),
            ..flash_d.clone()
        },
        CoreConfig { datapath: FlashDVariant::Paper.into(), hold: Some(Hold::None), ..flash_d },
        CoreConfig { lane: Some(LaneBits { o: 12, v: 9, w: 4 }), hold: Some(Hold::None), ..fixed.clone() },
        CoreConfig { lane: Some(LaneBits { o: 24, v: 10, w: 12 }), segments: Some(32), ..fixed.clone() },
        CoreConfig {
            lane: Some(LaneBits { o: 15, v: 14, w: 8 }),
            score_fraction_bits: Some(10),
            state_fraction_bits: Some(10),
            ..fixed
        },
        CoreConfig {
            datapath: Fa2Variant::SharedScale.into(),
            accumulator: Some(Accumulator::Fraction(16.max(format.fraction_bits))),
            ..fa2.clone()
        },
        CoreConfig {
            datapath: Fa2Variant::SeparateScale.into(),
            hold: Some(Hold::None),
            segments: Some(16),
            ..fa2.clone()
        },
        CoreConfig { datapath: Fa2Variant::Literal.into(), segments: Some(32), ..fa2.clone() },
        CoreConfig {
            datapath: Fa2Variant::SharedScale.into(),
            hold: Some(Hold::None),
            segments: Some(32),
            ..fa2.clone()
        },
        CoreConfig { datapath: Fa2Variant::LogReference.into(), hold: Some(Hold::Below(3.0)), ..fa2.clone() },
        CoreConfig {
            datapath: Fa2Variant::LogReference.into(),
            lane: Some(LaneBits { o: 10, v: 8, w: 3 }),
            ..fa2.clone()
        },
        CoreConfig {
            datapath: Fa2Variant::SharedLogReference.into(),
            lane: Some(LaneBits { o: 9, v: 8, w: 3 }),
            ..fa2
        },
    ]);
    all
}

fn lockstep(config: &CoreConfig, attention: &Attention, gaps: Gaps) -> flashd_simulator::CoreRun {
    let scenario = scenario(attention.clone());
    let prepared = prepare(config, &scenario, &ExactResults::new(&scenario)).unwrap();
    run(&prepared.config, &prepared.workload, gaps, &mut []).unwrap_or_else(|e| panic!("{e}"))
}

/// Two channels whose products are `size` squared and nearly cancel: scores from -8 to 8. The products of every other key do not
/// cancel in every eighth.
fn cancelling(seed: u64, keys: usize, d: usize, size: f32) -> Attention {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    let mut rows = |sign: f32, rows: usize, varies: bool| -> Vec<f32> {
        let mut all: Vec<f32> = (0..rows * d).map(|_| uniform()).collect();
        for (i, row) in all.chunks_mut(d).enumerate() {
            let away = if varies { 8.0 * uniform() / size } else { 0.0 };
            let sign = if varies && i % 8 == 7 { 1.0 } else { sign };
            (row[0], row[1]) = (size, sign * size + away);
        }
        all
    };
    let (q, k, v) = (rows(1.0, keys, false), rows(-1.0, keys, true), rows(0.0, keys, false));
    Attention::new(d, q, k, v.into_iter().map(|v| v / size).collect())
}

/// A query is flagged if a key that it sees saturates: not if products cancel, and not if the key is masked.
#[test]
fn saturated_scores_are_flagged() {
    let d = 8;
    // The eighth key of 8 has products that do not cancel. 176,777 is beyond 16 bits, 4,525 is not; products of 5,931,642 are too large.
    let cases = [(7, 80.0, 0), (8, 80.0, 0), (7, 500.0, 0), (8, 500.0, 1), (7, 4096.0, 7)];
    for format in [Format::BF16, Format::FP32] {
        for config in designs(d, format).into_iter().filter(|config| !config.follows_the_paper()) {
            for (keys, size, flagged) in cases {
                let config = CoreConfig { masks: true, ..config.clone() };
                let scenario =
                    Scenario { visible: Visible::new(true), ..scenario(cancelling(31, keys, d, size)) };
                let prepared = prepare(&config, &scenario, &ExactResults::new(&scenario)).unwrap();
                let run = run(&prepared.config, &prepared.workload, Gaps::Random(3), &mut [])
                    .unwrap_or_else(|e| panic!("{e}"));
                let flags: Vec<bool> = run.results.iter().map(|result| result.score_saturated).collect();
                let expected: Vec<bool> = (0..keys).map(|query| query + flagged >= keys).collect();
                assert_eq!(flags, expected, "{}, {size}", config.name());
            }
        }
    }
}

/// Queries of one key and of two, with values that are zeros of either sign, or become one by rounding.
#[test]
fn signed_zeros_in_lockstep() {
    let d = 4;
    let row = [1.0f32, -0.0, -1e-40, 0.0];
    let attention = Attention::new(d, vec![1.0; 8], vec![1.0; 8], row.repeat(2));
    let scenario = Scenario { visible: Visible::new(true), ..scenario(attention) };
    for (_, format) in Format::NAMED {
        for config in designs(d, format) {
            let prepared = prepare(&config, &scenario, &ExactResults::new(&scenario)).unwrap();
            run(&prepared.config, &prepared.workload, Gaps::None, &mut []).unwrap_or_else(|e| panic!("{e}"));
        }
    }
}

#[test]
fn hostile_streams_in_lockstep() {
    let d = 8;
    let streams = [
        ("jumps", synthetic::score_jumps(21, 40, d, 50.0)),
        ("holds", synthetic::long_holds(22, 60, d, 20)),
        ("saturating", synthetic::saturating_scores(23, 40, d, 65_536.0)),
        ("cancelling", cancelling(25, 40, d, 80.0)),
        ("cancelling, large", cancelling(26, 40, d, 500.0)),
        ("cancelling, too large", cancelling(27, 40, d, 4096.0)),
        ("equal", synthetic::equal_scores(24, 40, d)),
    ];
    for (_, format) in Format::NAMED {
        for config in designs(d, format) {
            for (name, attention) in &streams {
                for gaps in [Gaps::None, Gaps::Random(5)] {
                    let run = lockstep(&config, attention, gaps);
                    assert!(run.counters.comparisons > 100, "{name}");
                }
            }
        }
    }
}

/// The widest words: cores for 2^20 keys with the most fraction bits of the state that are valid.
#[test]
fn states_of_most_bits_in_lockstep() {
    let d = 3;
    let streams = [synthetic::score_jumps(21, 24, d, 4.0), synthetic::equal_scores(24, 24, d)];
    let mut seen = 0;
    for (_, format) in Format::NAMED {
        for config in CoreConfig::variants(d, format) {
            let config = CoreConfig { max_keys: 1 << 20, ..config };
            let widths = (18..=26).rev().map(Some).chain([None]);
            let widest = widths
                .map(|state_fraction_bits| CoreConfig { state_fraction_bits, ..config.clone() })
                .find(|config| config.validate().is_ok());
            let Some(config) = widest else { continue };
            for attention in &streams {
                let run = lockstep(&config, attention, Gaps::Random(7));
                assert!(run.counters.comparisons > 50, "{}", config.name());
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn corner_values_and_specials_in_lockstep() {
    let d = 5;
    for (_, format) in Format::NAMED {
        for config in designs(d, format) {
            // Raw encodings, Inf and NaN among them, most queries short, one key each at times.
            let mut z = 0x5eed_0001u64;
            let mut random = || {
                z ^= z << 13;
                z ^= z >> 7;
                z ^= z << 17;
                z
            };
            let interesting =
                [0, 1, format.one(), format.max_finite(), format.max_finite() + 1, format.min_positive()];
            let mut element = |specials: bool| {
                let r = random();
                let magnitude = match r % 4 {
                    0 => interesting[(r >> 8) as usize % interesting.len()],
                    _ => r >> 8 & (format.sign_bit() - 1),
                };
                let bits = (magnitude & (format.sign_bit() - 1)) | ((r >> 40 & 1) * format.sign_bit());
                if format.is_special(bits) && !specials { format.one() } else { bits }
            };
            let mut vector = |n: usize, special_rows: usize| -> Vec<u64> {
                (0..n)
                    .flat_map(|row| (0..d).map(move |_| row))
                    .map(|row| element(row % 7 == special_rows))
                    .collect()
            };
            let (q, k, v) = (vector(14, 3), vector(14, 5), vector(14, 6));
            let mut workload = Workload::new(format, d, &q, &k, &v).with_lengths(1..=14);
            workload.queries[0].keys = 1;
            workload.queries[9].keys = 1;
            // Values far outside the lanes' range, and far inside.
            workload.queries[2].v_exponent = 1;
            workload.queries[3].v_exponent = format.exponent_mask();
            workload.queries[4].v_exponent = 0;
            for gaps in [Gaps::None, Gaps::Random(9)] {
                let run = run(&config, &workload, gaps, &mut []).unwrap_or_else(|e| panic!("{e}"));
                assert!(run.results.iter().any(|r| r.invalid), "{}", config.name());
            }
        }
    }
}

#[test]
fn four_thousand_equal_scores_give_the_mean() {
    for (format, accumulator, tolerance) in
        [(Format::BF16, None, 0.01), (Format::BF16, Some(Accumulator::Fraction(16)), 0.002)]
    {
        let config = CoreConfig {
            datapath: FlashDVariant::Rounded.into(),
            accumulator,
            ..CoreConfig::new(Design::FlashD, 4, format)
        };
        let attention = synthetic::equal_scores(31, 4096, 4);
        let s = scenario(attention);
        let reference = ExactResults::new(&s);
        let prepared = prepare(&config, &s, &reference).unwrap();
        let run = run(&prepared.config, &prepared.workload, Gaps::None, &mut []).unwrap();
        let accuracy = reference.accuracy(&prepared, &run.results);
        println!("{}: 4096 equal scores, error {:.5} of max|v|", config.name(), accuracy.max);
        assert!(accuracy.max < tolerance, "{}: {accuracy:?}", config.name());
        assert_eq!(run.counters.held, 0);
    }
}

#[test]
fn a_reset_in_the_middle_of_a_query_starts_afresh() {
    for config in designs(6, Format::BF16) {
        let a = synthetic::attention_like(5, 1, 8, 6);
        let s = scenario(a);
        let p = prepare(&config, &s, &ExactResults::new(&s)).unwrap();
        let w = &p.workload;
        let mut engine = Running::new(&p.config, RtlEngine::default()).unwrap();
        let mut frame = Frame::new(&Machine::from(&p.config));
        frame[Port::Q].copy_from_slice(&w.queries[0].q);
        frame.set(Port::VExponent, w.queries[0].v_exponent);
        frame[Port::K].copy_from_slice(&w.k.words()[..6]);
        frame[Port::V].copy_from_slice(&w.v.words()[..6]);
        // A cycle in which these flags are high.
        let mut cycle = |high: &[Port]| {
            for port in [Port::Rst, Port::QValid, Port::KValid, Port::KLast] {
                frame.set(port, high.contains(&port));
            }
            engine.settle_frame(&mut frame);
            engine.clock();
            frame.clone()
        };
        cycle(&[Port::Rst]);
        // Half a query, cut off by a reset: no result may follow.
        cycle(&[Port::QValid]);
        for _ in 0..5 {
            cycle(&[Port::KValid]);
        }
        for _ in 0..2 {
            assert!(!cycle(&[Port::Rst]).is_high(Port::OValid));
        }
        for _ in 0..20 {
            let o = cycle(&[]);
            assert!(
                [Port::OValid, Port::VStep, Port::VRen].iter().all(|&port| !o.is_high(port)),
                "{}",
                config.name()
            );
        }
        // A one-key query after reset returns its value.
        cycle(&[Port::QValid]);
        cycle(&[Port::KValid, Port::KLast]);
        let results: Vec<Frame> = (0..20).map(|_| cycle(&[])).filter(|o| o.is_high(Port::OValid)).collect();
        assert_eq!(results.len(), 1, "{}", config.name());
        // Exactly, but for lanes whose fixed point is coarser than a small value.
        let alone = Model::new(&p.config).run(
            Head::new(&w.queries[0].q, &w.k.words()[..6], &w.v.words()[..6], &[1])
                .with_exponents(&[w.queries[0].v_exponent]),
        );
        assert_eq!(results[0][Port::O], alone[0].o, "{}", config.name());
        assert!(config.has_fixed_lanes() || results[0][Port::O] == w.v.words()[..6], "{}", config.name());
    }
}

/// A hold rule's worst case as a fraction of max|v|: 2 n e^-T / (1 + n e^-T) for a threshold and the n keys actually held,
/// 2^-(f+1) for a budget.
fn hold_bound(rule: Hold, held: usize) -> f64 {
    match rule {
        Hold::Below(threshold) => {
            let lost = held as f64 * (-threshold).exp();
            2.0 * lost / (1.0 + lost)
        }
        Hold::Budget(fraction) => 0.5f64.powi(fraction as i32 + 1),
        Hold::None | Hold::Static => 0.0,
    }
}

#[test]
fn adversarial_streams_are_followed() {
    for name in synthetic::ADVERSARIAL {
        for d in [16, 64] {
            let attention = synthetic::adversarial(name, d).unwrap();
            let tight = matches!(name, "hi3" | "climb");
            let limits = [(None, if tight { 0.01 } else { 0.1 }), (Some(Accumulator::Fraction(16)), 0.005)];
            let rules = [Hold::Below(DEFAULT_HOLD), Hold::Budget(DEFAULT_BUDGET)];
            for ((accumulator, limit), hold) in limits.into_iter().flat_map(|l| rules.map(|rule| (l, rule))) {
                let config = CoreConfig {
                    datapath: FlashDVariant::Rounded.into(),
                    accumulator,
                    hold: Some(hold),
                    ..CoreConfig::new(Design::FlashD, d, Format::BF16)
                };
                let s = scenario(attention.clone());
                let reference = ExactResults::new(&s);
                let prepared = prepare(&config, &s, &reference).unwrap();
                let w = &prepared.workload;
                let results = Model::new(&prepared.config)
                    .run(Head::new(&w.q(), &w.k, &w.v, &w.lengths()).with_steps());
                let holds = |r: &QueryResult| r.steps.iter().filter(|s| s.action == Action::Hold).count();
                let held = results.iter().map(holds).max().unwrap_or(0);
                let error = reference.accuracy(&prepared, &results).max;
                if d == 16 && accumulator.is_none() {
                    let run = run(&prepared.config, w, Gaps::None, &mut [])
                        .unwrap_or_else(|e| panic!("{name}: {e}"));
                    assert_eq!(run.counters.held as usize, results.iter().map(holds).sum::<usize>());
                }
                println!(
                    "{name:10} {:28} held {held:4}, error {error:.5}, bound {:.5}",
                    config.name(),
                    hold_bound(hold, held)
                );
                assert!(error <= limit + hold_bound(hold, held), "{name} {}: {error}", config.name());
            }
        }
    }
}

/// One query and these scores, 1/sqrt(d) being 1/2.
fn of_scores(scores: &[f64]) -> Attention {
    let d = 4;
    let row = |x: f64| std::iter::once(x as f32).chain(std::iter::repeat_n(0.0, d - 1));
    let k = scores.iter().flat_map(|&s| row(s)).collect();
    let v = (0..scores.len() * d).map(|i| (i as f32).sin()).collect();
    Attention::new(d, row(2.0).collect(), k, v)
}

/// Budgets that are spent to the last unit, given back by heavy keys, and that last through long holds.
#[test]
fn budgets_are_spent_and_given_back_in_lockstep() {
    // Ever lighter keys, each with the largest possible charge; then keys of all depths, heavy ones and rises among them.
    let mut state = 7u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut level = -200.0;
    let mixed: Vec<f64> = (0..700)
        .map(|i| match random(20) {
            _ if i == 0 => level,
            _ if i < 500 => level - 3.0 - 30.0 * f64::from(i) / 500.0,
            0 => {
                level += random(120) as f64 / 8.0;
                level
            }
            1..=2 => level - random(12) as f64 / 8.0,
            _ => level - 4.0 - random(240) as f64 / 8.0,
        })
        .collect();
    let long: Vec<f64> = std::iter::once(0.0).chain(std::iter::repeat_n(-20.0, 3000)).collect();
    for fraction in [BUDGET_FRACTIONS.0, DEFAULT_BUDGET, BUDGET_FRACTIONS.1] {
        for config in CoreConfig::with_hold(4, Format::BF16, Hold::Budget(fraction)) {
            let deepest = -(f64::from(fraction + 2 + config.key_bits()));
            for (scores, gaps) in [(&mixed, Gaps::None), (&mixed, Gaps::Random(3)), (&long, Gaps::None)] {
                let s = scenario(of_scores(scores));
                let prepared = prepare(&config, &s, &ExactResults::new(&s)).unwrap();
                let w = &prepared.workload;
                let run = run(&prepared.config, w, gaps, &mut []).unwrap_or_else(|e| panic!("{e}"));
                let steps = Model::new(&prepared.config)
                    .run(Head::new(&w.q(), &w.k, &w.v, &w.lengths()).with_steps())
                    .remove(0)
                    .steps;
                let held = steps.iter().filter(|step| step.action == Action::Hold).count();
                assert_eq!(run.counters.held as usize, held, "{}", config.name());
                let x =
                    |step: &flashd_golden::Step| step.x as f64 * (-f64::from(config.state_fraction())).exp2();
                // Keys of the smallest charge that were kept: nothing was left for them.
                let refused =
                    steps.iter().filter(|step| step.action == Action::Update && x(step) < deepest).count();
                if scores.len() == mixed.len() {
                    assert!(held > 20 && refused > 0, "{}: {held} held, {refused} refused", config.name());
                } else if fraction == 9 {
                    assert_eq!((held, refused), (3000, 0), "{}", config.name());
                }
            }
        }
    }
}

/// The static rule of the paper on the same streams, whose error the hold rule avoids.
#[test]
fn the_static_rule_fails_on_the_documented_stream() {
    let attention = synthetic::adversarial("hi3", 16).unwrap();
    let s = scenario(attention);
    let reference = ExactResults::new(&s);
    let paper = CoreConfig {
        datapath: FlashDVariant::Paper.into(),
        ..CoreConfig::new(Design::FlashD, 16, Format::BF16)
    };
    let prepared = prepare(&paper, &s, &reference).unwrap();
    let run = run(&prepared.config, &prepared.workload, Gaps::None, &mut []).unwrap();
    assert!(reference.accuracy(&prepared, &run.results).max > 1.9);
}

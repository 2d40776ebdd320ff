//! The model of every variant against its numeric contract, bit by bit: a slow second implementation in wide integers,
//! which shares only the tables with the model.

mod exhaustive;
mod integers;
mod lanes;
mod scalar;
mod scales;

use crate::common::{any_finite, near_one, normal, rng, variants};
use flashd_golden::{Action, Biases, Head, Model, QueryResult, decode};
use flashd_spec::config::{Accumulator, BUDGET_FRACTIONS, CoreConfig, Design, Hold, LaneBits, Lengths};
use flashd_spec::format::{Format, Formats, Scale};
use flashd_spec::numerics::{BIAS, BudgetNumerics, Numerics};
use lanes::Lanes;
use rand::RngExt;
use rayon::prelude::*;
use scalar::{Lane, Scalar};
use scales::operands as scaled_operands;

/// The operands of one query.
struct Operands {
    q: Vec<u64>,
    k: Vec<u64>,
    v: Vec<u64>,
    /// Biases of the keys.
    biases: Vec<u64>,
    v_exponent: u64,
}

/// Random operands: sometimes equal scores, scores beyond all limits, special values, and other exponents.
fn operands(rng: &mut crate::common::Rng, config: &CoreConfig, keys: usize) -> Operands {
    let (Formats { q: q_format, k: k_format, v: format, .. }, Lengths { k: d, v: dv }) =
        (config.formats(), config.lengths());
    let deviation = [0.3, 2.0, 8.0][rng.random_range(0..3)];
    let (mut q, mut k) = (normal(rng, q_format, deviation, d), normal(rng, k_format, 1.0, keys * d));
    let mut v = match rng.random_range(0..3) {
        0 => (0..keys * dv).map(|_| any_finite(rng, format)).collect(),
        1 => (0..keys * dv).map(|_| near_one(rng, format, 20)).collect(),
        _ => normal(rng, format, 1.0, keys * dv),
    };
    match rng.random_range(0..4) {
        // Equal scores, so that ties and full weights come up.
        0 => k = k[..d].repeat(keys),
        // Scores beyond every limit.
        1 => (q[0], k[0]) = (q_format.max_finite(), any_finite(rng, k_format)),
        _ => {}
    }
    if rng.random_range(0..4) == 0 {
        let place = rng.random_range(0..v.len());
        v[place] = format.sign_bit() | (format.max_finite() + 1);
        v[0] = format.sign_bit();
    }
    let [of_q, of_k, of_v] = scaled_operands(config);
    (q, k, v) = (of_q.with_scales(rng, q), of_k.with_scales(rng, k), of_v.with_scales(rng, v));
    let format = config.products().v;
    let own = flashd_golden::values_exponent(config, &v);
    let v_exponent = match rng.random_range(0..4) {
        // Integers have one exponent.
        _ if format.is_integer() => own,
        0 => rng.random_range(0..=format.exponent_mask()),
        1 => own.saturating_sub(2).max(1),
        _ => own,
    };
    let biases = match rng.random_range(0..4) {
        0 => vec![0; keys],
        1 => (0..keys).map(|_| rng.random::<u64>() & 0xffff).collect(),
        2 => (0..keys).map(|_| near_one(rng, BIAS, 20)).collect(),
        _ => normal(rng, BIAS, 8.0, keys),
    };
    Operands { q, k, v, biases, v_exponent }
}

/// Runs model and contract, and compares everything in the results except the count of saturated roundings.
fn check(config: &CoreConfig, o: &Operands, case: &str) {
    config.validate().expect("a valid configuration");
    let n = Numerics::new(config);
    let (words, formats) = (config.port_words(), config.formats());
    let keys = o.k.len() / words.k;
    let model = Model::new(config);
    let lengths = [keys];
    let head = Head::new(&o.q, &o.k, &o.v, &lengths);
    let bias = |_: usize, key: usize| o.biases[key];
    let head = Head { biases: config.bias.then_some(&bias as Biases), ..head };
    let result = &model.run(head.with_exponents(&[o.v_exponent]).with_steps())[0];
    let mut scalar = Scalar::new(config, &n);
    let mut lanes = Lanes::new(config.dv(), o.v_exponent);
    let [of_q, of_k, of_v] = scaled_operands(config);
    let (mut invalid, mut overflow) = (of_q.is_special(&o.q), false);
    for (i, step) in result.steps.iter().enumerate() {
        let (k, v) = (&o.k[i * words.k..][..words.k], &o.v[i * words.v..][..words.v]);
        let bias = config.bias.then_some(o.biases[i]);
        let wanted = scalar.step(&o.q, k, bias);
        let action = match wanted.lane {
            Lane::Hold => Action::Hold,
            _ if i == 0 => Action::Load,
            _ => Action::Update,
        };
        let got = (step.s as i128, step.x as i128, step.w as i128, step.upper, step.action);
        let want = (wanted.s, wanted.x, wanted.w, wanted.upper, action);
        assert_eq!(got, want, "{}, {case}, key {i}", config.name());
        lanes.step(&scalar, wanted.lane, &of_v.products(v));
        invalid |= of_k.is_special(k) || action != Action::Hold && of_v.is_special(v);
        invalid |= bias.is_some_and(|bias| bias & 0x7f80 == 0x7f80);
        overflow |= wanted.overflow;
    }
    let QueryResult { o: got, invalid: got_invalid, overflow: got_overflow, .. } = result;
    // Lanes that round every operation give zeros the signs of IEEE 754, which have their own tests.
    let signed = config.has_fixed_lanes();
    let bits = |o: &[u64]| -> Vec<u64> {
        o.iter().map(|&o| if signed || decode(formats.o, o) != 0.0 { o } else { 0 }).collect()
    };
    assert_eq!(bits(got), bits(&lanes.results(&scalar)), "{}, {case}", config.name());
    let flags = (invalid, overflow || lanes.overflow, scalar.saturated);
    assert_eq!((*got_invalid, *got_overflow, result.score_saturated), flags, "{}, {case}", config.name());
}

/// Widths, thresholds and shifts away from the defaults.
fn vary(rng: &mut crate::common::Rng, config: &mut CoreConfig) {
    let f = config.products().lane_precision() - 1;
    config.segments = Some([4, 8, 16, 32][rng.random_range(0..4)]);
    config.bias = rng.random_range(0..2) == 0;
    config.score_shift = [None, Some(0), Some(-7), Some(9), Some(40)][rng.random_range(0..5)];
    config.score_integer_bits = rng.random_range(5..=20);
    let fraction = rng.random_range(2..=20);
    config.hold = [None, Some(Hold::None), Some(Hold::Below(2.5))][rng.random_range(0..3)];
    let budget = config.design() == Design::FlashD && rng.random_range(0..2) == 0;
    if budget {
        let (lo, hi) = BUDGET_FRACTIONS;
        config.hold = Some(Hold::Budget(rng.random_range(lo..=hi)));
    }
    if config.has_fixed_lanes() {
        let o = rng.random_range(8..=28);
        let widest = if config.design() == Design::FlashD { o - 1 } else { o };
        let v = rng.random_range(4..=widest.min(20));
        config.lane = Some(LaneBits { o, v, w: rng.random_range(3..=12) });
    } else {
        let wide = Some(Accumulator::Float(if f < 10 { Format::BF16 } else { Format::FP32 }));
        let accumulators = [None, Some(Accumulator::Format), Some(Accumulator::Fraction((f + 23) / 2)), wide];
        let kinds = if config.follows_the_paper() { 3 } else { 4 };
        config.accumulator = accumulators[rng.random_range(0..kinds)];
        if !config.follows_the_paper() {
            config.weight_bits = [None, Some(rng.random_range(3..=16))][rng.random_range(0..2)];
        }
    }
    let widest = 26.min(63 - 17 - config.factor_significand());
    let fraction = fraction.min(widest).min(32 - config.score_integer_bits);
    config.score_fraction_bits = Some(fraction);
    let least =
        fraction.max(if budget { BudgetNumerics::least_state_fraction(config.key_bits()) } else { 0 });
    config.state_fraction_bits = Some(rng.random_range(least..=widest));
    *config = config.without_what_does_not_apply();
}

fn check_all(seed: u64, rounds: u64, varied: bool) {
    for (_, format) in Format::NAMED {
        let cases: Vec<_> = (0..rounds).flat_map(|round| variants(2, format).map(|c| (round, c))).collect();
        cases.into_par_iter().for_each(|(round, mut config)| {
            let mut rng = rng(seed + round);
            config.d = [2, 5, 16, 33][rng.random_range(0..4)];
            if varied {
                vary(&mut rng, &mut config);
            }
            let keys = [1, 2, 7, 60][rng.random_range(0..4)];
            let operands = operands(&mut rng, &config, keys);
            check(&config, &operands, &format!("seed {}", seed + round));
        });
    }
}

/// Draws the formats of q, k, v and o independently, and the lengths of keys and values.
fn check_mixed(seed: u64, rounds: u64) {
    let cases: Vec<_> = (0..rounds).flat_map(|round| variants(2, Format::BF16).map(|c| (round, c))).collect();
    cases.into_par_iter().enumerate().for_each(|(case, (round, mut config))| {
        let mut rng = rng(seed + case as u64);
        let named = Format::named().map(|(_, format)| format);
        let fixed = [(8, 1), (8, 4), (8, 11), (16, 3), (16, 8), (16, 17)];
        let fixed = fixed.map(|(width, fraction)| Format::fixed(width, fraction));
        let all: Vec<Format> = named.chain(fixed).collect();
        let mut any = || all[rng.random_range(0..all.len())];
        let formats = Formats { q: any(), k: any(), v: any(), o: any() };
        // Queries and keys of one integer format, which have scales.
        let formats = match case % 3 {
            0 => Formats { q: Format::INT8, k: Format::INT8, ..formats },
            _ => formats,
        };
        config = config.with_formats(formats);
        let mut any = |format: Format| {
            let all = [Scale::None, Scale::Row, Scale::RowE8m0, Scale::RowQ16, Scale::Mx, Scale::Nvfp4];
            let all: Vec<Scale> = all.into_iter().filter(|scale| scale.takes(format)).collect();
            (rng.random_range(0..3) > 0).then(|| all[rng.random_range(0..all.len())])
        };
        let (q_scales, k_scales) = (any(formats.q), any(formats.k).filter(|scale| *scale != Scale::RowQ16));
        let v_scales = any(formats.v).filter(|scale| !scale.has_significand());
        config = CoreConfig { q_scales, k_scales, v_scales, ..config };
        config.d = [2, 5, 16, 35][rng.random_range(0..4)];
        config.dv = Some([2, 3, 17][rng.random_range(0..3)]).filter(|dv| *dv != config.d);
        if config.validate().is_err() {
            return;
        }
        if rng.random_range(0..2) == 0 {
            let plain = config.clone();
            vary(&mut rng, &mut config);
            // Not every accumulator holds every value.
            if config.validate().is_err() {
                config = plain;
            }
        }
        let keys = [1, 2, 7, 60][rng.random_range(0..4)];
        let operands = operands(&mut rng, &config, keys);
        check(&config, &operands, &format!("seed {}, round {round}", seed + case as u64));
    });
}

#[test]
fn mixed_formats_and_lengths_follow_the_contract() {
    check_mixed(5000, 450);
}

#[test]
fn default_widths_follow_the_contract() {
    check_all(1000, 25, false);
}

#[test]
fn every_width_follows_the_contract() {
    check_all(2000, 50, true);
}

#[test]
#[ignore = "takes minutes"]
fn many_widths_follow_the_contract() {
    check_all(3000, 5000, true);
}

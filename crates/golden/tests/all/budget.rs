//! The cores' hold rule with a budget: its decisions against the rule in f64, and its bound on hostile streams.

use crate::common::{Rng, bits_of, rng};
use flashd_golden::family::{CoarseBudget, CoarseDecay, HoldRule, held_error_bound, safe_softmax};
use flashd_golden::{Action, Head, Model, Step, decode};
use flashd_spec::config::{CoreConfig, Design, FlashDVariant, Hold, LaneBits};
use flashd_spec::format::Format;
use flashd_spec::numerics::BUDGET_RESERVE;
use rand::RngExt;
use std::f64::consts::LN_2;

const D: usize = 4;

fn core(fraction: u32) -> CoreConfig {
    CoreConfig { hold: Some(Hold::Budget(fraction)), ..CoreConfig::new(Design::FlashD, D, Format::FP32) }
}

/// Scores that spend a budget to the last unit, with ever lighter keys, and then earn it back, with rises and with keys
/// about as heavy as all before. Light keys of all depths spend it again.
fn scores(rng: &mut Rng, keys: usize) -> Vec<f64> {
    let mut level = -300.0;
    let score = |i: usize| {
        let sweep = keys * 4 / 5;
        if i < sweep {
            return level
                - (if i == 0 {
                    0.0
                } else {
                    3.0 + 30.0 * i as f64 / sweep as f64 + rng.random_range(0.0..0.3)
                });
        }
        match rng.random_range(0..30) {
            0 => level = (level + rng.random_range(0.0..30.0f64)).min(300.0),
            1..=4 => return level + rng.random_range(-3.0..1.0),
            _ => {}
        }
        level - rng.random_range(2.0..35.0f64)
    };
    (0..keys).map(score).collect()
}

/// Query and keys with these scores, rounded to f32: `q = 2 e_0` and `k_j = s_j e_0`, where 1/sqrt(d) is 1/2.
fn operands(s: &[f64]) -> (Vec<u64>, Vec<u64>) {
    let format = Format::FP32;
    let row = |x: f64| [bits_of(format, f64::from(x as f32)), 0, 0, 0];
    (row(2.0).to_vec(), s.iter().flat_map(|&s| row(s)).collect())
}

fn steps(config: &CoreConfig, s: &[f64]) -> Vec<Step> {
    let (q, k) = operands(s);
    let v = vec![0; k.len()];
    Model::new(config).run(Head::new(&q, &k, &v, &[s.len()]).with_steps()).remove(0).steps
}

#[test]
fn cores_hold_the_same_keys_as_the_rule_in_f64() {
    let mut rng = rng(91);
    for fraction in [4, 9, 14, 22] {
        let config = core(fraction);
        let unit = (-f64::from(config.state_fraction())).exp2();
        let (mut held, mut closed) = (0, 0);
        for _ in 0..40 {
            let s = scores(&mut rng, 500);
            let steps = steps(&config, &s);
            let mut rule = CoarseBudget::new(fraction, BUDGET_RESERVE, config.key_bits(), CoarseDecay::Shift);
            rule.begin(s[0]);
            assert_eq!(steps[0].action, Action::Load);
            for (step, s) in steps.iter().zip(&s).skip(1) {
                // A quarter unit above the core's x: the factors ln 2 and log2(e) could round a whole number down.
                let x = (step.x as f64 + 0.25) * unit;
                let holds = step.action == Action::Hold;
                assert_eq!(rule.holds(*s, x * LN_2), holds, "f = {fraction}, x = {x}");
                held += u32::from(holds);
                closed += u32::from(!holds && x < -f64::from(fraction + 2 + config.key_bits()));
            }
        }
        assert!(held > 1000 && closed > 10, "f = {fraction}: {held} held, {closed} with nothing left");
    }
}

/// The held mass, `sum of 2^(s - L)` with the core's own L: the largest after any key.
fn lost(config: &CoreConfig, steps: &[Step]) -> f64 {
    let align = config.state_fraction() - config.score_fraction();
    let unit = (-f64::from(config.state_fraction())).exp2();
    let (mut mass, mut most, mut l) = (0.0f64, 0.0f64, steps[0].s << align);
    for step in &steps[1..] {
        let now = (step.s << align) - step.x;
        mass *= ((l - now) as f64 * unit).exp2();
        l = now;
        if step.action == Action::Hold {
            mass += (step.x as f64 * unit).exp2();
        }
        most = most.max(mass);
    }
    most
}

#[test]
fn held_weight_stays_within_the_budget() {
    let mut rng = rng(92);
    let mut nearest = 0.0f64;
    for (fraction, segments, state) in [(4, 4, 14), (9, 8, 18), (9, 32, 14), (12, 16, 20), (22, 8, 18)] {
        let config =
            CoreConfig { segments: Some(segments), state_fraction_bits: Some(state), ..core(fraction) };
        let budget = (-f64::from(fraction + 2)).exp2();
        for round in 0..60 {
            let mut s = scores(&mut rng, 500);
            if round == 0 {
                // Equal light keys, more than any threshold can hold within the budget.
                s = std::iter::once(0.0).chain(std::iter::repeat_n(-12.0, 65_535)).collect();
            }
            let lost = lost(&config, &steps(&config, &s));
            // The test's sum is rounded.
            assert!(lost <= budget * (1.0 + 1e-9), "f = {fraction}, round {round}: {lost} of {budget}");
            nearest = nearest.max(lost / budget);
        }
    }
    assert!(nearest > 0.5, "{nearest}");
}

#[test]
fn the_error_is_below_the_bound_for_65536_keys() {
    // One key of value 1 and many of value -1, so that all errors add up. The widest lanes have a small error
    // themselves.
    let format = Format::FP32;
    let lane = Some(LaneBits { o: 28, v: 20, w: 12 });
    let core = |hold| CoreConfig {
        lane,
        datapath: FlashDVariant::Fixed.into(),
        hold: Some(hold),
        state_fraction_bits: Some(26),
        segments: Some(32),
        ..core(9)
    };
    for below in [9.5, 10.5, 12.0, 14.0] {
        let s: Vec<f64> = std::iter::once(0.0).chain(std::iter::repeat_n(-below, 65_535)).collect();
        let v: Vec<f64> = (0..s.len()).map(|j| if j == 0 { 1.0 } else { -1.0 }).collect();
        let (q, k) = operands(&s);
        let values: Vec<u64> = v.iter().flat_map(|&v| [bits_of(format, v); D]).collect();
        let error = |hold| {
            let result =
                Model::new(&core(hold)).run(Head::new(&q, &k, &values, &[s.len()]).with_steps()).remove(0);
            let held = result.steps.iter().filter(|step| step.action == Action::Hold).count();
            ((decode(format, result.o[0]) - safe_softmax(&s, &v, 1).o[0]).abs(), held)
        };
        let ((plain, none), (budget, some)) = (error(Hold::None), error(Hold::Budget(9)));
        let bound = held_error_bound(2f64.powi(-11));
        assert!(none == 0 && some > 0, "{below}: {none}, {some} held");
        assert!(budget <= plain + bound, "{below}: {budget} with the budget, {plain} without, bound {bound}");
    }
}

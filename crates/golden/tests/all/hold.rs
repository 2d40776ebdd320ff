//! The error of hold rules: never above their bound, whatever the scores, and close to it where the bound is tight.

use flashd_golden::family::*;
use proptest::prelude::*;

/// Error of a result by f64's rounding.
const ROUNDING: f64 = 1e-12;

/// Error of a sum of n terms in f64: one ulp for each term.
fn rounding(n: usize) -> f64 {
    ROUNDING.max(n as f64 * f64::EPSILON)
}

/// Scores of one kind: anywhere, at two far levels, close together, around the threshold, or climbing.
fn scores_up_to(n: usize) -> impl Strategy<Value = Vec<f64>> {
    let anywhere = prop::collection::vec(-700.0..=700.0f64, 1..n);
    let levels = prop::collection::vec((prop::bool::ANY, -2.0..=2.0f64), 1..n)
        .prop_map(|s| s.into_iter().map(|(top, x)| if top { 698.0 + x } else { x - 698.0 }).collect());
    let close = (-690.0..690.0f64, prop::collection::vec(-10.0..10.0f64, 1..n))
        .prop_map(|(level, s)| s.into_iter().map(|x| level + x).collect());
    let below = (2.0..25.0f64, prop::collection::vec(0.0..3.0f64, 1..n))
        .prop_map(|(gap, s)| std::iter::once(0.0).chain(s.into_iter().map(|x| -gap - x)).collect());
    let climbing = (0.0..2.0f64, prop::collection::vec(-25.0..=0.0f64, 1..n)).prop_map(|(slope, s)| {
        s.into_iter().enumerate().map(|(i, x)| slope * i as f64 + x - 400.0).collect()
    });
    prop_oneof![anywhere, levels, close, below, climbing]
}

/// Every rule, with parameters of all sizes.
fn rules() -> impl Strategy<Value = Vec<Box<dyn HoldRule>>> {
    (1.0..20.0f64, 0..40u64, 0..24u32, 0..9u32, 0..24u32).prop_map(|(t, cap, fraction, reserve, register)| {
        let beta = budget_of_fraction(fraction);
        let coarse = |decay| CoarseBudget::new(fraction, reserve, register, decay);
        let rules: Vec<Box<dyn HoldRule>> = vec![
            Box::new(Threshold { threshold: t }),
            Box::new(MaximumThreshold::new(t)),
            Box::new(GrowingThreshold::new(t)),
            Box::new(CappedThreshold::new(t, cap)),
            Box::new(Budget::new(beta, reserve, true)),
            Box::new(Budget::new(beta, reserve, false)),
            Box::new(coarse(CoarseDecay::Shift)),
            Box::new(coarse(CoarseDecay::Jump)),
            Box::new(coarse(CoarseDecay::Never)),
        ];
        rules
    })
}

fn held(weights: &[Option<f64>]) -> u64 {
    weights.iter().filter(|w| w.is_none()).count() as u64
}

/// The rule's error with the values that make it largest: +1 for kept keys, -1 for held ones. All keys are visible.
fn largest_error(s: &[f64], weights: &[Option<f64>]) -> f64 {
    let v: Vec<f64> = weights.iter().map(|w| if w.is_some() { 1.0 } else { -1.0 }).collect();
    (output_of_weights(weights, &v, 1)[0] - safe_softmax(s, &v, 1).o[0]).abs()
}

fn assert_bounded(rule: &mut dyn HoldRule, s: &[f64]) -> f64 {
    let weights = weights_under(s, rule);
    let bound = held_error_bound(rule.lost_mass(held(&weights)));
    let error = largest_error(s, &weights);
    assert!(error <= bound + rounding(s.len()), "{rule:?}: {error} is beyond {bound} for {} keys", s.len());
    error
}

/// A hostile stream for a rule: each score is the largest on a grid that the rule still holds, or far below if the rule
/// holds none. If `x` gives a number for a key, the score is at that x.
fn against<R: HoldRule + Copy>(mut rule: R, keys: usize, x: impl Fn(usize) -> Option<f64>) -> Vec<f64> {
    rule.begin(0.0);
    let (mut s, mut lse) = (vec![0.0], LogSum::of(0.0, 0.0));
    for i in 1..keys {
        let score = |x: f64| lse.plus(x).value();
        let would_hold = |&x: &f64| {
            let mut trial = rule;
            trial.holds(score(x), x)
        };
        let offers = || (4..240).map(|eighth| -f64::from(eighth) / 8.0);
        let next = score(x(i).or_else(|| offers().find(would_hold)).unwrap_or(-29.0));
        // The score was rounded, so the recurrence sees this x.
        let key = LogSum::of(next, 0.0);
        if !rule.holds(next, key.minus(lse)) {
            lse = lse.join(key);
        }
        s.push(next);
    }
    s
}

/// The same error from the masses, `2 H / (1 + H)`, H being the held mass over the kept one. Held and kept exponentials
/// are summed separately, so that the small sum keeps its precision.
fn error_of_masses(s: &[f64], weights: &[Option<f64>]) -> f64 {
    let top = s.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut masses = [0.0, 0.0];
    for (s, w) in s.iter().zip(weights) {
        masses[usize::from(w.is_some())] += (s - top).exp();
    }
    let [held, kept] = masses;
    2.0 * (held / kept) / (1.0 + held / kept)
}

/// Asserts that a rule's error on its hostile stream is within its bound, and returns the error.
fn assert_withstands<R: HoldRule + Copy>(mut rule: R, keys: usize, x: impl Fn(usize) -> Option<f64>) -> f64 {
    let s = against(rule, keys, x);
    let error = assert_bounded(&mut rule, &s);
    let by_mass = error_of_masses(&s, &weights_under(&s, &mut rule));
    assert!((error - by_mass).abs() <= rounding(keys), "{rule:?}: {error} is not {by_mass}");
    by_mass
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_rule_exceeds_its_bound(s in scores_up_to(400), mut rules in rules()) {
        for rule in &mut rules {
            assert_bounded(&mut **rule, &s);
        }
    }

    #[test]
    fn no_budget_is_exceeded_by_a_stream_made_against_it(
        fraction in 1..20u32,
        reserve in 0..6u32,
        kept in prop::collection::vec(prop::option::weighted(0.1, -1.0..40.0f64), 300),
        register in 4..20u32,
    ) {
        // Rises below 30 are limited to 1 and the others halved, so that scores do not climb too far.
        let kept = |i: usize| kept[i].map(|x: f64| if x < 30.0 { x.min(1.0) } else { x / 2.0 });
        for decays in [true, false] {
            let rule = Budget::new(budget_of_fraction(fraction), reserve, decays);
            assert_withstands(rule, 300, kept);
        }
        for decay in [CoarseDecay::Shift, CoarseDecay::Jump, CoarseDecay::Never] {
            let rule = CoarseBudget::new(fraction, reserve, register, decay);
            assert_withstands(rule, 300, kept);
        }
    }

    #[test]
    fn no_budget_is_no_rule(s in scores_up_to(300), reserve in 0..9u32, decays: bool) {
        let weights = weights_under(&s, &mut Budget::new(0.0, reserve, decays));
        let never = hold_weights(&s, f64::INFINITY);
        prop_assert_eq!(&weights, &never);
        prop_assert_eq!(held(&weights), 0);
        for (a, b) in never.iter().zip(flash_d_weights(&s)) {
            prop_assert!((a.unwrap_or(0.0) - b).abs() <= ROUNDING);
        }
    }

    #[test]
    fn keys_that_fa2_holds_are_below_the_threshold_of_x(s in scores_up_to(300), t in 1.0..20.0f64) {
        let weights = weights_under(&s, &mut MaximumThreshold::new(t));
        let mut lse: Option<LogSum> = None;
        for (&s, w) in s.iter().zip(&weights) {
            let key = LogSum::of(s, 0.0);
            match (w, lse) {
                (None, Some(lse)) => prop_assert!(key.minus(lse) <= -t + ROUNDING),
                (None, None) => prop_assert!(false, "the first key was held"),
                (Some(_), before) => lse = Some(before.map_or(key, |lse| lse.join(key))),
            }
        }
    }

    #[test]
    fn the_static_rule_within_its_range_is_no_rule(falls in prop::collection::vec(-5.9..10.9f64, 0..60)) {
        let s: Vec<f64> = std::iter::once(0.0).chain(falls).scan(0.0, |s, d| { *s += d; Some(*s) }).collect();
        let steps = static_steps(&s, (-6.0, 11.0));
        for (step, w) in steps.iter().zip(flash_d_weights(&s)) {
            prop_assert!((step.weight().unwrap() - w).abs() <= 1e-9, "{step:?} is not {w}");
        }
    }
}

#[test]
fn the_bound_of_a_threshold_is_reached() {
    for t in [6.0, 8.0, 12.0] {
        for n in [1, 255, 65_535] {
            let s: Vec<f64> = std::iter::once(0.0).chain(std::iter::repeat_n(-t, n)).collect();
            let weights = hold_weights(&s, t);
            assert_eq!(held(&weights), n as u64);
            let lost = n as f64 * f64::exp(-t);
            let off = largest_error(&s, &weights) - 2.0 * lost / (1.0 + lost);
            assert!(off.abs() <= rounding(n), "T = {t}, {n} keys: {off}");
        }
    }
}

#[test]
fn a_budget_is_nearly_spent_and_never_overspent_on_many_keys() {
    const KEYS: usize = 65_536;
    for fraction in [4, 9, 22] {
        // Half an ulp of an accumulator with that many fraction bits, and max|v| = 1.
        let half_ulp = 2f64.powi(-(fraction as i32) - 1);
        for decays in [true, false] {
            let rule = Budget::new(budget_of_fraction(fraction), 0, decays);
            let error = assert_withstands(rule, KEYS, |_| None);
            assert!(error < half_ulp && error > 0.9 * half_ulp, "{error} of {half_ulp}");
        }
        // A charge is up to twice the key's cost, so only half of the bound may be used.
        for decay in [CoarseDecay::Shift, CoarseDecay::Jump, CoarseDecay::Never] {
            let rule = CoarseBudget::new(fraction, 0, 16, decay);
            let error = assert_withstands(rule, KEYS, |_| None);
            assert!(error < half_ulp && error > 0.45 * half_ulp, "{decay:?}: {error} of {half_ulp}");
        }
    }
}

#[test]
fn only_decayed_budget_can_be_spent_again() {
    // Kept keys just above a power of two, where the coarse decay is least cautious; the keys between them fill up the
    // budget.
    for octave in -4..=3 {
        let x = f64::from(octave) * std::f64::consts::LN_2 + 1e-9;
        let kept = |i: usize| i.is_multiple_of(4).then_some(x);
        assert_withstands(Budget::new(budget_of_fraction(9), 0, true), 400, kept);
        for decay in [CoarseDecay::Shift, CoarseDecay::Jump] {
            assert_withstands(CoarseBudget::new(9, 0, 16, decay), 400, kept);
        }
    }
}

#[test]
fn decay_frees_spent_budget() {
    // Two keys that take most of the budget, a rise, and two more.
    let s = [0.0, -7.7, -7.7, 5.0, -2.7, -2.7, -2.7];
    let count = |rule: &mut dyn HoldRule| held(&weights_under(&s, rule));
    let beta = budget_of_fraction(9);
    assert_eq!(count(&mut Budget::new(beta, 0, false)), 1);
    assert_eq!(count(&mut Budget::new(beta, 0, true)), 2);
    // The coarse charge of -7.7 is 2^-11: the whole budget. The rise is 2^7.2.
    assert_eq!(count(&mut CoarseBudget::new(9, 0, 8, CoarseDecay::Never)), 1);
    assert_eq!(count(&mut CoarseBudget::new(8, 0, 8, CoarseDecay::Never)), 2);
    assert_eq!(count(&mut CoarseBudget::new(8, 0, 8, CoarseDecay::Jump)), 3);
}

#[test]
fn keys_of_no_weight_take_a_unit_each() {
    let s: Vec<f64> = std::iter::once(0.0).chain(std::iter::repeat_n(-700.0, 100)).collect();
    let weights = weights_under(&s, &mut CoarseBudget::new(9, 0, 4, CoarseDecay::Never));
    assert_eq!(held(&weights), 16);
    assert_eq!(held(&weights_under(&s, &mut CoarseBudget::new(9, 0, 16, CoarseDecay::Never))), 100);
}

#[test]
fn three_scores_mislead_the_static_rule() {
    let (s, v) = ([0.0, -20.0, -9.0], [1.0, -1.0, -1.0]);
    let steps = static_steps(&s, (-6.0, 11.0));
    assert_eq!(steps, [StaticStep::Load, StaticStep::Hold, StaticStep::Load]);
    let weights: Vec<Option<f64>> = steps.into_iter().map(StaticStep::weight).collect();
    assert_eq!(output_of_weights(&weights, &v, 1), [-1.0]);
    assert!((safe_softmax(&s, &v, 1).o[0] - 0.9998).abs() < 1e-4);
    assert_eq!(flash_d_hold(&s, &v, 1, 9.0), [1.0]);
}

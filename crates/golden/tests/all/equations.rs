//! The equations of the FLASH-D paper, with the numbers of `docs/theory/equations.md`: each against attention, or
//! against the equation from which it follows.

use flashd_golden::family::{
    flash_attention, flash_d, flash_d_weights, naive_softmax, safe_softmax, sigmoid,
};
use proptest::prelude::*;

/// The state after each step of a query, by definition and not by a recurrence.
#[derive(Debug)]
struct Steps {
    s: Vec<f64>,
    v: Vec<f64>,
    /// Maximum.
    m: Vec<f64>,
    /// Sum of the exponentials relative to the maximum.
    l: Vec<f64>,
    /// Output.
    o: Vec<f64>,
    /// Weights, (3).
    w: Vec<f64>,
}

impl Steps {
    fn of(s: Vec<f64>, values: &[f64]) -> Steps {
        let v = values[..s.len()].to_vec();
        let m: Vec<f64> =
            (1..=s.len()).map(|n| s[..n].iter().copied().fold(f64::NEG_INFINITY, f64::max)).collect();
        let l: Vec<f64> =
            (m.iter().enumerate()).map(|(i, m)| s[..=i].iter().map(|s| (s - m).exp()).sum()).collect();
        let o = (1..=s.len()).map(|n| safe_softmax(&s[..n], &v[..n], 1).o[0]).collect();
        let w = (0..s.len()).map(|i| (s[i] - m[i]).exp() / l[i]).collect();
        Steps { s, v, m, l, o, w }
    }

    /// The steps after the first.
    fn later(&self) -> std::ops::Range<usize> {
        1..self.s.len()
    }

    /// The argument of (11).
    fn argument(&self, i: usize) -> f64 {
        self.s[i] - self.s[i - 1] + self.w[i - 1].ln()
    }
}

/// Scores whose exponentials fit f64, and scalars for values.
fn steps() -> impl Strategy<Value = Steps> {
    let scores = prop::collection::vec(-20.0..20.0f64, 1..60);
    (scores, prop::collection::vec(-4.0..4.0f64, 60)).prop_map(|(s, v)| Steps::of(s, &v))
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * (1.0 + a.abs().max(b.abs()))
}

/// Whether two numbers are equal but for rounding. The error is relative, because weights may be small.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-11 * a.abs().max(b.abs())
}

proptest! {
    /// Softmax, and safe softmax.
    #[test]
    fn attention_needs_no_maximum_where_exponentials_fit(steps in steps()) {
        let naive = naive_softmax(&steps.s, &steps.v, 1).expect("scores up to 20 are in its domain");
        prop_assert!(close(naive.o[0], safe_softmax(&steps.s, &steps.v, 1).o[0]));
    }

    /// (1).
    #[test]
    fn the_divided_output_is_attention(steps in steps()) {
        let Steps { s, v, m, l, o, .. } = &steps;
        for i in steps.later() {
            let new = o[i - 1] * l[i - 1] * (m[i - 1] - m[i]).exp() / l[i] + v[i] * (s[i] - m[i]).exp() / l[i];
            prop_assert!(close(new, o[i]));
        }
        prop_assert!(close(flash_attention(s, v, 1).o[0], o[s.len() - 1]));
    }

    /// The sum of Alg. 1.
    #[test]
    fn the_sum_grows_by_one_exponential(steps in steps()) {
        let Steps { s, m, l, .. } = &steps;
        for i in steps.later() {
            prop_assert!(close(l[i - 1] * (m[i - 1] - m[i]).exp() + (s[i] - m[i]).exp(), l[i]));
        }
    }

    /// (2).
    #[test]
    fn one_factor_is_one_minus_the_other(steps in steps()) {
        let Steps { s, v, m, l, o, .. } = &steps;
        for i in steps.later() {
            let share = (s[i] - m[i]).exp() / l[i];
            prop_assert!(close(o[i - 1] * (1.0 - share) + v[i] * share, o[i]));
        }
    }

    /// (3).
    #[test]
    fn weights_are_shares_of_the_sum(steps in steps()) {
        let weights = flash_d_weights(&steps.s);
        prop_assert!(weights.iter().zip(&steps.w).all(|(a, b)| same(*a, *b)));
    }

    /// (4).
    #[test]
    fn the_output_is_between_old_output_and_value(steps in steps()) {
        let Steps { v, o, w, .. } = &steps;
        for i in steps.later() {
            let new = o[i - 1] * (1.0 - w[i]) + v[i] * w[i];
            prop_assert!(close(new, o[i]));
            prop_assert!(new >= o[i - 1].min(v[i]) - 1e-12 && new <= o[i - 1].max(v[i]) + 1e-12);
        }
    }

    /// (5).
    #[test]
    fn a_weight_determines_the_sum(steps in steps()) {
        let Steps { s, v, m, l, w, .. } = &steps;
        for i in 0..s.len() {
            prop_assert!(same((s[i] - m[i]).exp() / w[i], l[i]));
        }
        let lse = flash_d(s, v, 1).lse.expect("a key is seen").value();
        let last = s.len() - 1;
        prop_assert!(close(lse, s[last] - w[last].ln()));
    }

    /// (6): (5) in the sum's recursion, on both of its sides.
    #[test]
    fn weights_take_the_place_of_the_sums(steps in steps()) {
        let Steps { s, m, w, .. } = &steps;
        for i in steps.later() {
            let before = (s[i - 1] - m[i - 1]).exp() / w[i - 1] * (m[i - 1] - m[i]).exp();
            prop_assert!(same(before + (s[i] - m[i]).exp(), (s[i] - m[i]).exp() / w[i]));
        }
    }

    /// (7): the maximum before the step cancels.
    #[test]
    fn the_maximum_before_cancels(steps in steps()) {
        let Steps { s, m, w, .. } = &steps;
        for i in steps.later() {
            let before = (s[i - 1] - m[i]).exp() / w[i - 1];
            prop_assert!(same(before + (s[i] - m[i]).exp(), (s[i] - m[i]).exp() / w[i]));
        }
    }

    /// (8): so does the maximum after it.
    #[test]
    fn the_maximum_after_cancels(steps in steps()) {
        let Steps { s, w, .. } = &steps;
        for i in steps.later() {
            prop_assert!(same(s[i - 1].exp() / w[i - 1] + s[i].exp(), s[i].exp() / w[i]));
        }
    }

    /// (9).
    #[test]
    fn a_weight_follows_from_the_one_before(steps in steps()) {
        let Steps { s, w, .. } = &steps;
        for i in steps.later() {
            prop_assert!(same(1.0 / (1.0 + (s[i - 1] - s[i]).exp() / w[i - 1]), w[i]));
        }
    }

    /// (10).
    #[test]
    fn the_logarithm_of_a_weight_joins_the_exponent(steps in steps()) {
        for i in steps.later() {
            prop_assert!(same(1.0 / (1.0 + (-steps.argument(i)).exp()), steps.w[i]));
        }
    }

    /// (11).
    #[test]
    fn weights_are_sigmoids(steps in steps()) {
        prop_assert!(steps.w[0] == 1.0);
        for i in steps.later() {
            prop_assert!(same(sigmoid(steps.argument(i)), steps.w[i]));
        }
    }

    /// (12).
    #[test]
    fn one_multiplication_updates_the_output(steps in steps()) {
        let Steps { v, o, w, .. } = &steps;
        for i in steps.later() {
            prop_assert!(close(o[i - 1] + (v[i] - o[i - 1]) * w[i], o[i]));
        }
    }
}

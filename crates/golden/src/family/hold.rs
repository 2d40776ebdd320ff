//! Rules that hold keys: a held key changes neither o nor L, and its value is not read.
//!
//! A held key drops out of the softmax. Let L be the log-sum-exp of the kept keys, and H the sum of `e^(s_j - L)` over the held ones. Then the result is the
//! softmax over the kept keys, and
//!
//! ```text
//! |o_rule - o| = H / (1 + H) |o_kept - o_held| <= 2 max|v| H / (1 + H)
//! ```
//!
//! So a rule has to bound H ([`HoldRule::lost_mass`]). A held key leaves L unchanged and adds `e^x`, `x = s - L`, to H; a kept key multiplies H by `e^(L_old -
//! L_new) = 1 - w`. Thus H grows only by the `e^x` of held keys.
//!
//! | rule | holds a key when | H is at most |
//! | --- | --- | --- |
//! | [`Threshold`] | `x <= -T` | `n e^-T` for n held keys |
//! | [`MaximumThreshold`] (FA2) | `s - m <= -T`, m the largest kept score | `n e^-T` |
//! | [`GrowingThreshold`] | `x <= -(T + ln n)` for the n-th held key | `e^-T (1 + ln n)` |
//! | [`CappedThreshold`] | `x <= -T`, and fewer than c keys are held | `c e^-T` |
//! | [`Budget`](super::Budget), [`CoarseBudget`](super::CoarseBudget) | its own bound of H stays below beta | `beta` |
//!
//! The paper's static rule ([`static_steps`]) bounds nothing: it looks at `s_i - s_{i-1}`, which does not determine x.

use super::row::{LogSum, sigmoid};
use std::fmt::Debug;

/// A rule that decides from the scores alone, before the value is read, which keys are held. It has the state of one query.
pub trait HoldRule: Debug {
    /// Starts a query with the score of its first visible key, which is never held.
    fn begin(&mut self, s: f64);

    /// Decides whether the next visible key is held, and updates the rule's state. `s` is its score, `x = s - L`.
    fn holds(&mut self, s: f64, x: f64) -> bool;

    /// Upper bound of H after `held` held keys of a query, for any scores.
    fn lost_mass(&self, held: u64) -> f64;
}

/// `2 H / (1 + H)`: bound of the error relative to max|v| if held keys have mass H relative to the kept ones.
pub fn held_error_bound(lost_mass: f64) -> f64 {
    2.0 * lost_mass / (1.0 + lost_mass)
}

/// FLASH-D's weights under a rule: `w_i = sigmoid(x_i)`, `None` for held and masked keys, whose values are not read. The first visible key has weight 1.
pub fn weights_under(s: &[f64], rule: &mut dyn HoldRule) -> Vec<Option<f64>> {
    let mut state: Option<LogSum> = None;
    let step = |&s: &f64| {
        if s == f64::NEG_INFINITY {
            return None;
        }
        let key = LogSum::of(s, 0.0);
        let Some(lse) = state else {
            rule.begin(s);
            state = Some(key);
            return Some(1.0);
        };
        let x = key.minus(lse);
        if rule.holds(s, x) {
            return None;
        }
        state = Some(lse.join(key));
        Some(sigmoid(x))
    };
    s.iter().map(step).collect()
}

/// FLASH-D's output for these weights: `o <- o + (v - o) w`; `None` leaves o unchanged.
pub fn output_of_weights(weights: &[Option<f64>], v: &[f64], d: usize) -> Vec<f64> {
    let mut o = vec![0.0; d];
    for (w, v) in weights.iter().zip(v.chunks_exact(d)) {
        if let Some(w) = w {
            o.iter_mut().zip(v).for_each(|(o, v)| *o += (v - *o) * w);
        }
    }
    o
}

/// [`weights_under`] a fixed [`Threshold`].
pub fn hold_weights(s: &[f64], threshold: f64) -> Vec<Option<f64>> {
    weights_under(s, &mut Threshold { threshold })
}

/// FLASH-D's output under a fixed threshold T, see [`hold_weights`].
///
/// With n held keys it differs from [`flash_d`](super::flash_d) by at most `2 max|v| n e^-T / (1 + n e^-T)`.
pub fn flash_d_hold(s: &[f64], v: &[f64], d: usize, threshold: f64) -> Vec<f64> {
    output_of_weights(&hold_weights(s, threshold), v, d)
}

/// Holds a key if `x <= -threshold`.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    /// The threshold T.
    pub threshold: f64,
}

impl HoldRule for Threshold {
    fn begin(&mut self, _: f64) {}

    fn holds(&mut self, _: f64, x: f64) -> bool {
        x <= -self.threshold
    }

    fn lost_mass(&self, held: u64) -> f64 {
        held as f64 * (-self.threshold).exp()
    }
}

/// FlashAttention-2's rule: holds a key if `s - m <= -threshold`, m the largest kept score. As `m <= L`, it holds no key that [`Threshold`] would keep in the
/// same state.
#[derive(Clone, Copy, Debug)]
pub struct MaximumThreshold {
    threshold: f64,
    m: f64,
}

impl MaximumThreshold {
    /// The rule with threshold T.
    pub fn new(threshold: f64) -> Self {
        MaximumThreshold { threshold, m: f64::NEG_INFINITY }
    }
}

impl HoldRule for MaximumThreshold {
    fn begin(&mut self, s: f64) {
        self.m = s;
    }

    fn holds(&mut self, s: f64, _: f64) -> bool {
        let holds = s - self.m <= -self.threshold;
        if !holds {
            self.m = self.m.max(s);
        }
        holds
    }

    fn lost_mass(&self, held: u64) -> f64 {
        Threshold { threshold: self.threshold }.lost_mass(held)
    }
}

/// Holds the n-th key only if `x <= -(threshold + ln n)`. H is at most `e^-T` times the n-th harmonic number, so it still grows without bound, but slowly.
#[derive(Clone, Copy, Debug)]
pub struct GrowingThreshold {
    threshold: f64,
    held: u64,
}

impl GrowingThreshold {
    /// The rule with threshold T for its first held key.
    pub fn new(threshold: f64) -> Self {
        GrowingThreshold { threshold, held: 0 }
    }
}

impl HoldRule for GrowingThreshold {
    fn begin(&mut self, _: f64) {
        self.held = 0;
    }

    fn holds(&mut self, _: f64, x: f64) -> bool {
        let holds = x <= -(self.threshold + ((self.held + 1) as f64).ln());
        self.held += u64::from(holds);
        holds
    }

    fn lost_mass(&self, held: u64) -> f64 {
        // 1 + 1/2 + .. + 1/n <= 1 + ln n.
        if held == 0 { 0.0 } else { (-self.threshold).exp() * (1.0 + (held as f64).ln()) }
    }
}

/// Holds a key if `x <= -threshold`, and at most `cap` keys per query.
#[derive(Clone, Copy, Debug)]
pub struct CappedThreshold {
    threshold: f64,
    cap: u64,
    held: u64,
}

impl CappedThreshold {
    /// The rule with threshold T and `cap`.
    pub fn new(threshold: f64, cap: u64) -> Self {
        CappedThreshold { threshold, cap, held: 0 }
    }
}

impl HoldRule for CappedThreshold {
    fn begin(&mut self, _: f64) {
        self.held = 0;
    }

    fn holds(&mut self, _: f64, x: f64) -> bool {
        let holds = x <= -self.threshold && self.held < self.cap;
        self.held += u64::from(holds);
        holds
    }

    fn lost_mass(&self, held: u64) -> f64 {
        Threshold { threshold: self.threshold }.lost_mass(held.min(self.cap))
    }
}

/// Effect of a key under the paper's static rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StaticStep {
    /// A masked key, or `D <= low`: o stays, the value is not read.
    Hold,
    /// The first key, or `D >= high`: `o = v`.
    Load,
    /// `o <- o + (v - o) w`.
    Update(f64),
}

impl StaticStep {
    /// The weight applied to v; `None` if o is kept.
    pub fn weight(self) -> Option<f64> {
        match self {
            StaticStep::Hold => None,
            StaticStep::Load => Some(1.0),
            StaticStep::Update(w) => Some(w),
        }
    }
}

/// The paper's static rule in f64: with `D = s_i - s_{i-1}`, `D <= low` sets w to `sigmoid(low)` and keeps o; `D >= high` sets w to `sigmoid(high)` and loads
/// v; otherwise `w_i = sigmoid(D + ln w_{i-1})` (Alg. 3 with the sign of eq. (11)). Masked keys are skipped.
pub fn static_steps(s: &[f64], (low, high): (f64, f64)) -> Vec<StaticStep> {
    // ln sigmoid(x) = min(x, 0) - ln(1 + e^-|x|).
    let ln_sigmoid = |x: f64| x.min(0.0) - (-x.abs()).exp().ln_1p();
    let mut previous: Option<(f64, f64)> = None;
    let step = |&s: &f64| {
        if s == f64::NEG_INFINITY {
            return StaticStep::Hold;
        }
        let (ln_w, step) = match previous {
            None => (0.0, StaticStep::Load),
            Some((s_previous, _)) if s - s_previous <= low => (ln_sigmoid(low), StaticStep::Hold),
            Some((s_previous, _)) if s - s_previous >= high => (ln_sigmoid(high), StaticStep::Load),
            Some((s_previous, ln_w)) => {
                let x = s - s_previous + ln_w;
                (ln_sigmoid(x), StaticStep::Update(sigmoid(x)))
            }
        };
        previous = Some((s, ln_w));
        step
    };
    s.iter().map(step).collect()
}

//! The result of one query, and log-sum-exps with two f64.

use super::monoid::Monoid;

/// A log-sum-exp `ln sum e^(s_i)`, as the unevaluated sum of two f64.
///
/// A single f64 near 700 is a multiple of 1.1e-13. Rounded in every step, a sum over hundreds of keys or merges would be off by more than the 1e-12 to which
/// the forms agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogSum {
    high: f64,
    low: f64,
}

impl LogSum {
    /// The sum `a + b`, exactly.
    pub fn of(a: f64, b: f64) -> LogSum {
        let (high, low) = two_sum(a, b);
        LogSum { high, low }
    }

    /// The value, rounded to f64.
    pub fn value(self) -> f64 {
        self.high + self.low
    }

    /// The difference `self - other`, with an error relative to the difference rather than to the operands.
    pub fn minus(self, other: LogSum) -> f64 {
        let (difference, error) = two_sum(self.high, -other.high);
        difference + (error + self.low - other.low)
    }

    /// The sum `self + x`.
    pub fn plus(self, x: f64) -> LogSum {
        let (high, error) = two_sum(self.high, x);
        LogSum::of(high, error + self.low)
    }

    /// `ln(e^a + e^b) = max(a, b) + ln(1 + e^-|a - b|)`.
    pub fn join(self, other: LogSum) -> LogSum {
        let x = other.minus(self);
        let larger = if x > 0.0 { other } else { self };
        larger.plus((-x.abs()).exp().ln_1p())
    }
}

/// Attention of one query over a set of keys: the result, or a partial result to merge with others.
#[derive(Clone, Debug, PartialEq)]
pub struct PartialAttention {
    /// The weighted mean of the values, length d; zeros without a visible key.
    pub o: Vec<f64>,
    /// Log-sum-exp of the scores; `None` without a visible key.
    pub lse: Option<LogSum>,
}

impl PartialAttention {
    /// Set if no key was visible.
    pub fn is_empty(&self) -> bool {
        self.lse.is_none()
    }

    /// The result over one key: its value with weight 1. A masked key (`s` = -inf) gives the identity.
    pub fn of_key(s: f64, v: &[f64]) -> PartialAttention {
        if s == f64::NEG_INFINITY {
            return PartialAttention::identity(v.len());
        }
        PartialAttention { o: v.to_vec(), lse: Some(LogSum::of(s, 0.0)) }
    }

    /// `o = sum / weight`, `L = max + ln weight`, from sums relative to `e^max`.
    pub(super) fn of_sums(mut sum: Vec<f64>, weight: f64, max: f64) -> PartialAttention {
        sum.iter_mut().for_each(|o| *o /= weight);
        PartialAttention { o: sum, lse: Some(LogSum::of(max, weight.ln())) }
    }
}

/// Merges results over disjoint sets of keys:
///
/// ```text
/// w = sigmoid(L_b - L_a)      o = o_a + (o_b - o_a) w      L = L_a + softplus(L_b - L_a)
/// ```
///
/// A step of FLASH-D is the merge with a single key. The identity is the [empty](PartialAttention::is_empty) result, a flag, so that no difference of two infinities is
/// computed.
impl Monoid for PartialAttention {
    fn identity(d: usize) -> PartialAttention {
        PartialAttention { o: vec![0.0; d], lse: None }
    }

    fn combine(&self, other: &PartialAttention) -> PartialAttention {
        let (Some(a), Some(b)) = (self.lse, other.lse) else {
            return if self.is_empty() { other.clone() } else { self.clone() };
        };
        let w = sigmoid(b.minus(a));
        let o = self.o.iter().zip(&other.o).map(|(a, b)| a + (b - a) * w).collect();
        PartialAttention { o, lse: Some(a.join(b)) }
    }
}

/// `1 / (1 + e^-x)` without overflow and with full relative accuracy on both sides.
pub fn sigmoid(x: f64) -> f64 {
    if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }
}

/// Sum and its rounding error (Knuth).
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

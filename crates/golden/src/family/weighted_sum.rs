//! Attention as sums of values and of weights, relative to the largest score.

use super::monoid::Monoid;
use super::row::PartialAttention;

/// Sums of values and of weights, relative to the largest score:
/// `(u_1, m_1) (u_2, m_2) = (e^(m_1 - m) u_1 + e^(m_2 - m) u_2, m)` with `m = max(m_1, m_2)`.
///
/// `u` is the pair of `sum` and `weight`, the sum of `(v_i, 1)` with weights `e^(s_i - m)`.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedSum {
    /// `sum_i e^(s_i - m) v_i`.
    pub sum: Vec<f64>,
    /// `sum_i e^(s_i - m)`.
    pub weight: f64,
    /// The largest score m; `None` without a visible key.
    pub max: Option<f64>,
}

impl WeightedSum {
    /// The result over one key: `(v, 1)` relative to its own score. A masked key (`s` = -inf) gives the identity.
    pub fn of_key(s: f64, v: &[f64]) -> WeightedSum {
        if s == f64::NEG_INFINITY {
            return WeightedSum::identity(v.len());
        }
        WeightedSum { sum: v.to_vec(), weight: 1.0, max: Some(s) }
    }

    /// The attention result: `o = sum / weight`, `L = m + ln weight`.
    pub fn row(&self) -> PartialAttention {
        match self.max {
            Some(max) => PartialAttention::of_sums(self.sum.clone(), self.weight, max),
            None => PartialAttention::identity(self.sum.len()),
        }
    }
}

impl Monoid for WeightedSum {
    fn identity(d: usize) -> WeightedSum {
        WeightedSum { sum: vec![0.0; d], weight: 0.0, max: None }
    }

    fn combine(&self, other: &WeightedSum) -> WeightedSum {
        let (Some(a), Some(b)) = (self.max, other.max) else {
            return if self.max.is_none() { other.clone() } else { self.clone() };
        };
        let m = a.max(b);
        let (left, right) = ((a - m).exp(), (b - m).exp());
        WeightedSum {
            sum: self.sum.iter().zip(&other.sum).map(|(x, y)| left * x + right * y).collect(),
            weight: left * self.weight + right * other.weight,
            max: Some(m),
        }
    }
}

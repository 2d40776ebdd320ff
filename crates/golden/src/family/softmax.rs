//! Scores, and textbook softmax.

use super::monoid::Monoid;
use super::row::{LogSum, PartialAttention};

/// `a . b`, summed from the first element.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Scores `s_i = q . k_i * scale` of all keys; `k` is row-major `[N * d]`.
pub fn scores(q: &[f64], k: &[f64], d: usize, scale: f64) -> Vec<f64> {
    k.chunks_exact(d).map(|k| dot(q, k) * scale).collect()
}

/// Scores with an additive mask, `s_i + mask_i`: -inf hides a key, a finite number biases it.
pub fn add_mask(s: &[f64], mask: &[f64]) -> Vec<f64> {
    s.iter().zip(mask).map(|(s, mask)| s + mask).collect()
}

/// Softmax without subtracting the maximum: `o = sum_i e^(s_i) v_i / sum_i e^(s_i)`, dividing the weights first.
///
/// The domain is limited by f64. Above, the sum of exponentials overflows at 709.78: N scores are safe if `max s <= 709.78 - ln N`, which for scores up to 700
/// allows 17,000 keys. Below, exponentials under 2^-1022 lose bits, so the sum must be at least N times that; `max s >= -708.39 + ln N` is sufficient. Returns
/// `None` outside the domain.
pub fn naive_softmax(s: &[f64], v: &[f64], d: usize) -> Option<PartialAttention> {
    let e: Vec<f64> = s.iter().map(|s| s.exp()).collect();
    let sum: f64 = e.iter().sum();
    let visible = s.iter().filter(|&&s| s > f64::NEG_INFINITY).count();
    if visible == 0 {
        return Some(PartialAttention::identity(d));
    }
    if !in_domain(sum, visible) {
        return None;
    }
    Some(PartialAttention {
        o: weighted_mean(&e, sum, v.chunks_exact(d), d),
        lse: Some(LogSum::of(sum.ln(), 0.0)),
    })
}

/// Set if f64 resolves the exponentials of this sum: each one under 2^-1022 is off by at most 2^-1075.
pub(super) fn in_domain(sum: f64, terms: usize) -> bool {
    sum.is_finite() && sum >= terms as f64 * f64::MIN_POSITIVE
}

/// Safe softmax: `o = sum_i e^(s_i - m) v_i / sum_i e^(s_i - m)` with `m = max s_i`.
pub fn safe_softmax(s: &[f64], v: &[f64], d: usize) -> PartialAttention {
    safe_softmax_of_rows(s, v.chunks_exact(d), d)
}

/// [`safe_softmax`] of values of any type, row by row.
pub fn safe_softmax_of_rows<'a, T: Copy + Into<f64> + 'a>(
    s: &[f64],
    v: impl Iterator<Item = &'a [T]>,
    d: usize,
) -> PartialAttention {
    let m = s.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if m == f64::NEG_INFINITY {
        return PartialAttention::identity(d);
    }
    let e: Vec<f64> = s.iter().map(|s| (s - m).exp()).collect();
    let sum: f64 = e.iter().sum();
    PartialAttention { o: weighted_mean(&e, sum, v, d), lse: Some(LogSum::of(m, sum.ln())) }
}

/// `sum_i (e_i / sum) v_i`.
fn weighted_mean<'a, T: Copy + Into<f64> + 'a>(
    e: &[f64],
    sum: f64,
    v: impl Iterator<Item = &'a [T]>,
    d: usize,
) -> Vec<f64> {
    let mut o = vec![0.0; d];
    for (e, v) in e.iter().zip(v) {
        o.iter_mut().zip(v).for_each(|(o, &v)| *o += e / sum * v.into());
    }
    o
}

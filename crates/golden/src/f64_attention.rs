//! Attention of one query in f64, from q, k and v to o. The algorithms are in [`crate::family`].
//!
//! `k` and `v` are row-major `[n * d]`; scores are `s_i = q . k_i * scale` ([`scores`]). The `*_of_scores` functions take scores instead: finite, or -inf for a
//! masked key. Without a visible key o is 0.

use crate::family;

pub use crate::family::{flash_d_weights, scores, sigmoid};

/// Output of [`family::safe_softmax`] for one query; d is the length of a value.
pub fn safe_softmax(q: &[f64], k: &[f64], v: &[f64], d: usize, scale: f64) -> Vec<f64> {
    safe_softmax_of_scores(&scores(q, k, q.len(), scale), v, d)
}

/// A capped score, `c tanh(s / c)`.
pub fn softcap(s: f64, cap: f64) -> f64 {
    cap * (s / cap).tanh()
}

/// [`safe_softmax`] from scores.
pub fn safe_softmax_of_scores(s: &[f64], v: &[f64], d: usize) -> Vec<f64> {
    family::safe_softmax(s, v, d).o
}

/// [`safe_softmax_of_scores`] of values in f32, one row for each score.
pub fn safe_softmax_of_rows<'a>(s: &[f64], v: impl Iterator<Item = &'a [f32]>, d: usize) -> Vec<f64> {
    family::safe_softmax_of_rows(s, v, d).o
}

/// Output of [`family::flash_attention2`].
pub fn flash_attention2(q: &[f64], k: &[f64], v: &[f64], d: usize, scale: f64) -> Vec<f64> {
    family::flash_attention2(&scores(q, k, d, scale), v, d).o
}

/// Output of [`family::flash_d`].
pub fn flash_d(q: &[f64], k: &[f64], v: &[f64], d: usize, scale: f64) -> Vec<f64> {
    family::flash_d(&scores(q, k, d, scale), v, d).o
}

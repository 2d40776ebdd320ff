//! Attention of one query in f64: three algorithms that agree to rounding.
//!
//! Over vectors, `k` and `v` are row-major `[n * d]` and the scores are `s_i = q . k_i * scale`
//! ([`scores`]). The `*_of_scores` functions start from the scores. No keys give zeros. Scores are finite.
//!
//! Sources: FlashAttention-2 (Dao, 2023); FLASH-D (Alexandridis, Titopoulos, Dimitrakopoulos, 2025), whose
//! Alg. 2 and Alg. 3 are meant below.

/// Scores `s_i = q . k_i * scale` of all keys.
pub fn scores(q: &[f64], k: &[f64], d: usize, scale: f64) -> Vec<f64> {
    k.chunks_exact(d).map(|k| q.iter().zip(k).map(|(q, k)| q * k).sum::<f64>() * scale).collect()
}

/// Softmax attention, `o = sum_i e^(s_i - m) v_i / sum_i e^(s_i - m)` with `m = max s_i` (the textbook's
/// safe softmax).
pub fn safe_softmax(q: &[f64], k: &[f64], v: &[f64], d: usize, scale: f64) -> Vec<f64> {
    safe_softmax_of_scores(&scores(q, k, d, scale), v, d)
}

/// [`safe_softmax`] of given scores.
pub fn safe_softmax_of_scores(s: &[f64], v: &[f64], d: usize) -> Vec<f64> {
    let m = s.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let e: Vec<f64> = s.iter().map(|s| (s - m).exp()).collect();
    let sum: f64 = e.iter().sum();
    let mut o = vec![0.0; d];
    for (e, v) in e.iter().zip(v.chunks_exact(d)) {
        o.iter_mut().zip(v).for_each(|(o, v)| *o += e / sum * v);
    }
    o
}

/// FlashAttention-2 with lazy division (Alg. 2): `m_i = max(m_{i-1}, s_i)`,
/// `l_i = l_{i-1} e^(m_{i-1} - m_i) + e^(s_i - m_i)`, `o_i = o_{i-1} e^(m_{i-1} - m_i) + v_i e^(s_i - m_i)`,
/// result `o_N / l_N`.
pub fn flash_attention2(q: &[f64], k: &[f64], v: &[f64], d: usize, scale: f64) -> Vec<f64> {
    flash_attention2_of_scores(&scores(q, k, d, scale), v, d)
}

/// [`flash_attention2`] of given scores.
pub fn flash_attention2_of_scores(s: &[f64], v: &[f64], d: usize) -> Vec<f64> {
    let (mut m, mut l, mut o) = (f64::NEG_INFINITY, 0.0, vec![0.0; d]);
    for (&s, v) in s.iter().zip(v.chunks_exact(d)) {
        let top = m.max(s);
        let (c, e) = ((m - top).exp(), (s - top).exp());
        l = l * c + e;
        o.iter_mut().zip(v).for_each(|(o, v)| *o = *o * c + v * e);
        m = top;
    }
    if l > 0.0 {
        o.iter_mut().for_each(|o| *o /= l);
    }
    o
}

/// FLASH-D (Alg. 3, with the sign of eq. (11)): `w_1 = 1`, `w_i = sigmoid(s_i - s_{i-1} + ln w_{i-1})`,
/// `o_i = o_{i-1} + (v_i - o_{i-1}) w_i`, result `o_N`.
///
/// `ln w` is not the logarithm of a weight that may have underflown but `-softplus(-x)` of the sigmoid's own
/// argument, so any finite scores are safe.
pub fn flash_d(q: &[f64], k: &[f64], v: &[f64], d: usize, scale: f64) -> Vec<f64> {
    flash_d_of_scores(&scores(q, k, d, scale), v, d)
}

/// [`flash_d`] of given scores.
pub fn flash_d_of_scores(s: &[f64], v: &[f64], d: usize) -> Vec<f64> {
    let mut o = vec![0.0; d];
    for (w, v) in flash_d_weights(s).into_iter().zip(v.chunks_exact(d)) {
        o.iter_mut().zip(v).for_each(|(o, v)| *o += (v - *o) * w);
    }
    o
}

/// The weights `w_i` of FLASH-D's recurrence: `w_i = e^(s_i) / sum_{j <= i} e^(s_j)`.
///
/// The recurrence adds up differences of scores, and `ln w` may be as large as their whole range, so its
/// rounding errors would pile up: `ln w` is carried as a pair `high + low`.
pub fn flash_d_weights(s: &[f64]) -> Vec<f64> {
    let mut weights = Vec::with_capacity(s.len());
    let mut previous: Option<(f64, (f64, f64))> = None;
    for &s in s {
        let (w, ln_w) = match previous {
            None => (1.0, (0.0, 0.0)),
            Some((s_prev, (high, low))) => {
                let (difference, error) = two_sum(s, -s_prev);
                let (x, rest) = two_sum(difference, high);
                let (x, rest) = two_sum(x, rest + error + low);
                // ln sigmoid(x) = -softplus(-x) = min(x, 0) - ln(1 + e^-|x|).
                let tail = -(-x.abs()).exp().ln_1p();
                let ln_w = if x < 0.0 {
                    let (high, low) = two_sum(x, tail);
                    (high, low + rest * (1.0 - sigmoid(x)))
                } else {
                    (tail, rest * (1.0 - sigmoid(x)))
                };
                (sigmoid(x), ln_w)
            }
        };
        weights.push(w);
        previous = Some((s, ln_w));
    }
    weights
}

/// `1 / (1 + e^-x)` without overflow and with full relative accuracy on both sides.
pub fn sigmoid(x: f64) -> f64 {
    if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }
}

/// Sum and its rounding error (Knuth).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Attention = fn(&[f64], &[f64], usize) -> Vec<f64>;

    fn assert_all_agree(s: &[f64], v: &[f64], d: usize) {
        let reference = safe_softmax_of_scores(s, v, d);
        let limit = 1e-12 * v.iter().fold(0f64, |m, v| m.max(v.abs()));
        let others: [(&str, Attention); 2] =
            [("flash_attention2", flash_attention2_of_scores), ("flash_d", flash_d_of_scores)];
        for (name, attention) in others {
            for (a, b) in attention(s, v, d).iter().zip(&reference) {
                assert!((a - b).abs() <= limit, "{name}: {a} is not {b} for scores {s:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn algorithms_agree_on_extreme_scores(
            s in prop::collection::vec(-700.0..700.0f64, 1..200),
            seed in prop::collection::vec(-1e3..1e3f64, 600),
        ) {
            assert_all_agree(&s, &seed[..3 * s.len()], 3);
        }

        #[test]
        fn algorithms_agree_on_scores_of_two_levels(
            s in prop::collection::vec((prop::bool::ANY, -2.0..2.0f64), 1..200),
            v in prop::collection::vec(-1.0..1.0f64, 200),
        ) {
            let s: Vec<f64> = s.iter().map(|(top, x)| if *top { 698.0 + x } else { x - 698.0 }).collect();
            assert_all_agree(&s, &v[..s.len()], 1);
        }

        #[test]
        fn algorithms_agree_on_vectors(
            (n, d) in (1..40usize, 1..20usize),
            x in prop::collection::vec(-3.0..3.0f64, 20 + 2 * 800),
            scale in 0.01..4.0f64,
        ) {
            let (q, k, v) = (&x[..d], &x[20..20 + n * d], &x[820..820 + n * d]);
            let reference = safe_softmax(q, k, v, d, scale);
            for other in [flash_attention2(q, k, v, d, scale), flash_d(q, k, v, d, scale)] {
                for (a, b) in other.iter().zip(&reference) {
                    prop_assert!((a - b).abs() <= 3e-12, "{} is not {}", a, b);
                }
            }
        }
    }

    #[test]
    fn alternating_extremes_do_not_drift() {
        let s: Vec<f64> =
            (0..4000).map(|i| if i % 2 == 0 { 700.0 } else { -699.9 + 1e-3 * i as f64 }).collect();
        let v: Vec<f64> = (0..4000).map(|i| (i as f64).sin()).collect();
        assert_all_agree(&s, &v, 1);
    }

    #[test]
    fn no_keys_give_zeros() {
        for attention in [safe_softmax, flash_attention2, flash_d] {
            assert_eq!(attention(&[1.0, 2.0], &[], &[], 2, 1.0), [0.0, 0.0]);
        }
    }

    #[test]
    fn weights_of_equal_scores_are_one_over_i() {
        for (i, w) in flash_d_weights(&[-3.5; 65_536]).iter().enumerate() {
            let exact = 1.0 / (i + 1) as f64;
            assert!((w - exact).abs() <= 1e-12 * exact, "i = {i}: {w}");
        }
    }
}

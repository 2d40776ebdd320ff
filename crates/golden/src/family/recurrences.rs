//! The recurrences, one key a step. A masked key is left out: it changes nothing.

use super::monoid::Monoid;
use super::row::{LogSum, Row, sigmoid, two_sum};

/// Visible keys with their values.
fn visible<'a>(s: &'a [f64], v: &'a [f64], d: usize) -> impl Iterator<Item = (f64, &'a [f64])> {
    s.iter().copied().zip(v.chunks_exact(d)).filter(|(s, _)| *s > f64::NEG_INFINITY)
}

/// FlashAttention, divided in every step (Alg. 1, its output (3)): `m_i = max(m_{i-1}, s_i)`,
/// `l_i = l_{i-1} e^(m_{i-1} - m_i) + e^(s_i - m_i)`,
/// `o_i = o_{i-1} l_{i-1} e^(m_{i-1} - m_i) / l_i + v_i e^(s_i - m_i) / l_i`, result `o_N`.
pub fn flash_attention(s: &[f64], v: &[f64], d: usize) -> Row {
    let (mut m, mut l, mut o) = (f64::NEG_INFINITY, 0.0, vec![0.0; d]);
    for (s, v) in visible(s, v, d) {
        let top = m.max(s);
        // The first maximum is -inf: its exponential is 0, and no difference of infinities occurs.
        let (rescaled, e) = (l * (m - top).exp(), (s - top).exp());
        l = rescaled + e;
        let (keep, take) = (rescaled / l, e / l);
        o.iter_mut().zip(v).for_each(|(o, v)| *o = *o * keep + v * take);
        m = top;
    }
    let lse = (l > 0.0).then(|| LogSum::of(m, l.ln()));
    Row { o, lse }
}

/// FlashAttention-2 with lazy division (Alg. 2): `m_i = max(m_{i-1}, s_i)`,
/// `l_i = l_{i-1} e^(m_{i-1} - m_i) + e^(s_i - m_i)`, `o_i = o_{i-1} e^(m_{i-1} - m_i) + v_i e^(s_i - m_i)`,
/// result `o_N / l_N`.
pub fn flash_attention2(s: &[f64], v: &[f64], d: usize) -> Row {
    let (mut m, mut l, mut o) = (f64::NEG_INFINITY, 0.0, vec![0.0; d]);
    for (s, v) in visible(s, v, d) {
        let top = m.max(s);
        let (c, e) = ((m - top).exp(), (s - top).exp());
        l = l * c + e;
        o.iter_mut().zip(v).for_each(|(o, v)| *o = *o * c + v * e);
        m = top;
    }
    if l > 0.0 { Row::of_sums(o, l, m) } else { Row::identity(d) }
}

/// FLASH-D (Alg. 3: eq. (11) with its sign, where line 5 prints `- ln w_{i-1}`, and (12)): `w_1 = 1`,
/// `w_i = sigmoid(s_i - s_{i-1} + ln w_{i-1})`, `o_i = o_{i-1} + (v_i - o_{i-1}) w_i`, result `o_N`.
/// The log-sum-exp is `s_N - ln w_N`.
///
/// `ln w` is not the logarithm of a weight that may have underflown but `-softplus(-x)` of the sigmoid's own
/// argument, so any finite scores are safe.
pub fn flash_d(s: &[f64], v: &[f64], d: usize) -> Row {
    let (mut weight, mut o) = (FlashDWeight::default(), vec![0.0; d]);
    for (s, v) in visible(s, v, d) {
        let w = weight.step(s);
        o.iter_mut().zip(v).for_each(|(o, v)| *o += (v - *o) * w);
    }
    Row { o, lse: weight.lse() }
}

/// The weights `w_i` of FLASH-D's recurrence, (6): `w_i = e^(s_i) / sum_{j <= i} e^(s_j)`, 0 for a masked key.
pub fn flash_d_weights(s: &[f64]) -> Vec<f64> {
    let mut weight = FlashDWeight::default();
    s.iter().map(|&s| if s > f64::NEG_INFINITY { weight.step(s) } else { 0.0 }).collect()
}

/// The scalar state of FLASH-D as Alg. 3 has it: the last score and `ln w`.
///
/// The recurrence adds up differences of scores, and `ln w` may be as large as their whole range, so its
/// rounding errors would pile up: `ln w` is carried as a pair `high + low`.
#[derive(Default)]
struct FlashDWeight {
    previous: Option<(f64, (f64, f64))>,
}

impl FlashDWeight {
    /// The weight of the next key.
    fn step(&mut self, s: f64) -> f64 {
        let (w, ln_w) = match self.previous {
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
        self.previous = Some((s, ln_w));
        w
    }

    /// `s_i - ln w_i`, (8); none before the first key.
    fn lse(&self) -> Option<LogSum> {
        self.previous.map(|(s, (high, low))| LogSum::of(s, -high).plus(-low))
    }
}

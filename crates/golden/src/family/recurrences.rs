//! The recurrences, one key per step. Masked keys are skipped.

use super::counts::{Counts, Operation};
use super::machine::AccessCounter;
use super::problem::{Blocks, Counted, Problem, Sizes};
use super::row::{LogSum, PartialAttention, sigmoid, two_sum};
use super::streamed::{StreamedState, divided, of_scores, streamed, streamed_formula};

/// Visible keys with their values.
fn visible<'a>(s: &'a [f64], v: &'a [f64], d: usize) -> impl Iterator<Item = (f64, &'a [f64])> {
    s.iter().copied().zip(v.chunks_exact(d)).filter(|(s, _)| *s > f64::NEG_INFINITY)
}

/// Running maximum m, running sum l relative to it, and o.
pub(super) struct RunningSoftmax {
    pub(super) m: f64,
    pub(super) l: f64,
    pub(super) o: Vec<f64>,
}

impl RunningSoftmax {
    pub(super) fn new(d: usize) -> RunningSoftmax {
        RunningSoftmax { m: f64::NEG_INFINITY, l: 0.0, o: vec![0.0; d] }
    }

    /// Takes a score and returns `e^(m_{i-1} - m_i)`, `e^(s_i - m_i)` and `l_{i-1} e^(m_{i-1} - m_i)`. Before the first score m is -inf: its exponential is 0,
    /// and no difference of two infinities occurs.
    fn step(&mut self, machine: &mut AccessCounter, s: f64) -> (f64, f64, f64) {
        let top = machine.maximum(self.m, s);
        let mut factors = [self.m, s];
        machine.exponentials(&mut factors, top);
        let [c, e] = factors;
        let rescaled = machine.multiply(self.l, c);
        (self.m, self.l) = (top, machine.add(rescaled, e));
        (c, e, rescaled)
    }
}

/// Alg. 1.
struct Divided(RunningSoftmax);

impl StreamedState for Divided {
    fn take(&mut self, machine: &mut AccessCounter, s: &mut [f64], v: &[f64]) {
        let Divided(run) = self;
        for (s, v) in visible(s, v, run.o.len()) {
            let (_, e, rescaled) = run.step(machine, s);
            let (keep, take) = (machine.divide(rescaled, run.l), machine.divide(e, run.l));
            machine.blend(&mut run.o, keep, v, take);
        }
    }

    fn finish(self, _: &mut AccessCounter) -> PartialAttention {
        let Divided(RunningSoftmax { m, l, o }) = self;
        PartialAttention { o, lse: (l > 0.0).then(|| LogSum::of(m, l.ln())) }
    }
}

/// FlashAttention, divided in every step (Alg. 1, its output (1)): `m_i = max(m_{i-1}, s_i)`,
/// `l_i = l_{i-1} e^(m_{i-1} - m_i) + e^(s_i - m_i)`,
/// `o_i = o_{i-1} l_{i-1} e^(m_{i-1} - m_i) / l_i + v_i e^(s_i - m_i) / l_i`, result `o_N`.
pub fn flash_attention(s: &[f64], v: &[f64], d: usize) -> PartialAttention {
    of_scores(Divided(RunningSoftmax::new(d)), s, v)
}

/// [`flash_attention`] of all queries, counted.
///
/// # Panics
/// If the tensors do not fit each other or a block size is 0.
pub fn flash_attention_counted(problem: &Problem, blocks: Blocks) -> Counted {
    streamed(problem, blocks, problem.d + 2, |d| Divided(RunningSoftmax::new(d)))
}

/// Counts of [`flash_attention_counted`], with P of [`Sizes`]: per visible pair `2 d + 1` products, `d + 3` sums, two quotients, a maximum and two
/// exponentials.
pub fn flash_attention_formula(sizes: &Sizes) -> Counts {
    let Sizes { d, seen: p, .. } = *sizes;
    let operations = [
        (Operation::Multiply, p * (2 * d + 1)),
        (Operation::Add, p * (d + 3)),
        (Operation::Divide, 2 * p),
        (Operation::Maximum, p),
        (Operation::Exponential, 2 * p),
    ];
    streamed_formula(sizes, &operations)
}

/// Alg. 2.
struct Lazy(RunningSoftmax);

impl StreamedState for Lazy {
    fn take(&mut self, machine: &mut AccessCounter, s: &mut [f64], v: &[f64]) {
        let Lazy(run) = self;
        for (s, v) in visible(s, v, run.o.len()) {
            let (c, e, _) = run.step(machine, s);
            machine.blend(&mut run.o, c, v, e);
        }
    }

    fn finish(self, machine: &mut AccessCounter) -> PartialAttention {
        let Lazy(RunningSoftmax { m, l, o }) = self;
        divided(machine, o, l, m)
    }
}

/// FlashAttention-2 with lazy division (Alg. 2): `m_i = max(m_{i-1}, s_i)`,
/// `l_i = l_{i-1} e^(m_{i-1} - m_i) + e^(s_i - m_i)`, `o_i = o_{i-1} e^(m_{i-1} - m_i) + v_i e^(s_i - m_i)`,
/// result `o_N / l_N`.
pub fn flash_attention2(s: &[f64], v: &[f64], d: usize) -> PartialAttention {
    of_scores(Lazy(RunningSoftmax::new(d)), s, v)
}

/// [`flash_attention2`] of all queries, counted.
///
/// # Panics
/// If the tensors do not fit each other or a block size is 0.
pub fn flash_attention2_counted(problem: &Problem, blocks: Blocks) -> Counted {
    streamed(problem, blocks, problem.d + 2, |d| Lazy(RunningSoftmax::new(d)))
}

/// Counts of [`flash_attention2_counted`], with P and R of [`Sizes`]: P times `2 d + 1` products, `d + 3` sums, a maximum and two exponentials; R times d
/// quotients.
pub fn flash_attention2_formula(sizes: &Sizes) -> Counts {
    let Sizes { d, seen: p, seeing: r, .. } = *sizes;
    let operations = [
        (Operation::Multiply, p * (2 * d + 1)),
        (Operation::Add, p * (d + 3)),
        (Operation::Divide, r * d),
        (Operation::Maximum, p),
        (Operation::Exponential, 2 * p),
    ];
    streamed_formula(sizes, &operations)
}

/// Alg. 3.
struct FlashD {
    weight: FlashDWeight,
    o: Vec<f64>,
}

impl FlashD {
    fn new(d: usize) -> FlashD {
        FlashD { weight: FlashDWeight::default(), o: vec![0.0; d] }
    }
}

impl StreamedState for FlashD {
    fn take(&mut self, machine: &mut AccessCounter, s: &mut [f64], v: &[f64]) {
        for (s, v) in visible(s, v, self.o.len()) {
            if self.weight.is_first() {
                self.weight.step(s);
                self.o.copy_from_slice(v);
                continue;
            }
            // s_i - s_{i-1} + ln w_{i-1}, as in Alg. 3.
            machine.count_all(&[(Operation::Add, 2), (Operation::Logarithm, 1), (Operation::Sigmoid, 1)]);
            let w = self.weight.step(s);
            machine.move_by(&mut self.o, v, w);
        }
    }

    fn finish(self, _: &mut AccessCounter) -> PartialAttention {
        PartialAttention { o: self.o, lse: self.weight.lse() }
    }
}

/// FLASH-D (Alg. 3: eq. (11) with its sign, where line 5 prints `- ln w_{i-1}`, and (12)): `w_1 = 1`,
/// `w_i = sigmoid(s_i - s_{i-1} + ln w_{i-1})`, `o_i = o_{i-1} + (v_i - o_{i-1}) w_i`, result `o_N`.
/// The log-sum-exp is `s_N - ln w_N`.
///
/// `ln w` is computed as `-softplus(-x)` from the sigmoid's argument, not as the logarithm of a weight that may have underflowed. So scores
/// 1e12 apart are safe, and so is a score of -1e38 for a masked key among any others. The recurrence adds differences of neighbouring
/// scores: scores of both signs of magnitude S lose everything below `2^-106 S`.
pub fn flash_d(s: &[f64], v: &[f64], d: usize) -> PartialAttention {
    of_scores(FlashD::new(d), s, v)
}

/// [`flash_d`] of all queries, counted: each step as in (11) and (12), however f64 computes `ln w`.
///
/// # Panics
/// If the tensors do not fit each other or a block size is 0.
pub fn flash_d_counted(problem: &Problem, blocks: Blocks) -> Counted {
    streamed(problem, blocks, problem.d + 2, FlashD::new)
}

/// Counts of [`flash_d_counted`], with P and R of [`Sizes`]. The first key of a query is copied; each of the other P - R takes d products, `2 d + 2` sums, a
/// logarithm and a sigmoid.
pub fn flash_d_formula(sizes: &Sizes) -> Counts {
    let Sizes { d, seen, seeing, .. } = *sizes;
    let steps = seen - seeing;
    let operations = [
        (Operation::Multiply, steps * d),
        (Operation::Add, steps * (2 * d + 2)),
        (Operation::Logarithm, steps),
        (Operation::Sigmoid, steps),
    ];
    streamed_formula(sizes, &operations)
}

/// The weights `w_i` of FLASH-D's recurrence, (3): `w_i = e^(s_i) / sum_{j <= i} e^(s_j)`, 0 for a masked key.
pub fn flash_d_weights(s: &[f64]) -> Vec<f64> {
    let mut weight = FlashDWeight::default();
    s.iter().map(|&s| if s > f64::NEG_INFINITY { weight.step(s) } else { 0.0 }).collect()
}

/// FLASH-D's scalar state in Alg. 3: the last score and `ln w`.
///
/// The recurrence adds differences of scores, and `ln w` may be as large as their whole range, so rounding errors would accumulate: `ln w` is a pair `high +
/// low`.
#[derive(Default)]
struct FlashDWeight {
    previous: Option<(f64, (f64, f64))>,
}

impl FlashDWeight {
    /// Set before the first key.
    fn is_first(&self) -> bool {
        self.previous.is_none()
    }

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

    /// `s_i - ln w_i`, the logarithm of (5); `None` before the first key.
    fn lse(&self) -> Option<LogSum> {
        self.previous.map(|(s, (high, low))| LogSum::of(s, -high).plus(-low))
    }
}

//! The recurrences, one key a step. A masked key is left out: it changes nothing.

use super::counts::{Counts, Operation};
use super::machine::Machine;
use super::problem::{Blocks, Counted, Problem, Sizes};
use super::row::{LogSum, Row, sigmoid, two_sum};
use super::streamed::{State, divided, of_scores, streamed, streamed_formula};

/// Visible keys with their values.
fn visible<'a>(s: &'a [f64], v: &'a [f64], d: usize) -> impl Iterator<Item = (f64, &'a [f64])> {
    s.iter().copied().zip(v.chunks_exact(d)).filter(|(s, _)| *s > f64::NEG_INFINITY)
}

/// The running maximum, the running sum relative to it, and an output.
pub(super) struct Running {
    pub(super) m: f64,
    pub(super) l: f64,
    pub(super) o: Vec<f64>,
}

impl Running {
    pub(super) fn new(d: usize) -> Running {
        Running { m: f64::NEG_INFINITY, l: 0.0, o: vec![0.0; d] }
    }

    /// Takes in a score: `e^(m_{i-1} - m_i)`, `e^(s_i - m_i)`, and the sum before relative to the new maximum. The first maximum
    /// before is -inf: its exponential is 0, and no difference of infinities occurs.
    fn step(&mut self, machine: &mut Machine, s: f64) -> (f64, f64, f64) {
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
struct Divided(Running);

impl State for Divided {
    fn take(&mut self, machine: &mut Machine, s: &mut [f64], v: &[f64]) {
        let Divided(run) = self;
        for (s, v) in visible(s, v, run.o.len()) {
            let (_, e, rescaled) = run.step(machine, s);
            let (keep, take) = (machine.divide(rescaled, run.l), machine.divide(e, run.l));
            machine.blend(&mut run.o, keep, v, take);
        }
    }

    fn finish(self, _: &mut Machine) -> Row {
        let Divided(Running { m, l, o }) = self;
        Row { o, lse: (l > 0.0).then(|| LogSum::of(m, l.ln())) }
    }
}

/// FlashAttention, divided in every step (Alg. 1, its output (3)): `m_i = max(m_{i-1}, s_i)`,
/// `l_i = l_{i-1} e^(m_{i-1} - m_i) + e^(s_i - m_i)`,
/// `o_i = o_{i-1} l_{i-1} e^(m_{i-1} - m_i) / l_i + v_i e^(s_i - m_i) / l_i`, result `o_N`.
pub fn flash_attention(s: &[f64], v: &[f64], d: usize) -> Row {
    of_scores(Divided(Running::new(d)), s, v)
}

/// [`flash_attention`] of all queries, counted.
///
/// # Panics
/// If the tensors do not fit each other or a block size is 0.
pub fn flash_attention_counted(problem: &Problem, blocks: Blocks) -> Counted {
    streamed(problem, blocks, problem.d + 2, |d| Divided(Running::new(d)))
}

/// What [`flash_attention_counted`] counts, P being the pairs of a query and a key that it sees: `2 d + 1` products,
/// `d + 3` sums, two quotients, a maximum and two exponentials each.
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
struct Lazy(Running);

impl State for Lazy {
    fn take(&mut self, machine: &mut Machine, s: &mut [f64], v: &[f64]) {
        let Lazy(run) = self;
        for (s, v) in visible(s, v, run.o.len()) {
            let (c, e, _) = run.step(machine, s);
            machine.blend(&mut run.o, c, v, e);
        }
    }

    fn finish(self, machine: &mut Machine) -> Row {
        let Lazy(Running { m, l, o }) = self;
        divided(machine, o, l, m)
    }
}

/// FlashAttention-2 with lazy division (Alg. 2): `m_i = max(m_{i-1}, s_i)`,
/// `l_i = l_{i-1} e^(m_{i-1} - m_i) + e^(s_i - m_i)`, `o_i = o_{i-1} e^(m_{i-1} - m_i) + v_i e^(s_i - m_i)`,
/// result `o_N / l_N`.
pub fn flash_attention2(s: &[f64], v: &[f64], d: usize) -> Row {
    of_scores(Lazy(Running::new(d)), s, v)
}

/// [`flash_attention2`] of all queries, counted.
///
/// # Panics
/// If the tensors do not fit each other or a block size is 0.
pub fn flash_attention2_counted(problem: &Problem, blocks: Blocks) -> Counted {
    streamed(problem, blocks, problem.d + 2, |d| Lazy(Running::new(d)))
}

/// What [`flash_attention2_counted`] counts, P as in [`flash_attention_formula`] and R being the queries that see a key:
/// `2 d + 1` products, `d + 3` sums, a maximum and two exponentials for each of P, d quotients for each of R.
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

impl State for FlashD {
    fn take(&mut self, machine: &mut Machine, s: &mut [f64], v: &[f64]) {
        for (s, v) in visible(s, v, self.o.len()) {
            if self.weight.is_first() {
                self.weight.step(s);
                self.o.copy_from_slice(v);
                continue;
            }
            // s_i - s_{i-1} + ln w_{i-1}, as the algorithm has it.
            machine.count_all(&[(Operation::Add, 2), (Operation::Logarithm, 1), (Operation::Sigmoid, 1)]);
            let w = self.weight.step(s);
            machine.move_by(&mut self.o, v, w);
        }
    }

    fn finish(self, _: &mut Machine) -> Row {
        Row { o: self.o, lse: self.weight.lse() }
    }
}

/// FLASH-D (Alg. 3: eq. (11) with its sign, where line 5 prints `- ln w_{i-1}`, and (12)): `w_1 = 1`,
/// `w_i = sigmoid(s_i - s_{i-1} + ln w_{i-1})`, `o_i = o_{i-1} + (v_i - o_{i-1}) w_i`, result `o_N`.
/// The log-sum-exp is `s_N - ln w_N`.
///
/// `ln w` is not the logarithm of a weight that may have underflown but `-softplus(-x)` of the sigmoid's own
/// argument, so that scores as far apart as 1e12 are safe, and one masked by -1e38 among any others. What the recurrence adds
/// up are differences of neighbours: scores of both signs of that size lose what lies 2^-106 below them.
pub fn flash_d(s: &[f64], v: &[f64], d: usize) -> Row {
    of_scores(FlashD::new(d), s, v)
}

/// [`flash_d`] of all queries, counted: each step as (11) and (12) have it, whatever way `ln w` takes in f64.
///
/// # Panics
/// If the tensors do not fit each other or a block size is 0.
pub fn flash_d_counted(problem: &Problem, blocks: Blocks) -> Counted {
    streamed(problem, blocks, problem.d + 2, FlashD::new)
}

/// What [`flash_d_counted`] counts, P and R as in [`flash_attention2_formula`]. The first key of a query is taken as it
/// is; each of the other P - R takes d products, `2 d + 2` sums, a logarithm and a sigmoid.
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
    /// Whether no key has been met.
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

    /// `s_i - ln w_i`, (8); none before the first key.
    fn lse(&self) -> Option<LogSum> {
        self.previous.map(|(s, (high, low))| LogSum::of(s, -high).plus(-low))
    }
}

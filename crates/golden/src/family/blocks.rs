//! Algorithms that take a block of keys at a time. A block without a visible key changes nothing.

use super::counts::{Counts, Operation};
use super::machine::AccessCounter;
use super::monoid::Monoid;
use super::problem::{Blocks, Counted, Problem, Sizes};
use super::recurrences::RunningSoftmax;
use super::row::{LogSum, PartialAttention};
use super::streamed::{StreamedState, divided, streamed, streamed_formula};

/// FlashAttention-2 in blocks.
struct LazyBlocks(RunningSoftmax);

impl StreamedState for LazyBlocks {
    fn take(&mut self, machine: &mut AccessCounter, s: &mut [f64], v: &[f64]) {
        let LazyBlocks(run) = self;
        let block = machine.largest(s);
        if block == f64::NEG_INFINITY {
            return;
        }
        let m = machine.maximum(run.m, block);
        let mut keep = [run.m];
        machine.exponentials(&mut keep, m);
        machine.exponentials(s, m);
        let sum = machine.sum(s);
        let rescaled = machine.multiply(keep[0], run.l);
        run.l = machine.add(rescaled, sum);
        let mut product = vec![0.0; run.o.len()];
        machine.weighted_sum(s, v, &mut product);
        machine.scale_add(&mut run.o, keep[0], &product);
        run.m = m;
    }

    fn finish(self, machine: &mut AccessCounter) -> PartialAttention {
        let LazyBlocks(RunningSoftmax { m, l, o }) = self;
        divided(machine, o, l, m)
    }
}

/// FlashAttention-2's forward pass in blocks: outer loop over queries, keys and values streamed. For each block of keys and each row
///
/// ```text
/// m' = max(m, max_j s_ij)       p_j = e^(s_ij - m')
/// l' = e^(m - m') l + sum_j p_j       o' = e^(m - m') o + sum_j p_j v_j
/// ```
///
/// and `o / l` at the end.
///
/// # Panics
/// If the tensors do not fit each other or a block size is 0.
pub fn flash_attention2_blocks(problem: &Problem, blocks: Blocks) -> Counted {
    // O, l, m, and a row of the product.
    streamed(problem, blocks, 2 * problem.d + 2, |d| LazyBlocks(RunningSoftmax::new(d)))
}

/// Counts of [`flash_attention2_blocks`], with R, T and U of [`Sizes`].
pub fn flash_attention2_blocks_formula(sizes: &Sizes) -> Counts {
    let Sizes { d, seeing: r, seen_blocks: t, in_seen_blocks: u, .. } = *sizes;
    let operations = [
        (Operation::Multiply, u * d + t * (d + 1)),
        (Operation::Add, u * (d + 2) + t),
        (Operation::Divide, r * d),
        (Operation::Maximum, sizes.pairs() - sizes.blocks() + t),
        (Operation::Exponential, u + t),
    ];
    streamed_formula(sizes, &operations)
}

/// The running log-sum-exp over blocks of keys.
struct RunningLse {
    /// `C`, the reference of `o`.
    c: f64,
    /// `None` (-inf) before the first visible key.
    lse: Option<LogSum>,
    o: Vec<f64>,
}

impl RunningLse {
    fn new(d: usize) -> RunningLse {
        RunningLse { c: f64::NEG_INFINITY, lse: None, o: vec![0.0; d] }
    }
}

impl StreamedState for RunningLse {
    fn take(&mut self, machine: &mut AccessCounter, s: &mut [f64], v: &[f64]) {
        let block = machine.largest(s);
        if block == f64::NEG_INFINITY {
            return;
        }
        let c = machine.maximum(block, self.lse.map_or(f64::NEG_INFINITY, LogSum::value));
        // lse^{t-1} - C^t; the exponential of -inf is 0.
        machine.count_all(&[(Operation::Add, 1)]);
        let difference = self.lse.map_or(f64::NEG_INFINITY, |lse| lse.minus(LogSum::of(c, 0.0)));
        let before = machine.exponential(difference);
        machine.exponentials(s, c);
        let sum = machine.sum(s);
        let l = machine.add(before, sum);
        let mut keep = [self.c];
        machine.exponentials(&mut keep, c);
        let mut product = vec![0.0; self.o.len()];
        machine.weighted_sum(s, v, &mut product);
        machine.scale_add(&mut self.o, keep[0], &product);
        let log = machine.logarithm(l);
        machine.count_all(&[(Operation::Add, 1)]);
        (self.c, self.lse) = (c, Some(LogSum::of(c, log)));
    }

    fn finish(self, machine: &mut AccessCounter) -> PartialAttention {
        let mut o = self.o;
        let Some(lse) = self.lse else { return PartialAttention { o, lse: None } };
        machine.count_all(&[(Operation::Add, 1)]);
        let scale = machine.exponential(-lse.minus(LogSum::of(self.c, 0.0)));
        machine.multiply_all(&mut o, scale);
        PartialAttention { o, lse: Some(lse) }
    }
}

/// The running log-sum-exp over blocks of keys, with the additive mask in the scores:
///
/// ```text
/// C^t   = max(max_j S_ij, lse^{t-1})
/// L^t   = exp(lse^{t-1} - C^t) + sum_j exp(S_ij - C^t)
/// O^t   = exp(C^{t-1} - C^t) O^{t-1} + P V        P_ij = exp(S_ij - C^t)
/// lse^t = C^t + log L^t
/// ```
///
/// starting from `lse^0 = C^0 = -inf` and `O^0 = 0`; the result is `O exp(C - lse)`. No division.
///
/// # Panics
/// If the tensors do not fit each other or a block size is 0.
pub fn running_lse(problem: &Problem, blocks: Blocks) -> Counted {
    // O, C, lse, and a row of the product.
    streamed(problem, blocks, 2 * problem.d + 2, RunningLse::new)
}

/// Counts of [`running_lse`], with R, T and U of [`Sizes`].
pub fn running_lse_formula(sizes: &Sizes) -> Counts {
    let Sizes { d, seeing: r, seen_blocks: t, in_seen_blocks: u, .. } = *sizes;
    let operations = [
        (Operation::Multiply, u * d + (t + r) * d),
        (Operation::Add, u * (d + 2) + 3 * t + r),
        (Operation::Maximum, sizes.pairs() - sizes.blocks() + t),
        (Operation::Exponential, u + 2 * t + r),
        (Operation::Logarithm, t),
    ];
    streamed_formula(sizes, &operations)
}

/// Block results, merged.
struct Merged(PartialAttention);

impl StreamedState for Merged {
    fn take(&mut self, machine: &mut AccessCounter, s: &mut [f64], v: &[f64]) {
        let m = machine.largest(s);
        if m == f64::NEG_INFINITY {
            return;
        }
        machine.exponentials(s, m);
        let sum = machine.sum(s);
        let mut product = vec![0.0; self.0.o.len()];
        machine.weighted_sum(s, v, &mut product);
        // lse = m + ln l.
        machine.count_all(&[(Operation::Logarithm, 1), (Operation::Add, 1)]);
        let block = divided(machine, product, sum, m);
        if !self.0.is_empty() {
            // x = L_b - L_a; L = L_a + softplus(x), softplus(x) = max(x, 0) + ln(1 + e^-|x|); o + (v - o) w.
            machine.count_all(&[
                (Operation::Add, 4 + 2 * block.o.len()),
                (Operation::Multiply, block.o.len()),
                (Operation::Maximum, 1),
                (Operation::Exponential, 1),
                (Operation::Logarithm, 1),
                (Operation::Sigmoid, 1),
            ]);
        }
        self.0 = self.0.combine(&block);
    }

    fn finish(self, _: &mut AccessCounter) -> PartialAttention {
        self.0
    }
}

/// Safe softmax of each block of keys; results are merged by their log-sum-exps, as a split merges its parts ([`PartialAttention`] as a [`Monoid`]).
///
/// # Panics
/// If the tensors do not fit each other or a block size is 0.
pub fn merged_blocks(problem: &Problem, blocks: Blocks) -> Counted {
    // o and L of the query, and of the block.
    streamed(problem, blocks, 2 * problem.d + 2, |d| Merged(PartialAttention::identity(d)))
}

/// Counts of [`merged_blocks`], with R, T and U of [`Sizes`]: T - R of the T block results are merged into others.
pub fn merged_blocks_formula(sizes: &Sizes) -> Counts {
    let Sizes { d, seeing, seen_blocks: t, in_seen_blocks: u, .. } = *sizes;
    let merges = t - seeing;
    let operations = [
        (Operation::Multiply, (u + merges) * d),
        (Operation::Add, u * (d + 2) - t * d + merges * (2 * d + 4)),
        (Operation::Divide, t * d),
        (Operation::Maximum, sizes.pairs() - sizes.blocks() + merges),
        (Operation::Exponential, u + merges),
        (Operation::Logarithm, t + merges),
        (Operation::Sigmoid, merges),
    ];
    streamed_formula(sizes, &operations)
}

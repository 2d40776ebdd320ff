//! Folds of the weighted-sum monoid in several shapes, one key at a time.

use super::counts::{Counts, Operation};
use super::machine::AccessCounter;
use super::monoid::Monoid;
use super::problem::{Blocks, Counted, Problem, Sizes};
use super::row::PartialAttention;
use super::streamed::{StreamedState, divided, streamed, streamed_formula};
use super::weighted_sum::WeightedSum;

/// The order in which results of single keys are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Each key into the result of all keys before it.
    Left,
    /// Two halves, each folded the same way.
    Balanced,
    /// Neighbouring pairs, then pairs of pairs, as in an adder tree padded to a power of two.
    Tree,
}

impl Fold {
    /// For each of n keys, how many combinations of the last two pending results follow it. One result is left after the last key.
    fn combinations(self, n: usize) -> Vec<usize> {
        match self {
            Fold::Left => (0..n).map(|i| usize::from(i > 0)).collect(),
            Fold::Balanced => {
                let mut after = vec![0; n];
                // The last key of a run of two or more keys completes the run.
                let mut runs = Vec::from([(0, n)]);
                while let Some((start, end)) = runs.pop() {
                    if end - start > 1 {
                        after[end - 1] += 1;
                        let middle = start + (end - start) / 2;
                        runs.extend([(start, middle), (middle, end)]);
                    }
                }
                after
            }
            Fold::Tree => {
                // Key i completes a level for each trailing one of i; the last key completes the rest.
                let mut after: Vec<usize> = (0..n).map(|i| i.trailing_ones() as usize).collect();
                if let Some(last) = n.checked_sub(1) {
                    let waiting = last - after[..last].iter().sum::<usize>();
                    after[last] = waiting;
                }
                after
            }
        }
    }
}

/// Pending results of a fold.
struct Folding<'a> {
    d: usize,
    /// Combinations after each key; see [`Fold::combinations`].
    combinations: &'a [usize],
    key: usize,
    waiting: Vec<WeightedSum>,
}

impl StreamedState for Folding<'_> {
    fn take(&mut self, machine: &mut AccessCounter, s: &mut [f64], v: &[f64]) {
        for (&s, v) in s.iter().zip(v.chunks_exact(self.d)) {
            let mut last = WeightedSum::of_key(s, v);
            for _ in 0..self.combinations[self.key] {
                let Some(before) = self.waiting.pop() else { break };
                last = combined(machine, &before, &last);
            }
            self.waiting.push(last);
            self.key += 1;
        }
    }

    fn finish(mut self, machine: &mut AccessCounter) -> PartialAttention {
        match self.waiting.pop() {
            Some(WeightedSum { sum, weight, max: Some(max) }) => divided(machine, sum, weight, max),
            _ => PartialAttention::identity(self.d),
        }
    }
}

/// [`WeightedSum::combine`], counted; combining with the identity costs nothing.
fn combined(machine: &mut AccessCounter, a: &WeightedSum, b: &WeightedSum) -> WeightedSum {
    if a.max.is_some() && b.max.is_some() {
        let elements = a.sum.len() + 1;
        machine.count_all(&[
            (Operation::Maximum, 1),
            (Operation::Add, 2 + elements),
            (Operation::Exponential, 2),
            (Operation::Multiply, 2 * elements),
        ]);
    }
    a.combine(b)
}

/// Attention as a fold of [`WeightedSum`]s, `(u_1, m_1) (u_2, m_2) = (e^(m_1 - m) u_1 + e^(m_2 - m) u_2, m)` with `m = max(m_1, m_2)`, in the given shape. At
/// the end the sum is divided by the weight.
///
/// # Panics
/// If the tensors do not fit each other or a block size is 0.
pub fn folded(problem: &Problem, blocks: Blocks, fold: Fold) -> Counted {
    let combinations = fold.combinations(problem.keys());
    let mut waiting = 0usize;
    let mut most = 0;
    for combined in &combinations {
        waiting += 1;
        most = most.max(waiting);
        waiting = waiting.saturating_sub(*combined);
    }
    let new = |d| Folding { d, combinations: &combinations, key: 0, waiting: Vec::new() };
    // Sum, weight and maximum of each pending result.
    streamed(problem, blocks, most * (problem.d + 2), new)
}

/// Counts of [`folded`] in any shape, with P and R of [`Sizes`]: P - R combinations, each with `2 d + 2` products, `d + 3` sums, a maximum and two
/// exponentials.
pub fn folded_formula(sizes: &Sizes) -> Counts {
    let Sizes { d, seen, seeing, .. } = *sizes;
    let combined = seen - seeing;
    let operations = [
        (Operation::Multiply, combined * 2 * (d + 1)),
        (Operation::Add, combined * (d + 3)),
        (Operation::Divide, seeing * d),
        (Operation::Maximum, combined),
        (Operation::Exponential, 2 * combined),
    ];
    streamed_formula(sizes, &operations)
}

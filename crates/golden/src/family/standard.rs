//! Standard attention, with its accesses to slow memory.

use super::counts::{Counts, MemoryTensor, Operation};
use super::machine::AccessCounter;
use super::problem::{Counted, Problem, Sizes};
use super::row::{LogSum, PartialAttention};
use super::softmax::in_domain;

/// Standard attention, Algorithm 0 of the 2022 paper, with safe softmax: writes `S = Q K^T`, reads it for `P = softmax(S)`, writes P and reads it for `O = P
/// V`.
///
/// Each of the three steps reads every operand once, which needs an SRAM that holds all of K or of V: no SRAM allows fewer accesses. The implementation takes
/// each row through the three steps before the next one; the counts are as for the steps in sequence, with memory for only one row of S and P.
///
/// # Panics
/// If the tensors do not fit each other.
pub fn standard(problem: &Problem) -> Counted {
    in_three_steps(problem, safe)
}

/// [`standard`] with softmax, without subtracting the maximum. `None` if a query's scores are outside the domain of
/// [`naive_softmax`](super::naive_softmax).
///
/// # Panics
/// If the tensors do not fit each other.
pub fn standard_naive(problem: &Problem) -> Option<Counted> {
    let mut defined = true;
    let counted = in_three_steps(problem, |machine, s| naive(machine, s, &mut defined));
    defined.then_some(counted)
}

/// Row by row: scores, softmax in place with its log-sum-exp, weighted sum.
fn in_three_steps(
    problem: &Problem,
    mut softmax: impl FnMut(&mut AccessCounter, &mut [f64]) -> Option<LogSum>,
) -> Counted {
    problem.check();
    let (d, keys) = (problem.d, problem.keys());
    let mut machine = AccessCounter::default();
    let k = machine.load(MemoryTensor::K, problem.k);
    let v = machine.load(MemoryTensor::V, problem.v);
    let mut rows = Vec::with_capacity(problem.queries());
    for (i, q) in problem.q.chunks_exact(d).enumerate() {
        let q = machine.load(MemoryTensor::Q, q);
        let mut s = machine.allocate(keys);
        problem.scores(&mut machine, (i, &q), (0..keys, &k), &mut s);
        let stored = machine.create(MemoryTensor::S, &s);
        machine.release(s);
        machine.release(q);

        let mut p = machine.load(MemoryTensor::S, &stored);
        let lse = softmax(&mut machine, &mut p);
        let stored = machine.create(MemoryTensor::P, &p);
        machine.release(p);

        let p = machine.load(MemoryTensor::P, &stored);
        let mut o = machine.allocate(d);
        machine.weighted_sum(&p, &v, &mut o);
        rows.push(PartialAttention { o: machine.create(MemoryTensor::O, &o), lse });
        machine.release(o);
        machine.release(p);
    }
    Counted { rows, counts: machine.counts, working_set: machine.working_set }
}

/// Softmax of a row relative to its maximum. A fully masked row has weights 0.
fn safe(machine: &mut AccessCounter, s: &mut [f64]) -> Option<LogSum> {
    if s.is_empty() {
        return None;
    }
    let m = machine.largest(s);
    if m == f64::NEG_INFINITY {
        s.fill(0.0);
        return None;
    }
    machine.exponentials(s, m);
    let sum = machine.sum(s);
    s.iter_mut().for_each(|p| *p = machine.divide(*p, sum));
    Some(LogSum::of(m, sum.ln()))
}

/// Softmax of a row without the maximum; clears `defined` outside its domain.
fn naive(machine: &mut AccessCounter, s: &mut [f64], defined: &mut bool) -> Option<LogSum> {
    let seen = s.iter().filter(|&&s| s > f64::NEG_INFINITY).count();
    s.iter_mut().for_each(|s| *s = machine.exponential(*s));
    if s.is_empty() {
        return None;
    }
    let sum = machine.sum(s);
    if seen == 0 {
        return None;
    }
    *defined &= in_domain(sum, seen);
    s.iter_mut().for_each(|p| *p = machine.divide(*p, sum));
    Some(LogSum::of(sum.ln(), 0.0))
}

/// Counts of [`standard`] in closed form. Accesses are `2 (queries + keys) d + 4 queries keys`, plus `queries keys` of a mask: `O(N d + N^2)` for N queries and
/// keys. The extra memory is S and P.
pub fn standard_formula(sizes: &Sizes) -> Counts {
    let Sizes { queries, keys, seeing, .. } = *sizes;
    // Subtractions of the maximum, and the sum.
    counted(sizes, seeing * (2 * keys - 1), [queries * (keys - 1), seeing * keys])
}

/// Counts of [`standard_naive`]: exponentials of all rows, also of those without a visible key.
pub fn standard_naive_formula(sizes: &Sizes) -> Counts {
    counted(sizes, sizes.queries * (sizes.keys - 1), [0, sizes.pairs()])
}

/// Both formulas, from the additions, maxima and exponentials of the softmax.
fn counted(sizes: &Sizes, additions: u64, [maxima, exponentials]: [u64; 2]) -> Counts {
    let Sizes { queries, keys, d, seeing, .. } = *sizes;
    let (multiply, add) = sizes.of_scores();
    let pairs = sizes.pairs();
    let accesses = [
        (MemoryTensor::Q, queries * d, 0),
        (MemoryTensor::K, keys * d, 0),
        (MemoryTensor::V, keys * d, 0),
        (MemoryTensor::S, pairs, pairs),
        (MemoryTensor::P, pairs, pairs),
        (MemoryTensor::O, 0, queries * d),
        sizes.mask_reads(),
    ];
    let operations = [
        (Operation::Multiply, multiply + pairs * d),
        (Operation::Add, add + additions + queries * (keys - 1) * d),
        (Operation::Divide, seeing * keys),
        (Operation::Maximum, maxima),
        (Operation::Exponential, exponentials),
    ];
    Counts::of(&accesses, &operations, 2 * pairs)
}

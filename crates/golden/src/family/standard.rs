//! Standard attention, with its accesses to slow memory.

use super::counts::{Counts, Operation, Tensor};
use super::machine::Machine;
use super::row::{LogSum, Row};
use super::tiled::Problem;

/// Standard attention, Algorithm 0 of the 2022 paper, with safe softmax: `S = Q K^T` is written, read again for
/// `P = softmax(S)`, P is written and read again for `O = P V`.
///
/// Each of the three steps reads every operand once, which takes an SRAM that holds all of K or of V: the accesses
/// are the fewest that the algorithm can have, whatever the SRAM. Every row goes through the three steps before the
/// next one begins; the counts are those of the steps one after the other, and the run needs memory for one row of
/// S and P only.
///
/// # Panics
/// If the tensors do not fit each other.
pub fn standard(problem: &Problem) -> (Vec<Row>, Counts) {
    problem.check();
    let (d, keys) = (problem.d, problem.keys());
    let mut machine = Machine::default();
    let k = machine.load(Tensor::K, problem.k);
    let v = machine.load(Tensor::V, problem.v);
    let mut rows = Vec::with_capacity(problem.queries());
    for (i, q) in problem.q.chunks_exact(d).enumerate() {
        let q = machine.load(Tensor::Q, q);
        let mut s = machine.allocate(keys);
        problem.scores(&mut machine, (i, &q), (0..keys, &k), &mut s);
        let stored = machine.create(Tensor::S, &s);
        machine.release(s);
        machine.release(q);

        let mut p = machine.load(Tensor::S, &stored);
        let lse = softmax(&mut machine, &mut p);
        let stored = machine.create(Tensor::P, &p);
        machine.release(p);

        let p = machine.load(Tensor::P, &stored);
        let mut o = machine.allocate(d);
        machine.weighted_sum(&p, &v, &mut o);
        rows.push(Row { o: machine.create(Tensor::O, &o), lse });
        machine.release(o);
        machine.release(p);
    }
    (rows, machine.counts)
}

/// The softmax of a row in place, and its log-sum-exp. A wholly masked row has weights 0.
fn softmax(machine: &mut Machine, s: &mut [f64]) -> Option<LogSum> {
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

/// What [`standard`] counts, in closed form, without a mask and with at least one key. The accesses are
/// `2 (queries + keys) d + 4 queries keys`, for square attention `O(N d + N^2)`; the extra memory is S and P.
pub fn standard_formula(queries: u64, keys: u64, d: u64) -> Counts {
    let pairs = queries * keys;
    let mut counts = Counts { extra: 2 * pairs, ..Counts::default() };
    for (tensor, reads, writes) in [
        (Tensor::Q, queries * d, 0),
        (Tensor::K, keys * d, 0),
        (Tensor::V, keys * d, 0),
        (Tensor::S, pairs, pairs),
        (Tensor::P, pairs, pairs),
        (Tensor::O, 0, queries * d),
    ] {
        counts.reads[tensor as usize] = reads;
        counts.writes[tensor as usize] = writes;
    }
    for (operation, each) in [
        (Operation::Multiply, keys * (2 * d + 1)),
        (Operation::Add, keys * (d - 1) + keys + (keys - 1) + (keys - 1) * d),
        (Operation::Divide, keys),
        (Operation::Maximum, keys - 1),
        (Operation::Exponential, keys),
    ] {
        counts.operations[operation as usize] = queries * each;
    }
    counts
}

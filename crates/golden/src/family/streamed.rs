//! Queries resident, keys and values streamed: the loop order of FlashAttention-2 and of this project's cores and arrays. [`State`] is the
//! state of a query between keys.

use super::counts::{Counts, MemoryTensor, Operation};
use super::machine::AccessCounter;
use super::monoid::Monoid;
use super::problem::{Blocks, Counted, Problem, Sizes, elements, ranges};
use super::row::PartialAttention;

/// State of a query in fast memory while keys and values stream by.
pub(super) trait StreamedState {
    /// Takes the scores of a block of keys, which it may overwrite, and their values. Masked scores are -inf.
    fn take(&mut self, machine: &mut AccessCounter, s: &mut [f64], v: &[f64]);

    /// The result.
    fn finish(self, machine: &mut AccessCounter) -> PartialAttention;
}

/// Runs an algorithm in blocks: for each block of queries, all blocks of keys and values. Q is read and O written once; K and V are read once per block of
/// queries. `elements_of` is the size of a query's state.
///
/// FlashAttention-2 also writes the log-sum-exp for the backward pass; this does not.
///
/// # Panics
/// If the tensors do not fit each other or a block size is 0.
pub(super) fn streamed<S: StreamedState>(
    problem: &Problem,
    blocks: Blocks,
    elements_of: usize,
    new: impl Fn(usize) -> S,
) -> Counted {
    problem.check();
    let d = problem.d;
    let mut machine = AccessCounter::default();
    let mut results = Vec::with_capacity(problem.queries());
    for rows in ranges(problem.queries(), blocks.rows) {
        let q = machine.load(MemoryTensor::Q, &problem.q[elements(&rows, d)]);
        let room = machine.allocate(rows.len() * elements_of);
        let mut states: Vec<S> = rows.clone().map(|_| new(d)).collect();
        for columns in ranges(problem.keys(), blocks.columns) {
            let k = machine.load(MemoryTensor::K, &problem.k[elements(&columns, d)]);
            let v = machine.load(MemoryTensor::V, &problem.v[elements(&columns, d)]);
            // One row of scores at a time.
            let mut s = machine.allocate(columns.len());
            for ((i, q), state) in rows.clone().zip(q.chunks_exact(d)).zip(&mut states) {
                problem.scores(&mut machine, (i, q), (columns.clone(), &k), &mut s);
                state.take(&mut machine, &mut s, &v);
            }
            [k, v, s].into_iter().for_each(|block| machine.release(block));
        }
        for state in states {
            let row = state.finish(&mut machine);
            machine.create(MemoryTensor::O, &row.o);
            results.push(row);
        }
        [q, room].into_iter().for_each(|block| machine.release(block));
    }
    Counted { rows: results, counts: machine.counts, working_set: machine.working_set }
}

/// Result of one query from its scores, uncounted.
pub(super) fn of_scores<S: StreamedState>(mut state: S, s: &[f64], v: &[f64]) -> PartialAttention {
    let mut machine = AccessCounter::default();
    state.take(&mut machine, &mut s.to_vec(), v);
    state.finish(&mut machine)
}

/// `o = sum / weight`, counted, from sums relative to `e^max`; the empty result if the weight is 0.
pub(super) fn divided(machine: &mut AccessCounter, sum: Vec<f64>, weight: f64, max: f64) -> PartialAttention {
    if weight == 0.0 {
        return PartialAttention::identity(sum.len());
    }
    machine.count_all(&[(Operation::Divide, sum.len())]);
    PartialAttention::of_sums(sum, weight, max)
}

/// Counts of a streamed algorithm: the scores' operations plus `operations` (products and sums among them). With
/// `T_r = ceil(queries / B_r)` blocks of queries, accesses are `2 queries d + 2 T_r keys d`, plus `queries keys` of a mask.
pub(super) fn streamed_formula(sizes: &Sizes, operations: &[(Operation, u64)]) -> Counts {
    let Sizes { queries, keys, d, blocks, .. } = *sizes;
    let passes = queries.div_ceil(blocks.rows as u64);
    let accesses = [
        (MemoryTensor::Q, queries * d, 0),
        (MemoryTensor::K, passes * keys * d, 0),
        (MemoryTensor::V, passes * keys * d, 0),
        (MemoryTensor::O, 0, queries * d),
        sizes.mask_reads(),
    ];
    let (multiply, add) = sizes.of_scores();
    let with_scores = |&(operation, times): &(Operation, u64)| match operation {
        Operation::Multiply => (operation, times + multiply),
        Operation::Add => (operation, times + add),
        _ => (operation, times),
    };
    Counts::of(&accesses, &operations.iter().map(with_scores).collect::<Vec<_>>(), 0)
}

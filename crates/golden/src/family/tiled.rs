//! FlashAttention in blocks, with its accesses to slow memory.

use super::counts::{Counts, Operation, Tensor};
use super::machine::Machine;
use super::row::{LogSum, Row};
use std::ops::Range;

/// Attention of several queries over the same keys.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// Queries, row-major `[queries * d]`.
    pub q: &'a [f64],
    /// Keys, row-major `[keys * d]`.
    pub k: &'a [f64],
    /// Values, row-major `[keys * d]`.
    pub v: &'a [f64],
    /// Length of every vector, at least 1.
    pub d: usize,
    /// Factor between `q . k` and the score.
    pub scale: f64,
    /// Additive mask, row-major `[queries * keys]`: finite, or -inf for a key that the query does not see.
    pub mask: Option<&'a [f64]>,
}

impl Problem<'_> {
    /// # Panics
    /// If the tensors do not fit each other.
    pub(super) fn check(&self) {
        assert!(self.d > 0, "vectors need at least one element");
        assert!(self.q.len().is_multiple_of(self.d) && self.k.len().is_multiple_of(self.d), "whole vectors");
        assert_eq!(self.k.len(), self.v.len(), "as many values as keys");
        let pairs = self.queries() * self.keys();
        assert!(self.mask.is_none_or(|mask| mask.len() == pairs), "one mask element for each query and key");
    }

    pub(super) fn queries(&self) -> usize {
        self.q.len() / self.d
    }

    pub(super) fn keys(&self) -> usize {
        self.k.len() / self.d
    }

    /// Scores of query i, whose vector is `q`, against the keys `range`, whose vectors are `k`.
    pub(super) fn scores(
        &self,
        machine: &mut Machine,
        (i, q): (usize, &[f64]),
        (range, k): (Range<usize>, &[f64]),
        s: &mut [f64],
    ) {
        let keys = self.keys();
        for ((s, k), j) in s.iter_mut().zip(k.chunks_exact(self.d)).zip(range) {
            *s = machine.score(q, k, self.scale, self.mask.map(|mask| mask[i * keys + j]));
        }
    }
}

/// Block sizes: `rows` queries against `columns` keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// `B_r`, at least 1.
    pub rows: usize,
    /// `B_c`, at least 1.
    pub columns: usize,
}

impl Blocks {
    /// The 2022 paper's choice for an SRAM of `sram` elements: `B_c = ceil(M / 4d)`, `B_r = min(B_c, d)`. None if a
    /// block would be empty, M or d being 0.
    ///
    /// Four blocks of `B_c d` elements are M; what the rule leaves out (scores, l, m, the rounding up) may go
    /// beyond: see [`Tiled::working_set`].
    pub fn of_sram(sram: usize, d: usize) -> Option<Blocks> {
        let columns = sram.div_ceil(d.checked_mul(4).filter(|&row| row > 0)?);
        let rows = columns.min(d);
        (rows > 0).then_some(Blocks { rows, columns })
    }
}

/// Results of [`tiled`](tiled()) and what it took.
#[derive(Clone, Debug)]
pub struct Tiled {
    /// One result for each query.
    pub rows: Vec<Row>,
    /// Operations and accesses.
    pub counts: Counts,
    /// Most elements that were in fast memory at one time: the blocks of Q, K, V and O, a block of scores, l, m
    /// and one row of the product.
    pub working_set: usize,
}

/// Block-tiled FlashAttention, Algorithm 1 of the 2022 paper. O = 0, l = 0 and m = -inf are written first. Then,
/// for each block of keys j and each block of queries i, `Q_i`, `O_i`, `l_i` and `m_i` are read and, by row,
///
/// ```text
/// m_b = max_j s_ij       p_j = e^(s_ij - m_b)      l_b = sum_j p_j
/// m'  = max(m, m_b)      l'  = e^(m - m') l + e^(m_b - m') l_b
/// o'  = (e^(m - m') l / l') o + (e^(m_b - m') / l') sum_j p_j v_j
/// ```
///
/// before `O_i`, `l_i` and `m_i` are written back. The last block of either sort may be smaller. A row of a block
/// that is wholly masked changes nothing.
///
/// # Panics
/// If the tensors do not fit each other or a block size is 0.
pub fn tiled(problem: &Problem, blocks: Blocks) -> Tiled {
    problem.check();
    let (d, queries) = (problem.d, problem.queries());
    let mut machine = Machine::default();
    let mut o = machine.create(Tensor::O, &vec![0.0; queries * d]);
    let mut l = machine.create(Tensor::Sum, &vec![0.0; queries]);
    let mut m = machine.create(Tensor::Max, &vec![f64::NEG_INFINITY; queries]);
    for columns in ranges(problem.keys(), blocks.columns) {
        let k = machine.load(Tensor::K, &problem.k[elements(&columns, d)]);
        let v = machine.load(Tensor::V, &problem.v[elements(&columns, d)]);
        for rows in ranges(queries, blocks.rows) {
            let q = machine.load(Tensor::Q, &problem.q[elements(&rows, d)]);
            let mut o_i = machine.load(Tensor::O, &o[elements(&rows, d)]);
            let mut l_i = machine.load(Tensor::Sum, &l[rows.clone()]);
            let mut m_i = machine.load(Tensor::Max, &m[rows.clone()]);
            let mut s = machine.allocate(rows.len() * columns.len());
            let mut product = machine.allocate(d);
            for (row, i) in rows.clone().enumerate() {
                let s = &mut s[row * columns.len()..][..columns.len()];
                problem.scores(&mut machine, (i, &q[row * d..][..d]), (columns.clone(), &k), s);
                let state = State { o: &mut o_i[row * d..][..d], l: &mut l_i[row], m: &mut m_i[row] };
                state.update(&mut machine, s, &v, &mut product);
            }
            machine.store(Tensor::O, &o_i, &mut o[elements(&rows, d)]);
            machine.store(Tensor::Sum, &l_i, &mut l[rows.clone()]);
            machine.store(Tensor::Max, &m_i, &mut m[rows]);
            [q, o_i, l_i, m_i, s, product].into_iter().for_each(|block| machine.release(block));
        }
        machine.release(k);
        machine.release(v);
    }
    let row = |((o, &l), &m): ((&[f64], &f64), &f64)| Row {
        o: o.to_vec(),
        lse: (l > 0.0).then(|| LogSum::of(m, l.ln())),
    };
    let rows = o.chunks_exact(d).zip(&l).zip(&m).map(row).collect();
    Tiled { rows, counts: machine.counts, working_set: machine.working_set }
}

/// Output, sum and maximum of one query while its block is in fast memory.
struct State<'a> {
    o: &'a mut [f64],
    l: &'a mut f64,
    m: &'a mut f64,
}

impl State<'_> {
    /// Takes in a block of scores, which become weights, and of values.
    fn update(self, machine: &mut Machine, s: &mut [f64], v: &[f64], product: &mut [f64]) {
        let m_block = machine.largest(s);
        if m_block == f64::NEG_INFINITY {
            return;
        }
        machine.exponentials(s, m_block);
        let l_block = machine.sum(s);
        let m = machine.maximum(*self.m, m_block);
        let mut factors = [*self.m, m_block];
        machine.exponentials(&mut factors, m);
        let [keep, take] = factors;
        let (l_old, l_new) = (machine.multiply(keep, *self.l), machine.multiply(take, l_block));
        let l = machine.add(l_old, l_new);
        let (keep, take) = (machine.divide(l_old, l), machine.divide(take, l));
        machine.weighted_sum(s, v, product);
        machine.blend(self.o, keep, product, take);
        (*self.l, *self.m) = (l, m);
    }
}

/// What [`tiled`](tiled()) counts, in closed form, without a mask. With `T_c = ceil(keys / B_c)` blocks of keys the
/// accesses are `2 keys d + queries (T_c (3 d + 4) + d + 2)`: K and V are read once, Q, O, l and m once for each of
/// these blocks; O, l and m are written as often, and at the start. For square attention that is `O(N^2 d^2 / M)`.
pub fn tiled_formula(queries: u64, keys: u64, d: u64, blocks: Blocks) -> Counts {
    let t = keys.div_ceil(blocks.columns as u64);
    let mut counts = Counts { extra: 2 * queries, ..Counts::default() };
    for (tensor, reads, writes) in [
        (Tensor::Q, t * queries * d, 0),
        (Tensor::K, keys * d, 0),
        (Tensor::V, keys * d, 0),
        (Tensor::O, t * queries * d, (t + 1) * queries * d),
        (Tensor::Sum, t * queries, (t + 1) * queries),
        (Tensor::Max, t * queries, (t + 1) * queries),
    ] {
        counts.reads[tensor as usize] = reads;
        counts.writes[tensor as usize] = writes;
    }
    for (operation, each) in [
        (Operation::Multiply, keys * (2 * d + 1) + 2 * t * (d + 1)),
        (Operation::Add, keys * (2 * d + 1) + 2 * t),
        (Operation::Divide, 2 * t),
        (Operation::Maximum, keys),
        (Operation::Exponential, keys + 2 * t),
    ] {
        counts.operations[operation as usize] = queries * each;
    }
    counts
}

/// `0..n` in pieces of `size`, the last one what is left.
fn ranges(n: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n).step_by(size).map(move |from| from..n.min(from.saturating_add(size)))
}

/// The elements of rows of length `d`.
fn elements(rows: &Range<usize>, d: usize) -> Range<usize> {
    rows.start * d..rows.end * d
}

//! FlashAttention in blocks with the loop order of 2022, and its accesses to slow memory.

use super::counts::{Counts, MemoryTensor, Operation};
use super::machine::AccessCounter;
use super::problem::{Blocks, Counted, Problem, Sizes, elements, ranges};
use super::row::{LogSum, PartialAttention};

/// Block-tiled FlashAttention, Algorithm 1 of the 2022 paper. First O = 0, l = 0 and m = -inf are written. Then, for each block of keys j and each block of
/// queries i, `Q_i`, `O_i`, `l_i` and `m_i` are read, and each row computes
///
/// ```text
/// m_b = max_j s_ij       p_j = e^(s_ij - m_b)      l_b = sum_j p_j
/// m'  = max(m, m_b)      l'  = e^(m - m') l + e^(m_b - m') l_b
/// o'  = (e^(m - m') l / l') o + (e^(m_b - m') / l') sum_j p_j v_j
/// ```
///
/// before `O_i`, `l_i` and `m_i` are written back. The last block of queries or keys may be smaller. A fully masked row of a block changes nothing.
///
/// # Panics
/// If the tensors do not fit each other or a block size is 0.
pub fn tiled(problem: &Problem, blocks: Blocks) -> Counted {
    problem.check();
    let (d, queries) = (problem.d, problem.queries());
    let mut machine = AccessCounter::default();
    let mut o = machine.create(MemoryTensor::O, &vec![0.0; queries * d]);
    let mut l = machine.create(MemoryTensor::Sum, &vec![0.0; queries]);
    let mut m = machine.create(MemoryTensor::Max, &vec![f64::NEG_INFINITY; queries]);
    for columns in ranges(problem.keys(), blocks.columns) {
        let k = machine.load(MemoryTensor::K, &problem.k[elements(&columns, d)]);
        let v = machine.load(MemoryTensor::V, &problem.v[elements(&columns, d)]);
        for rows in ranges(queries, blocks.rows) {
            let q = machine.load(MemoryTensor::Q, &problem.q[elements(&rows, d)]);
            let mut o_i = machine.load(MemoryTensor::O, &o[elements(&rows, d)]);
            let mut l_i = machine.load(MemoryTensor::Sum, &l[rows.clone()]);
            let mut m_i = machine.load(MemoryTensor::Max, &m[rows.clone()]);
            let mut s = machine.allocate(rows.len() * columns.len());
            let mut product = machine.allocate(d);
            for (row, i) in rows.clone().enumerate() {
                let s = &mut s[row * columns.len()..][..columns.len()];
                problem.scores(&mut machine, (i, &q[row * d..][..d]), (columns.clone(), &k), s);
                let state = TiledState { o: &mut o_i[row * d..][..d], l: &mut l_i[row], m: &mut m_i[row] };
                state.update(&mut machine, s, &v, &mut product);
            }
            machine.store(MemoryTensor::O, &o_i, &mut o[elements(&rows, d)]);
            machine.store(MemoryTensor::Sum, &l_i, &mut l[rows.clone()]);
            machine.store(MemoryTensor::Max, &m_i, &mut m[rows]);
            [q, o_i, l_i, m_i, s, product].into_iter().for_each(|block| machine.release(block));
        }
        machine.release(k);
        machine.release(v);
    }
    let row = |((o, &l), &m): ((&[f64], &f64), &f64)| PartialAttention {
        o: o.to_vec(),
        lse: (l > 0.0).then(|| LogSum::of(m, l.ln())),
    };
    let rows = o.chunks_exact(d).zip(&l).zip(&m).map(row).collect();
    Counted { rows, counts: machine.counts, working_set: machine.working_set }
}

/// Output, sum and maximum of one query while its block is in fast memory.
struct TiledState<'a> {
    o: &'a mut [f64],
    l: &'a mut f64,
    m: &'a mut f64,
}

impl TiledState<'_> {
    /// Takes a block of scores, which it replaces by weights, and of values.
    fn update(self, machine: &mut AccessCounter, s: &mut [f64], v: &[f64], product: &mut [f64]) {
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

/// Counts of [`tiled`](tiled()) in closed form. With `T_c = ceil(keys / B_c)` blocks of keys, accesses are `2 keys d + queries (T_c (3 d + 4) + d + 2)`, plus
/// `queries keys` of a mask: K and V are read once; Q, O, l and m are read once per block of keys; O, l and m are written once per block of keys and at the
/// start. That is `O(N^2 d^2 / M)` for N queries and keys.
pub fn tiled_formula(sizes: &Sizes) -> Counts {
    let Sizes { queries, keys, d, seen_blocks: t, in_seen_blocks: u, .. } = *sizes;
    let passes = sizes.blocks();
    let (multiply, add) = sizes.of_scores();
    let accesses = [
        (MemoryTensor::Q, passes * d, 0),
        (MemoryTensor::K, keys * d, 0),
        (MemoryTensor::V, keys * d, 0),
        (MemoryTensor::O, passes * d, (passes + queries) * d),
        (MemoryTensor::Sum, passes, passes + queries),
        (MemoryTensor::Max, passes, passes + queries),
        sizes.mask_reads(),
    ];
    let operations = [
        (Operation::Multiply, multiply + u * d + 2 * t * (d + 1)),
        (Operation::Add, add + u * (d + 2) + 2 * t),
        (Operation::Divide, 2 * t),
        (Operation::Maximum, sizes.pairs() - passes + t),
        (Operation::Exponential, u + 2 * t),
    ];
    Counts::of(&accesses, &operations, 2 * queries)
}

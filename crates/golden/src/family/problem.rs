//! Inputs of the algorithms: queries, keys, values, mask, block sizes, and the sizes in closed formulas.

use super::counts::{Counts, MemoryTensor};
use super::machine::AccessCounter;
use super::row::PartialAttention;
use super::softmax::scores;
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
    /// Factor of `q . k` in the score.
    pub scale: f64,
    /// Additive mask, row-major `[queries * keys]`: finite, or -inf for a key that the query does not see.
    pub mask: Option<&'a [f64]>,
    /// Keys that each query sees by position; empty for all keys. The scores of the others are -inf.
    pub seen: &'a [Range<usize>],
}

impl<'a> Problem<'a> {
    /// Every query sees all keys; no mask.
    pub fn new(q: &'a [f64], k: &'a [f64], v: &'a [f64], d: usize, scale: f64) -> Problem<'a> {
        Problem { q, k, v, d, scale, mask: None, seen: &[] }
    }

    /// # Panics
    /// If the tensors do not fit each other.
    pub(super) fn check(&self) {
        assert!(self.d > 0, "vectors need at least one element");
        assert!(self.q.len().is_multiple_of(self.d) && self.k.len().is_multiple_of(self.d), "whole vectors");
        assert_eq!(self.k.len(), self.v.len(), "as many values as keys");
        let pairs = self.queries() * self.keys();
        assert!(self.mask.is_none_or(|mask| mask.len() == pairs), "one mask element for each query and key");
        assert!(
            self.seen.is_empty() || self.seen.len() == self.queries(),
            "one range of keys for each query"
        );
    }

    /// Number of queries.
    pub fn queries(&self) -> usize {
        self.q.len() / self.d
    }

    /// Number of keys.
    pub fn keys(&self) -> usize {
        self.k.len() / self.d
    }

    /// The mask's element, or -inf for a key that the query does not see by position.
    fn bias(&self, i: usize, j: usize) -> f64 {
        match self.seen.get(i).is_none_or(|seen| seen.contains(&j)) {
            true => self.mask.map_or(0.0, |mask| mask[i * self.keys() + j]),
            false => f64::NEG_INFINITY,
        }
    }

    /// Scores of query i, uncounted; -inf for keys that it does not see.
    pub fn masked_scores(&self, i: usize) -> Vec<f64> {
        let mut s = scores(&self.q[i * self.d..][..self.d], self.k, self.d, self.scale);
        s.iter_mut().enumerate().for_each(|(j, s)| *s += self.bias(i, j));
        s
    }

    /// Scores of query i with vector `q` against the keys `range` with vectors `k`, counted.
    pub(super) fn scores(
        &self,
        machine: &mut AccessCounter,
        (i, q): (usize, &[f64]),
        (range, k): (Range<usize>, &[f64]),
        s: &mut [f64],
    ) {
        if self.mask.is_some() {
            machine.read(MemoryTensor::Mask, range.len());
        }
        for ((s, k), j) in s.iter_mut().zip(k.chunks_exact(self.d)).zip(range) {
            let score = machine.score(q, k, self.scale);
            *s = match self.mask {
                Some(_) => machine.add(score, self.bias(i, j)),
                // Without a mask there is no addition to count.
                None => score + self.bias(i, j),
            };
        }
    }
}

/// Block sizes: `rows` queries by `columns` keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// `B_r`, at least 1.
    pub rows: usize,
    /// `B_c`, at least 1.
    pub columns: usize,
}

impl Blocks {
    /// The 2022 paper's choice for an SRAM of M = `sram` elements: `B_c = ceil(M / 4d)`, `B_r = min(B_c, d)`. `None` if M or d is 0.
    ///
    /// Four blocks of `B_c d` elements fill M. The rule ignores scores, l, m and the rounding up, so the working set may exceed M: see
    /// [`Counted::working_set`].
    pub fn of_sram(sram: usize, d: usize) -> Option<Blocks> {
        let columns = sram.div_ceil(d.checked_mul(4).filter(|&row| row > 0)?);
        let rows = columns.min(d);
        (rows > 0).then_some(Blocks { rows, columns })
    }
}

/// Results of an algorithm, with its counts.
#[derive(Clone, Debug)]
pub struct Counted {
    /// One result per query.
    pub rows: Vec<PartialAttention>,
    /// Operations and accesses.
    pub counts: Counts,
    /// Peak of the elements in fast memory.
    pub working_set: usize,
}

/// Inputs of the closed formulas: sizes, and how many scores the masks leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Number of queries.
    pub queries: u64,
    /// Number of keys, at least 1.
    pub keys: u64,
    /// Length of every vector.
    pub d: u64,
    /// `B_r` and `B_c`.
    pub blocks: Blocks,
    /// Set if an additive mask is read.
    pub mask: bool,
    /// P: pairs of a query and a visible key.
    pub seen: u64,
    /// R: queries with a visible key.
    pub seeing: u64,
    /// T: pairs of a query and a block with a visible key.
    pub seen_blocks: u64,
    /// U: keys of these blocks, visible or not, over all queries.
    pub in_seen_blocks: u64,
}

impl Sizes {
    /// Sizes without masks: P = U = queries times keys, R = queries, T = queries times `ceil(keys / B_c)`.
    pub fn dense(queries: u64, keys: u64, d: u64, blocks: Blocks) -> Sizes {
        let pairs = queries * keys;
        Sizes {
            queries,
            keys,
            d,
            blocks,
            mask: false,
            seen: pairs,
            seeing: queries,
            seen_blocks: queries * keys.div_ceil(blocks.columns as u64),
            in_seen_blocks: pairs,
        }
    }

    /// Sizes of a problem; P, R, T and U are counted from its masks.
    pub fn of(problem: &Problem, blocks: Blocks) -> Sizes {
        let (queries, keys) = (problem.queries(), problem.keys());
        let mut sizes = Sizes {
            mask: problem.mask.is_some(),
            seen: 0,
            seeing: 0,
            seen_blocks: 0,
            in_seen_blocks: 0,
            ..Sizes::dense(queries as u64, keys as u64, problem.d as u64, blocks)
        };
        for i in 0..queries {
            let before = sizes.seen;
            for block in ranges(keys, blocks.columns) {
                let seen = block.clone().filter(|&j| problem.bias(i, j) > f64::NEG_INFINITY).count() as u64;
                sizes.seen += seen;
                sizes.seen_blocks += u64::from(seen > 0);
                sizes.in_seen_blocks += if seen > 0 { block.len() as u64 } else { 0 };
            }
            sizes.seeing += u64::from(sizes.seen > before);
        }
        sizes
    }

    /// Pairs of a query and a key, visible or not.
    pub(super) fn pairs(&self) -> u64 {
        self.queries * self.keys
    }

    /// Pairs of a query and a block of keys, visible or not.
    pub(super) fn blocks(&self) -> u64 {
        self.queries * self.keys.div_ceil(self.blocks.columns as u64)
    }

    /// Products and sums of all scores: per score `d + 1` products, `d - 1` sums, and one sum for a mask.
    pub(super) fn of_scores(&self) -> (u64, u64) {
        (self.pairs() * (self.d + 1), self.pairs() * (self.d - 1 + u64::from(self.mask)))
    }

    /// Reads of the mask.
    pub(super) fn mask_reads(&self) -> (MemoryTensor, u64, u64) {
        (MemoryTensor::Mask, if self.mask { self.pairs() } else { 0 }, 0)
    }
}

/// `0..n` in pieces of `size`; the last one may be shorter.
pub(super) fn ranges(n: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n).step_by(size).map(move |from| from..n.min(from.saturating_add(size)))
}

/// Element range of a range of rows of length `d`.
pub(super) fn elements(rows: &Range<usize>, d: usize) -> Range<usize> {
    rows.start * d..rows.end * d
}

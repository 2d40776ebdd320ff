//! Queries side by side: blocks of them, and what a dot product unit takes and gives.

/// Queries whose dot products are formed together, one array lane each.
pub(crate) const BLOCK: usize = 16;

/// One number for each query of a block.
pub(crate) type Block<C> = [C; BLOCK];

/// The dot product unit with the keys of one run.
pub(crate) trait DotUnit: Send + Sync {
    /// Takes up to [`BLOCK`] queries.
    fn block<'a>(&'a self, queries: &[u64]) -> Box<dyn BlockDot + 'a>;
}

/// The dot product unit with the queries of a block.
pub(crate) trait BlockDot {
    /// The results for one key. A tree gives the dot products themselves, values of the format; the fused unit
    /// the integer sum of its terms; and one that multiplies by scales the score, an integer.
    fn dots(&mut self, key: usize) -> Block<f64>;
}

/// Element j of all queries of a block, for every j.
pub(crate) fn transpose<C: Copy + Default>(
    d: usize,
    queries: &[u64],
    of: impl Fn(u64) -> C,
) -> Vec<Block<C>> {
    let mut transposed = vec![Block::<C>::default(); d];
    for (lane, bits) in queries.chunks(d).enumerate() {
        for (row, &b) in transposed.iter_mut().zip(bits) {
            row[lane] = of(b);
        }
    }
    transposed
}

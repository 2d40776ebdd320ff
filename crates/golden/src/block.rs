//! Blocks of queries side by side, and the interface of dot product units.

/// Queries whose dot products are computed together, one array element each.
pub(crate) const BLOCK: usize = 16;

/// One number for each query of a block.
pub(crate) type Block<C> = [C; BLOCK];

/// A dot product unit that holds the keys of one run.
pub(crate) trait DotUnit: Send + Sync {
    /// Loads up to [`BLOCK`] queries.
    fn block<'a>(&'a self, queries: &[u64]) -> Box<dyn BlockDot + 'a>;
}

/// A dot product unit that also holds the queries of a block.
pub(crate) trait BlockDot {
    /// The results for one key. A tree returns dot products, values of the format. The fused unit returns the integer sum of its
    /// terms. A unit that multiplies by scales returns the score, an integer.
    fn dots(&mut self, key: usize) -> Block<f64>;
}

/// Transposes the queries of a block: row j holds element j of every query.
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

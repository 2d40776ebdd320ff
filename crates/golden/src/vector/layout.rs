//! Which numbers are side by side in a vector.

/// Which accumulators share a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VectorLayout {
    /// The same element of all queries of a block.
    Queries,
    /// 16 elements of the only query of a block.
    Elements,
}

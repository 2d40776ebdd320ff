//! What lies side by side in a vector.

/// What the lanes of an accumulator's vectors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One element of the queries of a block.
    Queries,
    /// Elements of the only query of a block.
    Elements,
}

//! Whether streams have idle cycles.

/// Idle cycles in the key stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// One key a cycle; the next query is loaded with the last key of the one before.
    None,
    /// Random gaps, early and late query loads; ports that carry nothing carry noise.
    Random(u64),
}

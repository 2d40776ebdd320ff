//! The bit-exact model for whole workloads: the queries of a block side by side, in the lanes of vectors.
//!
//! [`crate::Model`] is the readable reference; the results here equal its results bit for bit. A block is 16 queries
//! and meets the keys in tiles of [`TILE`]. Each tile goes through three kernels, each compiled for several sets of
//! vector instructions ([`Isa`]):
//!
//! | kernel | a vector holds | file |
//! | --- | --- | --- |
//! | dot products | one product of 16 queries | `dot.rs` |
//! | scores, weights, state | one number of 16 queries | `lse.rs`, `fa2.rs`, `octaves.rs` |
//! | output lanes | one element of 16 queries | `fixed.rs`, `ranged.rs`, `ranged_sum.rs`, `float.rs` |
//!
//! Cores without kernels ([`Path::ByQuery`]) take the model's own recurrence and lanes, query by query.
//!
//! In a run of a single query, the vectors of dot products and output lanes hold its elements instead, if d is a
//! multiple of 16.
//!
//! Each block of queries reads K and V once. The run converts K once and V once for each `v_exponent`. If it has at
//! most three blocks, each block converts them for itself, tile by tile.
//!
//! Keys and values may be made when they are read ([`crate::VectorSource`]): then blocks that convert for themselves keep none of them.
//!
//! Memory, besides the operands as given: 4 bytes for each element of K and 4 for each of V, unless blocks convert; 8
//! and 8 where the carrier is f64; 8 for V where lanes have exponents. Each thread needs about `256 d + 60,000` bytes,
//! `256 d` more where blocks convert, and where lanes have exponents `200 d` more, with conversion `328 d`.

mod blend;
mod block;
mod by_query;
mod dot;
mod fa2;
mod fixed;
mod float;
mod layout;
mod lse;
mod octaves;
mod operands;
mod plain;
mod ranged;
mod ranged_sum;
mod ranging;
mod rounding;
mod run;
mod scale;
mod score;
mod summing;
mod table;
mod task;
mod watch;
mod weights;

pub use blend::Blending;
pub use flashd_spec::isa::Isa;
pub use operands::{Convert, Decoder, Extent, Survey, convert_all};
pub use plain::plain_attention;
pub use run::VectorModel;
pub use table::{FactorTable, Lookup};
pub use task::VectorRun;
pub use watch::{Monitor, StepCounts, StepUnits, Watch};

/// Keys that go through a kernel together.
pub(crate) const TILE: usize = 32;

/// How a configuration is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// All kernels have the queries of a block side by side.
    SideBySide,
    /// Recurrence and lanes of the reference, query by query.
    ByQuery,
}

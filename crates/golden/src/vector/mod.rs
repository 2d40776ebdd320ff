//! The bit-exact model for whole workloads: the queries of a block side by side, in the lanes of vectors.
//!
//! [`crate::Model`] is the readable reference; what comes out here is the same, bit for bit. A block is 16 queries
//! and meets the keys in tiles of [`TILE`]. Each tile goes through three kernels, each compiled for several sets of
//! vector instructions ([`Isa`]):
//!
//! | kernel | a vector holds | file |
//! | --- | --- | --- |
//! | dot products | one product of 16 queries | `dot.rs` |
//! | scores, weights, state | one number of 16 queries | `lse.rs`, `fa2.rs` |
//! | output lanes | one element of 16 queries | `fixed.rs`, `ranged.rs`, `float.rs` |
//!
//! Cores without kernels of their own ([`Path::ByQuery`]) take the model's own recurrence and lanes, query by query.
//!
//! A query alone has its elements in the lanes instead, in dot products and output lanes.
//!
//! K and V are read once for each block of queries. They are converted once, but by every block for itself where there are at
//! most three. Memory, besides the operands as given: 8 bytes for each element of K and V (16 where the carrier is f64; those of V 4
//! more where lanes have exponents of their own), and for each thread about `64 d + 20,000` bytes (`320 d` more where blocks convert,
//! `200 d` where lanes have exponents).

mod blend;
mod block;
mod by_query;
mod dot;
mod fa2;
mod fixed;
mod float;
mod isa;
mod layout;
mod lse;
mod operands;
mod plain;
mod ranged;
mod ranging;
mod rounding;
mod run;
mod scale;
mod score;
mod table;
mod task;
mod watch;
mod weights;

pub use blend::Blending;
pub use isa::Isa;
pub use operands::{Convert, Decoder, Extent, Survey, convert_all};
pub use plain::plain_attention;
pub use run::VectorModel;
pub use table::{Factors, Lookup};
pub use task::VectorRun;
pub use watch::{Monitor, StepCounts, StepUnits, Watch};

/// Keys that go through a kernel together.
pub(crate) const TILE: usize = 32;

/// How a configuration is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// All kernels have the queries of a block side by side.
    SideBySide,
    /// Recurrence and lanes are the reference's own, query by query.
    ByQuery,
}

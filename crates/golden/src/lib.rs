//! Golden models of attention: the algorithms in f64, and a bit-exact model of the hardware cores.
//!
//! [`Model`] computes what a core computes, bit for bit, from float operations of the machine rounded to the core's formats and from
//! integers. It shares only data (formats, widths, table coefficients) with the hardware description, so comparing the two checks the
//! arithmetic of both. [`VectorModel`] has the same bits at the speed of whole workloads. Both take a [`Head`].

#![warn(unreachable_pub)]

mod base2;
mod carrier;
mod dot;
mod head;
mod lanes;
mod merge;
mod model;
mod recurrence;
mod round;
mod run;
mod scalar;
mod scalar_path;
mod single;
mod vector;

// Attention in f64: safe softmax, FlashAttention-2 and FLASH-D from q, k and v; and every form that is in use, with counters of
// operations and memory accesses.
pub mod f64_attention;
pub mod family;

// What a run takes, and what comes of it.
pub use head::{Head, Masked};
pub use model::{Action, PartialState, QueryResult, Step};
// The bit-exact model of a core, and of what merges partial results.
pub use merge::Merge;
pub use model::Model;
// The same for whole workloads.
pub use vector::{Isa, Monitor, Path, StepCounts, StepUnits, VectorModel, VectorRun, Watch};
// The plain loop in f32 that its speed is measured against.
pub use vector::plain_attention;
// Encodings and their values.
pub use round::{decode, encode, v_exponent};

// For tests of single parts: units as functions on encodings, single lanes, what the models are made of, slower carriers.
pub use carrier::Carriers;
pub mod parts;
pub use single::{fa2_fixed_lane, fixed_value, flash_d_fixed_lane, flash_d_lane};
pub mod units;

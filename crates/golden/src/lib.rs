//! Golden models of attention: the algorithms in f64, and a bit-exact model of the hardware cores.
//!
//! - [`family`]: attention in f64 in every form that is in use, with counters of operations and memory accesses.
//! - [`f64_attention`]: its safe softmax, FlashAttention-2 and FLASH-D from q, k and v, for accuracy.
//! - [`Model`]: what a core computes, bit for bit, from float operations of the machine rounded to the
//!   core's formats and from integers. It shares only data (formats, widths, table coefficients) with the
//!   hardware description, so comparing the two checks the arithmetic of both.
//! - [`VectorModel`]: the same bits at the speed of whole workloads.
//! - [`units`]: the same arithmetic as pure functions on encodings, for tests of single units.
//! - [`parts`]: what the models are made of, for tests of single parts.

mod base2;
mod carrier;
mod dot;
pub mod f64_attention;
pub mod family;
mod head;
mod lanes;
mod merge;
mod model;
pub mod parts;
mod recurrence;
mod round;
mod run;
mod scalar;
mod scalar_path;
mod single;
pub mod units;
mod vector;

pub use carrier::Carriers;
pub use head::{Head, Masked};
pub use merge::Merge;
pub use model::{Action, Model, PartialState, QueryResult, Step};
pub use round::{decode, encode, v_exponent};
pub use single::{fa2_fixed_lane, fixed_value, flash_d_fixed_lane, flash_d_lane};
pub use vector::{Isa, Monitor, Path, StepCounts, StepUnits, VectorModel, VectorRun, Watch, plain_attention};

//! Golden models of attention: the algorithms in f64, and a bit-exact model of the hardware cores.
//!
//! - [`f64_attention`]: safe softmax, FlashAttention-2 and FLASH-D in f64, for accuracy.
//! - [`Model`]: what a core computes, bit for bit, from float operations of the machine rounded to the
//!   core's formats and from integers. It shares only data (formats, widths, table coefficients) with the
//!   hardware description, so comparing the two checks the arithmetic of both.
//! - [`units`]: the same arithmetic as pure functions on encodings, for tests of single units.

mod base2;
mod carrier;
mod dot;
pub mod f64_attention;
mod lanes;
mod model;
mod recurrence;
mod round;
mod run;
mod scalar;
mod single;
pub mod units;

pub use model::{Action, Model, QueryResult, Step};
pub use round::{decode, encode, v_exponent};
pub use single::{fa2_fixed_lane, flash_d_fixed_lane, flash_d_lane};

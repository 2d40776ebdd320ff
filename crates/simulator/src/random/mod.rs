//! Random configurations: any legal core, array, split keys, stream wrapper or attention unit, run by all engines.
//!
//! [`draw`] draws a configuration. [`compare`] runs the cycle engine in lock-step with the bit-exact model on streams of every kind,
//! and the vector engine on the same streams: bits and counts must be equal.

mod draw;
mod engines;
mod unit;
mod unread;
mod wrapper;

pub use draw::{LONGEST, draw};
pub use engines::{EngineCounts, compare};
pub use unit::jobs;
pub use wrapper::{packets, streams};

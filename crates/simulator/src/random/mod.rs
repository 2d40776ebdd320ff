//! Random configurations: any core, array, split keys or stream wrapper that is legal, and what all engines make of it.
//!
//! [`draw`] takes a configuration from a seed, [`compare`] runs the cycle engine in lock-step with the bit-exact model on streams of
//! every kind, and the vector engine beside it: the same bits and the same counts.

mod draw;
mod engines;
mod unread;
mod wrapper;

pub use draw::{LONGEST, draw};
pub use engines::{Compared, compare};
pub use wrapper::{packets, streams};

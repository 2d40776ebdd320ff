//! Random configurations: any core, array, split keys or stream wrapper that is legal, and what all engines make of it.
//!
//! [`Drawn`] is a configuration drawn from a seed, [`compare`] runs the cycle engine in lock-step with the bit-exact model on streams of
//! every kind, and the vector engine beside it: the same bits and the same counts.

mod draw;
mod engines;
mod unread;
mod wrapper;

pub use draw::{Drawn, LONGEST};
pub use engines::{Compared, compare};
pub use wrapper::{packets, streams};

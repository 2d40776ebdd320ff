//! Random configurations: any core, array, split keys or stream wrapper that is legal, and what all engines make of it.
//!
//! [`Drawn`] is a configuration drawn from a seed ([`draw`]), [`engines::compare`] runs the cycle engine in lock-step with the
//! bit-exact model on streams of every kind, and the vector engine beside it: the same bits and the same counts.

pub mod draw;
pub mod engines;
mod unread;
pub mod wrapper;

pub use draw::Drawn;
pub use engines::{Compared, compare};

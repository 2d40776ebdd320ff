//! Readers, scaling and streams.
//!
//! One executable for all files: it is linked once, and its tests share the processors.

mod bundle;
mod common;
mod flips;
mod hostile;
mod integers;
mod quantise;
mod references;
mod round;
mod rows;
mod synthetic;
mod tensor;
mod traces;
mod types;

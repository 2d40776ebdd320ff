//! Readers, scaling and streams.
//!
//! One executable for all files: it is linked once, and its tests share the processors.

mod bundle;
mod common;
mod hostile;
mod quantise;
mod round;
mod synthetic;
mod tensor;
mod traces;

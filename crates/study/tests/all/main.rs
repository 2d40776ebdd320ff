//! Errors of configurations on heads.
//!
//! One executable for all files: it is linked once, and its tests share the processors.

mod accuracy;
mod channels;
mod equal_error;
mod errors;
mod size;
mod skips;

//! Proofs with Yosys and ABC, all of them for all times.

pub mod equivalent;
pub mod fault;
mod miter;
pub mod mutants;
pub mod prove;
mod seen;
mod stimuli;
mod whole;

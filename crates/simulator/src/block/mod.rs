//! Blocks of queries: the array of cores in lock-step with the model and the protocol's rules.
//!
//! * [`engine`] clocks one array.
//! * [`stream`] offers queries and keys, and answers value reads.
//! * [`rules`] says from the protocol alone what is taken in which cycle.
//! * [`lockstep::run`] compares every output port in every cycle.

pub mod engine;
pub mod lockstep;
mod model;
pub mod rules;
pub mod stream;

pub use engine::{BlockEngine, BlockInputs, BlockOutputs};
pub use lockstep::{BlockCounters, BlockObserver, BlockRun, run, run_against};
pub use model::run_model;
pub use stream::{BlockWorkload, Disturbance, QueryBlock};

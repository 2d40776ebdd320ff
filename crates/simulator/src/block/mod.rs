//! Blocks of queries: the array of cores in lock-step with the model and the protocol's rules.
//!
//! * [`Driver`] offers queries and keys, and answers value reads.
//! * [`Rules`] says from the protocol alone what is taken in which cycle.
//! * [`run`] compares every output port in every cycle.

mod engine;
pub(crate) mod lockstep;
mod model;
mod rules;
mod stream;

pub use engine::{BlockInputs, BlockOutputs};
pub use lockstep::{BlockCounters, BlockObserver, BlockRun, run, run_against};
pub use model::run_model;
pub use rules::{QueryId, Rules, Taken};
pub use stream::{BlockWorkload, Disturbance, Driver, Offer, QueryBlock};

//! Arrays of cores, which take blocks of queries, in lock-step with the model and the protocol's rules.
//!
//! * [`ArrayDriver`] offers queries and keys, and answers value reads.
//! * [`ArrayRules`] says from the protocol alone what is taken in which cycle.
//! * [`run`] compares every output port in every cycle.

mod engine;
pub(crate) mod lockstep;
mod model;
mod rules;
mod stream;
mod workload;

pub use engine::{ArrayInputs, ArrayOutputs};
pub use lockstep::{ArrayCounters, ArrayObserver, ArrayRun, run, run_against};
pub use model::run_model;
pub use rules::{ArrayRules, QueryId, Taken};
pub use stream::{ArrayDriver, ArrayOffer, Disturbance};
pub use workload::{ArrayWorkload, BlockStep, QueryBlock};

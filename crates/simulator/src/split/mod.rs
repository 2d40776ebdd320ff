//! Splits: cores that share a query, and the tree that merges their parts, in lock-step with the model.

mod engine;
mod lockstep;
mod model;
mod rules;
mod stream;
mod workload;

pub use engine::{SplitInputs, SplitOutputs};
pub use lockstep::{SplitCounters, SplitObserver, SplitRun, run, run_against};
pub use model::run_model;
pub use workload::{SplitWorkload, split_results};

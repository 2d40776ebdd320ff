//! Split keys: cores that share a query, and the tree that merges their results, in lock-step with the model. The files are as in
//! `core`.

mod protocol;
mod run;
mod stimulus;
mod workload;

pub use protocol::SplitCounters;
pub use run::{SplitRun, run, run_against, run_model};
pub use workload::{SplitWorkload, split_results};

//! Arrays of cores, which take blocks of queries, in lock-step with the model. The files are as in `core`; [`ArrayRules`]
//! computes the transfers of each cycle from the protocol alone.

pub(crate) mod protocol;
mod rules;
pub(crate) mod run;
pub(crate) mod stimulus;
mod workload;

pub use protocol::ArrayCounters;
pub use rules::{ArrayRules, QueryId, Taken};
pub use run::{ArrayRun, protocol, run, run_against, run_model};
pub use stimulus::Disturbance;
pub use workload::{ArrayWorkload, BlockStep, QueryBlock};

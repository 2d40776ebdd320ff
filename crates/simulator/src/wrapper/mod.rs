//! The stream wrapper, driven at its ports.
//!
//! Sources and sinks pause as they like, a memory answers requests after some cycles, a host writes and reads
//! registers. Compared with the model: every result, every request, the counters. Checked in every cycle: that what is
//! offered stays until it is taken.

mod bench;
mod engine;
mod lite;
mod pace;
mod run;
mod workload;

pub use bench::{Paces, WrapperBench};
pub use engine::{Beat, LiteOutputs, WrapperOutputs};
pub use lite::{LiteAccess, LiteAnswer};
pub use pace::Pace;
pub use run::{WrapperRun, run, run_against};
pub use workload::{ExpectedBlock, Mask, WrapperBlock, WrapperWorkload};

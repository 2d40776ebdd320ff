//! The stream wrapper, driven at its ports.
//!
//! Sources and sinks pause as they like, a memory answers requests after some cycles, a host writes and reads
//! registers. Results, requests and counters are compared with the model. A check in every cycle: an offer stays
//! unchanged until it is taken.

mod engine;
mod lite;
mod lockstep;
mod pace;
mod rules;
mod stream;
mod workload;

pub use engine::{Beat, WrapperOutputs};
pub use lite::{LiteAccess, LiteAnswer, LiteOutputs};
pub(crate) use lite::{LiteHost, LiteInputs, LitePorts};
pub use lockstep::{WrapperError, WrapperRun, run, run_against, run_observed};
pub use pace::Pace;
pub(crate) use pace::Side;
pub use stream::{Paces, WrapperBench, WrapperDrive};
pub use workload::{ExpectedBlock, Mask, WrapperBlock, WrapperWorkload};

//! Static timing of mapped modules and cores with OpenSTA.
//!
//! Nets have the capacitance of the pins on them, and what a default wire load model of the library adds.
//! The clock is ideal. Inputs arrive with the clock edge, outputs are due at the next one.

mod report;
mod script;

pub(crate) use report::REGISTER_SUFFIX;
pub(crate) use report::TimedPath;
pub(crate) use script::{Analysis, CLOCK, analyse, estimate};

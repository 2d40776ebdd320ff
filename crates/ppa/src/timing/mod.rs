//! Static timing of mapped modules and cores with OpenSTA.
//!
//! Nets have the capacitance of the pins on them, and of wires by the library's default wire load model.
//! The clock is ideal. Every port but the clock has an external delay of a share of the period ([`flashd_generator::EXTERNAL_SHARE`]), as in
//! the constraint file of a core.

mod report;
mod script;

pub(crate) use report::REGISTER_SUFFIX;
pub(crate) use report::TimedPath;
pub(crate) use script::{Analysis, CLOCK, analyse, estimate};

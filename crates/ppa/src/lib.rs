//! Area, timing and power of emitted cores, and of arrays of them, with Yosys, OpenSTA and any Liberty library.
//!
//! ```text
//!  .v --synthesis--> mapped modules --timing--> minimum period, worst path
//!  .lib --liberty-->       |
//!                          +--netlist, power--> toggles on real traces, mW --report--> tables, charts, HTML
//! ```

#![warn(unreachable_pub)]

mod error;
mod target;
mod timing;

// The figures of a core, as they are kept in files.
pub mod figures;
// How they come about, in this order.
pub mod liberty;
pub mod netlist;
pub mod power;
pub mod synthesis;
// Tables, charts and a page of them.
pub mod report;

// What is measured, and what can go wrong.
pub use error::PpaError;
pub use target::Target;

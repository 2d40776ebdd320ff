//! Area, timing and power of emitted cores, and of arrays of them, with Yosys, OpenSTA and any Liberty library.
//!
//! ```text
//!  .v --synthesis--> mapped modules --timing--> minimum period, worst path
//!  .lib --liberty-->       |
//!                          +--netlist, power--> toggles on real traces, mW --report--> tables, charts, HTML
//! ```

mod error;
pub mod figures;
pub mod liberty;
pub mod netlist;
pub mod power;
pub mod report;
pub mod synthesis;
mod target;
pub mod timing;

pub use error::PpaError;
pub use target::Target;

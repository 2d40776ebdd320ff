//! Area, timing and power of emitted cores, and of arrays of them, with Yosys, OpenSTA and any Liberty library.
//!
//! ```text
//!  .v --synthesis--> mapped modules --timing--> minimum period, worst path
//!  .lib --liberty-->       |
//!                          +--netlist, power--> toggles on real traces, mW --report--> tables, charts, HTML
//! ```
//!
//! ```
//! use flashd_ppa::liberty::{Library, LibertyError};
//! use std::path::Path;
//!
//! let text = r#"library (tiny) {
//!     time_unit : 1ns; voltage_unit : 1V; leakage_power_unit : 1nW; capacitive_load_unit (1, pf);
//!     nom_voltage : 1.8;
//!     cell (INV) {
//!         area : 2.5;
//!         pin (A) { direction : input; capacitance : 0.01; }
//!         pin (Y) { direction : output; function : "!A"; }
//!     }
//! }"#;
//! let library = Library::from_text(Path::new("tiny.lib"), text)?;
//! let inverter = library.cell("INV").unwrap();
//! assert_eq!((inverter.area, inverter.pin("A").unwrap().capacitance), (2.5, 0.01e-12));
//! # Ok::<(), LibertyError>(())
//! ```

#![warn(unreachable_pub)]

mod error;
mod target;
mod timing;

// The figures of a core, as they are kept in files.
pub mod figures;
// The steps to them, in order.
pub mod liberty;
pub mod netlist;
pub mod power;
pub mod synthesis;
// Tables, charts and a page of them.
pub mod report;

// Targets and errors.
pub use error::PpaError;
pub use target::Target;

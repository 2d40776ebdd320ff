//! Experiments over many cores and much data: which core is worth its area.
//!
//! ```text
//!  folder of traces --Heads--> every n-th query, exact results --Prepared--> encodings of one format
//!                                                                               |
//!  grid file or default --grid--> CoreConfig, ... -----------------------errors, equal scores
//!                                                                               |
//!                                         cost (area, power) ------------> pareto: front, knee
//! ```
//!
//! [`accuracy`] takes the error of a few cores apart (inputs, result, datapath, hardware), [`lengths`] follows it over
//! the number of keys, [`skips`] what rules for holding save and cost, and [`weight`] draws FLASH-D's weight as the
//! hardware computes it.
//!
//! All errors are against f64 attention and are fractions of the head's max|v|. An error on traces is a figure of a
//! design point, not of one core: the configuration takes each head's own vector length.

#![warn(unreachable_pub)]

mod by;
mod errors;
mod hardware;
mod heads;

// Experiments, each with a function that measures and the figures that it returns.
pub mod accuracy;
pub mod equal;
pub mod lengths;
pub mod skips;
pub mod weight;

// Which cores to measure, and which of them are worth their cost.
pub mod grid;
pub mod pareto;

// Heads of attention, by queries that are measured.
pub use heads::{Head, Heads, HeadsError, SYNTHETIC_HEADS, SYNTHETIC_KEYS};
// Errors of a core on them.
pub use errors::{GroupErrors, Prepared, TraceErrors};
// What several errors of a core are ordered by.
pub use by::By;
// The model against the hardware on a part of them.
pub use hardware::{CHECKED_KEYS, HardwareCheck};

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

pub mod accuracy;
pub mod by;
pub mod equal;
pub mod errors;
pub mod grid;
pub mod hardware;
pub mod heads;
pub mod lengths;
pub mod pareto;
pub mod skips;
pub mod weight;

pub use by::By;
pub use errors::{GroupErrors, Prepared, TraceErrors};
pub use heads::Heads;

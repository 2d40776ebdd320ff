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
//! the number of keys, [`channels`] over channels of V that differ in size, [`skips`] the savings and errors of hold rules, and [`weight`] draws FLASH-D's weight as the
//! hardware computes it.
//!
//! All errors are against f64 attention and are fractions of the head's max|v|. An error on traces is a figure of a
//! design point, not of one core: the configuration takes each head's own vector length.
//!
//! ```
//! use flashd_spec::config::{CoreConfig, Design};
//! use flashd_spec::format::Format;
//! use flashd_study::pareto::{Point, front};
//! use flashd_study::{Heads, PreparedHeads};
//!
//! // The last query of some heads made from a seed, as keys and values in bf16.
//! let heads = Heads::synthetic(1, 256);
//! let prepared = PreparedHeads::new(&heads, Format::BF16)?;
//! let error = |design| prepared.errors(&CoreConfig::new(design, 16, Format::BF16)).unwrap().mean;
//! let (flash_d, fa2) = (error(Design::FlashD), error(Design::Fa2));
//! assert!(flash_d > 0.0 && flash_d < 0.01);
//! // A core that is neither smaller nor better is not worth its cost.
//! let point = |cost, error| Point { cost, error };
//! assert_eq!(front(&[point(1.0, flash_d), point(2.0, flash_d + fa2)]), [0]);
//! # Ok::<(), flashd_study::HeadsError>(())
//! ```

#![warn(unreachable_pub)]

mod by;
mod errors;
mod hardware;
mod heads;

// Experiments, each with a function that measures and the figures that it returns.
pub mod accuracy;
pub mod channels;
pub mod equal;
pub mod equal_error;
pub mod lengths;
pub mod parts;
pub mod size;
pub mod skips;
pub mod weight;

// Which cores to measure, and which of them are worth their cost.
pub mod grid;
pub mod pareto;

// Heads of attention, by queries that are measured.
pub use heads::{HeadSample, Heads, HeadsError, SYNTHETIC_D, SYNTHETIC_HEADS, SYNTHETIC_KEYS, Scores};
// Errors of a core on them.
pub use errors::{GroupErrors, PreparedHeads, TraceErrors};
// The order of a core's errors.
pub use by::By;
// The model against the hardware on a part of them.
pub use hardware::{CHECKED_KEYS, HardwareCheck};

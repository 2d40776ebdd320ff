//! The common ground of the bit-exact model and the hardware, and nothing else: formats, configurations, the widths and constants that follow from them, and the
//! coefficients of the tables. No datapath arithmetic is here.
//!
//! The model (`flashd-golden`) depends on this crate and not on the crate that describes the hardware, so they agree only if both compute the same. Shared
//! parts are checked separately: coefficients by the errors of the fits (`flashd pwl`), formats against the `half` crate, configurations by the errors of whole
//! cores against attention in f64.
//!
//! ```
//! use flashd_spec::config::{ConfigError, CoreConfig, Design};
//! use flashd_spec::format::Format;
//! use flashd_spec::numerics::Numerics;
//!
//! let config = CoreConfig::new(Design::FlashD, 64, Format::BF16);
//! config.validate()?;
//! // A score has a sign bit; the lanes take a weight of w significand bits.
//! let numerics = Numerics::new(&config);
//! assert_eq!(numerics.score_bits(), 1 + config.score_integer_bits + config.score_fraction());
//! assert_eq!(config.lane_bits().w, Format::BF16.precision() + 1);
//! // An invalid configuration names the field at fault.
//! let error: ConfigError = CoreConfig { d: 1, ..config }.validate().unwrap_err();
//! assert_eq!(error.field, "d");
//! # Ok::<(), ConfigError>(())
//! ```

#![warn(unreachable_pub)]

// Choices of the user.
pub mod config;
pub mod format;

// The machines that can be generated and simulated, and their ports.
pub mod machine;
pub mod ports;
pub mod streams;
pub mod unit;

// What follows from that: widths, constants, and the coefficients of the tables.
pub mod numerics;
pub mod pwl;

// Fields of bits and words; numbers as they are typed and printed; vector instructions of the machine.
pub mod bits;
pub mod isa;
pub mod number;

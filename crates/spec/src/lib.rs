//! What the bit-exact model and the hardware have in common, and nothing else: formats, configurations, the widths and constants that
//! follow from one, and the coefficients of the tables. No arithmetic of a datapath is here.
//!
//! The model (`flashd-golden`) depends on this crate and not on the one that describes the hardware. So both can only agree by
//! computing the same, but for what is here; and that is checked by itself: coefficients by the errors of the fits
//! (`flashd pwl`), formats against the `half` crate, configurations by the errors of whole cores against attention in f64.
//!
//! ```
//! use flashd_spec::config::{ConfigError, CoreConfig, Design};
//! use flashd_spec::format::Format;
//! use flashd_spec::numerics::Numerics;
//!
//! let config = CoreConfig::new(Design::FlashD, 64, Format::BF16);
//! config.validate()?;
//! // A score has a sign, and fixed-point lanes take so many bits of a weight.
//! let numerics = Numerics::new(&config);
//! assert_eq!(numerics.score_bits(), 1 + config.score_integer_bits + config.score_fraction_bits);
//! assert_eq!(config.lane_bits().w, Format::BF16.precision() + 1);
//! // What is not legal says why.
//! let error: ConfigError = CoreConfig { d: 1, ..config }.validate().unwrap_err();
//! assert_eq!(error.field, "d");
//! # Ok::<(), ConfigError>(())
//! ```

#![warn(unreachable_pub)]

// What the user chooses: number formats and the configuration of a core.
pub mod config;
pub mod format;

// What follows from it: widths, constants, and the coefficients of the tables.
pub mod numerics;
pub mod pwl;

// Words of so many bits.
pub mod bits;

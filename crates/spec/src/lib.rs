//! What the bit-exact model and the hardware have in common, and nothing else: formats, configurations, the widths and constants that
//! follow from one, and the coefficients of the tables. No arithmetic of a datapath is here.
//!
//! The model (`flashd-golden`) depends on this crate and not on the one that describes the hardware. So both can only agree by
//! computing the same, but for what is here; and that is checked by itself: coefficients by the errors of the fits
//! (`flashd pwl`), formats against the `half` crate, configurations by the errors of whole cores against attention in f64.

#![warn(unreachable_pub)]

// What the user chooses: number formats and the configuration of a core.
pub mod config;
pub mod format;

// What follows from it: widths, constants, and the coefficients of the tables.
pub mod numerics;
pub mod pwl;

// Words of so many bits.
pub mod bits;

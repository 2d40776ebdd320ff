//! What the bit-exact model and the hardware have in common, and nothing else: formats, configurations, the widths and constants that
//! follow from one, and the coefficients of the tables. No arithmetic of a datapath is here.
//!
//! The model (`flashd-golden`) depends on this crate and not on the one that describes the hardware. So both can only agree by
//! computing the same, but for what is here; and that is checked by itself: coefficients by the errors of the fits
//! (`flashd pwl`), formats against the `half` crate, configurations by the errors of whole cores against attention in f64.

pub mod bits;
pub mod config;
pub mod format;
pub mod numerics;
pub mod pwl;

//! The bit-exact core as a C library: `include/flashd.h` declares the functions for C, `sv/flashd_dpi.sv` for SystemVerilog.
//!
//! Every function checks its arguments, as far as C lets it. It cannot check pointers: their requirements are under *Safety*. No panic
//! crosses the C boundary: every function runs in [`flashd_api::guarded`].

#![warn(unreachable_pub)]

mod attention;
mod dpi;
mod error;
mod steps;
mod types;

pub use attention::*;
pub use dpi::*;
pub use error::flashd_error;
pub use steps::*;
pub use types::*;

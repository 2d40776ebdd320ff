//! The bit-exact core as a C library: `include/flashd.h` has the functions, `sv/flashd_dpi.sv` those for SystemVerilog.
//!
//! Every function checks what it is given, as far as C lets it; what it cannot check, that pointers point to what they should, is said
//! under *Safety*. No panic crosses the border: all that could is inside [`flashd_api::guarded`].

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

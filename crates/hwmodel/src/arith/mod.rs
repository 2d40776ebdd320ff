//! Floating- and fixed-point arithmetic, written once over [`Word`](crate::word::Word).
//!
//! Operands are *canonical*: finite, and no subnormals where the format flushes them. [`canonical`] converts any
//! encoding (Inf and NaN become +0) where values enter the hardware; results are canonical by construction.
//! Every float result is rounded once, to nearest even, by [`round::round_pack`].

pub mod add;
pub mod compare;
pub mod convert;
mod encoding;
pub mod exp;
pub mod fixed;
pub mod multiply;
pub mod normalise;
pub mod prefix;
mod pwl;
pub mod reciprocal;
pub mod round;
pub mod signed;

pub use add::{add, sub};
pub use compare::max;
pub use convert::{convert, to_fixed, to_magnitude};
pub use encoding::{Unpacked, canonical, common, is_special, unpack, widen};
pub use multiply::multiply;

//! What a module knows after a sweep: whether its outputs moved, and whether it needs another one.
//!
//! RustHDL's `has_changed` answers one question for both, so that every cycle ends with a sweep in which nothing
//! happens, and kernels run again after parts of which only the inside changed. Here a design is settled when no
//! input differs from what its module has seen and no register holds a captured value back.

use rust_hdl::core::prelude::Block;

/// A part of a [`circuit!`](crate::circuit).
pub trait Part: Block {
    /// An output moved in the last sweep: the kernel around it has to carry that on.
    fn moved(&self) -> bool {
        self.has_changed()
    }

    /// Something is left to do: an input moved since the last sweep, or a captured value waits.
    fn is_restless(&self) -> bool {
        self.has_changed()
    }
}

impl<T: Part> Part for Vec<T> {
    fn moved(&self) -> bool {
        self.iter().any(T::moved)
    }

    fn is_restless(&self) -> bool {
        self.iter().any(T::is_restless)
    }
}

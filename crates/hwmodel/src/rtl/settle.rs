//! How a design settles: what a sweep, a clock edge and the release of captured values do to a part.
//!
//! RustHDL's `update_all` and `has_changed` ask every module again and again until a sweep finds nothing to do. Here a
//! cycle takes two sweeps, however deep the design is:
//!
//! ```text
//!  clock high   Part::clock     registers capture; nothing else moves, so no kernel runs
//!  clock low    Part::release   registers show what they captured; each kernel carries it on once, from the inside out
//!               Part::settle    logic, in the order of the parts
//! ```
//!
//! The sweeps only save work. A design is settled when no input differs from what its module has seen and no register
//! holds a captured value back, and it is swept until that is so, whatever the order of the parts.

use rust_hdl::core::prelude::Block;

/// A part of a [`circuit!`](crate::circuit).
pub trait Part: Block {
    /// The part is no circuit and has an output that is the clock of other parts.
    const DRIVES_CLOCKS: bool = false;

    /// [`Block::update_all`], and whether an output moved: the kernel around the part has to carry that on.
    fn settle(&mut self) -> bool;

    /// Something is left to do: an input moved since the last sweep, or a captured value waits.
    fn is_restless(&self) -> bool;

    /// The clock moves, and no other input of a part that is not restless does: [`Block::update_all`] without looking for
    /// anything else that moved. Whether a register inside holds a captured value back from then on.
    fn clock(&mut self, _high: bool) -> bool {
        false
    }

    /// Registers show what they captured before this sweep. Whether an output moved.
    fn release(&mut self) -> bool {
        false
    }
}

impl<T: Part> Part for Vec<T> {
    const DRIVES_CLOCKS: bool = T::DRIVES_CLOCKS;

    #[inline]
    fn settle(&mut self) -> bool {
        self.iter_mut().fold(false, |moved, part| part.settle() | moved)
    }

    #[inline]
    fn is_restless(&self) -> bool {
        self.iter().any(T::is_restless)
    }

    #[inline]
    fn clock(&mut self, high: bool) -> bool {
        self.iter_mut().fold(false, |holds, part| part.clock(high) | holds)
    }

    #[inline]
    fn release(&mut self) -> bool {
        self.iter_mut().fold(false, |moved, part| part.release() | moved)
    }
}

/// How often a module goes over its parts in one sweep while the clock is low. Most need it once; parts are declared in the
/// order in which they are emitted, and where data flows against it, a module settles on its own and not with the whole
/// design.
pub const PASSES: usize = 4;

/// What a [`circuit!`](crate::circuit) knows of its parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unrest {
    /// Nothing is left to do: until an input moves, nothing will.
    pub quiet: bool,
    /// A register may hold a captured value back.
    pub holding: bool,
}

impl Unrest {
    /// After a sweep or a clock edge.
    pub fn after(restless: bool) -> Self {
        Unrest { quiet: !restless, holding: restless }
    }
}

/// Whether a port of a [`circuit!`](crate::circuit) is its clock.
pub const fn is_clock(port: &str) -> bool {
    matches!(port.as_bytes(), b"clk")
}

//! The signals inside a core that checks compare with the model: their meaning and their cycle.
//!
//! All belong to the scalar path. The lock-step check reads their values from the simulation. The generator looks up
//! the names of the same signals in the Verilog, so that an emitted testbench can compare them.

use crate::catalogue::Stages;
pub use crate::rtl::Quantity;
use crate::rtl::{Circuit, Reading, Watched};

impl Quantity {
    /// Whether it is compared in every cycle: true of the flags that say whether there is a step.
    pub fn is_always_due(self) -> bool {
        matches!(self, Quantity::Valid | Quantity::Step)
    }

    /// Cycles from the acceptance of a key to the cycle in which the signal shows the quantity.
    pub fn stage(self, stages: &Stages) -> u32 {
        match self {
            Quantity::Valid | Quantity::Score => stages.score,
            Quantity::Argument
            | Quantity::Distance
            | Quantity::Above
            | Quantity::Octaves
            | Quantity::Reference => stages.argument,
            Quantity::Step | Quantity::Weight | Quantity::Load | Quantity::Upper => stages.value,
            Quantity::Sum | Quantity::Reciprocal | Quantity::Right => stages.sum,
        }
    }
}

/// A signal inside a core, with its value in the current cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside {
    /// The quantity that it carries.
    pub quantity: Quantity,
    /// Its value, after `reading`.
    pub value: u64,
    /// Width of the value in bits.
    pub width: u32,
    /// How the value follows from the wire.
    pub reading: Reading,
    /// The cycles by which it is later than in a core whose queries do not take turns.
    pub late: i32,
}

impl Inside {
    /// The signals of all cores of a design, core by core, with their values in the settled cycle.
    pub fn of(design: &Circuit) -> Vec<Inside> {
        let inside = |watched: &Watched| {
            let &Watched { quantity, width, reading, late, .. } = watched;
            Inside { quantity, value: design.seen(watched), width, reading, late }
        };
        design.watched().iter().map(inside).collect()
    }

    /// [`Inside::of`] for a design of `cores` cores that are alike: the signals of each core.
    pub fn of_cores(design: &Circuit, cores: usize) -> Vec<Vec<Inside>> {
        Inside::by_core(&Inside::of(design), cores)
    }

    /// Divides the signals of all cores, as [`Inside::of`] returns them, by core.
    pub fn by_core(all: &[Inside], cores: usize) -> Vec<Vec<Inside>> {
        all.chunks((all.len() / cores).max(1)).map(<[Inside]>::to_vec).collect()
    }

    /// Updates the values of the signals that [`Inside::of`] has found in a design. `values` gives the value of each
    /// net.
    pub fn refresh(inside: &mut [Inside], design: &Circuit, values: impl Fn(u32) -> u64) {
        debug_assert_eq!(inside.len(), design.watched().len());
        for (inside, watched) in inside.iter_mut().zip(design.watched()) {
            inside.value = watched.reading.read(values(watched.net()));
        }
    }
}

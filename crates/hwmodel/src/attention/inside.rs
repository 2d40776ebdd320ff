//! The signals inside a core that checks compare with the model: their meaning and their cycle.
//!
//! All belong to the scalar path. The lock-step check reads their values from the simulation. The generator looks up
//! the names of the same signals in the Verilog, so that an emitted testbench can compare them.

use crate::catalogue::Stages;
use crate::rtl::{Circuit, Reading, Watched};

/// A quantity of a step that a signal carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A step is at the score stage, and not masked.
    Valid,
    /// The score.
    Score,
    /// The argument of the sigmoid or exponential, signed.
    Argument,
    /// The magnitude of the argument.
    Distance,
    /// Whether the argument is positive.
    Above,
    /// The negated argument.
    Below,
    /// The whole octaves of the negated argument.
    Octaves,
    /// The score less the argument: the reference of FA2.
    Reference,
    /// A step has come to the point where its value is read.
    Step,
    /// The factor of the lanes.
    Weight,
    /// The step sets o to v: a first key.
    Load,
    /// The factor scales the old o, not v; with a reference that moves by octaves: it moves.
    Upper,
    /// FA2's l after the step.
    Sum,
    /// After the last step of a query: the significand of `1 / l`; in FA2 `literal`, `1 / l` itself.
    Reciprocal,
    /// In the same cycle: the right shift of `1 / l`.
    Right,
}

impl Quantity {
    /// All quantities in the order of the enum, and their names in messages, vectors and testbenches.
    const NAMES: [(Quantity, &'static str); 15] = [
        (Quantity::Valid, "score_valid"),
        (Quantity::Score, "score"),
        (Quantity::Argument, "argument"),
        (Quantity::Distance, "argument_distance"),
        (Quantity::Above, "argument_above"),
        (Quantity::Below, "argument_below"),
        (Quantity::Octaves, "argument_octaves"),
        (Quantity::Reference, "argument_reference"),
        (Quantity::Step, "weight_valid"),
        (Quantity::Weight, "weight"),
        (Quantity::Load, "weight_load"),
        (Quantity::Upper, "weight_upper"),
        (Quantity::Sum, "sum"),
        (Quantity::Reciprocal, "reciprocal"),
        (Quantity::Right, "reciprocal_right"),
    ];

    /// The quantity with this name. Modules watch its wire under the same name.
    pub fn of(name: &str) -> Option<Quantity> {
        Quantity::NAMES.into_iter().find(|(_, own)| *own == name).map(|(quantity, _)| quantity)
    }

    /// The name of the quantity.
    pub fn name(self) -> &'static str {
        Quantity::NAMES[self as usize].1
    }

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
            | Quantity::Below
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
}

impl Inside {
    /// The signals of all cores of a design, core by core, with their values in the settled cycle.
    pub fn of(design: &Circuit) -> Vec<Inside> {
        let inside = |watched: &Watched| {
            let quantity = Quantity::of(watched.label);
            let &Watched { width, reading, .. } = watched;
            Some(Inside { quantity: quantity?, value: design.seen(watched), width, reading })
        };
        design.watched().iter().filter_map(inside).collect()
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

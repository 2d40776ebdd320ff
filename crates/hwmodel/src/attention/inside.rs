//! What is compared inside a core: signals of the scalar path, and when each shows what of a step.
//!
//! The lock-step check reads their values, and the generator finds the names of the same signals in the Verilog, by which an emitted
//! testbench compares them.

use crate::catalogue::Stages;
use crate::rtl::{Circuit, Reading, Watched};

/// What of a step a signal carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A step is at the score stage.
    Valid,
    /// The score.
    Score,
    /// The argument of sigmoid or exponential.
    Argument,
    /// The argument without its sign.
    Distance,
    /// The argument is positive.
    Above,
    /// The argument, negated.
    Below,
    /// What the score is larger by than the argument.
    Reference,
    /// A step asks for its value.
    Step,
    /// The lanes' factor.
    Weight,
    /// The step takes v as it is.
    Load,
    /// The factor scales the old output.
    Upper,
    /// FA2's l after the step.
    Sum,
    /// Of the last step: the significand of `1 / l`, or all of it.
    Reciprocal,
    /// And its exponent.
    Right,
}

impl Quantity {
    /// All of them, in the order in which they are declared, and as messages, vectors and testbenches name them.
    const NAMES: [(Quantity, &'static str); 14] = [
        (Quantity::Valid, "score_valid"),
        (Quantity::Score, "score"),
        (Quantity::Argument, "argument"),
        (Quantity::Distance, "argument_distance"),
        (Quantity::Above, "argument_above"),
        (Quantity::Below, "argument_below"),
        (Quantity::Reference, "argument_reference"),
        (Quantity::Step, "weight_valid"),
        (Quantity::Weight, "weight"),
        (Quantity::Load, "weight_load"),
        (Quantity::Upper, "weight_upper"),
        (Quantity::Sum, "sum"),
        (Quantity::Reciprocal, "reciprocal"),
        (Quantity::Right, "reciprocal_right"),
    ];

    /// The one that the structure's description calls by this name.
    pub fn of(name: &str) -> Option<Quantity> {
        Quantity::NAMES.into_iter().find(|(_, own)| *own == name).map(|(quantity, _)| quantity)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Quantity::NAMES[self as usize].1
    }

    /// Whether it is compared in every cycle, as flags are that say whether there is a step.
    pub fn is_always_due(self) -> bool {
        matches!(self, Quantity::Valid | Quantity::Step)
    }

    /// Cycles from a key's acceptance to that in which its signal shows it.
    pub fn stage(self, stages: &Stages) -> u32 {
        match self {
            Quantity::Valid | Quantity::Score => stages.score,
            Quantity::Argument
            | Quantity::Distance
            | Quantity::Above
            | Quantity::Below
            | Quantity::Reference => stages.argument,
            Quantity::Step | Quantity::Weight | Quantity::Load | Quantity::Upper => stages.value,
            Quantity::Sum | Quantity::Reciprocal | Quantity::Right => stages.sum,
        }
    }
}

/// A signal inside a core, in the current cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside {
    /// What it carries.
    pub quantity: Quantity,
    /// The value that is read from it.
    pub value: u64,
    /// That value's width in bits.
    pub width: u32,
    /// How it is read.
    pub reading: Reading,
    /// The signal, as probes know it.
    pub atom: usize,
}

impl Inside {
    /// What is compared inside a design, of each core one after another, in the settled cycle.
    pub fn of(design: &Circuit) -> Vec<Inside> {
        let inside = |watched: &Watched| {
            let quantity = Quantity::of(watched.label);
            let &Watched { width, reading, atom, .. } = watched;
            Some(Inside { quantity: quantity?, value: design.seen(watched), width, reading, atom })
        };
        design.watched().iter().filter_map(inside).collect()
    }

    /// The same of each of several cores that are alike.
    pub fn of_cores(design: &Circuit, cores: usize) -> Vec<Vec<Inside>> {
        Inside::by_core(&Inside::of(design), cores)
    }

    /// What was found, by core.
    pub fn by_core(all: &[Inside], cores: usize) -> Vec<Vec<Inside>> {
        all.chunks((all.len() / cores).max(1)).map(<[Inside]>::to_vec).collect()
    }

    /// Looks again at what [`Inside::of`] has found in a design, when its nets carry this.
    pub fn refresh(inside: &mut [Inside], design: &Circuit, values: impl Fn(u32) -> u64) {
        debug_assert_eq!(inside.len(), design.watched().len());
        for (inside, watched) in inside.iter_mut().zip(design.watched()) {
            inside.value = watched.reading.read(values(watched.net()));
        }
    }
}

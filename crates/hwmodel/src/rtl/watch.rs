//! Values inside a design that the lock-step check compares: their nets and their current values.

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
    const NAMES: [(Quantity, &'static str); 14] = [
        (Quantity::Valid, "score_valid"),
        (Quantity::Score, "score"),
        (Quantity::Argument, "argument"),
        (Quantity::Distance, "argument_distance"),
        (Quantity::Above, "argument_above"),
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

    /// The name of the quantity.
    pub fn name(self) -> &'static str {
        Quantity::NAMES[self as usize].1
    }
}

/// How a watched value follows from its wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The wire's value.
    Whole,
    /// The wire's value times 2^n: n zeros below it.
    Above(u32),
    /// 1 if any bit is high, otherwise 0.
    Any,
}

impl Reading {
    /// Width of the value, in bits, for a wire of `wire` bits.
    fn width(self, wire: u32) -> u32 {
        match self {
            Reading::Whole => wire,
            Reading::Above(zeros) => wire + zeros,
            Reading::Any => 1,
        }
    }

    /// The value for a wire that carries `value`.
    pub fn read(self, value: u64) -> u64 {
        match self {
            Reading::Whole => value,
            Reading::Above(zeros) => value << zeros,
            Reading::Any => (value != 0).into(),
        }
    }
}

/// A value inside a circuit that was [watched](super::Module::watch).
#[derive(Clone, Debug)]
pub struct Watched {
    /// The quantity that it carries.
    pub quantity: Quantity,
    /// Width of the value in bits, after the reading.
    pub width: u32,
    /// How it follows from the wire.
    pub reading: Reading,
    /// The places of the parts on the path from the top module to the module that has the wire.
    pub path: Vec<u32>,
    /// The slot of the wire in that module.
    pub slot: u32,
    /// Of an output whose wire in the module around is watched: the slot of that wire.
    pub(super) outside: Option<u32>,
    /// In an interleaved design: the cycles by which the value is later than in the original at C times the clock.
    pub late: i32,
    /// Its net, set when the design is complete.
    pub(super) net: u32,
}

impl Watched {
    pub(super) fn new(quantity: Quantity, wire: u32, slot: u32, reading: Reading) -> Watched {
        Watched {
            quantity,
            width: reading.width(wire),
            reading,
            path: Vec::new(),
            slot,
            outside: None,
            late: 0,
            net: 0,
        }
    }

    /// The net of the wire, as [`Design`](super::Design) numbers it.
    pub fn net(&self) -> u32 {
        self.net
    }
}

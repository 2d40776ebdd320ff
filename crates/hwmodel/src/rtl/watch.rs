//! Values inside a design that the lock-step check compares: their nets and their current values.

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
    /// Its name in checks.
    pub label: &'static str,
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
    /// Its net, set when the design is complete.
    pub(super) net: u32,
}

impl Watched {
    pub(super) fn new(label: &'static str, wire: u32, slot: u32, reading: Reading) -> Watched {
        Watched { label, width: reading.width(wire), reading, path: Vec::new(), slot, outside: None, net: 0 }
    }

    /// The net of the wire, as [`Design`](super::Design) numbers it.
    pub fn net(&self) -> u32 {
        self.net
    }
}

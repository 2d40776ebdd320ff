//! Values inside a design that checks compare: where they are, and what they are now.

/// How a value is read from a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// As it is.
    Whole,
    /// With so many zeros below it.
    Above(u32),
    /// Whether a bit is high.
    Any,
}

impl Reading {
    /// Width of what is read from a wire.
    fn width(self, wire: u32) -> u32 {
        match self {
            Reading::Whole => wire,
            Reading::Above(zeros) => wire + zeros,
            Reading::Any => 1,
        }
    }

    /// What is read of a wire that carries a value.
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
    /// What it is.
    pub label: &'static str,
    /// Width of what is read, in bits.
    pub width: u32,
    /// How it is read from the wire.
    pub reading: Reading,
    /// The pin that puts it out, as probes number it.
    pub atom: usize,
    /// The parts on the way down, by their places.
    pub(super) path: Vec<u32>,
    pub(super) slot: u32,
    /// Its net, once there is the whole design.
    pub(super) net: u32,
}

impl Watched {
    pub(super) fn new(label: &'static str, wire: u32, slot: u32, reading: Reading) -> Watched {
        Watched { label, width: reading.width(wire), reading, atom: 0, path: Vec::new(), slot, net: 0 }
    }

    /// The net of the wire, as [`Design`](super::Design) numbers it.
    pub fn net(&self) -> u32 {
        self.net
    }
}

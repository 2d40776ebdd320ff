//! Instructions on virtual registers.

use super::assembler::{Address, Length, Test};
use super::op::{Code, Unit};

/// A virtual register, written once.
pub(super) type Virtual = u32;

/// Where a virtual register can be read from memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Home {
    None,
    /// All of it as it is.
    Whole(Address),
    /// By an instruction.
    By(Code, Address),
}

/// An instruction on virtual registers. The last source may be in memory.
#[derive(Clone, Debug)]
pub(super) enum Instruction {
    Two {
        code: Code,
        length: Length,
        to: Virtual,
        a: Virtual,
        b: Virtual,
        byte: Option<u8>,
    },
    One {
        code: Code,
        length: Length,
        to: Virtual,
        a: Virtual,
        byte: Option<u8>,
    },
    Shift {
        code: Code,
        kind: u8,
        length: Length,
        to: Virtual,
        a: Virtual,
        places: u8,
    },
    Blend {
        length: Length,
        to: Virtual,
        otherwise: Virtual,
        then: Virtual,
        mask: Virtual,
    },
    /// Bits of three vectors of zmm, by a table of what each combination comes to; its index has those of the first one on top.
    Logic {
        to: Virtual,
        of: [Virtual; 3],
        table: u8,
    },
    /// Narrow elements of zmm by a test of two others.
    Choose {
        unit: Unit,
        test: Test,
        a: Virtual,
        b: Virtual,
        to: Virtual,
        then: Virtual,
        otherwise: Virtual,
    },
    /// The upper half of a ymm or zmm.
    High {
        length: Length,
        to: Virtual,
        a: Virtual,
    },
    Gather {
        code: Code,
        length: Length,
        to: Virtual,
        index: Virtual,
        table: Address,
        bytes: u8,
    },
    Entry {
        wide: bool,
        to: Virtual,
        index: Virtual,
        table: Address,
    },
    Store {
        code: Code,
        length: Length,
        a: Virtual,
        to: Address,
    },
}

impl Instruction {
    pub(super) fn result(&self) -> Option<Virtual> {
        match *self {
            Instruction::Two { to, .. }
            | Instruction::One { to, .. }
            | Instruction::Shift { to, .. }
            | Instruction::Blend { to, .. }
            | Instruction::Logic { to, .. }
            | Instruction::Choose { to, .. }
            | Instruction::High { to, .. }
            | Instruction::Gather { to, .. }
            | Instruction::Entry { to, .. } => Some(to),
            Instruction::Store { .. } => None,
        }
    }

    pub(super) fn sources(&self) -> [Option<Virtual>; 4] {
        match *self {
            Instruction::Two { a, b, .. } => [Some(a), Some(b), None, None],
            Instruction::One { a, .. }
            | Instruction::Shift { a, .. }
            | Instruction::High { a, .. }
            | Instruction::Store { a, .. } => [Some(a), None, None, None],
            Instruction::Blend { otherwise, then, mask, .. } => {
                [Some(otherwise), Some(then), Some(mask), None]
            }
            Instruction::Logic { of: [a, b, c], .. } => [Some(a), Some(b), Some(c), None],
            Instruction::Choose { a, b, then, otherwise, .. } => {
                [Some(a), Some(b), Some(then), Some(otherwise)]
            }
            Instruction::Gather { index, .. } | Instruction::Entry { index, .. } => {
                [Some(index), None, None, None]
            }
        }
    }
}

//! Instructions on virtual registers.

use super::assembler::{Address, Length};
use super::op::Opcode;

/// A virtual register, written once.
pub(super) type Virtual = u32;

/// The memory that a virtual register can be reloaded from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Home {
    None,
    /// The whole vector.
    Whole(Address),
    /// By an instruction.
    By(Opcode, Address),
}

/// An instruction on virtual registers. The last source may be in memory.
#[derive(Clone, Debug)]
pub(super) enum Instruction {
    Two {
        code: Opcode,
        length: Length,
        to: Virtual,
        a: Virtual,
        b: Virtual,
        byte: Option<u8>,
    },
    One {
        code: Opcode,
        length: Length,
        to: Virtual,
        a: Virtual,
        byte: Option<u8>,
    },
    Shift {
        code: Opcode,
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
    /// The upper half of a ymm.
    High {
        to: Virtual,
        a: Virtual,
    },
    Gather {
        code: Opcode,
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
        code: Opcode,
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
            | Instruction::High { to, .. }
            | Instruction::Gather { to, .. }
            | Instruction::Entry { to, .. } => Some(to),
            Instruction::Store { .. } => None,
        }
    }

    pub(super) fn sources(&self) -> [Option<Virtual>; 3] {
        match *self {
            Instruction::Two { a, b, .. } => [Some(a), Some(b), None],
            Instruction::One { a, .. }
            | Instruction::Shift { a, .. }
            | Instruction::High { a, .. }
            | Instruction::Store { a, .. } => [Some(a), None, None],
            Instruction::Blend { otherwise, then, mask, .. } => [Some(otherwise), Some(then), Some(mask)],
            Instruction::Gather { index, .. } | Instruction::Entry { index, .. } => [Some(index), None, None],
        }
    }
}

//! Vector instructions by their mnemonics without the v, and the variants for each element size.

/// An instruction on vectors: its prefix, map and opcode, and the bit W, as VEX encodes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Opcode {
    pub(super) prefix: u8,
    pub(super) map: u8,
    pub(super) w: u8,
    pub(super) number: u8,
}

const fn code(prefix: u8, map: u8, w: u8, number: u8) -> Opcode {
    Opcode { prefix, map, w, number }
}

pub(super) const MOVDQU: Opcode = code(2, 1, 0, 0x6F);
pub(super) const STORE_DQU: Opcode = code(2, 1, 0, 0x7F);
pub(super) const MOVD: Opcode = code(1, 1, 0, 0x6E);
pub(super) const STORE_D: Opcode = code(1, 1, 0, 0x7E);
pub(super) const MOVQ: Opcode = code(2, 1, 0, 0x7E);
pub(super) const STORE_Q: Opcode = code(1, 1, 0, 0xD6);
pub(super) const BROADCASTD: Opcode = code(1, 2, 0, 0x58);
pub(super) const BROADCASTW: Opcode = code(1, 2, 0, 0x79);
pub(super) const BROADCASTQ: Opcode = code(1, 2, 0, 0x59);
pub(super) const MOVZXDQ: Opcode = code(1, 2, 0, 0x35);
pub(super) const MOVSXDQ: Opcode = code(1, 2, 0, 0x25);
pub(super) const AND: Opcode = code(1, 1, 0, 0xDB);
pub(super) const ANDN: Opcode = code(1, 1, 0, 0xDF);
pub(super) const OR: Opcode = code(1, 1, 0, 0xEB);
pub(super) const XOR: Opcode = code(1, 1, 0, 0xEF);
pub(super) const ADDD: Opcode = code(1, 1, 0, 0xFE);
pub(super) const ADDQ: Opcode = code(1, 1, 0, 0xD4);
pub(super) const ADDW: Opcode = code(1, 1, 0, 0xFD);
pub(super) const SUBD: Opcode = code(1, 1, 0, 0xFA);
pub(super) const SUBQ: Opcode = code(1, 1, 0, 0xFB);
pub(super) const SUBW: Opcode = code(1, 1, 0, 0xF9);
pub(super) const MADDWD: Opcode = code(1, 1, 0, 0xF5);
pub(super) const MULLD: Opcode = code(1, 2, 0, 0x40);
pub(super) const MULLW: Opcode = code(1, 1, 0, 0xD5);
pub(super) const MULUDQ: Opcode = code(1, 1, 0, 0xF4);
pub(super) const SLLVD: Opcode = code(1, 2, 0, 0x47);
pub(super) const SLLVQ: Opcode = code(1, 2, 1, 0x47);
pub(super) const SRLVD: Opcode = code(1, 2, 0, 0x45);
pub(super) const SRLVQ: Opcode = code(1, 2, 1, 0x45);
pub(super) const CMPEQD: Opcode = code(1, 1, 0, 0x76);
pub(super) const CMPEQQ: Opcode = code(1, 2, 0, 0x29);
pub(super) const CMPEQW: Opcode = code(1, 1, 0, 0x75);
pub(super) const CMPGTD: Opcode = code(1, 1, 0, 0x66);
pub(super) const CMPGTQ: Opcode = code(1, 2, 0, 0x37);
pub(super) const CMPGTW: Opcode = code(1, 1, 0, 0x65);
pub(super) const TEST: Opcode = code(1, 2, 0, 0x17);
pub(super) const MINUD: Opcode = code(1, 2, 0, 0x3B);
pub(super) const MINUW: Opcode = code(1, 2, 0, 0x3A);
pub(super) const SHUFPS: Opcode = code(0, 1, 0, 0xC6);
pub(super) const PERMQ: Opcode = code(1, 3, 1, 0x00);
pub(super) const EXTRACT: Opcode = code(1, 3, 0, 0x39);
pub(super) const BLENDVB: Opcode = code(1, 3, 0, 0x4C);
pub(super) const GATHERDD: Opcode = code(1, 2, 0, 0x90);
pub(super) const GATHERDQ: Opcode = code(1, 2, 1, 0x90);
/// Shifts by a number, whose kind is in the place of a register.
pub(super) const SHIFTD: Opcode = code(1, 1, 0, 0x72);
pub(super) const SHIFTQ: Opcode = code(1, 1, 0, 0x73);
pub(super) const SHIFTW: Opcode = code(1, 1, 0, 0x71);
pub(super) const RIGHT: u8 = 2;
pub(super) const SIGNED_RIGHT: u8 = 4;
pub(super) const LEFT: u8 = 6;

/// Whether an instruction is commutative.
pub(super) fn commutes(code: Opcode) -> bool {
    [AND, OR, XOR, ADDW, ADDD, ADDQ, MADDWD, MULLW, MULLD, MULUDQ, CMPEQW, CMPEQD, CMPEQQ, MINUW, MINUD]
        .contains(&code)
}

/// The size of a narrow element: a wide one is twice as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementSize {
    /// 16 bits.
    Half,
    /// 32 bits.
    Word,
}

/// Instructions on narrow elements, and on wide ones.
pub(super) struct Opcodes {
    pub(super) add: [Opcode; 2],
    pub(super) sub: [Opcode; 2],
    pub(super) equal: [Opcode; 2],
    pub(super) greater: [Opcode; 2],
    /// By a number.
    pub(super) shift: [Opcode; 2],
    /// On narrow ones alone.
    pub(super) min: Opcode,
    /// The element in memory to all of them.
    pub(super) broadcast: [Opcode; 2],
}

const OF_HALVES: Opcodes = Opcodes {
    add: [ADDW, ADDD],
    sub: [SUBW, SUBD],
    equal: [CMPEQW, CMPEQD],
    greater: [CMPGTW, CMPGTD],
    shift: [SHIFTW, SHIFTD],
    min: MINUW,
    broadcast: [BROADCASTW, BROADCASTD],
};

const OF_WORDS: Opcodes = Opcodes {
    add: [ADDD, ADDQ],
    sub: [SUBD, SUBQ],
    equal: [CMPEQD, CMPEQQ],
    greater: [CMPGTD, CMPGTQ],
    shift: [SHIFTD, SHIFTQ],
    min: MINUD,
    broadcast: [BROADCASTD, BROADCASTQ],
};

impl ElementSize {
    pub(super) fn bits(self) -> u32 {
        match self {
            ElementSize::Half => 16,
            ElementSize::Word => 32,
        }
    }

    pub(super) fn family(self) -> &'static Opcodes {
        match self {
            ElementSize::Half => &OF_HALVES,
            ElementSize::Word => &OF_WORDS,
        }
    }

    /// Narrow elements in an element of memory.
    pub(super) fn each(self) -> u32 {
        u32::BITS / self.bits()
    }
}

//! The instructions on vectors, by their names without the v that all of them have, and those that do the same on elements of each size.

/// An instruction on vectors: its prefix, map and number, and the bit W of either encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Code {
    pub(super) prefix: u8,
    pub(super) map: u8,
    pub(super) vex_w: u8,
    pub(super) evex_w: u8,
    pub(super) number: u8,
}

const fn code(prefix: u8, map: u8, w: u8, number: u8) -> Code {
    Code { prefix, map, vex_w: w, evex_w: w, number }
}

/// An instruction on words of 64 bits, which only EVEX tells by W.
const fn quad(prefix: u8, map: u8, number: u8) -> Code {
    Code { prefix, map, vex_w: 0, evex_w: 1, number }
}

pub(super) const MOVDQU: Code = code(2, 1, 0, 0x6F);
pub(super) const STORE_DQU: Code = code(2, 1, 0, 0x7F);
pub(super) const MOVD: Code = code(1, 1, 0, 0x6E);
pub(super) const STORE_D: Code = code(1, 1, 0, 0x7E);
pub(super) const MOVQ: Code = quad(2, 1, 0x7E);
pub(super) const STORE_Q: Code = quad(1, 1, 0xD6);
pub(super) const BROADCASTD: Code = code(1, 2, 0, 0x58);
pub(super) const BROADCASTW: Code = code(1, 2, 0, 0x79);
pub(super) const BROADCASTQ: Code = quad(1, 2, 0x59);
pub(super) const MOVZXDQ: Code = code(1, 2, 0, 0x35);
pub(super) const MOVSXDQ: Code = code(1, 2, 0, 0x25);
pub(super) const AND: Code = code(1, 1, 0, 0xDB);
pub(super) const ANDN: Code = code(1, 1, 0, 0xDF);
pub(super) const OR: Code = code(1, 1, 0, 0xEB);
pub(super) const XOR: Code = code(1, 1, 0, 0xEF);
pub(super) const ADDD: Code = code(1, 1, 0, 0xFE);
pub(super) const ADDQ: Code = quad(1, 1, 0xD4);
pub(super) const ADDW: Code = code(1, 1, 0, 0xFD);
pub(super) const SUBD: Code = code(1, 1, 0, 0xFA);
pub(super) const SUBQ: Code = quad(1, 1, 0xFB);
pub(super) const SUBW: Code = code(1, 1, 0, 0xF9);
pub(super) const MADDWD: Code = code(1, 1, 0, 0xF5);
pub(super) const MULLD: Code = code(1, 2, 0, 0x40);
pub(super) const MULLW: Code = code(1, 1, 0, 0xD5);
pub(super) const MULUDQ: Code = quad(1, 1, 0xF4);
pub(super) const SLLVD: Code = code(1, 2, 0, 0x47);
pub(super) const SLLVQ: Code = code(1, 2, 1, 0x47);
pub(super) const SRLVD: Code = code(1, 2, 0, 0x45);
pub(super) const SRLVQ: Code = code(1, 2, 1, 0x45);
pub(super) const CMPEQD: Code = code(1, 1, 0, 0x76);
pub(super) const CMPEQQ: Code = quad(1, 2, 0x29);
pub(super) const CMPEQW: Code = code(1, 1, 0, 0x75);
pub(super) const CMPGTD: Code = code(1, 1, 0, 0x66);
pub(super) const CMPGTQ: Code = quad(1, 2, 0x37);
pub(super) const CMPGTW: Code = code(1, 1, 0, 0x65);
pub(super) const TEST: Code = code(1, 2, 0, 0x17);
pub(super) const MINUD: Code = code(1, 2, 0, 0x3B);
pub(super) const MINUW: Code = code(1, 2, 0, 0x3A);
pub(super) const SHUFPS: Code = code(0, 1, 0, 0xC6);
pub(super) const PERMQ: Code = code(1, 3, 1, 0x00);
pub(super) const EXTRACT: Code = code(1, 3, 0, 0x39);
pub(super) const BLENDVB: Code = code(1, 3, 0, 0x4C);
pub(super) const GATHERDD: Code = code(1, 2, 0, 0x90);
pub(super) const GATHERDQ: Code = code(1, 2, 1, 0x90);
/// Of AVX-512 alone: halves of zmm, elements by a vector of places, shifts of 16 bits by a vector, and what three vectors come to.
pub(super) const EXTRACT_HALF: Code = code(1, 3, 1, 0x3B);
pub(super) const PERMD: Code = code(1, 2, 0, 0x36);
pub(super) const PERMQ_BY: Code = code(1, 2, 1, 0x36);
pub(super) const PERMW: Code = code(1, 2, 1, 0x8D);
pub(super) const SLLVW: Code = code(1, 2, 1, 0x12);
pub(super) const SRLVW: Code = code(1, 2, 1, 0x10);
pub(super) const TERNLOG: Code = code(1, 3, 0, 0x25);
/// Into a mask register, and from there all ones or none to each element.
pub(super) const COMPARE: Code = code(1, 3, 0, 0x1F);
pub(super) const COMPARE_Q: Code = code(1, 3, 1, 0x1F);
pub(super) const COMPARE_U: Code = code(1, 3, 0, 0x1E);
pub(super) const COMPARE_W: Code = code(1, 3, 1, 0x3F);
pub(super) const COMPARE_UW: Code = code(1, 3, 1, 0x3E);
/// All ones where two vectors have no bit in common.
pub(super) const DISJOINT: Code = code(2, 2, 0, 0x27);
pub(super) const DISJOINT_W: Code = code(2, 2, 1, 0x26);
pub(super) const TEST_MASK: Code = code(1, 2, 0, 0x27);
pub(super) const TEST_MASK_W: Code = code(1, 2, 1, 0x26);
pub(super) const BLENDMD: Code = code(1, 2, 0, 0x64);
pub(super) const BLENDMW: Code = code(1, 2, 1, 0x66);
pub(super) const FROM_MASK: Code = code(2, 2, 0, 0x38);
pub(super) const FROM_MASK_Q: Code = code(2, 2, 1, 0x38);
pub(super) const FROM_MASK_W: Code = code(2, 2, 1, 0x28);
/// Shifts by a number, whose kind is in the place of a register.
pub(super) const SHIFTD: Code = code(1, 1, 0, 0x72);
pub(super) const SHIFTQ: Code = quad(1, 1, 0x73);
pub(super) const SHIFTW: Code = code(1, 1, 0, 0x71);
pub(super) const RIGHT: u8 = 2;
pub(super) const SIGNED_RIGHT: u8 = 4;
pub(super) const LEFT: u8 = 6;

/// Kinds of comparisons.
pub(super) const EQUAL: u8 = 0;
pub(super) const LESS: u8 = 1;
const GREATER: u8 = 6;

/// What compares into a mask register, how, and what makes a vector of it.
pub(super) fn into_mask(code: Code) -> Option<(Code, Option<u8>, Code)> {
    match code {
        CMPEQW => Some((COMPARE_W, Some(EQUAL), FROM_MASK_W)),
        CMPGTW => Some((COMPARE_W, Some(GREATER), FROM_MASK_W)),
        CMPEQD => Some((COMPARE, Some(EQUAL), FROM_MASK)),
        CMPGTD => Some((COMPARE, Some(GREATER), FROM_MASK)),
        CMPEQQ => Some((COMPARE_Q, Some(EQUAL), FROM_MASK_Q)),
        CMPGTQ => Some((COMPARE_Q, Some(GREATER), FROM_MASK_Q)),
        DISJOINT_W => Some((DISJOINT_W, None, FROM_MASK_W)),
        DISJOINT => Some((DISJOINT, None, FROM_MASK)),
        _ => None,
    }
}

/// Whether the two vectors that an instruction takes may change places.
pub(super) fn commutes(code: Code) -> bool {
    [AND, OR, XOR, ADDW, ADDD, ADDQ, MADDWD, MULLW, MULLD, MULUDQ, CMPEQW, CMPEQD, CMPEQQ, MINUW, MINUD]
        .contains(&code)
}

/// The size of a narrow element: a wide one is twice as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// 16 bits.
    Half,
    /// 32 bits.
    Word,
}

/// What instructions are called on narrow elements, and on wide ones.
pub(super) struct Family {
    pub(super) add: [Code; 2],
    pub(super) sub: [Code; 2],
    pub(super) equal: [Code; 2],
    pub(super) greater: [Code; 2],
    /// By a number.
    pub(super) shift: [Code; 2],
    /// By a vector of numbers.
    pub(super) left: [Code; 2],
    pub(super) right: [Code; 2],
    /// On narrow ones alone.
    pub(super) min: Code,
    pub(super) disjoint: Code,
    pub(super) permute: Code,
    /// The element in memory to all of them.
    pub(super) broadcast: [Code; 2],
    /// Into a mask register: compare, without sign, and whether bits meet; and what chooses by it.
    pub(super) compare: Code,
    pub(super) compare_unsigned: Code,
    pub(super) test_mask: Code,
    pub(super) choose: Code,
}

const OF_HALVES: Family = Family {
    add: [ADDW, ADDD],
    sub: [SUBW, SUBD],
    equal: [CMPEQW, CMPEQD],
    greater: [CMPGTW, CMPGTD],
    shift: [SHIFTW, SHIFTD],
    left: [SLLVW, SLLVD],
    right: [SRLVW, SRLVD],
    min: MINUW,
    disjoint: DISJOINT_W,
    permute: PERMW,
    broadcast: [BROADCASTW, BROADCASTD],
    compare: COMPARE_W,
    compare_unsigned: COMPARE_UW,
    test_mask: TEST_MASK_W,
    choose: BLENDMW,
};

const OF_WORDS: Family = Family {
    add: [ADDD, ADDQ],
    sub: [SUBD, SUBQ],
    equal: [CMPEQD, CMPEQQ],
    greater: [CMPGTD, CMPGTQ],
    shift: [SHIFTD, SHIFTQ],
    left: [SLLVD, SLLVQ],
    right: [SRLVD, SRLVQ],
    min: MINUD,
    disjoint: DISJOINT,
    permute: PERMD,
    broadcast: [BROADCASTD, BROADCASTQ],
    compare: COMPARE,
    compare_unsigned: COMPARE_U,
    test_mask: TEST_MASK,
    choose: BLENDMD,
};

impl Unit {
    pub(super) fn bits(self) -> u32 {
        match self {
            Unit::Half => 16,
            Unit::Word => 32,
        }
    }

    pub(super) fn family(self) -> &'static Family {
        match self {
            Unit::Half => &OF_HALVES,
            Unit::Word => &OF_WORDS,
        }
    }

    /// Narrow elements in an element of memory.
    pub(super) fn each(self) -> u32 {
        u32::BITS / self.bits()
    }
}

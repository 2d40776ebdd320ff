//! Machine code of x86-64: AVX2 in the encoding of three bytes, and the few other instructions around it.

/// An instruction on vectors: its prefix, map and number, and the bit W.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code {
    prefix: u8,
    map: u8,
    w: u8,
    number: u8,
}

const fn code(prefix: u8, map: u8, w: u8, number: u8) -> Code {
    Code { prefix, map, w, number }
}

/// The instructions, by their names without the v that all of them have.
pub(super) mod op {
    use super::{Code, code};
    pub(crate) const MOVDQU: Code = code(2, 1, 0, 0x6F);
    pub(crate) const STORE_DQU: Code = code(2, 1, 0, 0x7F);
    pub(crate) const MOVD: Code = code(1, 1, 0, 0x6E);
    pub(crate) const STORE_D: Code = code(1, 1, 0, 0x7E);
    pub(crate) const MOVQ: Code = code(2, 1, 0, 0x7E);
    pub(crate) const STORE_Q: Code = code(1, 1, 0, 0xD6);
    pub(crate) const BROADCASTD: Code = code(1, 2, 0, 0x58);
    pub(crate) const BROADCASTQ: Code = code(1, 2, 0, 0x59);
    pub(crate) const MOVZXDQ: Code = code(1, 2, 0, 0x35);
    pub(crate) const MOVSXDQ: Code = code(1, 2, 0, 0x25);
    pub(crate) const AND: Code = code(1, 1, 0, 0xDB);
    pub(crate) const ANDN: Code = code(1, 1, 0, 0xDF);
    pub(crate) const OR: Code = code(1, 1, 0, 0xEB);
    pub(crate) const XOR: Code = code(1, 1, 0, 0xEF);
    pub(crate) const ADDD: Code = code(1, 1, 0, 0xFE);
    pub(crate) const ADDQ: Code = code(1, 1, 0, 0xD4);
    pub(crate) const SUBD: Code = code(1, 1, 0, 0xFA);
    pub(crate) const SUBQ: Code = code(1, 1, 0, 0xFB);
    pub(crate) const MADDWD: Code = code(1, 1, 0, 0xF5);
    pub(crate) const MULLD: Code = code(1, 2, 0, 0x40);
    pub(crate) const MULUDQ: Code = code(1, 1, 0, 0xF4);
    pub(crate) const SLLVD: Code = code(1, 2, 0, 0x47);
    pub(crate) const SLLVQ: Code = code(1, 2, 1, 0x47);
    pub(crate) const SRLVD: Code = code(1, 2, 0, 0x45);
    pub(crate) const SRLVQ: Code = code(1, 2, 1, 0x45);
    pub(crate) const CMPEQD: Code = code(1, 1, 0, 0x76);
    pub(crate) const CMPEQQ: Code = code(1, 2, 0, 0x29);
    pub(crate) const CMPGTD: Code = code(1, 1, 0, 0x66);
    pub(crate) const CMPGTQ: Code = code(1, 2, 0, 0x37);
    pub(crate) const TEST: Code = code(1, 2, 0, 0x17);
    pub(crate) const MINUD: Code = code(1, 2, 0, 0x3B);
    pub(crate) const SHUFPS: Code = code(0, 1, 0, 0xC6);
    pub(crate) const PERMQ: Code = code(1, 3, 1, 0x00);
    pub(crate) const EXTRACT: Code = code(1, 3, 0, 0x39);
    pub(crate) const BLENDVB: Code = code(1, 3, 0, 0x4C);
    pub(crate) const GATHERDD: Code = code(1, 2, 0, 0x90);
    pub(crate) const GATHERDQ: Code = code(1, 2, 1, 0x90);
    /// Shifts by a number, whose kind is in the place of a register.
    pub(crate) const SHIFTD: Code = code(1, 1, 0, 0x72);
    pub(crate) const SHIFTQ: Code = code(1, 1, 0, 0x73);
    pub(crate) const RIGHT: u8 = 2;
    pub(crate) const SIGNED_RIGHT: u8 = 4;
    pub(crate) const LEFT: u8 = 6;
}

/// Bytes from the start of memory, and so many times the index register, which counts bytes of narrow words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) offset: i32,
    /// 0, 1 or 2.
    pub(super) scale: u8,
}

impl Address {
    /// A word of memory.
    pub(super) fn word(place: u32) -> Address {
        Address { offset: place as i32 * 4, scale: 0 }
    }

    /// A word of memory that is there eight times.
    pub(super) fn eight(place: u32) -> Address {
        Address { offset: place as i32 * 32, scale: 0 }
    }

    pub(super) fn plus(self, bytes: i32) -> Address {
        Address { offset: self.offset + bytes, ..self }
    }
}

/// The last operand: a register or what is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Register(u8),
    Memory(Address),
}

/// The register with the start of memory, by the calling convention, and the one with the index.
const BASE: u8 = 7;
const INDEX: u8 = 0;

/// A place in the code that is jumped to or from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place(usize);

/// Code that grows.
#[derive(Default)]
pub(super) struct Assembler {
    pub(super) code: Vec<u8>,
}

impl Assembler {
    fn put(&mut self, bytes: &[u8]) {
        self.code.extend_from_slice(bytes);
    }

    /// `register, other, operand`, with a byte behind.
    pub(super) fn vector(
        &mut self,
        code: Code,
        long: bool,
        register: u8,
        other: u8,
        operand: Operand,
        byte: Option<u8>,
    ) {
        let extended = match operand {
            Operand::Register(register) => register >> 3,
            Operand::Memory(_) => 0,
        };
        self.prefix(code, long, [register >> 3, 0, extended], other);
        match operand {
            Operand::Register(operand) => self.put(&[0xC0 | (register & 7) << 3 | operand & 7]),
            Operand::Memory(address) => self.address(register, address),
        }
        self.code.extend(byte);
    }

    fn prefix(&mut self, code: Code, long: bool, [r, x, b]: [u8; 3], other: u8) {
        let first = (r ^ 1) << 7 | (x ^ 1) << 6 | (b ^ 1) << 5 | code.map;
        let second = code.w << 7 | (!other & 15) << 3 | u8::from(long) << 2 | code.prefix;
        self.put(&[0xC4, first, second, code.number]);
    }

    fn address(&mut self, register: u8, Address { offset, scale }: Address) {
        let register = (register & 7) << 3;
        match scale {
            0 => self.put(&[0x80 | register | BASE]),
            _ => self.put(&[0x84 | register, (scale >> 1) << 6 | INDEX << 3 | BASE]),
        }
        self.put(&offset.to_le_bytes());
    }

    /// Entries of a table of words of 4 or 8 bytes, by the vector `index`; `mask` is all ones before and spent behind.
    pub(super) fn gather(
        &mut self,
        code: Code,
        long: bool,
        [register, index, mask]: [u8; 3],
        table: Address,
        bytes: u8,
    ) {
        self.prefix(code, long, [register >> 3, index >> 3, 0], mask);
        let scale = if bytes == 8 { 3 } else { 2 };
        self.put(&[0x84 | (register & 7) << 3, scale << 6 | (index & 7) << 3 | BASE]);
        self.put(&table.offset.to_le_bytes());
    }

    /// The index register is the low word of a vector.
    pub(super) fn index_from(&mut self, register: u8) {
        self.vector(op::STORE_D, false, register, 0, Operand::Register(INDEX), None);
    }

    /// An entry of a table by the index register.
    pub(super) fn entry(&mut self, wide: bool, register: u8, table: Address) {
        let code = if wide { op::MOVQ } else { op::MOVD };
        self.prefix(code, false, [register >> 3, 0, 0], 0);
        let scale = if wide { 3 } else { 2 };
        self.put(&[0x84 | (register & 7) << 3, scale << 6 | INDEX << 3 | BASE]);
        self.put(&table.offset.to_le_bytes());
    }

    pub(super) fn clear_index(&mut self) {
        self.put(&[0x31, 0xC0]);
    }

    /// Adds to the index, and jumps back while it is below the end.
    pub(super) fn again(&mut self, step: i32, end: i32, start: Place) {
        self.put(&[0x05]);
        self.put(&step.to_le_bytes());
        self.put(&[0x3D]);
        self.put(&end.to_le_bytes());
        let back = start.0 as i64 - (self.code.len() as i64 + 6);
        self.put(&[0x0F, 0x82]);
        self.put(&(back as i32).to_le_bytes());
    }

    pub(super) fn here(&self) -> Place {
        Place(self.code.len())
    }

    /// A word of memory goes elsewhere, through the index register.
    pub(super) fn copy_word(&mut self, from: Address, to: Address) {
        self.load_index(from);
        self.put(&[0x89]);
        self.address(INDEX, to);
    }

    /// The index register takes a word of memory.
    pub(super) fn load_index(&mut self, from: Address) {
        self.put(&[0x8B]);
        self.address(INDEX, from);
    }

    /// Compares the index register with a word of memory.
    pub(super) fn compare_index(&mut self, with: Address) {
        self.put(&[0x3B]);
        self.address(INDEX, with);
    }

    /// Compares a word of memory with zero.
    pub(super) fn compare_zero(&mut self, address: Address) {
        self.put(&[0x83]);
        self.address(7, address);
        self.put(&[0]);
    }

    pub(super) fn store_number(&mut self, address: Address, value: u32) {
        self.put(&[0xC7]);
        self.address(0, address);
        self.put(&value.to_le_bytes());
    }

    /// A jump, if what was compared is equal or if not, to a place that is [said](Assembler::arrive) later.
    pub(super) fn jump_if(&mut self, equal: bool) -> Place {
        self.put(&[0x0F, if equal { 0x84 } else { 0x85 }, 0, 0, 0, 0]);
        self.here()
    }

    pub(super) fn jump(&mut self) -> Place {
        self.put(&[0xE9, 0, 0, 0, 0]);
        self.here()
    }

    /// What the jump before `from` goes to is here.
    pub(super) fn arrive(&mut self, from: Place) {
        let distance = (self.code.len() - from.0) as i32;
        self.code[from.0 - 4..from.0].copy_from_slice(&distance.to_le_bytes());
    }

    /// The end of a function that has used long vectors.
    pub(super) fn finish(&mut self) {
        self.put(&[0xC5, 0xF8, 0x77, 0xC3]);
    }
}

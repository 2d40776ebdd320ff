//! Machine code of x86-64: AVX2 with the three-byte VEX prefix, and the few scalar instructions.

use super::op::{self, Opcode};

/// Which registers an instruction works on: xmm or ymm, of 128 or 256 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Length {
    X,
    Y,
}

impl Length {
    /// Words of 32 bits.
    pub(super) const fn words(self) -> u32 {
        4 << self as u32
    }
}

/// A base register, an offset in bytes, and a scaled index register, which counts bytes of narrow words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) base: Base,
    pub(super) offset: i32,
    /// 0, 1 or 2.
    pub(super) scale: u8,
}

/// The arguments of the code, by the calling convention: the start of memory, and the buffers of double-buffered registers: Q outputs,
/// captured values, and values captured by the previous evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Memory = 7,
    Current = 6,
    Next = 2,
    Previous = 1,
}

impl Address {
    /// A word of memory relative to a base.
    pub(super) fn word(base: Base, place: u32) -> Address {
        Address { base, offset: place as i32 * 4, scale: 0 }
    }

    /// A constant or a table.
    pub(super) fn fixed(place: u32) -> Address {
        Address::word(Base::Memory, place)
    }

    pub(super) fn plus(self, bytes: i32) -> Address {
        Address { offset: self.offset + bytes, ..self }
    }
}

/// The last operand: a register or memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegMem {
    Register(u8),
    Memory(Address),
}

/// The register with the index.
const INDEX: u8 = 0;

/// A place in the code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label(usize);

/// Code that grows.
#[derive(Default)]
pub(super) struct Assembler {
    pub(super) code: Vec<u8>,
}

impl Assembler {
    fn put(&mut self, bytes: &[u8]) {
        self.code.extend_from_slice(bytes);
    }

    /// `register, other, operand`, followed by an immediate byte.
    pub(super) fn vector(
        &mut self,
        code: Opcode,
        length: Length,
        register: u8,
        other: u8,
        operand: RegMem,
        byte: Option<u8>,
    ) {
        let last = match operand {
            RegMem::Register(register) => register,
            RegMem::Memory(_) => 0,
        };
        self.prefix(code, length, [register, other, last], 0);
        match operand {
            RegMem::Register(operand) => self.put(&[0xC0 | (register & 7) << 3 | operand & 7]),
            RegMem::Memory(address) => self.address(register, address),
        }
        self.code.extend(byte);
    }

    /// The prefix and the opcode. `index` is the index register of an operand in memory.
    fn prefix(&mut self, code: Opcode, length: Length, [register, other, last]: [u8; 3], index: u8) {
        let not = |register: u8, place: u8| (!register >> 3 & 1) << place;
        let first = not(register, 7) | not(index, 6) | not(last, 5) | code.map;
        let second = code.w << 7 | (!other & 15) << 3 | (length as u8) << 2 | code.prefix;
        self.put(&[0xC4, first, second, code.number]);
    }

    fn address(&mut self, register: u8, Address { base, offset, scale }: Address) {
        let (register, base) = ((register & 7) << 3, base as u8);
        match scale {
            0 => self.put(&[0x80 | register | base]),
            _ => self.put(&[0x84 | register, (scale >> 1) << 6 | INDEX << 3 | base]),
        }
        self.put(&offset.to_le_bytes());
    }

    /// Entries of a table of words of 4 or 8 bytes, by the vector `index`. `mask` is all ones, and the instruction clears it.
    pub(super) fn gather(
        &mut self,
        code: Opcode,
        length: Length,
        [register, index, mask]: [u8; 3],
        table: Address,
        bytes: u8,
    ) {
        self.prefix(code, length, [register, mask, 0], index);
        let scale = if bytes == 8 { 3 } else { 2 };
        self.put(&[0x84 | (register & 7) << 3, scale << 6 | (index & 7) << 3 | table.base as u8]);
        self.put(&table.offset.to_le_bytes());
    }

    /// Replaces elements of `register` by `then` where `mask` is all ones.
    pub(super) fn blend(&mut self, length: Length, register: u8, then: RegMem, mask: u8) {
        self.vector(op::BLENDVB, length, register, register, then, Some(mask << 4));
    }

    /// Compares a vector with zero, for a jump.
    pub(super) fn test(&mut self, length: Length, register: u8) {
        self.vector(op::TEST, length, register, 0, RegMem::Register(register), None);
    }

    /// The index register is the low word of a vector.
    pub(super) fn index_from(&mut self, register: u8) {
        self.vector(op::STORE_D, Length::X, register, 0, RegMem::Register(INDEX), None);
    }

    /// An entry of a table by the index register.
    pub(super) fn entry(&mut self, wide: bool, register: u8, table: Address) {
        let code = if wide { op::MOVQ } else { op::MOVD };
        self.prefix(code, Length::X, [register, 0, 0], 0);
        let scale = if wide { 3 } else { 2 };
        self.put(&[0x84 | (register & 7) << 3, scale << 6 | INDEX << 3 | table.base as u8]);
        self.put(&table.offset.to_le_bytes());
    }

    pub(super) fn clear_index(&mut self) {
        self.put(&[0x31, 0xC0]);
    }

    /// Adds to the index, and jumps back while it is below the end.
    pub(super) fn loop_back(&mut self, step: i32, end: i32, start: Label) {
        self.put(&[0x05]);
        self.put(&step.to_le_bytes());
        self.put(&[0x3D]);
        self.put(&end.to_le_bytes());
        let back = start.0 as i64 - (self.code.len() as i64 + 6);
        self.put(&[0x0F, 0x82]);
        self.put(&(back as i32).to_le_bytes());
    }

    pub(super) fn here(&self) -> Label {
        Label(self.code.len())
    }

    /// Copies a word through the index register.
    pub(super) fn copy_word(&mut self, from: Address, to: Address) {
        self.load_index(from);
        self.put(&[0x89]);
        self.address(INDEX, to);
    }

    /// Loads the index register.
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

    /// Tests bits of a word of memory.
    pub(super) fn test_bits(&mut self, address: Address, bits: u32) {
        self.put(&[0xF7]);
        self.address(0, address);
        self.put(&bits.to_le_bytes());
    }

    /// Sets bits of a word of memory.
    pub(super) fn set_bits(&mut self, address: Address, bits: u32) {
        self.put(&[0x81]);
        self.address(1, address);
        self.put(&bits.to_le_bytes());
    }

    /// Sets the bits of a word of memory that are set in another one.
    pub(super) fn set_bits_of(&mut self, from: Address, to: Address) {
        self.load_index(from);
        self.put(&[0x09]);
        self.address(INDEX, to);
    }

    pub(super) fn store_number(&mut self, address: Address, value: u32) {
        self.put(&[0xC7]);
        self.address(0, address);
        self.put(&value.to_le_bytes());
    }

    /// A jump if a comparison was equal, or if not, to a label [bound](Assembler::bind) later.
    pub(super) fn jump_if(&mut self, equal: bool) -> Label {
        self.put(&[0x0F, if equal { 0x84 } else { 0x85 }, 0, 0, 0, 0]);
        self.here()
    }

    pub(super) fn jump(&mut self) -> Label {
        self.put(&[0xE9, 0, 0, 0, 0]);
        self.here()
    }

    /// Binds the target of the jump before `from` to this place.
    pub(super) fn bind(&mut self, from: Label) {
        let distance = (self.code.len() - from.0) as i32;
        self.code[from.0 - 4..from.0].copy_from_slice(&distance.to_le_bytes());
    }

    /// The epilogue: vzeroupper, ret.
    pub(super) fn finish(&mut self) {
        self.put(&[0xC5, 0xF8, 0x77, 0xC3]);
    }
}

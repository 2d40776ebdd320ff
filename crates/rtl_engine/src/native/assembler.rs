//! Machine code of x86-64: AVX2 in the encoding of three bytes (VEX), AVX-512 in that of four (EVEX), and the few other instructions
//! around them.

use super::op::{self, Code, EQUAL, LESS, Unit, into_mask};

/// Which registers an instruction works on: xmm, ymm or zmm, of 128, 256 or 512 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Length {
    X,
    Y,
    Z,
}

impl Length {
    /// Words of 32 bits.
    pub(super) fn words(self) -> u32 {
        4 << self as u32
    }
}

/// Bytes from where a register points, and so many times the index register, which counts bytes of narrow words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) base: Base,
    pub(super) offset: i32,
    /// 0, 1 or 2.
    pub(super) scale: u8,
}

/// The registers that code is called with, by the calling convention: where memory starts, and where three parts of it lie that change
/// places: what registers show that take something at every edge, what they take at the next one, and what that was when logic
/// settled the last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Memory = 7,
    Shown = 6,
    Next = 2,
    Before = 1,
}

impl Address {
    /// A word of memory, counted from where the base points.
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

/// The last operand: a register or what is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Register(u8),
    Memory(Address),
}

/// The register with the index.
const INDEX: u8 = 0;

/// The mask register that code uses.
const MASK: u8 = 1;

/// Truth table of TERNLOG, by the bits of its operands, the first one highest: the third where the second is high, otherwise the first.
const THIRD_BY_SECOND: u8 = 0xB8;

/// The first, or where the second and third differ.
const FIRST_OR_DIFFERENT: u8 = 0xF6;

/// What two vectors of zmm are looked at for, element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    Equal,
    Less,
    SignedLess,
    /// Whether they have a bit in common.
    Meets,
}

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

    /// `register, other, operand`, with a byte behind. Compared is as in AVX2, to all ones or none, also in zmm.
    pub(super) fn vector(
        &mut self,
        code: Code,
        length: Length,
        register: u8,
        other: u8,
        operand: Operand,
        byte: Option<u8>,
    ) {
        if length == Length::Z
            && let Some((compare, kind, back)) = into_mask(code)
        {
            self.encoded(compare, length, MASK, other, operand, kind);
            self.encoded(back, length, register, 0, Operand::Register(MASK), None);
            return;
        }
        self.encoded(code, length, register, other, operand, byte);
    }

    fn encoded(
        &mut self,
        code: Code,
        length: Length,
        register: u8,
        other: u8,
        operand: Operand,
        byte: Option<u8>,
    ) {
        self.masked(code, length, [register, other], operand, 0);
        self.code.extend(byte);
    }

    /// The same without a byte, under a mask register.
    fn masked(&mut self, code: Code, length: Length, [register, other]: [u8; 2], operand: Operand, mask: u8) {
        let last = match operand {
            Operand::Register(register) => register,
            Operand::Memory(_) => 0,
        };
        // The fifth bit of the last register is where that of an index is.
        self.prefix(code, length, [register, other, last], [last >> 4, last >> 3], mask);
        match operand {
            Operand::Register(operand) => self.put(&[0xC0 | (register & 7) << 3 | operand & 7]),
            Operand::Memory(address) => self.address(register, address),
        }
    }

    /// What stands before the operands: EVEX where VEX does not reach, for zmm and registers from 16 on. `x` and `b` are bits of the last
    /// operand, `mask` is the register that says which elements are meant, if there is one.
    fn prefix(
        &mut self,
        code: Code,
        length: Length,
        [register, other, last]: [u8; 3],
        [x, b]: [u8; 2],
        mask: u8,
    ) {
        let not = |bits: u8, places: u8| (!bits & 1) << places;
        let first = not(register >> 3, 7) | not(x, 6) | not(b, 5) | code.map;
        let second = (!other & 15) << 3 | code.prefix;
        if length < Length::Z && (register | other | last) < 16 {
            self.put(&[0xC4, first, code.vex_w << 7 | second | (length as u8) << 2, code.number]);
        } else {
            let first = first | not(register >> 4, 4);
            let third = (length as u8) << 5 | not(other >> 4, 3) | mask;
            self.put(&[0x62, first, code.evex_w << 7 | second | 4, third, code.number]);
        }
    }

    fn address(&mut self, register: u8, Address { base, offset, scale }: Address) {
        let (register, base) = ((register & 7) << 3, base as u8);
        match scale {
            0 => self.put(&[0x80 | register | base]),
            _ => self.put(&[0x84 | register, (scale >> 1) << 6 | INDEX << 3 | base]),
        }
        self.put(&offset.to_le_bytes());
    }

    /// Entries of a table of words of 4 or 8 bytes, by the vector `index`. Except in zmm `mask` is all ones before and spent behind.
    pub(super) fn gather(
        &mut self,
        code: Code,
        length: Length,
        [register, index, mask]: [u8; 3],
        table: Address,
        bytes: u8,
    ) {
        if length == Length::Z {
            // All elements: kxnorw.
            self.put(&[0xC5, 0xF4, 0x46, 0xC9]);
            self.prefix(code, length, [register, index & 16, index], [index >> 3, 0], MASK);
        } else {
            self.prefix(code, length, [register, mask, index], [index >> 3, 0], 0);
        }
        let scale = if bytes == 8 { 3 } else { 2 };
        self.put(&[0x84 | (register & 7) << 3, scale << 6 | (index & 7) << 3 | table.base as u8]);
        self.put(&table.offset.to_le_bytes());
    }

    /// Elements of `register` are those of `then` where `mask` is all ones. In zmm `then` may be in memory.
    pub(super) fn blend(&mut self, length: Length, register: u8, then: Operand, mask: u8) {
        match length {
            Length::Z => self.vector(op::TERNLOG, length, register, mask, then, Some(THIRD_BY_SECOND)),
            _ => self.vector(op::BLENDVB, length, register, register, then, Some(mask << 4)),
        }
    }

    /// ORs into `all` where `one` is not what is in memory; with `all` itself that is all there is.
    pub(super) fn or_differences(&mut self, length: Length, [all, one]: [u8; 2], operand: Operand) {
        if all == one || length < Length::Z {
            self.vector(op::XOR, length, one, one, operand, None);
        }
        match length {
            _ if all == one => {}
            Length::Z => self.vector(op::TERNLOG, length, all, one, operand, Some(FIRST_OR_DIFFERENT)),
            // A shorter vector is zero above.
            _ => self.vector(op::OR, Length::Y, all, all, Operand::Register(one), None),
        }
    }

    /// Looks at two vectors of zmm, for a [choice](Assembler::choose).
    pub(super) fn compare(&mut self, (test, unit): (Test, Unit), a: u8, b: Operand) {
        let family = unit.family();
        let (code, kind) = match test {
            Test::Equal => (family.compare, Some(EQUAL)),
            Test::SignedLess => (family.compare, Some(LESS)),
            Test::Less => (family.compare_unsigned, Some(LESS)),
            Test::Meets => (family.test_mask, None),
        };
        self.encoded(code, Length::Z, MASK, a, b, kind);
    }

    /// Elements of `then` where the last look found something, and of `otherwise`.
    pub(super) fn choose(&mut self, unit: Unit, register: u8, otherwise: u8, then: Operand) {
        self.masked(unit.family().choose, Length::Z, [register, otherwise], then, MASK);
    }

    /// Compares a vector with zero, for a jump.
    pub(super) fn test(&mut self, length: Length, register: u8) {
        let operand = Operand::Register(register);
        if length < Length::Z {
            return self.vector(op::TEST, length, register, 0, operand, None);
        }
        self.encoded(op::TEST_MASK, length, MASK, register, operand, None);
        // kortestw.
        self.put(&[0xC5, 0xF8, 0x98, 0xC9]);
    }

    /// The index register is the low word of a vector.
    pub(super) fn index_from(&mut self, register: u8) {
        self.vector(op::STORE_D, Length::X, register, 0, Operand::Register(INDEX), None);
    }

    /// An entry of a table by the index register.
    pub(super) fn entry(&mut self, wide: bool, register: u8, table: Address) {
        let code = if wide { op::MOVQ } else { op::MOVD };
        self.prefix(code, Length::X, [register, 0, 0], [0, 0], 0);
        let scale = if wide { 3 } else { 2 };
        self.put(&[0x84 | (register & 7) << 3, scale << 6 | INDEX << 3 | table.base as u8]);
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

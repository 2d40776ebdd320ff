//! Instructions of arithmetic, logic and comparisons.

use super::super::instruction::Virtual;
use super::super::op::{self, ElementSize, Opcode};
use super::{Lower, Wide, WordPart};
use flashd_hwmodel::netlist::Operator;
use flashd_spec::bits::ones;

impl Lower<'_> {
    pub(super) fn step(&mut self, i: u32) {
        let step = self.at(i);
        let operand = |place: usize| step.operands[place];
        match &step.operator {
            Operator::Input(place) => self.input(i, self.job.sources[*place as usize]),
            Operator::Constant(value) => self.number_step(i, *value),
            Operator::And => self.and(i, operand(0), operand(1)),
            Operator::Or => self.bitwise(i, op::OR, operand(0), operand(1)),
            Operator::Xor => self.bitwise(i, op::XOR, operand(0), operand(1)),
            Operator::Not => self.not(i, operand(0)),
            Operator::Add | Operator::Sub if step.width == 1 => {
                self.bitwise(i, op::XOR, operand(0), operand(1));
            }
            Operator::Add => self.sum(i, [self.codes.add, self.codes.sub], operand(0), operand(1)),
            Operator::Sub => self.sum(i, [self.codes.sub, self.codes.add], operand(0), operand(1)),
            Operator::Multiply => self.product(i, operand(0), operand(1)),
            Operator::ShiftLeft => self.shifted(i, false, operand(0), operand(1)),
            Operator::ShiftRight => self.shifted(i, true, operand(0), operand(1)),
            Operator::Any => {
                let a = operand(0);
                self.equals_number(i, a, 0);
                self.complement(i);
            }
            Operator::All => self.equals_number(i, operand(0), ones(self.width(operand(0)))),
            Operator::Equal => self.equal(i, operand(0), operand(1)),
            Operator::Less => self.less(i, operand(0), operand(1)),
            Operator::AtLeast => {
                self.less(i, operand(0), operand(1));
                self.complement(i);
            }
            Operator::SignedLess => self.signed_less(i, operand(0), operand(1)),
            Operator::Slice(low) => self.slice(i, operand(0), *low),
            Operator::Concat => self.concat(i, operand(0), operand(1)),
            Operator::Repeat => self.repeat(i, operand(0)),
            Operator::Select => self.select(i, operand(0), operand(1), operand(2)),
            Operator::Lookup(entries) => self.lookup(i, operand(0), entries),
        }
    }

    fn number_step(&mut self, i: u32, value: u64) {
        match self.width(i) {
            1 => {
                let mask = self.constant(if value == 0 { 0 } else { ones(32) }, false);
                self.set(i, mask, true);
            }
            width if width <= self.bits() => {
                let number = self.constant(value, false);
                self.set(i, number, true);
            }
            _ => {
                let number = self.wide_constant(value);
                self.set_wide(i, number, true);
            }
        }
    }

    pub(super) fn is_clean(&self, i: u32) -> bool {
        let forms = &self.forms[i as usize];
        // A narrow word that has not been made of a wide one yet is what that is.
        let of_wide = forms.clean_wide.is_some() && (self.is_wide(i) || forms.narrow.is_none());
        of_wide || forms.clean_narrow.is_some() && !self.is_wide(i)
    }

    /// Whether a word fills its element.
    pub(super) fn is_full(&self, i: u32) -> bool {
        [self.bits(), 2 * self.bits()].contains(&self.width(i))
    }

    fn bitwise(&mut self, i: u32, code: Opcode, a: u32, b: u32) {
        let clean = self.is_clean(a) && self.is_clean(b);
        self.of_two(i, [code, code], a, b, clean || self.width(i) == 1);
    }

    fn of_two(&mut self, i: u32, [narrow, wide]: [Opcode; 2], a: u32, b: u32, clean: bool) {
        if self.is_wide(i) {
            let (a, b) = (self.wide(a), self.wide(b));
            let result = self.both(wide, a, b);
            self.set_wide(i, result, clean);
        } else {
            let (a, b) = (self.narrow(a), self.narrow(b));
            let result = self.two(narrow, false, a, b);
            self.set(i, result, clean);
        }
    }

    fn and(&mut self, i: u32, a: u32, b: u32) {
        for (a, b) in [(a, b), (b, a)] {
            // AND with a complement is clean if the other operand is.
            if self.at(b).operator == Operator::Not {
                let clean = self.is_clean(a) || self.width(i) == 1;
                self.of_two(i, [op::ANDN, op::ANDN], self.at(b).operands[0], a, clean);
                return;
            }
        }
        let clean = self.is_clean(a) || self.is_clean(b) || self.width(i) == 1;
        self.of_two(i, [op::AND, op::AND], a, b, clean);
    }

    fn not(&mut self, i: u32, a: u32) {
        let (width, clean) = (self.width(i), self.is_clean(a));
        match width {
            width if width > self.bits() => {
                let (a, all) = (self.wide(a), self.wide_constant(ones(width)));
                let result = self.both(op::XOR, a, all);
                self.set_wide(i, result, clean);
            }
            _ => {
                let (a, all) =
                    (self.narrow(a), self.constant(if width == 1 { ones(32) } else { ones(width) }, false));
                let result = self.two(op::XOR, false, a, all);
                self.set(i, result, clean || width == 1);
            }
        }
    }

    /// A sum, or a difference; `opposite` has the instructions of the other.
    fn sum(&mut self, i: u32, [codes, opposite]: [[Opcode; 2]; 2], a: u32, b: u32) {
        let clean = self.is_full(i);
        if let Some(bit) = self.bit_of(b) {
            // One bit as a mask is zero or minus one.
            return self.of_two(i, opposite, a, bit, clean);
        }
        self.of_two(i, codes, a, b, clean);
    }

    /// The bit that a word is the zero extension of.
    fn bit_of(&self, word: u32) -> Option<u32> {
        match (&self.at(word).operator, &self.at(word).operands[..]) {
            (Operator::Concat, &[high, low]) if self.number_of(high) == Some(0) && self.width(low) == 1 => {
                Some(low)
            }
            _ => None,
        }
    }

    fn product(&mut self, i: u32, a: u32, b: u32) {
        let (wa, wb, width) = (self.width(a), self.width(b), self.width(i));
        let clean = width >= wa + wb || self.is_full(i);
        let of_32_bits = if wa <= 15 && wb <= 15 { op::MADDWD } else { op::MULLD };
        if !self.is_wide(i) {
            let code = if self.unit == ElementSize::Half { op::MULLW } else { of_32_bits };
            let (a, b) = (self.number(a), self.number(b));
            let result = self.two(code, false, a, b);
            return self.set_bits(i, result, clean);
        }
        let (x, y) = (self.wide_number(a), self.wide_number(b));
        if self.unit == ElementSize::Half {
            let result = self.both(of_32_bits, x, y);
            return self.set_wide(i, result, clean);
        }
        let mut result = self.both(op::MULUDQ, x, y);
        // Cross products of upper and lower words; the product of the upper words exceeds 64 bits.
        for (high, low, is_long) in [(x, y, wa > 32), (y, x, wb > 32)] {
            if is_long {
                let high = self.shift_both(op::RIGHT, high, 32);
                let cross = self.both(op::MULUDQ, high, low);
                let cross = self.shift_both(op::LEFT, cross, 32);
                result = self.both(op::ADDQ, result, cross);
            }
        }
        self.set_wide(i, result, clean);
    }

    fn shifted(&mut self, i: u32, right: bool, a: u32, by: u32) {
        let width = self.width(i);
        let code = |bits: u32| match (right, bits) {
            (false, 32) => op::SLLVD,
            (false, _) => op::SLLVQ,
            (true, 32) => op::SRLVD,
            (true, _) => op::SRLVQ,
        };
        // AVX2 has no variable shifts of 16 bits.
        if self.is_wide(i) || self.is_wide(by) || self.unit == ElementSize::Half {
            let a = if right || width == 1 { self.wide_number(a) } else { self.wide(a) };
            let by = self.wide_number(by);
            let result = self.both(code(2 * self.bits()), a, by);
            if self.is_wide(i) {
                return self.set_wide(i, result, right || self.is_full(i));
            }
            let result = self.narrowed(result, WordPart::Low);
            return self.set_bits(i, result, right || self.is_full(i));
        }
        let a = if right || width == 1 { self.number(a) } else { self.narrow(a) };
        let by = self.number(by);
        let result = self.two(code(self.bits()), false, a, by);
        self.set_bits(i, result, right || self.is_full(i));
    }

    /// A narrow result; a single bit becomes a mask.
    fn set_bits(&mut self, i: u32, result: Virtual, clean: bool) {
        if self.width(i) > 1 {
            return self.set(i, result, clean);
        }
        let most = self.bits() - 1;
        let top = self.shift(op::LEFT, false, result, most);
        let mask = self.shift(op::SIGNED_RIGHT, false, top, most);
        self.set(i, mask, true);
    }

    fn equals_number(&mut self, i: u32, a: u32, value: u64) {
        match self.width(a) {
            1 if value != 0 => {
                let a = self.narrow(a);
                self.set(i, a, true);
            }
            width if width <= self.bits() => {
                let (a, number) = self.compared(a, value);
                let result = self.two(self.codes.equal[0], false, a, number);
                self.set(i, result, true);
            }
            _ => {
                let (a, number) = (self.clean_wide(a), self.wide_constant(value));
                let result = self.both(self.codes.equal[1], a, number);
                self.set_mask(i, result);
            }
        }
    }

    /// Operands of a comparison of a narrow word with a number: a slice is compared in place.
    fn compared(&mut self, a: u32, value: u64) -> (Virtual, Virtual) {
        let step = self.at(a);
        match (&step.operator, &step.operands[..]) {
            (&Operator::Slice(low), &[from]) if !self.is_clean(a) && !self.is_wide(from) => {
                let (from, bits) = (self.narrow(from), self.constant(ones(step.width) << low, false));
                (self.two(op::AND, false, from, bits), self.constant(value << low, false))
            }
            _ => (self.clean(a), self.constant(value, false)),
        }
    }

    /// A one-bit result from wide masks.
    fn set_mask(&mut self, i: u32, wide: Wide) {
        self.set_wide(i, wide, true);
        let narrow = self.narrowed(wide, WordPart::Either);
        self.set(i, narrow, true);
    }

    /// Complements the one-bit result of a step.
    fn complement(&mut self, i: u32) {
        let (mask, all) = (self.narrow(i), self.constant(ones(32), false));
        let result = self.two(op::XOR, false, mask, all);
        self.forms[i as usize].wide = None;
        self.forms[i as usize].clean_wide = None;
        self.set(i, result, true);
    }

    fn equal(&mut self, i: u32, a: u32, b: u32) {
        if self.is_wide(a) {
            let (a, b) = (self.clean_wide(a), self.clean_wide(b));
            let result = self.both(self.codes.equal[1], a, b);
            return self.set_mask(i, result);
        }
        if let Some(value) = self.number_of(b) {
            return self.equals_number(i, a, value);
        }
        let (a, b) = (self.clean(a), self.clean(b));
        let result = self.two(self.codes.equal[0], false, a, b);
        self.set(i, result, true);
    }

    fn less(&mut self, i: u32, a: u32, b: u32) {
        let full = self.is_full(a);
        match self.width(a) {
            1 => {
                let (a, b) = (self.narrow(a), self.narrow(b));
                let result = self.two(op::ANDN, false, a, b);
                self.set(i, result, true);
            }
            width if width <= self.bits() => {
                let [mut a, mut b] = [self.clean(a), self.clean(b)];
                if full {
                    let sign = self.constant(1 << (width - 1), false);
                    [a, b] = [a, b].map(|x| self.two(op::XOR, false, x, sign));
                }
                let result = self.two(self.codes.greater[0], false, b, a);
                self.set(i, result, true);
            }
            width => {
                let [mut a, mut b] = [self.clean_wide(a), self.clean_wide(b)];
                if full {
                    let sign = self.wide_constant(1 << (width - 1));
                    [a, b] = [a, b].map(|x| self.both(op::XOR, x, sign));
                }
                let result = self.both(self.codes.greater[1], b, a);
                self.set_mask(i, result);
            }
        }
    }

    /// A narrow word shifted so that its sign is that of its element.
    fn sign_aligned(&mut self, word: u32) -> Virtual {
        let places = self.bits() - self.width(word);
        if let Some(number) = self.number_of(word) {
            return self.constant(number << places, false);
        }
        let word = self.narrow(word);
        self.shift(op::LEFT, false, word, places)
    }

    fn signed_less(&mut self, i: u32, a: u32, b: u32) {
        match self.width(a) {
            // A single high bit is minus one.
            1 => {
                let (a, b) = (self.narrow(a), self.narrow(b));
                let result = self.two(op::ANDN, false, b, a);
                self.set(i, result, true);
            }
            width if width <= self.bits() => {
                let [a, b] = [a, b].map(|x| self.sign_aligned(x));
                let result = self.two(self.codes.greater[0], false, b, a);
                self.set(i, result, true);
            }
            width => {
                let [a, b] = [a, b].map(|x| {
                    let x = self.wide(x);
                    self.shift_both(op::LEFT, x, 2 * self.bits() - width)
                });
                let result = self.both(self.codes.greater[1], b, a);
                self.set_mask(i, result);
            }
        }
    }
}

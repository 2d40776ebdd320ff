//! The instructions of each kind of step.

use super::super::allocate::{Home, Instruction, Virtual};
use super::super::assembler::{Address, Code, op};
use super::{Lanes, Lower, Wide};
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
            Operator::Add => self.sum(i, [op::ADDD, op::ADDQ], operand(0), operand(1)),
            Operator::Sub => self.sum(i, [op::SUBD, op::SUBQ], operand(0), operand(1)),
            Operator::Multiply => self.product(i, operand(0), operand(1)),
            Operator::ShiftLeft => self.shifted(i, [op::SLLVD, op::SLLVQ], operand(0), operand(1)),
            Operator::ShiftRight => self.shifted(i, [op::SRLVD, op::SRLVQ], operand(0), operand(1)),
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
            2..=32 => {
                let number = self.constant(value, false);
                self.set(i, number, true);
            }
            _ => {
                let number = self.wide_constant(value);
                self.set_wide(i, number, true);
            }
        }
    }

    fn is_clean(&self, i: u32) -> bool {
        let forms = &self.forms[i as usize];
        if self.is_wide(i) { forms.clean_wide.is_some() } else { forms.clean_narrow.is_some() }
    }

    fn bitwise(&mut self, i: u32, code: Code, a: u32, b: u32) {
        let clean = self.is_clean(a) && self.is_clean(b);
        self.of_two(i, [code, code], a, b, clean || self.width(i) == 1);
    }

    fn of_two(&mut self, i: u32, [narrow, wide]: [Code; 2], a: u32, b: u32, clean: bool) {
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
            // Where one is a complement, the other one alone keeps the result clean.
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
            33.. => {
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

    fn sum(&mut self, i: u32, codes: [Code; 2], a: u32, b: u32) {
        let clean = matches!(self.width(i), 32 | 64);
        self.of_two(i, codes, a, b, clean);
    }

    fn product(&mut self, i: u32, a: u32, b: u32) {
        let (wa, wb, width) = (self.width(a), self.width(b), self.width(i));
        if width <= 32 {
            let code = if wa <= 15 && wb <= 15 { op::MADDWD } else { op::MULLD };
            let (a, b) = (self.number(a), self.number(b));
            let result = self.two(code, false, a, b);
            return self.set(i, result, width >= wa + wb || width == 32);
        }
        let (x, y) = (self.wide_number(a), self.wide_number(b));
        let mut result = self.both(op::MULUDQ, x, y);
        // The upper words of either, times the lower one of the other; both together are beyond 64 bits.
        for (high, low, is_long) in [(x, y, wa > 32), (y, x, wb > 32)] {
            if is_long {
                let high = self.shift_both(op::RIGHT, high, 32);
                let cross = self.both(op::MULUDQ, high, low);
                let cross = self.shift_both(op::LEFT, cross, 32);
                result = self.both(op::ADDQ, result, cross);
            }
        }
        self.set_wide(i, result, width >= wa + wb || width == 64);
    }

    fn shifted(&mut self, i: u32, [narrow, wide]: [Code; 2], a: u32, by: u32) {
        let right = narrow == op::SRLVD;
        let width = self.width(i);
        if width > 32 || self.width(by) > 32 {
            let a = if right || width == 1 { self.wide_number(a) } else { self.wide(a) };
            let by = self.wide_number(by);
            let result = self.both(wide, a, by);
            if width > 32 {
                return self.set_wide(i, result, right || width == 64);
            }
            let result = self.cut(result, 0x88);
            return self.shifted_narrow(i, result, right);
        }
        let a = if right || width == 1 { self.number(a) } else { self.narrow(a) };
        let by = self.number(by);
        let result = self.two(narrow, false, a, by);
        self.shifted_narrow(i, result, right);
    }

    fn shifted_narrow(&mut self, i: u32, result: Virtual, right: bool) {
        if self.width(i) > 1 {
            return self.set(i, result, right || self.width(i) == 32);
        }
        // One bit is a mask again.
        let top = self.shift(op::LEFT, false, result, 31);
        let mask = self.shift(op::SIGNED_RIGHT, false, top, 31);
        self.set(i, mask, true);
    }

    fn equals_number(&mut self, i: u32, a: u32, value: u64) {
        match self.width(a) {
            1 if value != 0 => {
                let a = self.narrow(a);
                self.set(i, a, true);
            }
            2..=32 | 1 => {
                let (a, number) = (self.clean(a), self.constant(value, false));
                let result = self.two(op::CMPEQD, false, a, number);
                self.set(i, result, true);
            }
            _ => {
                let (a, number) = (self.clean_wide(a), self.wide_constant(value));
                let result = self.both(op::CMPEQQ, a, number);
                self.set_mask(i, result);
            }
        }
    }

    /// The result of a step of one bit, of wide masks.
    fn set_mask(&mut self, i: u32, wide: Wide) {
        self.set_wide(i, wide, true);
        let narrow = self.cut(wide, 0x88);
        self.set(i, narrow, true);
    }

    /// Turns the result of a step of one bit around.
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
            let result = self.both(op::CMPEQQ, a, b);
            return self.set_mask(i, result);
        }
        let (a, b) = (self.clean(a), self.clean(b));
        let result = self.two(op::CMPEQD, false, a, b);
        self.set(i, result, true);
    }

    fn less(&mut self, i: u32, a: u32, b: u32) {
        match self.width(a) {
            1 => {
                let (a, b) = (self.narrow(a), self.narrow(b));
                let result = self.two(op::ANDN, false, a, b);
                self.set(i, result, true);
            }
            width @ 2..=32 => {
                let [mut a, mut b] = [self.clean(a), self.clean(b)];
                if width == 32 {
                    let sign = self.constant(1 << 31, false);
                    [a, b] = [a, b].map(|x| self.two(op::XOR, false, x, sign));
                }
                let result = self.two(op::CMPGTD, false, b, a);
                self.set(i, result, true);
            }
            width => {
                let [mut a, mut b] = [self.clean_wide(a), self.clean_wide(b)];
                if width == 64 {
                    let sign = self.wide_constant(1 << 63);
                    [a, b] = [a, b].map(|x| self.both(op::XOR, x, sign));
                }
                let result = self.both(op::CMPGTQ, b, a);
                self.set_mask(i, result);
            }
        }
    }

    fn signed_less(&mut self, i: u32, a: u32, b: u32) {
        match self.width(a) {
            // Of one bit, one is minus one.
            1 => {
                let (a, b) = (self.narrow(a), self.narrow(b));
                let result = self.two(op::ANDN, false, b, a);
                self.set(i, result, true);
            }
            width @ 2..=32 => {
                let [a, b] = [a, b].map(|x| {
                    let x = self.narrow(x);
                    self.shift(op::LEFT, false, x, 32 - width)
                });
                let result = self.two(op::CMPGTD, false, b, a);
                self.set(i, result, true);
            }
            width => {
                let [a, b] = [a, b].map(|x| {
                    let x = self.wide(x);
                    self.shift_both(op::LEFT, x, 64 - width)
                });
                let result = self.both(op::CMPGTQ, b, a);
                self.set_mask(i, result);
            }
        }
    }

    fn slice(&mut self, i: u32, a: u32, low: u32) {
        let (whole, width) = (self.width(a), self.width(i));
        // Above the top of a clean word there is nothing.
        let reaches = low + width == whole;
        if whole > 32 && low + width > 32 && low < 32 {
            if width == 1 {
                unreachable!("a bit is in one half");
            }
            let x = if reaches { self.clean_wide(a) } else { self.wide(a) };
            let x = self.shift_both(op::RIGHT, x, low);
            if width > 32 {
                return self.set_wide(i, x, reaches);
            }
            let x = self.cut(x, 0x88);
            return self.set(i, x, reaches || width == 32);
        }
        // In one of the halves of a wide word, or in a narrow one.
        let (x, low, room, is_clean) = match (whole > 32, low >= 32) {
            (true, true) => {
                let (high, clean) = self.high(a);
                (high, low - 32, whole - 32, clean)
            }
            (true, false) => (self.narrow(a), low, 32, true),
            _ => (self.narrow(a), low, whole, self.is_clean(a)),
        };
        if width == 1 {
            let top = self.shift(op::LEFT, false, x, 31 - low);
            let mask = self.shift(op::SIGNED_RIGHT, false, top, 31);
            return self.set(i, mask, true);
        }
        let clean = low + width == room && (room == 32 || is_clean);
        let x = self.shift(op::RIGHT, false, x, low);
        self.set(i, x, clean);
    }

    /// The upper word of a wide one, and whether it is clean.
    fn high(&mut self, a: u32) -> (Virtual, bool) {
        if let Some(known) = self.forms[a as usize].high {
            return known;
        }
        let clean = self.is_clean(a);
        let wide = self.wide(a);
        let high = (self.cut(wide, 0xDD), clean);
        self.forms[a as usize].high = Some(high);
        high
    }

    fn concat(&mut self, i: u32, high: u32, low: u32) {
        let below = self.width(low);
        let clean = self.is_clean(high);
        if self.is_wide(i) {
            let upper = match (self.number_of(high), self.width(high)) {
                (Some(0), _) => None,
                (Some(value), _) => Some(self.wide_constant(value << below)),
                (None, 1) => {
                    let (mask, bit) = (self.wide(high), self.wide_constant(1 << below));
                    Some(self.both(op::AND, mask, bit))
                }
                (None, _) => {
                    let high = self.wide(high);
                    Some(self.shift_both(op::LEFT, high, below))
                }
            };
            let lower = (self.number_of(low) != Some(0)).then(|| self.wide_number(low));
            let result = match (upper, lower) {
                (Some(upper), Some(lower)) => self.both(op::OR, upper, lower),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => self.wide_constant(0),
            };
            return self.set_wide(i, result, clean || self.width(i) == 64);
        }
        let upper = match (self.number_of(high), self.width(high)) {
            (Some(0), _) => None,
            (Some(value), _) => Some(self.constant(value << below, false)),
            (None, 1) => {
                let (mask, bit) = (self.narrow(high), self.constant(1 << below, false));
                Some(self.two(op::AND, false, mask, bit))
            }
            (None, _) => {
                let high = self.narrow(high);
                Some(self.shift(op::LEFT, false, high, below))
            }
        };
        let lower = (self.number_of(low) != Some(0)).then(|| self.number(low));
        let result = match (upper, lower) {
            (Some(upper), Some(lower)) => self.two(op::OR, false, upper, lower),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => self.constant(0, false),
        };
        self.set(i, result, clean || self.width(i) == 32);
    }

    fn repeat(&mut self, i: u32, bit: u32) {
        let width = self.width(i);
        if width > 32 {
            let (mask, all) = (self.wide(bit), self.wide_constant(ones(width)));
            let result = self.both(op::AND, mask, all);
            return self.set_wide(i, result, true);
        }
        // Above the width may be anything: the mask is the word.
        let mask = self.narrow(bit);
        self.set(i, mask, width == 32 || width == 1);
    }

    fn select(&mut self, i: u32, condition: u32, then: u32, otherwise: u32) {
        let clean = self.is_clean(then) && self.is_clean(otherwise) || self.width(i) == 1;
        if self.is_wide(i) {
            let (mask, then, otherwise) = (self.wide(condition), self.wide(then), self.wide(otherwise));
            let first = self.blend(true, mask[0], then[0], otherwise[0]);
            let second = match self.parts() == 1 || [mask, then, otherwise].iter().all(|x| x[0] == x[1]) {
                true => first,
                false => self.blend(true, mask[1], then[1], otherwise[1]),
            };
            return self.set_wide(i, [first, second], clean);
        }
        let (mask, then, otherwise) = (self.narrow(condition), self.narrow(then), self.narrow(otherwise));
        let result = self.blend(false, mask, then, otherwise);
        self.set(i, result, clean);
    }

    fn blend(&mut self, wide: bool, mask: Virtual, then: Virtual, otherwise: Virtual) -> Virtual {
        let long = self.long(wide);
        let to = self.new(Home::None, long);
        self.out.instructions.push(Instruction::Blend { long, to, otherwise, then, mask });
        to
    }

    fn lookup(&mut self, i: u32, index: u32, entries: &[u64]) {
        let width = self.width(i);
        let entries: Vec<u64> = match width {
            1 => entries.iter().map(|&bit| if bit == 0 { 0 } else { ones(32) }).collect(),
            _ => entries.to_vec(),
        };
        let wide = width > 32;
        let table = Address::word(self.pool.table(&entries, wide));
        // What is behind the last element may be anything; no element may read what is behind the table.
        let last = self.constant(entries.len() as u64 - 1, false);
        let mut number = match self.width(index) {
            33.. => {
                // Beyond 32 bits is beyond the table.
                let whole = self.clean_wide(index);
                let (narrow, high) = (self.cut(whole, 0x88), self.cut(whole, 0xDD));
                let zero = self.constant(0, false);
                let inside = self.two(op::CMPEQD, false, high, zero);
                self.blend(false, inside, narrow, last)
            }
            _ => self.number(index),
        };
        let fits = self.lanes == Lanes::One
            && self.width(index) < 32
            && ones(self.width(index)) < entries.len() as u64;
        if !fits {
            number = self.two(op::MINUD, false, number, last);
        }
        let gather =
            |to, index, code, long, bytes| Instruction::Gather { code, long, to, index, table, bytes };
        match (self.lanes, wide) {
            (Lanes::One, _) => {
                let to = self.new(Home::None, false);
                self.out.instructions.push(Instruction::Entry { wide, to, index: number, table });
                if wide { self.set_wide(i, [to; 2], true) } else { self.set(i, to, true) }
            }
            (_, false) => {
                let long = self.long(false);
                let to = self.new(Home::None, long);
                self.out.instructions.push(gather(to, number, op::GATHERDD, long, 4));
                self.set(i, to, true);
            }
            (lanes, true) => {
                let first = self.new(Home::None, true);
                self.out.instructions.push(gather(first, number, op::GATHERDQ, true, 8));
                let mut second = first;
                if lanes == Lanes::Eight {
                    let high = self.new(Home::None, false);
                    self.out.instructions.push(Instruction::High { to: high, a: number });
                    second = self.new(Home::None, true);
                    self.out.instructions.push(gather(second, high, op::GATHERDQ, true, 8));
                }
                self.set_wide(i, [first, second], true);
            }
        }
    }
}

//! Instructions of slices, concatenations, tables and multiplexers.

use super::super::assembler::Address;
use super::super::instruction::{Home, Instruction, Virtual};
use super::super::op::{self, ElementSize};
use super::{BlockElements, Lower, Wide, WordPart};
use flashd_hwmodel::netlist::Operator;
use flashd_spec::bits::ones;

impl Lower<'_> {
    pub(super) fn slice(&mut self, i: u32, a: u32, low: u32) {
        let (whole, width, bits) = (self.width(a), self.width(i), self.bits());
        // Bits above the top of a clean word are zero.
        let reaches = low + width == whole;
        if whole > bits && low + width > bits && low < bits {
            if width == 1 {
                unreachable!("a bit is in one half");
            }
            let x = if reaches { self.clean_wide(a) } else { self.wide(a) };
            let x = self.shift_both(op::RIGHT, x, low);
            if width > bits {
                return self.set_wide(i, x, reaches);
            }
            let x = self.narrowed(x, WordPart::Low);
            return self.set(i, x, reaches || width == bits);
        }
        // In a half of a wide word, or in a narrow word.
        let (x, low, room, is_clean) = match (whole > bits, low >= bits) {
            (true, true) => {
                let (high, clean) = self.high(a);
                (high, low - bits, whole - bits, clean)
            }
            (true, false) => (self.narrow(a), low, bits, true),
            _ => (self.narrow(a), low, whole, self.is_clean(a)),
        };
        if width == 1 {
            let top = self.shift(op::LEFT, false, x, bits - 1 - low);
            let mask = self.shift(op::SIGNED_RIGHT, false, top, bits - 1);
            return self.set(i, mask, true);
        }
        let clean = low + width == room && (room == bits || is_clean);
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
        let high = (self.narrowed(wide, WordPart::High), clean);
        self.forms[a as usize].high = Some(high);
        high
    }

    pub(super) fn concat(&mut self, i: u32, high: u32, low: u32) {
        let below = self.width(low);
        let mut clean = self.is_clean(high);
        if self.is_wide(i) {
            if let Some(sign_extended) = self.sign_extended_wide(high, low) {
                return self.set_wide(i, sign_extended, self.is_full(i));
            }
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
            return self.set_wide(i, result, clean || self.is_full(i));
        }
        if let Some(sign_extended) = self.sign_extended(high, low) {
            return self.set(i, sign_extended, self.is_full(i));
        }
        let upper = match (self.number_of(high), self.width(high)) {
            (Some(0), _) => None,
            (Some(value), _) => Some(self.constant(value << below, false)),
            (None, 1) => {
                let (mask, bit) = (self.narrow(high), self.constant(1 << below, false));
                Some(self.two(op::AND, false, mask, bit))
            }
            (None, _) => {
                let (shifted_left, is_clean) = self.shifted_left(high, below);
                clean = is_clean;
                Some(shifted_left)
            }
        };
        let lower = (self.number_of(low) != Some(0)).then(|| self.number(low));
        let result = match (upper, lower) {
            (Some(upper), Some(lower)) => self.two(op::OR, false, upper, lower),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => self.constant(0, false),
        };
        self.set(i, result, clean || self.is_full(i));
    }

    /// A narrow word shifted left, zeros below, and whether it is clean.
    fn shifted_left(&mut self, word: u32, places: u32) -> (Virtual, bool) {
        let step = self.at(word);
        let from = step.operands.first().copied().filter(|&from| !self.is_wide(from));
        if let (&Operator::Slice(low), Some(from)) = (&step.operator, from)
            && self.width(from) > 1
            && low == places
        {
            // In place already: a mask replaces two shifts.
            let reaches = low + step.width == self.width(from);
            let clean = reaches && self.is_clean(from);
            let (above, below) = (self.narrow(from), self.constant(ones(places), false));
            return (self.two(op::ANDN, false, below, above), clean);
        }
        let clean = self.is_clean(word);
        let word = self.narrow(word);
        (self.shift(op::LEFT, false, word, places), clean)
    }

    /// A narrow sign extension by two shifts, if the sign has no other reader.
    fn sign_extended(&mut self, high: u32, low: u32) -> Option<Virtual> {
        let (from, top, width) = self.sign_extension(high, low)?;
        if self.is_wide(from) {
            return None;
        }
        let (from, bits) = (self.narrow(from), self.bits());
        let shifted_left = self.shift(op::LEFT, false, from, bits - 1 - top);
        Some(self.shift(op::SIGNED_RIGHT, false, shifted_left, bits - width))
    }

    /// The same for wide words of 32 bits. AVX2 has no arithmetic shift of 64 bits.
    fn sign_extended_wide(&mut self, high: u32, low: u32) -> Option<Wide> {
        let (from, top, width) = self.sign_extension(high, low)?;
        if self.unit == ElementSize::Word {
            return None;
        }
        let shifted_left = if self.is_wide(from) {
            let from = self.wide(from);
            self.shift_both(op::LEFT, from, 31 - top)
        } else {
            // Each half is shifted to the top; bits below it are shifted out again.
            let from = self.narrow(from);
            [31 - top, 15 - top].map(|places| self.shift(op::LEFT, true, from, places))
        };
        Some(self.shift_both(op::SIGNED_RIGHT, shifted_left, 32 - width))
    }

    /// The source of a sign-extended word, its sign bit there, and its width.
    fn sign_extension(&self, high: u32, low: u32) -> Option<(u32, u32, u32)> {
        let sign = match &self.at(high).operator {
            Operator::Repeat if self.uses[high as usize] == 1 => self.at(high).operands[0],
            _ => high,
        };
        let (from, top) = match self.at(sign).operator {
            Operator::Slice(top) if self.width(sign) == 1 && self.uses[sign as usize] == 1 => {
                (self.at(sign).operands[0], top)
            }
            _ => return None,
        };
        let base = match self.at(low).operator {
            _ if low == from => 0,
            Operator::Slice(base) if self.at(low).operands[0] == from => base,
            _ => return None,
        };
        let width = self.width(low);
        (top + 1 == base + width && width > 1).then_some((from, top, width))
    }

    pub(super) fn repeat(&mut self, i: u32, bit: u32) {
        let width = self.width(i);
        if self.is_wide(i) {
            let (mask, all) = (self.wide(bit), self.wide_constant(ones(width)));
            let result = self.both(op::AND, mask, all);
            return self.set_wide(i, result, true);
        }
        // Bits above the width are undefined: the mask is the word.
        let mask = self.narrow(bit);
        self.set(i, mask, width == self.bits() || width == 1);
    }

    pub(super) fn lookup(&mut self, i: u32, index: u32, entries: &[u64]) {
        let width = self.width(i);
        let entries: Vec<u64> = match width {
            1 => entries.iter().map(|&bit| if bit == 0 { 0 } else { ones(32) }).collect(),
            _ => entries.to_vec(),
        };
        let wide = self.is_wide(i);
        // Lanes past the last element are undefined, and may not read past the end of the table.
        let last = self.constant(entries.len() as u64 - 1, false);
        let mut number = if self.is_wide(index) {
            // An index beyond a narrow word is past the end of the table.
            let whole = self.clean_wide(index);
            let (narrow, high) = (self.narrowed(whole, WordPart::Low), self.narrowed(whole, WordPart::High));
            let zero = self.constant(0, false);
            let inside = self.two(self.codes.equal[0], false, high, zero);
            self.blend(false, inside, narrow, last)
        } else {
            self.number(index)
        };
        let reaches = self.width(index) >= self.bits() || ones(self.width(index)) >= entries.len() as u64;
        if reaches || self.lanes != BlockElements::One {
            number = self.two(self.codes.min, false, number, last);
        }
        let table = Address::fixed(self.pool.table(&entries, width > 32));
        let gather =
            |to, index, code, length, bytes| Instruction::Gather { code, length, to, index, table, bytes };
        let length = self.length(wide);
        if self.unit == ElementSize::Half {
            let result = self.widened(number).map(|index| {
                let to = self.fresh(Home::None, length);
                self.out.instructions.push(gather(to, index, op::GATHERDD, length, 4));
                to
            });
            return self.set_wide(i, result, true);
        }
        match (self.lanes, wide) {
            (BlockElements::One, _) => {
                let to = self.fresh(Home::None, length);
                self.out.instructions.push(Instruction::Entry { wide, to, index: number, table });
                if wide { self.set_wide(i, [to; 2], true) } else { self.set(i, to, true) }
            }
            (_, false) => {
                let to = self.fresh(Home::None, length);
                self.out.instructions.push(gather(to, number, op::GATHERDD, length, 4));
                self.set(i, to, true);
            }
            (_, true) => {
                let first = self.fresh(Home::None, length);
                self.out.instructions.push(gather(first, number, op::GATHERDQ, length, 8));
                let mut second = first;
                if self.parts() > 1 {
                    let high = self.upper(number);
                    second = self.fresh(Home::None, length);
                    self.out.instructions.push(gather(second, high, op::GATHERDQ, length, 8));
                }
                self.set_wide(i, [first, second], true);
            }
        }
    }

    pub(super) fn select(&mut self, i: u32, condition: u32, then: u32, otherwise: u32) {
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
        let (then, otherwise) = (self.narrow(then), self.narrow(otherwise));
        let mask = self.narrow(condition);
        let result = self.blend(false, mask, then, otherwise);
        self.set(i, result, clean);
    }

    fn blend(&mut self, wide: bool, mask: Virtual, then: Virtual, otherwise: Virtual) -> Virtual {
        let length = self.length(wide);
        let to = self.fresh(Home::None, length);
        self.out.instructions.push(Instruction::Blend { length, to, otherwise, then, mask });
        to
    }
}

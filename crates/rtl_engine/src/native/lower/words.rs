//! The instructions of steps that take words apart, join them and choose among them.

use super::super::assembler::Address;
use super::super::instruction::{Home, Instruction, Virtual};
use super::super::op::{self, Unit};
use super::{Lanes, Lower, Part, Wide};
use flashd_hwmodel::netlist::Operator;
use flashd_spec::bits::ones;

impl Lower<'_> {
    pub(super) fn slice(&mut self, i: u32, a: u32, low: u32) {
        let (whole, width, bits) = (self.width(a), self.width(i), self.bits());
        // Above the top of a clean word there is nothing.
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
            let x = self.cut(x, Part::Low);
            return self.set(i, x, reaches || width == bits);
        }
        // In one of the halves of a wide word, or in a narrow one.
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
        let high = (self.cut(wide, Part::High), clean);
        self.forms[a as usize].high = Some(high);
        high
    }

    pub(super) fn concat(&mut self, i: u32, high: u32, low: u32) {
        let below = self.width(low);
        let mut clean = self.is_clean(high);
        if self.is_wide(i) {
            if let Some(extended) = self.extended_wide(high, low) {
                return self.set_wide(i, extended, self.is_full(i));
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
        if let Some(extended) = self.extended(high, low) {
            return self.set(i, extended, self.is_full(i));
        }
        let upper = match (self.number_of(high), self.width(high)) {
            (Some(0), _) => None,
            (Some(value), _) => Some(self.constant(value << below, false)),
            (None, 1) => {
                let (mask, bit) = (self.narrow(high), self.constant(1 << below, false));
                Some(self.two(op::AND, false, mask, bit))
            }
            (None, _) => {
                let (raised, is_clean) = self.raised(high, below);
                clean = is_clean;
                Some(raised)
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

    /// A narrow word so many places up, zeros below, and whether it is clean.
    fn raised(&mut self, word: u32, places: u32) -> (Virtual, bool) {
        let step = self.at(word);
        let from = step.operands.first().copied().filter(|&from| !self.is_wide(from));
        let (above, low, clean) = match (&step.operator, from) {
            // What all bits are needs no shift.
            // Those of the bit, as the word may have been cut to its width.
            (Operator::Repeat, Some(bit)) if self.lanes == Lanes::Sixteen => {
                (self.narrow(bit), places, false)
            }
            // Where it comes from it stands higher, over what is cut off: one shift, or none, instead of two.
            (&Operator::Slice(low), Some(from))
                if self.width(from) > 1 && (low == places || self.lanes == Lanes::Sixteen) =>
            {
                let reaches = low + step.width == self.width(from);
                (self.narrow(from), low, reaches && self.is_clean(from))
            }
            _ => {
                let clean = self.is_clean(word);
                let word = self.narrow(word);
                return (self.shift(op::LEFT, false, word, places), clean);
            }
        };
        let moved = if low > places {
            self.shift(op::RIGHT, false, above, low - places)
        } else {
            self.shift(op::LEFT, false, above, places - low)
        };
        // With an OR behind it this is one instruction of three operands, where there are such.
        let below = self.constant(ones(places), false);
        (self.two(op::ANDN, false, below, moved), clean)
    }

    /// A narrow word under copies of its own sign, if nothing else reads that: two shifts.
    fn extended(&mut self, high: u32, low: u32) -> Option<Virtual> {
        let (from, top, width) = self.extends(high, low)?;
        if self.is_wide(from) {
            return None;
        }
        let (from, bits) = (self.narrow(from), self.bits());
        let raised = self.shift(op::LEFT, false, from, bits - 1 - top);
        Some(self.shift(op::SIGNED_RIGHT, false, raised, bits - width))
    }

    /// The same of a word of up to 32 bits; words of 64 bits have no such shift in AVX2.
    fn extended_wide(&mut self, high: u32, low: u32) -> Option<Wide> {
        let (from, top, width) = self.extends(high, low)?;
        if self.unit == Unit::Word {
            return None;
        }
        let raised = if self.is_wide(from) {
            let from = self.wide(from);
            self.shift_both(op::LEFT, from, 31 - top)
        } else {
            // Each half to the top: what is below it in its element is shifted out again.
            let from = self.narrow(from);
            [31 - top, 15 - top].map(|places| self.shift(op::LEFT, true, from, places))
        };
        Some(self.shift_both(op::SIGNED_RIGHT, raised, 32 - width))
    }

    /// What a word comes from that stands under copies of its own sign, the bit that the sign is there, and the word's width.
    fn extends(&self, high: u32, low: u32) -> Option<(u32, u32, u32)> {
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
        // Above the width may be anything: the mask is the word.
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
        // What is behind the last element may be anything; no element may read what is behind the table.
        let last = self.constant(entries.len() as u64 - 1, false);
        let mut number = if self.is_wide(index) {
            // Beyond a narrow word is beyond the table.
            let whole = self.clean_wide(index);
            let (narrow, high) = (self.cut(whole, Part::Low), self.cut(whole, Part::High));
            let zero = self.constant(0, false);
            let inside = self.two(self.codes.equal[0], false, high, zero);
            self.blend(false, inside, narrow, last)
        } else {
            self.number(index)
        };
        let reaches = self.width(index) >= self.bits() || ones(self.width(index)) >= entries.len() as u64;
        let permutes = self.lanes == Lanes::Sixteen && entries.len() <= MOST_PERMUTED;
        if reaches || self.lanes != Lanes::One && !permutes {
            number = self.two(self.codes.min, false, number, last);
        }
        if permutes {
            return self.permuted(i, number, &entries);
        }
        let table = Address::fixed(self.pool.table(&entries, width > 32));
        let gather =
            |to, index, code, length, bytes| Instruction::Gather { code, length, to, index, table, bytes };
        let length = self.length(wide);
        if self.unit == Unit::Half {
            let result = self.spread(number).map(|index| {
                let to = self.fresh(Home::None, length);
                self.out.instructions.push(gather(to, index, op::GATHERDD, length, 4));
                to
            });
            return self.set_wide(i, result, true);
        }
        match (self.lanes, wide) {
            (Lanes::One, _) => {
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
                    let high = self.upper(length, number);
                    second = self.fresh(Home::None, length);
                    self.out.instructions.push(gather(second, high, op::GATHERDQ, length, 8));
                }
                self.set_wide(i, [first, second], true);
            }
        }
    }

    /// Entries of a small table: sixteen words of it are a vector that the index permutes, which takes a fraction of a gather.
    fn permuted(&mut self, i: u32, index: Virtual, entries: &[u64]) {
        let low = self.chosen(index, entries, 0);
        if !self.is_wide(i) {
            return self.set(i, low, true);
        }
        let bits = self.bits();
        let high = self.chosen(index, entries, bits);
        let (low, high) = (self.spread(low), self.spread(high));
        let high = self.shift_both(op::LEFT, high, bits);
        let result = self.both(op::OR, low, high);
        self.set_wide(i, result, true);
    }

    /// The words of the entries that begin at a bit.
    fn chosen(&mut self, index: Virtual, entries: &[u64], bit: u32) -> Virtual {
        let mut parts = Vec::new();
        let (bits, each) = (self.bits(), self.unit.each() as usize);
        let permuted = PERMUTED * each;
        for part in entries.chunks(permuted) {
            let mut words: Vec<u64> = part.iter().map(|entry| entry >> bit & ones(bits)).collect();
            words.resize(permuted, 0);
            let of_memory = |words: &[u64]| words.iter().rev().fold(0, |all, word| all << bits | word);
            let words: Vec<u64> = words.chunks(each).map(of_memory).collect();
            let table = Home::Whole(Address::fixed(self.pool.table(&words, false)));
            let table = self.fresh(table, self.length(false));
            parts.push(self.two(self.codes.permute, false, index, table));
        }
        // The bits above those that permute choose among the parts.
        let mut place = permuted.ilog2();
        while parts.len() > 1 {
            let top = self.shift(op::LEFT, false, index, bits - 1 - place);
            let mask = self.shift(op::SIGNED_RIGHT, false, top, bits - 1);
            let pairs = parts.chunks(2).map(|pair| match *pair {
                [first, second] => self.blend(false, mask, second, first),
                _ => pair[0],
            });
            parts = pairs.collect();
            place += 1;
        }
        parts[0]
    }
}

/// Words of memory that one instruction permutes, and the entries for which a few of them are less than a gather.
const PERMUTED: usize = 16;
const MOST_PERMUTED: usize = 64;

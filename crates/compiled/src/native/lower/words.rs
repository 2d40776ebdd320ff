//! The instructions of steps that take words apart, join them and choose among them.

use super::super::assembler::{Address, op};
use super::super::instruction::{Home, Instruction, Virtual};
use super::{Lanes, Lower};
use flashd_hwmodel::netlist::Operator;
use flashd_spec::bits::ones;

impl Lower<'_> {
    pub(super) fn slice(&mut self, i: u32, a: u32, low: u32) {
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

    pub(super) fn concat(&mut self, i: u32, high: u32, low: u32) {
        let below = self.width(low);
        let mut clean = self.is_clean(high);
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
        if let Some(extended) = self.extended(high, low) {
            return self.set(i, extended, self.width(i) == 32);
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
        self.set(i, result, clean || self.width(i) == 32);
    }

    /// A narrow word so many places up, zeros below, and whether it is clean.
    fn raised(&mut self, word: u32, places: u32) -> (Virtual, bool) {
        let step = self.at(word);
        let from = step.operands.first().copied().filter(|&from| !self.is_wide(from));
        let (above, low, clean) = match (&step.operator, from) {
            // What all bits are needs no shift.
            (Operator::Repeat, Some(_)) if self.lanes == Lanes::Sixteen => (self.narrow(word), places, false),
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
        if top + 1 != base + width || self.is_wide(from) || width < 2 {
            return None;
        }
        let from = self.narrow(from);
        let raised = self.shift(op::LEFT, false, from, 31 - top);
        Some(self.shift(op::SIGNED_RIGHT, false, raised, 32 - width))
    }

    pub(super) fn repeat(&mut self, i: u32, bit: u32) {
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

    pub(super) fn lookup(&mut self, i: u32, index: u32, entries: &[u64]) {
        let width = self.width(i);
        let entries: Vec<u64> = match width {
            1 => entries.iter().map(|&bit| if bit == 0 { 0 } else { ones(32) }).collect(),
            _ => entries.to_vec(),
        };
        let wide = width > 32;
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
        let reaches = self.width(index) >= 32 || ones(self.width(index)) >= entries.len() as u64;
        let permutes = self.lanes == Lanes::Sixteen && entries.len() <= MOST_PERMUTED;
        if reaches || self.lanes != Lanes::One && !permutes {
            number = self.two(op::MINUD, false, number, last);
        }
        if permutes {
            return self.permuted(i, number, &entries);
        }
        let table = Address::fixed(self.pool.table(&entries, wide));
        let gather =
            |to, index, code, length, bytes| Instruction::Gather { code, length, to, index, table, bytes };
        let length = self.length(wide);
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
        let high = self.chosen(index, entries, 32);
        let (low, high) = (self.spread(op::MOVZXDQ, low), self.spread(op::MOVZXDQ, high));
        let high = self.shift_both(op::LEFT, high, 32);
        let result = self.both(op::OR, low, high);
        self.set_wide(i, result, true);
    }

    /// The words of the entries that begin at a bit.
    fn chosen(&mut self, index: Virtual, entries: &[u64], bit: u32) -> Virtual {
        let mut parts = Vec::new();
        for part in entries.chunks(PERMUTED) {
            let mut words: Vec<u64> = part.iter().map(|entry| entry >> bit & ones(32)).collect();
            words.resize(PERMUTED, 0);
            let table = Home::Whole(Address::fixed(self.pool.table(&words, false)));
            let table = self.fresh(table, self.length(false));
            parts.push(self.two(op::PERMD, false, index, table));
        }
        // The bits above those that permute choose among the parts.
        let mut place = PERMUTED.ilog2();
        while parts.len() > 1 {
            let top = self.shift(op::LEFT, false, index, 31 - place);
            let mask = self.shift(op::SIGNED_RIGHT, false, top, 31);
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

/// Words that one instruction permutes, and the entries for which a few of them are less than a gather.
const PERMUTED: usize = 16;
const MOST_PERMUTED: usize = 64;

//! The forms of a word: narrow or wide, clean or not, one bit as a mask or as a number; each is made once, when it is read.

use super::super::assembler::{Address, Length};
use super::super::instruction::{Home, Instruction, Virtual};
use super::super::op::{self, Code, Unit};
use super::{Lanes, Lower, Part, Wide};
use crate::job::Source;
use flashd_hwmodel::netlist::Operator;
use flashd_spec::bits::ones;

/// The order that takes pairs of words apart which two vectors have by turns.
const UNMIXED: [u64; 8] = [0, 2, 4, 6, 1, 3, 5, 7];

impl Lower<'_> {
    /// The low bits, as many as a narrow word has; above the width of such a word may be anything.
    pub(super) fn narrow(&mut self, i: u32) -> Virtual {
        let forms = &self.forms[i as usize];
        if let Some(known) = forms.clean_narrow.or(forms.narrow) {
            return known;
        }
        let is_alone = forms.clean_wide.is_some() && !self.is_wide(i);
        let part = match self.width(i) {
            1 => Part::Either,
            _ if is_alone => Part::Alone,
            _ => Part::Low,
        };
        let wide = self.wide(i);
        let narrow = self.cut(wide, part);
        let forms = &mut self.forms[i as usize];
        forms.narrow = Some(narrow);
        if is_alone {
            forms.clean_narrow = Some(narrow);
        }
        narrow
    }

    /// Narrow words of wide ones.
    pub(super) fn cut(&mut self, [a, b]: Wide, part: Part) -> Virtual {
        if self.unit == Unit::Half {
            return self.beside_each_other([a, b], part);
        }
        let pattern = if part == Part::High { 0xDD } else { 0x88 };
        match self.lanes {
            Lanes::One if part != Part::High => a,
            Lanes::One => self.shift(op::RIGHT, true, a, 32),
            Lanes::Four => {
                let high = self.upper(Length::Y, a);
                self.shuffle(Length::X, [a, high], pattern)
            }
            Lanes::Eight | Lanes::Sixteen => {
                let length = self.length(true);
                let mixed = self.shuffle(length, [a, b], pattern);
                if a == b {
                    return mixed;
                }
                if length == Length::Z {
                    let order = Home::Whole(Address::fixed(self.pool.table(&UNMIXED, true)));
                    let order = self.fresh(order, length);
                    return self.two(op::PERMQ_BY, true, order, mixed);
                }
                let to = self.fresh(Home::None, length);
                let (code, byte) = (op::PERMQ, Some(0xD8));
                self.out.instructions.push(Instruction::One { code, length, to, a: mixed, byte });
                to
            }
        }
    }

    /// Words of 16 bits from two vectors of 32: those of the first one below those of the second.
    fn beside_each_other(&mut self, [a, b]: Wide, part: Part) -> Virtual {
        let below = self.constant(ones(16), true);
        let low = match part {
            Part::Alone => a,
            Part::High => self.shift(op::RIGHT, true, a, 16),
            Part::Low | Part::Either => self.two(op::AND, true, a, below),
        };
        let high = match part {
            Part::Low | Part::Alone => self.shift(op::LEFT, true, b, 16),
            Part::High | Part::Either => self.two(op::ANDN, true, below, b),
        };
        self.two(op::OR, true, low, high)
    }

    /// Words of two vectors, by a pattern, in each 128 bits.
    fn shuffle(&mut self, length: Length, [a, b]: Wide, pattern: u8) -> Virtual {
        let to = self.fresh(Home::None, length);
        let (code, byte) = (op::SHUFPS, Some(pattern));
        self.out.instructions.push(Instruction::Two { code, length, to, a, b, byte });
        to
    }

    /// The word as wide elements; above its width may be anything.
    pub(super) fn wide(&mut self, i: u32) -> Wide {
        let forms = &self.forms[i as usize];
        if let Some(known) = forms.clean_wide.or(forms.wide) {
            return known;
        }
        let wide = match (&self.at(i).operator, self.width(i)) {
            (_, 1) => {
                let mask = self.narrow(i);
                self.spread_mask(mask)
            }
            (&Operator::Constant(value), _) => self.wide_constant(value),
            (&Operator::Input(place), _) => match self.job.sources[place as usize] {
                // Straight from memory.
                Source::Each(at) if self.lanes != Lanes::One => {
                    let from = self.address(at, 1);
                    let (length, apart) = (self.length(true), self.apart() / 2);
                    let first = self.fresh(Home::By(op::MOVZXDQ, from), length);
                    match self.parts() {
                        1 => [first; 2],
                        _ => [first, self.fresh(Home::By(op::MOVZXDQ, from.plus(apart)), length)],
                    }
                }
                _ => {
                    let narrow = self.narrow(i);
                    self.spread(narrow)
                }
            },
            _ => {
                let narrow = self.clean(i);
                self.spread(narrow)
            }
        };
        let forms = &mut self.forms[i as usize];
        (forms.wide, forms.clean_wide) = (Some(wide), Some(wide));
        wide
    }

    /// Clean narrow words as wide ones.
    pub(super) fn spread(&mut self, narrow: Virtual) -> Wide {
        match self.unit {
            Unit::Word => self.extend(op::MOVZXDQ, narrow),
            Unit::Half => {
                let below = self.constant(ones(16), true);
                [self.two(op::AND, true, narrow, below), self.shift(op::RIGHT, true, narrow, 16)]
            }
        }
    }

    fn spread_mask(&mut self, narrow: Virtual) -> Wide {
        match self.unit {
            Unit::Word => self.extend(op::MOVSXDQ, narrow),
            Unit::Half => {
                let raised = self.shift(op::LEFT, true, narrow, 16);
                [raised, narrow].map(|top| self.shift(op::SIGNED_RIGHT, true, top, 16))
            }
        }
    }

    fn extend(&mut self, code: Code, narrow: Virtual) -> Wide {
        let length = self.length(true);
        let first = self.one(code, length, narrow);
        if self.parts() == 1 {
            return [first; 2];
        }
        let high = self.upper(length, narrow);
        [first, self.one(code, length, high)]
    }

    /// A narrow word with zeros above it; a mask is what it is.
    pub(super) fn clean(&mut self, i: u32) -> Virtual {
        if let Some(known) = self.forms[i as usize].clean_narrow {
            return known;
        }
        let (narrow, width) = (self.narrow(i), self.width(i));
        let clean = if self.forms[i as usize].clean_narrow.is_some() || width == 1 || width >= self.bits() {
            narrow
        } else {
            let mask = self.constant(ones(width), false);
            self.two(op::AND, false, narrow, mask)
        };
        self.forms[i as usize].clean_narrow = Some(clean);
        clean
    }

    pub(super) fn clean_wide(&mut self, i: u32) -> Wide {
        if let Some(known) = self.forms[i as usize].clean_wide {
            return known;
        }
        let (wide, width) = (self.wide(i), self.width(i));
        // What became wide from a narrow word is clean.
        let clean = match (self.forms[i as usize].clean_wide, width) {
            (Some(clean), _) => clean,
            (None, width) if width == 2 * self.bits() => wide,
            (None, _) => {
                let mask = self.wide_constant(ones(width));
                self.both(op::AND, wide, mask)
            }
        };
        self.forms[i as usize].clean_wide = Some(clean);
        clean
    }

    /// A narrow word as a number, which one bit is as 0 or 1.
    pub(super) fn number(&mut self, i: u32) -> Virtual {
        if self.width(i) > 1 {
            return self.clean(i);
        }
        if let Some(known) = self.forms[i as usize].number {
            return known;
        }
        let one = self.constant(1, false);
        let number = match self.any_of(i) {
            Some(word) => {
                let word = self.clean(word);
                self.two(self.codes.min, false, word, one)
            }
            None => {
                let mask = self.narrow(i);
                self.two(op::AND, false, mask, one)
            }
        };
        self.forms[i as usize].number = Some(number);
        number
    }

    /// The narrow word of which a bit tells whether it is more than zero.
    fn any_of(&self, i: u32) -> Option<u32> {
        let step = self.at(i);
        let word = match (&step.operator, &step.operands[..]) {
            (Operator::Any, &[word]) => word,
            (Operator::Not, &[inner]) => match (&self.at(inner).operator, &self.at(inner).operands[..]) {
                (Operator::Equal, &[word, zero]) if self.number_of(zero) == Some(0) => word,
                _ => return None,
            },
            _ => return None,
        };
        (2..=self.bits()).contains(&self.width(word)).then_some(word)
    }

    pub(super) fn wide_number(&mut self, i: u32) -> Wide {
        if self.width(i) > 1 {
            return self.clean_wide(i);
        }
        let (mask, one) = (self.wide(i), self.wide_constant(1));
        self.both(op::AND, mask, one)
    }

    pub(super) fn set(&mut self, i: u32, narrow: Virtual, clean: bool) {
        let forms = &mut self.forms[i as usize];
        forms.narrow = Some(narrow);
        forms.clean_narrow = clean.then_some(narrow);
    }

    pub(super) fn set_wide(&mut self, i: u32, wide: Wide, clean: bool) {
        let forms = &mut self.forms[i as usize];
        forms.wide = Some(wide);
        forms.clean_wide = clean.then_some(wide);
    }
}

//! The forms of a word: narrow or wide, clean or not, one bit as a mask or as a number. Each is computed once, on demand.

use super::super::assembler::Length;
use super::super::instruction::{Home, Instruction, Virtual};
use super::super::op::{self, ElementSize, Opcode};
use super::{BlockElements, Lower, Wide, WordPart};
use crate::job::JobInput;
use flashd_hwmodel::netlist::Operator;
use flashd_spec::bits::ones;

impl Lower<'_> {
    /// The low bits of a word as a narrow word. Bits above its width are undefined.
    pub(super) fn narrow(&mut self, i: u32) -> Virtual {
        let forms = &self.forms[i as usize];
        if let Some(known) = forms.clean_narrow.or(forms.narrow) {
            return known;
        }
        let is_alone = forms.clean_wide.is_some() && !self.is_wide(i);
        let part = match self.width(i) {
            1 => WordPart::Either,
            _ if is_alone => WordPart::Alone,
            _ => WordPart::Low,
        };
        let wide = self.wide(i);
        let narrow = self.narrowed(wide, part);
        let forms = &mut self.forms[i as usize];
        forms.narrow = Some(narrow);
        if is_alone {
            forms.clean_narrow = Some(narrow);
        }
        narrow
    }

    /// Narrow words of wide ones.
    pub(super) fn narrowed(&mut self, [a, b]: Wide, part: WordPart) -> Virtual {
        if self.unit == ElementSize::Half {
            return self.interleaved([a, b], part);
        }
        let pattern = if part == WordPart::High { 0xDD } else { 0x88 };
        match self.lanes {
            BlockElements::One if part != WordPart::High => a,
            BlockElements::One => self.shift(op::RIGHT, true, a, 32),
            BlockElements::Four => {
                let high = self.upper(a);
                self.shuffle(Length::X, [a, high], pattern)
            }
            BlockElements::Eight => {
                let length = self.length(true);
                let mixed = self.shuffle(length, [a, b], pattern);
                if a == b {
                    return mixed;
                }
                let to = self.fresh(Home::None, length);
                let (code, byte) = (op::PERMQ, Some(0xD8));
                self.out.instructions.push(Instruction::One { code, length, to, a: mixed, byte });
                to
            }
        }
    }

    /// Interleaves 16-bit words of two vectors of 32 bits: low halves from the first, high halves from the second.
    fn interleaved(&mut self, [a, b]: Wide, part: WordPart) -> Virtual {
        let below = self.constant(ones(16), true);
        let low = match part {
            WordPart::Alone => a,
            WordPart::High => self.shift(op::RIGHT, true, a, 16),
            WordPart::Low | WordPart::Either => self.two(op::AND, true, a, below),
        };
        let high = match part {
            WordPart::Low | WordPart::Alone => self.shift(op::LEFT, true, b, 16),
            WordPart::High | WordPart::Either => self.two(op::ANDN, true, below, b),
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

    /// The word as wide elements. Bits above its width are undefined.
    pub(super) fn wide(&mut self, i: u32) -> Wide {
        let forms = &self.forms[i as usize];
        if let Some(known) = forms.clean_wide.or(forms.wide) {
            return known;
        }
        let wide = match (&self.at(i).operator, self.width(i)) {
            (_, 1) => {
                let mask = self.narrow(i);
                self.widen_mask(mask)
            }
            (&Operator::Constant(value), _) => self.wide_constant(value),
            (&Operator::Input(place), _) => match self.job.sources[place as usize] {
                // Straight from memory.
                JobInput::Vector(at) if self.lanes != BlockElements::One => {
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
                    self.widened(narrow)
                }
            },
            _ => {
                let narrow = self.clean(i);
                self.widened(narrow)
            }
        };
        let forms = &mut self.forms[i as usize];
        (forms.wide, forms.clean_wide) = (Some(wide), Some(wide));
        wide
    }

    /// Clean narrow words as wide ones.
    pub(super) fn widened(&mut self, narrow: Virtual) -> Wide {
        match self.unit {
            ElementSize::Word => self.extend(op::MOVZXDQ, narrow),
            ElementSize::Half => {
                let below = self.constant(ones(16), true);
                [self.two(op::AND, true, narrow, below), self.shift(op::RIGHT, true, narrow, 16)]
            }
        }
    }

    fn widen_mask(&mut self, narrow: Virtual) -> Wide {
        match self.unit {
            ElementSize::Word => self.extend(op::MOVSXDQ, narrow),
            ElementSize::Half => {
                let shifted_left = self.shift(op::LEFT, true, narrow, 16);
                [shifted_left, narrow].map(|top| self.shift(op::SIGNED_RIGHT, true, top, 16))
            }
        }
    }

    fn extend(&mut self, code: Opcode, narrow: Virtual) -> Wide {
        let length = self.length(true);
        let first = self.one(code, length, narrow);
        if self.parts() == 1 {
            return [first; 2];
        }
        let high = self.upper(narrow);
        [first, self.one(code, length, high)]
    }

    /// A narrow word with zeros above it; masks stay.
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
        // Zero extension makes clean words.
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

    /// A narrow word as a number: one bit as 0 or 1.
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

    /// The narrow word that a bit compares with zero.
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

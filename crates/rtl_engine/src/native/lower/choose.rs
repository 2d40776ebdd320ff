//! Choices between words: by a mask, or in zmm by a look at two others.

use super::super::assembler::{Length, Test};
use super::super::instruction::{Home, Instruction, Virtual};
use super::{Lanes, Lower};
use flashd_hwmodel::netlist::Operator;
use flashd_spec::bits::ones;

/// A look at two words, and whether it finds the opposite.
type Look = (Test, Virtual, Virtual, bool);

impl Lower<'_> {
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
        let result = match self.look(condition) {
            Some(look) => self.chosen_by(look, then, otherwise),
            None => {
                let mask = self.narrow(condition);
                self.blend(false, mask, then, otherwise)
            }
        };
        self.set(i, result, clean);
    }

    /// A narrow word where a bit is high, and nothing where it is not: none if that is best done by a mask.
    pub(super) fn where_high(&mut self, i: u32, repeated: u32, a: u32) -> bool {
        let step = self.at(repeated);
        if step.operator != Operator::Repeat || self.is_wide(i) {
            return false;
        }
        let Some(look) = self.look(step.operands[0]) else { return false };
        let clean = self.is_clean(a);
        let (then, otherwise) = (self.narrow(a), self.constant(0, false));
        let result = self.chosen_by(look, then, otherwise);
        self.set(i, result, clean);
        true
    }

    fn chosen_by(&mut self, (test, a, b, not): Look, then: Virtual, otherwise: Virtual) -> Virtual {
        let (then, otherwise) = if not { (otherwise, then) } else { (then, otherwise) };
        let to = self.fresh(Home::None, Length::Z);
        self.out.instructions.push(Instruction::Choose { unit: self.unit, test, a, b, to, then, otherwise });
        to
    }

    /// The look at narrow words that tells a bit, if there is one: it takes less than a mask and a blend.
    fn look(&mut self, condition: u32) -> Option<Look> {
        if self.lanes != Lanes::Sixteen {
            return None;
        }
        let step = self.at(condition);
        let first = *step.operands.first()?;
        let width = self.width(first);
        if width == 1 && step.operator != Operator::Not || width > self.bits() {
            return None;
        }
        let second = step.operands.get(1).copied();
        match (&step.operator, second) {
            (Operator::Not, _) => {
                let (test, a, b, not) = self.look(first)?;
                Some((test, a, b, !not))
            }
            (Operator::Equal, Some(second)) if self.number_of(second) == Some(0) => {
                self.look_at_bits(first, ones(width), true)
            }
            (Operator::Equal, Some(second)) => {
                let (a, b) = match self.number_of(second) {
                    Some(value) => self.compared(first, value),
                    None => (self.clean(first), self.clean(second)),
                };
                Some((Test::Equal, a, b, false))
            }
            (Operator::Any, _) => self.look_at_bits(first, ones(width), false),
            (Operator::Slice(low), _) => self.look_at_bits(first, 1 << low, false),
            (Operator::Less, Some(second)) => {
                Some((Test::Less, self.clean(first), self.clean(second), false))
            }
            (Operator::AtLeast, Some(second)) => {
                Some((Test::Less, self.clean(first), self.clean(second), true))
            }
            (Operator::SignedLess, Some(second)) => {
                let [a, b] = [first, second].map(|x| self.on_top(x));
                Some((Test::SignedLess, a, b, false))
            }
            _ => None,
        }
    }

    fn look_at_bits(&mut self, a: u32, bits: u64, not: bool) -> Option<Look> {
        let (a, bits) = self.bits_of(a, bits);
        Some((Test::Meets, a, bits, not))
    }

    /// Bits of a narrow word, where they come from.
    pub(super) fn bits_of(&mut self, mut a: u32, mut bits: u64) -> (Virtual, Virtual) {
        while let Operator::Slice(low) = self.at(a).operator
            && !self.is_wide(self.at(a).operands[0])
            && self.width(self.at(a).operands[0]) > 1
        {
            (a, bits) = (self.at(a).operands[0], bits << low);
        }
        (self.narrow(a), self.constant(bits, false))
    }

    pub(super) fn blend(&mut self, wide: bool, mask: Virtual, then: Virtual, otherwise: Virtual) -> Virtual {
        let length = self.length(wide);
        let to = self.fresh(Home::None, length);
        self.out.instructions.push(match length {
            Length::Z => Instruction::Logic { to, of: [mask, then, otherwise], table: SECOND_OR_THIRD },
            _ => Instruction::Blend { length, to, otherwise, then, mask },
        });
        to
    }
}

/// The truth table of the second operand where the first is high, and of the third where it is not.
const SECOND_OR_THIRD: u8 = 0xCA;

//! Barrel shifters seen as shifts.
//!
//! [`shift_right_filled`](flashd_hwmodel::arith::fixed::shift_right_filled) and
//! [`shift_right_sticky`](flashd_hwmodel::word::Word::shift_right_sticky) describe a choice for each bit of the amount, as hardware has
//! them. A processor shifts by any amount at once: with ones shifted in where the complement has zeros, and with the sticky bit from a
//! comparison of the word with what comes of shifting it back. What is looked for are choices between a word and the same word as one of
//! these functions moves it, built anew and compared: what differs anywhere is left as it is.

use super::Builder;
use flashd_hwmodel::netlist::Operator;

/// What happens to the two ends of a word that is shifted right.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// A bit is shifted in.
    Filled(u32),
    /// Zeros are shifted in; what is shifted out goes into the lowest bit.
    Sticky,
}

/// A word that is shifted: which one, by a word.
#[derive(Clone, Copy)]
pub(super) struct Shifted {
    ends: Ends,
    base: u32,
    amount: u32,
}

impl Builder {
    /// The shift by all bits of an amount that have come so far, if this is the choice by its next bit and not the first one.
    pub(super) fn barrel(&mut self, condition: u32, then: u32, otherwise: u32) -> Option<u32> {
        let width = self.width(then);
        let (ends, places) = self.stage(then, otherwise)?;
        let (base, amount) = match self.shifts.get(&otherwise) {
            Some(shifted) if shifted.ends == ends => (shifted.base, Some(shifted.amount)),
            _ => {
                let step = &self.steps[otherwise as usize];
                let &[first, then, base] = &step.operands[..] else { return None };
                let is_next = step.operator == Operator::Select && self.stage(then, base)?.0 == ends;
                let places = if is_next { self.stage(then, base)?.1 } else { return None };
                (base, self.with_bit(None, first, places))
            }
        };
        let amount = self.with_bit(Some(amount?), condition, places)?;
        // Only bits that are a word already.
        if self.steps[amount as usize].operator == Operator::Concat {
            return None;
        }
        let result = match ends {
            Ends::Filled(fill) => {
                let fill = self.push(Operator::Repeat, &[fill], width);
                let turned = self.push(Operator::Xor, &[base, fill], width);
                let shifted = self.push(Operator::ShiftRight, &[turned, amount], width);
                self.push(Operator::Xor, &[shifted, fill], width)
            }
            Ends::Sticky => {
                let shifted = self.push(Operator::ShiftRight, &[base, amount], width);
                let back = self.push(Operator::ShiftLeft, &[shifted, amount], width);
                let same = self.push(Operator::Equal, &[back, base], 1);
                let lost = self.push(Operator::Not, &[same], 1);
                let zeros = self.constant(width - 1, 0);
                let lost = self.push(Operator::Concat, &[zeros, lost], width);
                self.push(Operator::Or, &[shifted, lost], width)
            }
        };
        self.shifts.insert(result, Shifted { ends, base, amount });
        Some(result)
    }

    /// By how many places, and how, a word moves to another one; a power of two.
    fn stage(&mut self, then: u32, word: u32) -> Option<(Ends, u32)> {
        let width = self.width(word);
        if self.steps[then as usize].operator != Operator::Concat {
            return None;
        }
        let fill = self.push(Operator::Slice(width - 1), &[then], 1);
        for places in (0..width.ilog2() + 1).map(|i| 1 << i).filter(|&places| places < width) {
            let incoming = self.push(Operator::Repeat, &[fill], places);
            let kept = self.push(Operator::Slice(places), &[word], width - places);
            if self.push(Operator::Concat, &[incoming, kept], width) == then {
                return Some((Ends::Filled(fill), places));
            }
            let out = self.push(Operator::Slice(0), &[word], places + 1);
            let lost = self.push(Operator::Any, &[out], 1);
            let moved = match width - places {
                1 => lost,
                left => {
                    let kept = self.push(Operator::Slice(places + 1), &[word], left - 1);
                    self.push(Operator::Concat, &[kept, lost], left)
                }
            };
            let zeros = self.constant(places, 0);
            if self.push(Operator::Concat, &[zeros, moved], width) == then {
                return Some((Ends::Sticky, places));
            }
        }
        None
    }

    /// An amount with one bit more on top, which stands for so many places; none if there is one already.
    fn with_bit(&mut self, amount: Option<u32>, bit: u32, places: u32) -> Option<u32> {
        let (place, below) = (places.ilog2(), amount.map_or(0, |amount| self.width(amount)));
        let between = place.checked_sub(below)?;
        let mut high = bit;
        if between > 0 {
            let zeros = self.constant(between, 0);
            high = self.push(Operator::Concat, &[high, zeros], 1 + between);
        }
        Some(amount.map_or(high, |low| self.push(Operator::Concat, &[high, low], place + 1)))
    }
}

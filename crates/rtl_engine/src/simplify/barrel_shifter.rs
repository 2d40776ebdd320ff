//! Idiom recognition: barrel shifters become shifts.
//!
//! [`shift_right_filled`](flashd_hwmodel::arith::fixed::shift_right_filled) and
//! [`shift_right_sticky`](flashd_hwmodel::word::Word::shift_right_sticky) describe a choice for each bit of the amount, as hardware has
//! them. A processor shifts by any amount at once: with ones shifted in where the complement has zeros, and with the sticky bit from a
//! comparison of the word with the result shifted back. The pattern is a choice between a word and the same word as shifted by a stage of
//! these functions, built anew and compared: any other choice stays.

use super::Builder;
use flashd_hwmodel::netlist::Operator;

/// The two ends of a right shift.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// A bit is shifted in.
    Filled(u32),
    /// Zeros are shifted in; bits shifted out set the sticky bit.
    Sticky,
}

/// A recognised shift: the word and the amount.
#[derive(Clone, Copy)]
pub(super) struct Shifted {
    ends: Ends,
    base: u32,
    amount: u32,
}

impl Builder {
    /// The shift by all bits of an amount that have come so far, if this is the choice by its next bit and not the first one.
    pub(super) fn barrel(&mut self, condition: u32, then: u32, otherwise: u32) -> Option<u32> {
        if self.steps[then as usize].operator != Operator::Concat {
            return None;
        }
        let fill = self.push(Operator::Slice(self.width(then) - 1), &[then], 1);
        // Zeros at the lower end make both of the first stage.
        [Ends::Filled(fill), Ends::Sticky].into_iter().find_map(|ends| {
            let places = self.stage(ends, then, otherwise)?;
            let (base, amount) = self.before(ends, otherwise)?;
            let amount = self.with_bit(Some(amount), condition, places)?;
            // Only bits that are a word already.
            let is_word = self.steps[amount as usize].operator != Operator::Concat;
            is_word.then(|| self.shifted(ends, base, amount))
        })
    }

    /// The word and the amount of the stages so far.
    fn before(&mut self, ends: Ends, word: u32) -> Option<(u32, u32)> {
        if let Some(shifted) = self.shifts.get(&word).filter(|shifted| shifted.ends == ends) {
            return Some((shifted.base, shifted.amount));
        }
        let &[first, then, base] = self.operands_of(word, &Operator::Select)?;
        let places = self.stage(ends, then, base)?;
        Some((base, self.with_bit(None, first, places)?))
    }

    fn shifted(&mut self, ends: Ends, base: u32, amount: u32) -> u32 {
        let width = self.width(base);
        let result = match ends {
            Ends::Filled(fill) => {
                let fill = self.push(Operator::Repeat, &[fill], width);
                let swapped = self.push(Operator::Xor, &[base, fill], width);
                let shifted = self.push(Operator::ShiftRight, &[swapped, amount], width);
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
        result
    }

    /// The distance, a power of two, if one word is the other shifted.
    fn stage(&mut self, ends: Ends, moved: u32, word: u32) -> Option<u32> {
        let width = self.width(word);
        let mut powers = (0..=width.ilog2()).map(|i| 1 << i).filter(|&places| places < width);
        powers.find(|&places| self.moved(ends, word, places) == moved)
    }

    /// A word shifted by a stage.
    fn moved(&mut self, ends: Ends, word: u32, places: u32) -> u32 {
        let left = self.width(word) - places;
        let (incoming, kept) = match ends {
            Ends::Filled(fill) => {
                let kept = self.push(Operator::Slice(places), &[word], left);
                (self.push(Operator::Repeat, &[fill], places), kept)
            }
            Ends::Sticky => {
                let out = self.push(Operator::Slice(0), &[word], places + 1);
                let lost = self.push(Operator::Any, &[out], 1);
                let kept = match left {
                    1 => lost,
                    _ => {
                        let kept = self.push(Operator::Slice(places + 1), &[word], left - 1);
                        self.push(Operator::Concat, &[kept, lost], left)
                    }
                };
                (self.constant(places, 0), kept)
            }
        };
        self.push(Operator::Concat, &[incoming, kept], places + left)
    }

    /// An amount with another bit, of weight `places`; none if it has this bit already.
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

//! From the steps of a job to instructions on virtual registers.
//!
//! A block is one, four, eight or, in zmm, sixteen elements. A word of at most 32 bits is *narrow*: an element of 32 bits. A wider one
//! is *wide*, and eight or sixteen of them are two parts. One bit is a mask, all ones or none, so that it selects and joins without being spread first. Bits
//! above the width of a word may be anything as long as nothing reads them: a word is *clean* if they are zero.

mod choose;
mod memory;
mod steps;
mod words;

use super::Machine;
use super::assembler::{Address, Code, Length, op};
use super::instruction::{Home, Instruction, Virtual};
use super::logic;
use super::pool::Pool;
use crate::job::{Job, Source};
use flashd_hwmodel::netlist::{Operator, Step};
use flashd_spec::bits::ones;
use rustc_hash::FxHashMap;

/// How many elements a block has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    One,
    Four,
    Eight,
    Sixteen,
}

impl Lanes {
    /// The vectors of a block's narrow or wide words.
    pub(super) fn length(self, wide: bool) -> Length {
        match self {
            Lanes::One => Length::X,
            Lanes::Four => {
                if wide {
                    Length::Y
                } else {
                    Length::X
                }
            }
            Lanes::Eight => Length::Y,
            Lanes::Sixteen => Length::Z,
        }
    }

    /// Elements of a block.
    pub(super) fn elements(self) -> u32 {
        match self {
            Lanes::One => 1,
            Lanes::Four => 4,
            Lanes::Eight => 8,
            Lanes::Sixteen => 16,
        }
    }

    /// How many vectors a wide word has.
    pub(super) fn parts(self) -> usize {
        1 + usize::from(matches!(self, Lanes::Eight | Lanes::Sixteen))
    }
}

/// The order that takes pairs of words apart which two vectors have by turns.
const UNMIXED: [u64; 8] = [0, 2, 4, 6, 1, 3, 5, 7];

/// A wide word: its two halves of the block, or twice the same.
type Wide = [Virtual; 2];

/// What is known of the result of a step.
#[derive(Clone, Default)]
struct Forms {
    narrow: Option<Virtual>,
    wide: Option<Wide>,
    /// Both, cut to the width.
    clean_narrow: Option<Virtual>,
    clean_wide: Option<Wide>,
    /// Of a wide word, bits 32 and above, and whether they are clean.
    high: Option<(Virtual, bool)>,
    /// Of one bit, as a number.
    number: Option<Virtual>,
}

/// Instructions, and what they work on.
pub(super) struct Lowered {
    pub(super) instructions: Vec<Instruction>,
    pub(super) homes: Vec<Home>,
    pub(super) lengths: Vec<Length>,
}

pub(super) struct Lower<'a> {
    pub(super) job: &'a Job,
    pub(super) pool: &'a mut Pool,
    pub(super) lanes: Lanes,
    /// Addresses move with the index register.
    pub(super) moves: bool,
    /// With runs beside each other, what lies so is not the elements of a job, but what they are in those runs.
    pub(super) machine: Machine,
    out: Lowered,
    forms: Vec<Forms>,
    constants: FxHashMap<(u64, Length), Virtual>,
    /// Instructions of two vectors, and shifts of one by places of a kind: each of them once.
    known: FxHashMap<(Code, Length, Virtual, u32, u8), Virtual>,
    /// How many steps and outputs read each step.
    uses: Vec<u32>,
}

impl<'a> Lower<'a> {
    /// The instructions of a job for a block.
    pub(super) fn block(
        job: &'a Job,
        pool: &'a mut Pool,
        moves: bool,
        (machine, lanes): (Machine, Lanes),
    ) -> Lowered {
        let forms = vec![Forms::default(); job.steps.steps.len()];
        let out = Lowered { instructions: Vec::new(), homes: Vec::new(), lengths: Vec::new() };
        let mut uses = vec![0; job.steps.steps.len()];
        let read = job.steps.steps.iter().flat_map(|step| &step.operands).chain(&job.steps.outputs);
        read.for_each(|&i| uses[i as usize] += 1);
        let (constants, known) = (FxHashMap::default(), FxHashMap::default());
        let mut this = Lower { job, pool, lanes, moves, machine, out, forms, constants, known, uses };
        for i in 0..job.steps.steps.len() as u32 {
            this.step(i);
        }
        for (&output, &at) in job.steps.outputs.iter().zip(&job.outputs) {
            this.store(output, at);
        }
        if lanes == Lanes::Sixteen {
            let ones = this.constants.get(&(u64::MAX, Length::Z)).copied();
            logic::join(&mut this.out.instructions, this.out.homes.len(), ones);
        }
        this.out
    }

    fn length(&self, wide: bool) -> Length {
        self.lanes.length(wide)
    }

    fn parts(&self) -> usize {
        self.lanes.parts()
    }

    /// Bytes from the first part of a wide word to the second.
    fn apart(&self) -> i32 {
        self.length(true).words() as i32 * 4
    }

    /// The upper half of a vector.
    fn upper(&mut self, length: Length, a: Virtual) -> Virtual {
        let half = if length == Length::Z { Length::Y } else { Length::X };
        let to = self.fresh(Home::None, half);
        self.out.instructions.push(Instruction::High { length, to, a });
        to
    }

    fn fresh(&mut self, home: Home, length: Length) -> Virtual {
        self.out.homes.push(home);
        self.out.lengths.push(length);
        self.out.homes.len() as u32 - 1
    }

    fn two(&mut self, code: Code, wide: bool, a: Virtual, b: Virtual) -> Virtual {
        let length = self.length(wide);
        if let Some(&known) = self.known.get(&(code, length, a, b, 0)) {
            return known;
        }
        let to = self.fresh(Home::None, length);
        self.out.instructions.push(Instruction::Two { code, length, to, a, b, byte: None });
        self.known.insert((code, length, a, b, 0), to);
        to
    }

    fn both(&mut self, code: Code, a: Wide, b: Wide) -> Wide {
        let first = self.two(code, true, a[0], b[0]);
        match self.parts() == 1 || (a[0] == a[1] && b[0] == b[1]) {
            true => [first; 2],
            false => [first, self.two(code, true, a[1], b[1])],
        }
    }

    fn shift(&mut self, kind: u8, wide: bool, a: Virtual, places: u32) -> Virtual {
        if places == 0 {
            return a;
        }
        let (length, code) = (self.length(wide), if wide { op::SHIFTQ } else { op::SHIFTD });
        if let Some(&known) = self.known.get(&(code, length, a, places, kind)) {
            return known;
        }
        let to = self.fresh(Home::None, length);
        self.known.insert((code, length, a, places, kind), to);
        let places = places as u8;
        self.out.instructions.push(Instruction::Shift { code, kind, length, to, a, places });
        to
    }

    fn shift_both(&mut self, kind: u8, a: Wide, places: u32) -> Wide {
        let first = self.shift(kind, true, a[0], places);
        match self.parts() == 1 || a[0] == a[1] {
            true => [first; 2],
            false => [first, self.shift(kind, true, a[1], places)],
        }
    }

    fn one(&mut self, code: Code, length: Length, a: Virtual) -> Virtual {
        let to = self.fresh(Home::None, length);
        self.out.instructions.push(Instruction::One { code, length, to, a, byte: None });
        to
    }

    /// A number in every element.
    fn constant(&mut self, value: u64, wide: bool) -> Virtual {
        let value = if wide { value } else { value & ones(32) | value << 32 };
        let length = self.length(wide);
        if let Some(&known) = self.constants.get(&(value, length)) {
            return known;
        }
        let home = Home::Whole(Address::fixed(self.pool.constant(value)));
        let constant = self.fresh(home, length);
        self.constants.insert((value, length), constant);
        constant
    }

    fn wide_constant(&mut self, value: u64) -> Wide {
        [self.constant(value, true); 2]
    }

    fn at(&self, i: u32) -> &'a Step {
        &self.job.steps.steps[i as usize]
    }

    fn width(&self, i: u32) -> u32 {
        self.at(i).width
    }

    fn is_wide(&self, i: u32) -> bool {
        self.width(i) > 32
    }

    fn number_of(&self, i: u32) -> Option<u64> {
        match self.at(i).operator {
            Operator::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The low 32 bits; above the width of a narrow word may be anything.
    fn narrow(&mut self, i: u32) -> Virtual {
        let forms = &self.forms[i as usize];
        if let Some(known) = forms.clean_narrow.or(forms.narrow) {
            return known;
        }
        let wide = self.wide(i);
        let narrow = self.cut(wide, 0x88);
        self.forms[i as usize].narrow = Some(narrow);
        narrow
    }

    /// The low words of wide elements, or with the other pattern the high ones.
    fn cut(&mut self, [a, b]: Wide, pattern: u8) -> Virtual {
        match self.lanes {
            Lanes::One if pattern == 0x88 => a,
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

    /// Words of two vectors, by a pattern, in each 128 bits.
    fn shuffle(&mut self, length: Length, [a, b]: Wide, pattern: u8) -> Virtual {
        let to = self.fresh(Home::None, length);
        let (code, byte) = (op::SHUFPS, Some(pattern));
        self.out.instructions.push(Instruction::Two { code, length, to, a, b, byte });
        to
    }

    /// The word as wide elements; above its width may be anything.
    fn wide(&mut self, i: u32) -> Wide {
        let forms = &self.forms[i as usize];
        if let Some(known) = forms.clean_wide.or(forms.wide) {
            return known;
        }
        let wide = match (&self.at(i).operator, self.width(i)) {
            (_, 1) => {
                let mask = self.narrow(i);
                self.spread(op::MOVSXDQ, mask)
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
                    self.spread(op::MOVZXDQ, narrow)
                }
            },
            _ => {
                let narrow = self.clean(i);
                self.spread(op::MOVZXDQ, narrow)
            }
        };
        let forms = &mut self.forms[i as usize];
        (forms.wide, forms.clean_wide) = (Some(wide), Some(wide));
        wide
    }

    fn spread(&mut self, code: Code, narrow: Virtual) -> Wide {
        let length = self.length(true);
        let first = self.one(code, length, narrow);
        if self.parts() == 1 {
            return [first; 2];
        }
        let high = self.upper(length, narrow);
        [first, self.one(code, length, high)]
    }

    /// A narrow word with zeros above it; a mask is what it is.
    fn clean(&mut self, i: u32) -> Virtual {
        if let Some(known) = self.forms[i as usize].clean_narrow {
            return known;
        }
        let (narrow, width) = (self.narrow(i), self.width(i));
        let clean = match width {
            1 | 32.. => narrow,
            _ => {
                let mask = self.constant(ones(width), false);
                self.two(op::AND, false, narrow, mask)
            }
        };
        self.forms[i as usize].clean_narrow = Some(clean);
        clean
    }

    fn clean_wide(&mut self, i: u32) -> Wide {
        if let Some(known) = self.forms[i as usize].clean_wide {
            return known;
        }
        let (wide, width) = (self.wide(i), self.width(i));
        // What became wide from a narrow word is clean.
        let clean = match (self.forms[i as usize].clean_wide, width) {
            (Some(clean), _) => clean,
            (None, 64) => wide,
            (None, _) => {
                let mask = self.wide_constant(ones(width));
                self.both(op::AND, wide, mask)
            }
        };
        self.forms[i as usize].clean_wide = Some(clean);
        clean
    }

    /// A narrow word as a number, which one bit is as 0 or 1.
    fn number(&mut self, i: u32) -> Virtual {
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
                self.two(op::MINUD, false, word, one)
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
        (2..=32).contains(&self.width(word)).then_some(word)
    }

    fn wide_number(&mut self, i: u32) -> Wide {
        if self.width(i) > 1 {
            return self.clean_wide(i);
        }
        let (mask, one) = (self.wide(i), self.wide_constant(1));
        self.both(op::AND, mask, one)
    }

    fn set(&mut self, i: u32, narrow: Virtual, clean: bool) {
        let forms = &mut self.forms[i as usize];
        forms.narrow = Some(narrow);
        forms.clean_narrow = clean.then_some(narrow);
    }

    fn set_wide(&mut self, i: u32, wide: Wide, clean: bool) {
        let forms = &mut self.forms[i as usize];
        forms.wide = Some(wide);
        forms.clean_wide = clean.then_some(wide);
    }
}

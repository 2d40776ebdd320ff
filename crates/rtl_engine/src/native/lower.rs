//! Instruction selection: from the steps of a job to instructions on virtual registers.
//!
//! A block is one, four or eight elements. A word of at most 32 bits is *narrow*: an element of 32 bits. A wider one
//! is *wide*, an element of 64, and eight of them are two parts. One bit is a mask, all ones or none, so that it selects and
//! joins without being widened first. Bits above the width of a word are undefined: a word is *clean* if they are zero.
//!
//! Where most words of a job have at most 16 bits, blocks have twice the elements, narrow words have 16 bits and wide ones 32. In memory a
//! word has 32 bits. Vectors interleave the two halves of a block: one in the low, one in the high half of each 32 bits. So two shifts and
//! two bitwise instructions convert between the two, where the order of memory would take several permutations.

mod forms;
mod memory;
mod steps;
mod words;

use super::CodeTarget;
use super::assembler::{Address, Length};
use super::instruction::{Home, Instruction, Virtual};
use super::op::{ElementSize, Opcode, Opcodes};
use super::pool::Pool;
use crate::job::Job;
use flashd_hwmodel::netlist::{Operator, Step};
use flashd_spec::bits::ones;
use rustc_hash::FxHashMap;

/// Elements of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockElements {
    One,
    Four,
    Eight,
}

impl BlockElements {
    /// The vectors of a block's narrow or wide words.
    pub(super) fn length(self, wide: bool) -> Length {
        match self {
            BlockElements::One => Length::X,
            BlockElements::Four => {
                if wide {
                    Length::Y
                } else {
                    Length::X
                }
            }
            BlockElements::Eight => Length::Y,
        }
    }

    /// Elements of a block.
    pub(super) fn elements(self) -> u32 {
        match self {
            BlockElements::One => 1,
            BlockElements::Four => 4,
            BlockElements::Eight => 8,
        }
    }

    /// Vectors of a wide word.
    pub(super) fn parts(self) -> usize {
        1 + usize::from(self == BlockElements::Eight)
    }
}

/// A wide word: the two halves of the block, or twice the same.
type Wide = [Virtual; 2];

/// A narrow word of a wide one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordPart {
    Low,
    High,
    /// The low one, where the high one is zero.
    Alone,
    /// Any: they are the same.
    Either,
}

/// Available forms of the result of a step.
#[derive(Clone, Default)]
struct Forms {
    narrow: Option<Virtual>,
    wide: Option<Wide>,
    /// Both, cut to the width.
    clean_narrow: Option<Virtual>,
    clean_wide: Option<Wide>,
    /// The upper half of a wide word, and whether it is clean.
    high: Option<(Virtual, bool)>,
    /// One bit as a number.
    number: Option<Virtual>,
}

/// Instructions, and the homes and lengths of their registers.
pub(super) struct Lowered {
    pub(super) instructions: Vec<Instruction>,
    pub(super) homes: Vec<Home>,
    pub(super) lengths: Vec<Length>,
}

impl Lowered {
    /// The number of instructions, without dead code.
    pub(super) fn instructions(&self) -> usize {
        let mut read = vec![false; self.homes.len()];
        let mut count = 0;
        for instruction in self.instructions.iter().rev() {
            if instruction.result().is_none_or(|to| read[to as usize]) {
                count += 1;
                instruction.sources().into_iter().flatten().for_each(|v| read[v as usize] = true);
            }
        }
        count
    }
}

pub(super) struct Lower<'a> {
    pub(super) job: &'a Job,
    pub(super) pool: &'a mut Pool,
    pub(super) lanes: BlockElements,
    /// The size of narrow words.
    unit: ElementSize,
    codes: &'static Opcodes,
    /// Addresses include the index register.
    pub(super) moves: bool,
    pub(super) target: CodeTarget,
    out: Lowered,
    forms: Vec<Forms>,
    constants: FxHashMap<(u64, Length), Virtual>,
    /// Value numbers of instructions on two vectors, and of shifts.
    known: FxHashMap<(Opcode, Length, Virtual, u32, u8), Virtual>,
    /// The fan-out of each step.
    uses: Vec<u32>,
}

impl<'a> Lower<'a> {
    /// The instructions of a job for a block.
    pub(super) fn block(
        job: &'a Job,
        pool: &'a mut Pool,
        moves: bool,
        (target, lanes, unit): (CodeTarget, BlockElements, ElementSize),
    ) -> Lowered {
        let forms = vec![Forms::default(); job.steps.steps.len()];
        let out = Lowered { instructions: Vec::new(), homes: Vec::new(), lengths: Vec::new() };
        let mut uses = vec![0; job.steps.steps.len()];
        let read = job.steps.steps.iter().flat_map(|step| &step.operands).chain(&job.steps.outputs);
        read.for_each(|&i| uses[i as usize] += 1);
        let (constants, known) = (FxHashMap::default(), FxHashMap::default());
        let codes = unit.family();
        let mut this =
            Lower { job, pool, lanes, unit, codes, moves, target, out, forms, constants, known, uses };
        for i in 0..job.steps.steps.len() as u32 {
            this.step(i);
        }
        for (&output, &at) in job.steps.outputs.iter().zip(&job.outputs) {
            this.store(output, at);
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

    /// The upper half of a ymm.
    fn upper(&mut self, a: Virtual) -> Virtual {
        let to = self.fresh(Home::None, Length::X);
        self.out.instructions.push(Instruction::High { to, a });
        to
    }

    fn fresh(&mut self, home: Home, length: Length) -> Virtual {
        self.out.homes.push(home);
        self.out.lengths.push(length);
        self.out.homes.len() as u32 - 1
    }

    fn two(&mut self, code: Opcode, wide: bool, a: Virtual, b: Virtual) -> Virtual {
        let length = self.length(wide);
        if let Some(&known) = self.known.get(&(code, length, a, b, 0)) {
            return known;
        }
        let to = self.fresh(Home::None, length);
        self.out.instructions.push(Instruction::Two { code, length, to, a, b, byte: None });
        self.known.insert((code, length, a, b, 0), to);
        to
    }

    fn both(&mut self, code: Opcode, a: Wide, b: Wide) -> Wide {
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
        let (length, code) = (self.length(wide), self.codes.shift[usize::from(wide)]);
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

    fn one(&mut self, code: Opcode, length: Length, a: Virtual) -> Virtual {
        let to = self.fresh(Home::None, length);
        self.out.instructions.push(Instruction::One { code, length, to, a, byte: None });
        to
    }

    /// A number in every element.
    fn constant(&mut self, value: u64, wide: bool) -> Virtual {
        let value = match (self.unit, wide) {
            (ElementSize::Word, true) => value,
            (ElementSize::Half, false) => (value & ones(16)) * 0x0001_0001_0001_0001,
            _ => value & ones(32) | value << 32,
        };
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
        self.width(i) > self.bits()
    }

    /// Bits of a narrow word.
    fn bits(&self) -> u32 {
        self.unit.bits()
    }

    fn number_of(&self, i: u32) -> Option<u64> {
        match self.at(i).operator {
            Operator::Constant(value) => Some(value),
            _ => None,
        }
    }
}

//! Virtual registers to those that there are: one straight piece of code at a time, what is needed last is put away first.

use super::assembler::{Address, Assembler, Code, Operand, op};

/// A virtual register, written once.
pub(super) type Virtual = u32;

/// Where a virtual register can be read from memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Home {
    None,
    /// All of it as it is.
    Whole(Address),
    /// By an instruction.
    By(Code, Address),
}

/// An instruction on virtual registers. The last source may be in memory.
#[derive(Clone, Debug)]
pub(super) enum Instruction {
    Two { code: Code, long: bool, to: Virtual, a: Virtual, b: Virtual, byte: Option<u8> },
    One { code: Code, long: bool, to: Virtual, a: Virtual, byte: Option<u8> },
    Shift { code: Code, kind: u8, long: bool, to: Virtual, a: Virtual, places: u8 },
    Blend { long: bool, to: Virtual, otherwise: Virtual, then: Virtual, mask: Virtual },
    High { to: Virtual, a: Virtual },
    Gather { code: Code, long: bool, to: Virtual, index: Virtual, table: Address, bytes: u8 },
    Entry { wide: bool, to: Virtual, index: Virtual, table: Address },
    Store { code: Code, long: bool, a: Virtual, to: Address },
}

impl Instruction {
    fn result(&self) -> Option<Virtual> {
        match *self {
            Instruction::Two { to, .. }
            | Instruction::One { to, .. }
            | Instruction::Shift { to, .. }
            | Instruction::Blend { to, .. }
            | Instruction::High { to, .. }
            | Instruction::Gather { to, .. }
            | Instruction::Entry { to, .. } => Some(to),
            Instruction::Store { .. } => None,
        }
    }

    fn sources(&self) -> [Option<Virtual>; 3] {
        match *self {
            Instruction::Two { a, b, .. } => [Some(a), Some(b), None],
            Instruction::One { a, .. }
            | Instruction::Shift { a, .. }
            | Instruction::High { a, .. }
            | Instruction::Store { a, .. } => [Some(a), None, None],
            Instruction::Blend { otherwise, then, mask, .. } => [Some(otherwise), Some(then), Some(mask)],
            Instruction::Gather { index, .. } | Instruction::Entry { index, .. } => [Some(index), None, None],
        }
    }
}

/// Registers that hold virtual ones; the last one is free for what an instruction needs beside.
const REGISTERS: usize = 15;
const SPARE: u8 = 15;

/// Code for a list of instructions.
pub(super) struct Allocator<'a> {
    assembler: &'a mut Assembler,
    homes: Vec<Home>,
    long: Vec<bool>,
    /// Of each virtual register, when it is read, the last time first.
    uses: Vec<Vec<u32>>,
    at: Vec<Option<u8>>,
    holds: [Option<Virtual>; REGISTERS],
    /// The next word of memory in which something can be put away.
    room: &'a mut u32,
}

impl<'a> Allocator<'a> {
    /// Emits `instructions`. Virtual registers have homes and lengths; what has no home gets one at `room` when it has to.
    pub(super) fn emit(
        assembler: &'a mut Assembler,
        instructions: &[Instruction],
        homes: Vec<Home>,
        long: Vec<bool>,
        room: &'a mut u32,
    ) {
        let mut uses = vec![Vec::new(); homes.len()];
        let mut read = vec![true; instructions.len()];
        for (i, instruction) in instructions.iter().enumerate().rev() {
            read[i] = instruction.result().is_none_or(|to| !uses[to as usize].is_empty());
            if !read[i] {
                continue;
            }
            instruction.sources().into_iter().flatten().for_each(|v| uses[v as usize].push(i as u32));
        }
        let at = vec![None; homes.len()];
        let mut this = Allocator { assembler, homes, long, uses, at, holds: [None; REGISTERS], room };
        for (i, instruction) in instructions.iter().enumerate().filter(|(i, _)| read[*i]) {
            this.one(i as u32, instruction);
        }
    }

    /// A register for something new; not one of the pinned.
    fn free(&mut self, pinned: &[u8]) -> u8 {
        if let Some(register) = self.holds.iter().position(Option::is_none) {
            return register as u8;
        }
        let candidates = (0..REGISTERS as u8).filter(|register| !pinned.contains(register));
        let key = |&register: &u8| {
            let held = self.holds[register as usize].unwrap_or_default() as usize;
            (self.uses[held].last().copied(), !matches!(self.homes[held], Home::None))
        };
        let register = candidates.max_by_key(key).unwrap_or_default();
        self.put_away(register);
        register
    }

    fn put_away(&mut self, register: u8) {
        let Some(held) = self.holds[register as usize].take() else { return };
        self.at[held as usize] = None;
        if let Home::None = self.homes[held as usize] {
            let to = Address::word(*self.room);
            *self.room += 8;
            let long = self.long[held as usize];
            self.assembler.vector(op::STORE_DQU, long, register, 0, Operand::Memory(to), None);
            self.homes[held as usize] = Home::Whole(to);
        }
    }

    fn put(&mut self, v: Virtual, register: u8) {
        self.holds[register as usize] = Some(v);
        self.at[v as usize] = Some(register);
    }

    fn register(&mut self, v: Virtual, pinned: &[u8]) -> u8 {
        if let Some(register) = self.at[v as usize] {
            return register;
        }
        let register = self.free(pinned);
        let long = self.long[v as usize];
        let (code, from) = match self.homes[v as usize] {
            Home::Whole(from) => (op::MOVDQU, from),
            Home::By(code, from) => (code, from),
            Home::None => unreachable!("a value is somewhere"),
        };
        self.assembler.vector(code, long, register, 0, Operand::Memory(from), None);
        self.put(v, register);
        register
    }

    /// Where a source is read that may be in memory.
    fn operand(&mut self, v: Virtual, pinned: &[u8]) -> Operand {
        match (self.at[v as usize], self.homes[v as usize]) {
            (None, Home::Whole(from))
                if self.uses[v as usize].len() < 2 || self.holds.iter().all(Option::is_some) =>
            {
                Operand::Memory(from)
            }
            _ => Operand::Register(self.register(v, pinned)),
        }
    }

    fn one(&mut self, now: u32, instruction: &Instruction) {
        match *instruction {
            Instruction::Two { code, long, to, a, b, byte } => {
                let turned = self.at[a as usize].is_none() && self.at[b as usize].is_some();
                let (a, b) = if turned && commutes(code) { (b, a) } else { (a, b) };
                let first = self.register(a, &self.pins(&[b]));
                let second = self.operand(b, &[first]);
                self.done(now, instruction);
                let register = self.free(&[]);
                self.assembler.vector(code, long, register, first, second, byte);
                self.put(to, register);
            }
            Instruction::One { code, long, to, a, byte } => {
                let source = self.operand(a, &[]);
                self.done(now, instruction);
                let register = self.free(&[]);
                self.assembler.vector(code, long, register, 0, source, byte);
                self.put(to, register);
            }
            Instruction::Shift { code, kind, long, to, a, places } => {
                let source = self.register(a, &[]);
                self.done(now, instruction);
                let register = self.free(&[]);
                let source = Operand::Register(source);
                self.assembler.vector(code, long, kind, register, source, Some(places));
                self.put(to, register);
            }
            Instruction::Blend { long, to, otherwise, then, mask } => {
                let first = self.register(otherwise, &self.pins(&[then, mask]));
                let mut pinned = self.pins(&[then]);
                pinned.push(first);
                let mask = self.register(mask, &pinned);
                let second = self.operand(then, &[first, mask]);
                self.done(now, instruction);
                let register = self.free(&[]);
                self.assembler.vector(op::BLENDVB, long, register, first, second, Some(mask << 4));
                self.put(to, register);
            }
            Instruction::High { to, a } => {
                let source = self.register(a, &[]);
                self.done(now, instruction);
                let register = self.free(&[]);
                self.assembler.vector(op::EXTRACT, true, source, 0, Operand::Register(register), Some(1));
                self.put(to, register);
            }
            Instruction::Gather { code, long, to, index, table, bytes } => {
                let index = self.register(index, &[]);
                // What is gathered must not go where the index is.
                let register = self.free(&[index]);
                self.put(to, register);
                self.assembler.vector(op::CMPEQD, long, SPARE, SPARE, Operand::Register(SPARE), None);
                self.assembler.gather(code, long, [register, index, SPARE], table, bytes);
                self.done(now, instruction);
            }
            Instruction::Entry { wide, to, index, table } => {
                let index = self.register(index, &[]);
                self.assembler.index_from(index);
                self.done(now, instruction);
                let register = self.free(&[]);
                self.assembler.entry(wide, register, table);
                self.put(to, register);
            }
            Instruction::Store { code, long, a, to } => {
                let source = self.register(a, &[]);
                self.assembler.vector(code, long, source, 0, Operand::Memory(to), None);
                self.done(now, instruction);
            }
        }
    }

    /// The registers of those that are in one.
    fn pins(&self, list: &[Virtual]) -> Vec<u8> {
        list.iter().filter_map(|&v| self.at[v as usize]).collect()
    }

    /// The sources of an instruction have been read; those that are not read again make room.
    fn done(&mut self, now: u32, instruction: &Instruction) {
        for v in instruction.sources().into_iter().flatten() {
            let uses = &mut self.uses[v as usize];
            while uses.last().is_some_and(|&last| last <= now) {
                uses.pop();
            }
            if uses.is_empty()
                && let Some(register) = self.at[v as usize].take()
            {
                self.holds[register as usize] = None;
            }
        }
    }
}

fn commutes(code: Code) -> bool {
    [
        op::AND,
        op::OR,
        op::XOR,
        op::ADDD,
        op::ADDQ,
        op::MADDWD,
        op::MULLD,
        op::MULUDQ,
        op::CMPEQD,
        op::CMPEQQ,
        op::MINUD,
    ]
    .contains(&code)
}

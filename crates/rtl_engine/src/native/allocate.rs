//! Virtual registers to those that there are: one straight piece of code at a time, what is needed last is put away first.

use super::assembler::{Address, Assembler, Length, Operand};
use super::instruction::{Home, Instruction, Virtual};
use super::logic::reordered;
use super::op::{self, commutes};

/// Registers that hold virtual ones; the last one is free for what an instruction needs beside. Of zmm there are twice as many.
const REGISTERS: usize = 15;
const SPARE: u8 = 15;
const REGISTERS_OF_ZMM: usize = 32;

/// Code for a list of instructions.
pub(super) struct Allocator<'a> {
    assembler: &'a mut Assembler,
    homes: Vec<Home>,
    lengths: &'a [Length],
    /// Of each virtual register, when it is read, the last time first.
    uses: Vec<Vec<u32>>,
    at: Vec<Option<u8>>,
    holds: Vec<Option<Virtual>>,
    /// The next word of memory in which something can be put away.
    room: &'a mut u32,
}

impl<'a> Allocator<'a> {
    /// Emits `instructions`. Virtual registers have homes and lengths; what has no home gets one at `room` when it has to.
    pub(super) fn emit(
        assembler: &'a mut Assembler,
        instructions: &[Instruction],
        homes: Vec<Home>,
        lengths: &'a [Length],
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
        let registers = if lengths.contains(&Length::Z) { REGISTERS_OF_ZMM } else { REGISTERS };
        let holds = vec![None; registers];
        let mut this = Allocator { assembler, homes, lengths, uses, at, holds, room };
        for (i, instruction) in instructions.iter().enumerate().filter(|(i, _)| read[*i]) {
            this.one(i as u32, instruction);
        }
    }

    /// A register for something new; not one of the pinned.
    fn free(&mut self, pinned: &[u8]) -> u8 {
        let candidates = (0..self.holds.len() as u8).filter(|register| !pinned.contains(register));
        if let Some(register) = candidates.clone().find(|&register| self.holds[register as usize].is_none()) {
            return register;
        }
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
            let to = Address::fixed(*self.room);
            let length = self.lengths[held as usize];
            *self.room += length.max(Length::Y).words();
            self.assembler.vector(op::STORE_DQU, length, register, 0, Operand::Memory(to), None);
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
        let length = self.lengths[v as usize];
        let (code, from) = match self.homes[v as usize] {
            Home::Whole(from) => (op::MOVDQU, from),
            Home::By(code, from) => (code, from),
            Home::None => unreachable!("a value is somewhere"),
        };
        self.assembler.vector(code, length, register, 0, Operand::Memory(from), None);
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
            Instruction::Two { code, length, to, a, b, byte } => {
                let turned = self.at[a as usize].is_none() && self.at[b as usize].is_some();
                let (a, b) = if turned && commutes(code) { (b, a) } else { (a, b) };
                let first = self.register(a, &self.pins(&[b]));
                let second = self.operand(b, &[first]);
                self.done(now, instruction);
                let register = self.free(&[]);
                self.assembler.vector(code, length, register, first, second, byte);
                self.put(to, register);
            }
            Instruction::One { code, length, to, a, byte } => {
                let source = self.operand(a, &[]);
                self.done(now, instruction);
                let register = self.free(&[]);
                self.assembler.vector(code, length, register, 0, source, byte);
                self.put(to, register);
            }
            Instruction::Shift { code, kind, length, to, a, places } => {
                let source = self.register(a, &[]);
                self.done(now, instruction);
                let register = self.free(&[]);
                let source = Operand::Register(source);
                self.assembler.vector(code, length, kind, register, source, Some(places));
                self.put(to, register);
            }
            Instruction::Logic { to, of, table } => {
                // Two of them are in registers, and one of these is lost; the third one may be in memory.
                let place = of.iter().position(|&v| self.at[v as usize].is_none()).unwrap_or(2);
                let [first, second, third] = [(place + 1) % 3, (place + 2) % 3, place];
                let a = self.register(of[first], &self.pins(&[of[second], of[third]]));
                let mut pinned = self.pins(&[of[third]]);
                pinned.push(a);
                let b = self.register(of[second], &pinned);
                let c = self.operand(of[third], &[a, b]);
                self.done(now, instruction);
                let mut operands =
                    [(first, Operand::Register(a)), (second, Operand::Register(b)), (third, c)];
                let lost = |(_, operand): &(usize, Operand)| match *operand {
                    Operand::Register(register) => self.holds[register as usize].is_none(),
                    Operand::Memory(_) => false,
                };
                let register = match operands.iter().position(lost) {
                    Some(place) => {
                        operands.swap(0, place);
                        operands[0].1
                    }
                    None => {
                        let in_registers = operands.iter().filter_map(|(_, operand)| match *operand {
                            Operand::Register(register) => Some(register),
                            Operand::Memory(_) => None,
                        });
                        let pinned: Vec<u8> = in_registers.collect();
                        let register = self.free(&pinned);
                        self.assembler.vector(op::MOVDQU, Length::Z, register, 0, operands[0].1, None);
                        Operand::Register(register)
                    }
                };
                if let Operand::Memory(_) = operands[1].1 {
                    operands.swap(1, 2);
                }
                let table = reordered(table, operands.map(|(place, _)| place));
                if let (Operand::Register(register), Operand::Register(other)) = (register, operands[1].1) {
                    let last = operands[2].1;
                    self.assembler.vector(op::TERNLOG, Length::Z, register, other, last, Some(table));
                    self.put(to, register);
                }
            }
            Instruction::Choose { unit, test, a, b, to, then, otherwise } => {
                let first = self.register(a, &self.pins(&[b, then, otherwise]));
                let mut pinned = self.pins(&[then, otherwise]);
                pinned.push(first);
                let second = self.operand(b, &pinned);
                self.assembler.compare((test, unit), first, second);
                let otherwise = self.register(otherwise, &self.pins(&[then]));
                let then = self.operand(then, &[otherwise]);
                self.done(now, instruction);
                let register = self.free(&[]);
                self.assembler.choose(unit, register, otherwise, then);
                self.put(to, register);
            }
            Instruction::Blend { length, to, otherwise, then, mask } => {
                let first = self.register(otherwise, &self.pins(&[then, mask]));
                let mut pinned = self.pins(&[then]);
                pinned.push(first);
                let mask = self.register(mask, &pinned);
                let second = self.operand(then, &[first, mask]);
                self.done(now, instruction);
                let register = self.free(&[]);
                self.assembler.vector(op::BLENDVB, length, register, first, second, Some(mask << 4));
                self.put(to, register);
            }
            Instruction::High { length, to, a } => {
                let source = self.register(a, &[]);
                self.done(now, instruction);
                let register = self.free(&[]);
                let code = if length == Length::Z { op::EXTRACT_HALF } else { op::EXTRACT };
                self.assembler.vector(code, length, source, 0, Operand::Register(register), Some(1));
                self.put(to, register);
            }
            Instruction::Gather { code, length, to, index, table, bytes } => {
                let index = self.register(index, &[]);
                // What is gathered must not go where the index is.
                let register = self.free(&[index]);
                self.put(to, register);
                if length < Length::Z {
                    self.assembler.vector(op::CMPEQD, length, SPARE, SPARE, Operand::Register(SPARE), None);
                }
                self.assembler.gather(code, length, [register, index, SPARE], table, bytes);
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
            Instruction::Store { code, length, a, to } => {
                let source = self.register(a, &[]);
                self.assembler.vector(code, length, source, 0, Operand::Memory(to), None);
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

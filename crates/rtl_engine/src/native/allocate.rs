//! Register allocation of a basic block: the value with the furthest next use is spilled first (Belady).

use super::assembler::{Address, Assembler, Length, RegMem};
use super::instruction::{Home, Instruction, Virtual};
use super::op::{self, commutes};

/// Registers that are allocated; the last one is scratch.
const REGISTERS: usize = 15;
const SCRATCH: u8 = 15;

/// Code for a list of instructions.
pub(super) struct Allocator<'a> {
    assembler: &'a mut Assembler,
    homes: Vec<Home>,
    lengths: &'a [Length],
    /// The reads of each virtual register, the last one first.
    uses: Vec<Vec<u32>>,
    at: Vec<Option<u8>>,
    holds: Vec<Option<Virtual>>,
    /// The next free spill slot.
    slot: &'a mut u32,
}

impl<'a> Allocator<'a> {
    /// Emits `instructions`. Registers without a home are spilled to `slot` and following words.
    pub(super) fn emit(
        assembler: &'a mut Assembler,
        instructions: &[Instruction],
        homes: Vec<Home>,
        lengths: &'a [Length],
        slot: &'a mut u32,
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
        let holds = vec![None; REGISTERS];
        let mut this = Allocator { assembler, homes, lengths, uses, at, holds, slot };
        for (i, instruction) in instructions.iter().enumerate().filter(|(i, _)| read[*i]) {
            this.one(i as u32, instruction);
        }
    }

    /// A free register, not one of the pinned.
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
        self.spill(register);
        register
    }

    fn spill(&mut self, register: u8) {
        let Some(held) = self.holds[register as usize].take() else { return };
        self.at[held as usize] = None;
        if let Home::None = self.homes[held as usize] {
            let to = Address::fixed(*self.slot);
            let length = self.lengths[held as usize];
            *self.slot += length.max(Length::Y).words();
            self.assembler.vector(op::STORE_DQU, length, register, 0, RegMem::Memory(to), None);
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
        self.assembler.vector(code, length, register, 0, RegMem::Memory(from), None);
        self.put(v, register);
        register
    }

    /// A source that may be a memory operand.
    fn operand(&mut self, v: Virtual, pinned: &[u8]) -> RegMem {
        match (self.at[v as usize], self.homes[v as usize]) {
            (None, Home::Whole(from))
                if self.uses[v as usize].len() < 2 || self.holds.iter().all(Option::is_some) =>
            {
                RegMem::Memory(from)
            }
            _ => RegMem::Register(self.register(v, pinned)),
        }
    }

    fn one(&mut self, now: u32, instruction: &Instruction) {
        match *instruction {
            Instruction::Two { code, length, to, a, b, byte } => {
                let swapped = self.at[a as usize].is_none() && self.at[b as usize].is_some();
                let (a, b) = if swapped && commutes(code) { (b, a) } else { (a, b) };
                let first = self.register(a, &self.pins(&[b]));
                let second = self.operand(b, &[first]);
                let register = self.define(now, instruction, to);
                self.assembler.vector(code, length, register, first, second, byte);
            }
            Instruction::One { code, length, to, a, byte } => {
                let source = self.operand(a, &[]);
                let register = self.define(now, instruction, to);
                self.assembler.vector(code, length, register, 0, source, byte);
            }
            Instruction::Shift { code, kind, length, to, a, places } => {
                let source = self.register(a, &[]);
                let register = self.define(now, instruction, to);
                let source = RegMem::Register(source);
                self.assembler.vector(code, length, kind, register, source, Some(places));
            }
            Instruction::Blend { length, to, otherwise, then, mask } => {
                let first = self.register(otherwise, &self.pins(&[then, mask]));
                let mut pinned = self.pins(&[then]);
                pinned.push(first);
                let mask = self.register(mask, &pinned);
                let second = self.operand(then, &[first, mask]);
                let register = self.define(now, instruction, to);
                self.assembler.vector(op::BLENDVB, length, register, first, second, Some(mask << 4));
            }
            Instruction::High { to, a } => {
                let source = self.register(a, &[]);
                let register = RegMem::Register(self.define(now, instruction, to));
                self.assembler.vector(op::EXTRACT, Length::Y, source, 0, register, Some(1));
            }
            Instruction::Gather { code, length, to, index, table, bytes } => {
                let index = self.register(index, &[]);
                // A gather may not overwrite its index.
                let register = self.free(&[index]);
                self.put(to, register);
                self.assembler.vector(op::CMPEQD, length, SCRATCH, SCRATCH, RegMem::Register(SCRATCH), None);
                self.assembler.gather(code, length, [register, index, SCRATCH], table, bytes);
                self.done(now, instruction);
            }
            Instruction::Entry { wide, to, index, table } => {
                let index = self.register(index, &[]);
                self.assembler.index_from(index);
                let register = self.define(now, instruction, to);
                self.assembler.entry(wide, register, table);
            }
            Instruction::Store { code, length, a, to } => {
                let source = self.register(a, &[]);
                self.assembler.vector(code, length, source, 0, RegMem::Memory(to), None);
                self.done(now, instruction);
            }
        }
    }

    /// A register for the result of an instruction, after its sources have been read.
    fn define(&mut self, now: u32, instruction: &Instruction, to: Virtual) -> u8 {
        self.done(now, instruction);
        let register = self.free(&[]);
        self.put(to, register);
        register
    }

    /// The registers of the values that are in one.
    fn pins(&self, list: &[Virtual]) -> Vec<u8> {
        list.iter().filter_map(|&v| self.at[v as usize]).collect()
    }

    /// Frees the registers of sources that are not read again.
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

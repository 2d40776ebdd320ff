//! Runs of a design beside each other, as many as a vector has words: a word of each of them is a vector. Controls are vectors, too, and masks.

use super::Machine;
use super::assembler::{Address, Assembler, Length, Operand};
use super::op::{self, Code};
use super::pool::Pool;
use crate::held::{Held, Taken};

/// Registers that the code here uses.
const VALUE: u8 = 0;
const HELD: u8 = 1;
const SCRATCH: u8 = 2;
/// The masks of what is taken and of what is reset, of both parts of wide words.
const TAKEN: [u8; 2] = [4, 5];
const RESET: [u8; 2] = [6, 7];

/// Code for runs beside each other.
pub(super) struct Beside<'a> {
    code: &'a mut Assembler,
    machine: Machine,
}

impl Beside<'_> {
    pub(super) fn new(code: &mut Assembler, machine: Machine) -> Beside<'_> {
        Beside { code, machine }
    }

    fn load(&mut self, register: u8, from: Address) {
        self.vector(op::MOVDQU, register, 0, Operand::Memory(from));
    }

    fn store(&mut self, register: u8, to: Address) {
        self.vector(op::STORE_DQU, register, 0, Operand::Memory(to));
    }

    fn vector(&mut self, code: Code, register: u8, other: u8, operand: Operand) {
        self.code.vector(code, self.machine.longest, register, other, operand, None);
    }

    fn test(&mut self, register: u8) {
        self.code.test(self.machine.longest, register);
    }

    fn blend(&mut self, register: u8, then: Operand, mask: u8) {
        self.code.blend(self.machine.longest, register, then, mask);
    }

    /// Words that go elsewhere.
    pub(super) fn copy(&mut self, list: &[(u32, u32)]) {
        for &(from, to) in list {
            self.load(VALUE, self.machine.word(from));
            self.store(VALUE, self.machine.word(to));
        }
    }

    /// A mask for each part of a word.
    fn masks(&mut self, to: [u8; 2], from: u8, wide: bool) {
        if !wide {
            return self.vector(op::MOVDQU, to[0], 0, Operand::Register(from));
        }
        let half = if self.machine.longest == Length::Z { op::EXTRACT_HALF } else { op::EXTRACT };
        self.code.vector(half, self.machine.longest, from, 0, Operand::Register(HELD), Some(1));
        self.vector(op::MOVSXDQ, to[0], 0, Operand::Register(from));
        self.vector(op::MOVSXDQ, to[1], 0, Operand::Register(HELD));
    }

    /// Registers capture.
    pub(super) fn hold(&mut self, pool: &mut Pool, held: &Held) {
        let mut end = None;
        let machine = self.machine;
        let controls: Vec<u32> = held.controls().collect();
        if let Some((&first, rest)) = controls.split_first() {
            self.load(SCRATCH, machine.word(first));
            for &other in rest {
                self.vector(op::AND, SCRATCH, SCRATCH, Operand::Memory(machine.word(other)));
            }
            self.test(SCRATCH);
            end = Some(self.code.jump_if(true));
            if let Some(flag) = held.event {
                self.code.store_number(machine.word(flag), 1);
            }
            self.masks(TAKEN, SCRATCH, held.wide);
        }
        let mut reset_to = None;
        if let Some((reset, value)) = held.reset {
            self.load(SCRATCH, machine.word(reset));
            self.masks(RESET, SCRATCH, held.wide);
            let value = if held.wide { value } else { value & u64::from(u32::MAX) | value << 32 };
            reset_to = Some(Address::fixed(pool.constant(value)));
        }
        let size = held.size();
        let apart = machine.longest.words() as i32 * 4;
        let one = |this: &mut Self, from: Address, to: Address| {
            for part in 0..size as usize {
                let (from, to) = (from.plus(apart * part as i32), to.plus(apart * part as i32));
                this.load(VALUE, from);
                if let Some(reset_to) = reset_to {
                    this.blend(VALUE, Operand::Memory(reset_to), RESET[part]);
                }
                if controls.is_empty() {
                    this.store(VALUE, to);
                } else {
                    this.load(HELD, to);
                    this.blend(HELD, Operand::Register(VALUE), TAKEN[part]);
                    this.store(HELD, to);
                }
            }
        };
        let elements = held.elements();
        match &held.d {
            // It is there already.
            Taken::Each(from) if *from == held.next => {}
            Taken::Each(from) if elements > FEW => {
                let at = |place: u32| Address { scale: size as u8, ..machine.word(place) };
                self.code.clear_index();
                let start = self.code.here();
                one(self, at(*from), at(held.next));
                self.code.again(apart, elements as i32 * apart, start);
            }
            taken => {
                for i in 0..elements {
                    let from = match taken {
                        Taken::Each(from) => from + i * size,
                        Taken::Words(list) => list[(i * size) as usize],
                    };
                    one(self, machine.word(from), machine.word(held.next + i * size));
                }
            }
        }
        if let Some(end) = end {
            self.code.arrive(end);
        }
    }
}

/// Elements that are taken one after another and not by a loop.
const FEW: u32 = 8;

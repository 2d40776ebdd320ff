//! Loads and stores of a block.

use super::super::assembler::{Address, Length};
use super::super::instruction::{Home, Instruction};
use super::super::op::{self, ElementSize};
use super::{BlockElements, Lower};
use crate::job::JobInput;
use crate::memory::words;

impl Lower<'_> {
    pub(super) fn address(&self, place: u32, scale: u8) -> Address {
        Address { scale: if self.moves { scale } else { 0 }, ..self.target.word(place) }
    }

    pub(super) fn input(&mut self, i: u32, source: JobInput) {
        if self.unit == ElementSize::Half {
            return self.input_of_32_bits(i, source);
        }
        let wide = self.is_wide(i);
        let (length, apart) = (self.length(wide), self.apart());
        let target = self.target;
        let home = |code, place| Home::By(code, target.word(place));
        match (source, wide, self.lanes) {
            (JobInput::Broadcast(at) | JobInput::Vector(at), false, BlockElements::One) => {
                let narrow = self.fresh(home(op::MOVD, at), Length::X);
                self.set(i, narrow, true);
            }
            (JobInput::Broadcast(at) | JobInput::Vector(at), true, BlockElements::One) => {
                let wide = self.fresh(home(op::MOVQ, at), Length::X);
                self.set_wide(i, [wide; 2], true);
            }
            (JobInput::Broadcast(at), false, _) if self.target.is_batch() => {
                let narrow = self.fresh(Home::Whole(self.target.word(at)), length);
                self.set(i, narrow, true);
            }
            (JobInput::Broadcast(at), true, _) if self.target.is_batch() => {
                let from = self.target.word(at);
                let first = self.fresh(Home::Whole(from), length);
                let second = self.fresh(Home::Whole(from.plus(apart)), length);
                self.set_wide(i, [first, second], true);
            }
            (JobInput::Broadcast(at), false, _) => {
                let narrow = self.fresh(home(self.codes.broadcast[0], at), length);
                self.set(i, narrow, true);
            }
            (JobInput::Broadcast(at), true, _) => {
                let wide = self.fresh(home(self.codes.broadcast[1], at), length);
                self.set_wide(i, [wide; 2], true);
            }
            (JobInput::Vector(at), false, _) => {
                let narrow = self.fresh(Home::Whole(self.address(at, 1)), length);
                self.set(i, narrow, true);
            }
            (JobInput::Vector(at), true, _) => {
                let from = self.address(at, 2);
                let first = self.fresh(Home::Whole(from), length);
                let second = match self.parts() {
                    1 => first,
                    _ => self.fresh(Home::Whole(from.plus(apart)), length),
                };
                self.set_wide(i, [first, second], true);
            }
        }
    }

    /// Narrow words of 16 bits are wide in memory.
    fn input_of_32_bits(&mut self, i: u32, source: JobInput) {
        let length = self.length(true);
        let all = match source {
            JobInput::Broadcast(at) if self.target.is_batch() => {
                [self.fresh(Home::Whole(self.target.word(at)), length); 2]
            }
            JobInput::Broadcast(at) => {
                let from = self.target.word(at);
                let [narrow, wide] =
                    self.codes.broadcast.map(|code| self.fresh(Home::By(code, from), length));
                if !self.is_wide(i) {
                    self.set(i, narrow, true);
                }
                [wide; 2]
            }
            JobInput::Vector(at) => {
                let from = self.address(at, 1);
                [0, self.apart()].map(|part| self.fresh(Home::Whole(from.plus(part)), length))
            }
        };
        self.set_wide(i, all, true);
    }

    pub(super) fn store(&mut self, output: u32, at: u32) {
        let width = self.width(output);
        let store = |code, length, a, to| Instruction::Store { code, length, a, to };
        let store = match (words(width), self.lanes) {
            (1, BlockElements::One) => {
                let a = self.clean(output);
                vec![store(op::STORE_D, Length::X, a, self.target.word(at))]
            }
            (1, _) if self.unit == ElementSize::Word => {
                let a = self.clean(output);
                vec![store(op::STORE_DQU, self.length(false), a, self.address(at, 1))]
            }
            (_, BlockElements::One) => {
                let a = self.clean_wide(output)[0];
                vec![store(op::STORE_Q, Length::X, a, self.target.word(at))]
            }
            (size, _) => {
                let (wide, to) = (self.clean_wide(output), self.address(at, size as u8));
                let (length, apart) = (self.length(true), self.apart());
                let parts = wide.into_iter().take(self.parts()).zip(0..);
                parts.map(|(a, part)| store(op::STORE_DQU, length, a, to.plus(apart * part))).collect()
            }
        };
        self.out.instructions.extend(store);
    }
}

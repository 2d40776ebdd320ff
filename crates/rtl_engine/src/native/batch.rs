//! Captures in a vector of runs. Controls are vectors, too: masks of the runs.

use super::assembler::{Address, Assembler, Label, Length, RegMem};
use super::op::{self, Opcode};
use super::pool::Pool;
use super::{CodeTarget, LANES};
use crate::register::{DataInput, RegisterGroup};

/// Scratch registers.
const VALUE: u8 = 0;
const HELD: u8 = 1;
const SCRATCH: u8 = 2;
/// The masks of enabled and of reset runs, for both parts of wide words.
const ENABLED: [u8; 2] = [4, 5];
const RESET: [u8; 2] = [6, 7];

/// Code for a vector of runs.
pub(super) struct BatchCapture<'a> {
    code: &'a mut Assembler,
    target: CodeTarget,
}

impl BatchCapture<'_> {
    pub(super) fn new(code: &mut Assembler, target: CodeTarget) -> BatchCapture<'_> {
        BatchCapture { code, target }
    }

    fn load(&mut self, register: u8, from: Address) {
        self.vector(op::MOVDQU, register, 0, RegMem::Memory(from));
    }

    fn store(&mut self, register: u8, to: Address) {
        self.vector(op::STORE_DQU, register, 0, RegMem::Memory(to));
    }

    fn vector(&mut self, code: Opcode, register: u8, other: u8, operand: RegMem) {
        self.code.vector(code, Length::Y, register, other, operand, None);
    }

    fn test(&mut self, register: u8) {
        self.code.test(Length::Y, register);
    }

    fn blend(&mut self, register: u8, then: RegMem, mask: u8) {
        self.code.blend(Length::Y, register, then, mask);
    }

    /// Copies words.
    pub(super) fn copy(&mut self, list: &[(u32, u32)]) {
        for &(from, to) in list {
            self.load(VALUE, self.target.word(from));
            self.store(VALUE, self.target.word(to));
        }
    }

    /// A mask for each part of a word.
    fn masks(&mut self, to: [u8; 2], from: u8, wide: bool) {
        if !wide {
            return self.vector(op::MOVDQU, to[0], 0, RegMem::Register(from));
        }
        self.code.vector(op::EXTRACT, Length::Y, from, 0, RegMem::Register(HELD), Some(1));
        self.vector(op::MOVSXDQ, to[0], 0, RegMem::Register(from));
        self.vector(op::MOVSXDQ, to[1], 0, RegMem::Register(HELD));
    }

    /// Computes the masks of enabled runs, if the registers have controls; a jump if no run is enabled.
    fn enabled(&mut self, group: &RegisterGroup) -> Option<Label> {
        let target = self.target;
        let mut controls = group.controls().map(|control| target.word(control));
        self.load(SCRATCH, controls.next()?);
        for control in controls {
            self.vector(op::AND, SCRATCH, SCRATCH, RegMem::Memory(control));
        }
        self.test(SCRATCH);
        let end = self.code.jump_if(true);
        if let Some((flags, bit)) = group.event {
            self.code.set_bits(target.word(flags), bit);
        }
        self.masks(ENABLED, SCRATCH, group.wide);
        Some(end)
    }

    /// Registers capture.
    pub(super) fn capture(&mut self, pool: &mut Pool, group: &RegisterGroup) {
        let target = self.target;
        let end = self.enabled(group);
        let mut reset_to = None;
        if let Some((reset, value)) = group.reset {
            self.load(SCRATCH, target.word(reset));
            self.masks(RESET, SCRATCH, group.wide);
            let value = if group.wide { value } else { value & u64::from(u32::MAX) | value << 32 };
            reset_to = Some(Address::fixed(pool.constant(value)));
        }
        let size = group.size();
        let apart = LANES as i32 * 4;
        let one = |this: &mut Self, from: Address, to: Address| {
            for part in 0..size as usize {
                let (from, to) = (from.plus(apart * part as i32), to.plus(apart * part as i32));
                this.load(VALUE, from);
                if let Some(reset_to) = reset_to {
                    this.blend(VALUE, RegMem::Memory(reset_to), RESET[part]);
                }
                if end.is_none() {
                    this.store(VALUE, to);
                } else {
                    this.load(HELD, to);
                    this.blend(HELD, RegMem::Register(VALUE), ENABLED[part]);
                    this.store(HELD, to);
                }
            }
        };
        let elements = group.elements();
        match &group.d {
            // Captured in place.
            DataInput::Vector(from) if *from == group.next => {}
            DataInput::Vector(from) if elements > FEW => {
                let at = |place: u32| Address { scale: size as u8, ..target.word(place) };
                self.code.clear_index();
                let start = self.code.here();
                one(self, at(*from), at(group.next));
                self.code.loop_back(apart, elements as i32 * apart, start);
            }
            taken => {
                for i in 0..elements {
                    let from = match taken {
                        DataInput::Vector(from) => from + i * size,
                        DataInput::Words(list) => list[(i * size) as usize],
                    };
                    one(self, target.word(from), target.word(group.next + i * size));
                }
            }
        }
        if let Some(end) = end {
            self.code.bind(end);
        }
    }
}

/// The most elements of an unrolled loop.
const FEW: u32 = 8;

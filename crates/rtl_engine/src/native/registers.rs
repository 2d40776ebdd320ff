//! Registers of one run: what they show, and what they capture.

use super::assembler::{Address, Assembler, Length, Operand};
use super::{Machine, op, unless};
use crate::held::{Enable, Held, Taken};
use crate::plan::Plan;

/// Registers that only take something at times show it where they did.
pub(super) fn show(code: &mut Assembler, plan: &Plan, machine: Machine) {
    for held in plan.registers.iter().filter(|held| !machine.is_taken(held.next)) {
        let quiet = unless(code, held.event.as_slice(), machine);
        let [from, to] = [held.next, held.next - plan.held].map(|place| machine.word(place));
        copy(code, [from, to], held.words * machine.runs, machine.longest);
        quiet.into_iter().for_each(|place| code.arrive(place));
    }
}

/// Registers capture.
pub(super) fn hold(code: &mut Assembler, held: &Held, machine: Machine) {
    let mut ends = Vec::new();
    for control in held.controls() {
        code.compare_zero(machine.word(control));
        ends.push(code.jump_if(true));
    }
    if let (Some(Enable::Each(enable)), &Taken::Each(from)) = (held.enable, &held.d) {
        hold_each(code, held, [enable, from], machine);
        ends.into_iter().for_each(|end| code.arrive(end));
        return;
    }
    if let Some(flag) = held.event {
        code.store_number(machine.word(flag), 1);
    }
    if let Some((reset, value)) = held.reset {
        code.compare_zero(machine.word(reset));
        let low = code.jump_if(true);
        let words = [value as u32, (value >> 32) as u32];
        for i in 0..held.words {
            let word = words[if held.wide { i as usize % 2 } else { 0 }];
            code.store_number(machine.word(held.next + i), word);
        }
        ends.push(code.jump());
        code.arrive(low);
    }
    match &held.d {
        // It is there already.
        Taken::Each(from) if *from == held.next => {}
        Taken::Words(list) => {
            for (&from, to) in list.iter().zip(held.next..) {
                code.copy_word(machine.word(from), machine.word(to));
            }
        }
        Taken::Each(from) => {
            copy(code, [machine.word(*from), machine.word(held.next)], held.words, machine.longest)
        }
    }
    ends.into_iter().for_each(|end| code.arrive(end));
}

/// Registers capture, each if its own enable is high.
fn hold_each(code: &mut Assembler, held: &Held, [enable, from]: [u32; 2], machine: Machine) {
    const VALUE: u8 = 0;
    const HELD: u8 = 1;
    const MASK: u8 = 2;
    let lanes = machine.lanes(held.elements());
    let at = |place: u32, offset: u32| Operand::Memory(machine.word(place + offset));
    let narrow = lanes.length(false);
    let blocks = (0..held.elements()).step_by(lanes.elements() as usize);
    for (i, first) in blocks.clone().enumerate() {
        let code_of = if i == 0 { op::MOVDQU } else { op::OR };
        code.vector(code_of, narrow, MASK, if i == 0 { 0 } else { MASK }, at(enable, first), None);
    }
    code.test(narrow, MASK);
    let none = code.jump_if(true);
    if let Some(flag) = held.event {
        code.store_number(machine.word(flag), 1);
    }
    let length = lanes.length(held.wide);
    let step = length.words();
    let parts = if held.wide { lanes.parts() as u32 } else { 1 };
    for (first, part) in blocks.flat_map(|first| (0..parts).map(move |part| (first, part))) {
        let offset = first * held.size() + part * step;
        match held.wide {
            true => code.vector(op::MOVSXDQ, length, MASK, 0, at(enable, first + part * step / 2), None),
            false => code.vector(op::MOVDQU, length, MASK, 0, at(enable, first), None),
        }
        code.vector(op::MOVDQU, length, VALUE, 0, at(from, offset), None);
        code.vector(op::MOVDQU, length, HELD, 0, at(held.next, offset), None);
        code.blend(length, HELD, Operand::Register(VALUE), MASK);
        code.vector(op::STORE_DQU, length, HELD, 0, at(held.next, offset), None);
    }
    code.arrive(none);
}

/// Copies words that lie beside each other.
pub(super) fn copy(code: &mut Assembler, [from, to]: [Address; 2], words: u32, longest: Length) {
    let vector = |code: &mut Assembler, length: Length, offset: u32, scale: u8| {
        let at = |address: Address| Operand::Memory(Address { scale, ..address.plus(offset as i32 * 4) });
        code.vector(op::MOVDQU, length, 0, 0, at(from), None);
        code.vector(op::STORE_DQU, length, 0, 0, at(to), None);
    };
    let step = longest.words();
    let whole = words / step * step;
    if whole > LONG {
        code.clear_index();
        let start = code.here();
        vector(code, longest, 0, 1);
        code.again(step as i32 * 4, whole as i32 * 4, start);
    } else {
        (0..whole).step_by(step as usize).for_each(|offset| vector(code, longest, offset, 0));
    }
    let mut done = whole;
    for length in [Length::Y, Length::X] {
        if words - done >= length.words() {
            vector(code, length, done, 0);
            done += length.words();
        }
    }
    for offset in done..words {
        let [from, to] = [from, to].map(|address| address.plus(offset as i32 * 4));
        code.copy_word(from, to);
    }
}

/// Words that are copied by a loop and not one vector after another.
const LONG: u32 = 128;

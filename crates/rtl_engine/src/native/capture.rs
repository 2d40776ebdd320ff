//! Captures in a single run.

use super::assembler::{Address, Assembler, Length, RegMem};
use super::{CodeTarget, LANES, op, skip_unless};
use crate::plan::Plan;
use crate::register::{DataInput, Enable, RegisterGroup};

/// Copies captured values of registers with controls to their Q outputs.
pub(super) fn commit(code: &mut Assembler, plan: &Plan, target: CodeTarget) {
    for group in plan.registers.iter().filter(|group| !target.is_next_state(group.next)) {
        let idle = skip_unless(code, group.event.as_slice(), target);
        let [from, to] = [group.next, group.next - plan.state].map(|place| target.word(place));
        copy(code, [from, to], group.words * target.runs);
        idle.into_iter().for_each(|label| code.bind(label));
    }
}

/// Registers capture.
pub(super) fn capture(code: &mut Assembler, group: &RegisterGroup, target: CodeTarget) {
    let mut ends = Vec::new();
    for control in group.controls() {
        code.compare_zero(target.word(control));
        ends.push(code.jump_if(true));
    }
    if let (Some(Enable::Each(enable)), &DataInput::Vector(from)) = (group.enable, &group.d) {
        capture_each(code, group, [enable, from], target);
        ends.into_iter().for_each(|end| code.bind(end));
        return;
    }
    if let Some(flag) = group.event {
        code.store_number(target.word(flag), 1);
    }
    if let Some((reset, value)) = group.reset {
        code.compare_zero(target.word(reset));
        let low = code.jump_if(true);
        let words = [value as u32, (value >> 32) as u32];
        for i in 0..group.words {
            let word = words[if group.wide { i as usize % 2 } else { 0 }];
            code.store_number(target.word(group.next + i), word);
        }
        ends.push(code.jump());
        code.bind(low);
    }
    match &group.d {
        // Captured in place.
        DataInput::Vector(from) if *from == group.next => {}
        DataInput::Words(list) => {
            for (&from, to) in list.iter().zip(group.next..) {
                code.copy_word(target.word(from), target.word(to));
            }
        }
        DataInput::Vector(from) => copy(code, [target.word(*from), target.word(group.next)], group.words),
    }
    ends.into_iter().for_each(|end| code.bind(end));
}

/// Registers with a vector of enables capture.
fn capture_each(code: &mut Assembler, group: &RegisterGroup, [enable, from]: [u32; 2], target: CodeTarget) {
    const VALUE: u8 = 0;
    const HELD: u8 = 1;
    const MASK: u8 = 2;
    let lanes = target.lanes(group.elements());
    let at = |place: u32, offset: u32| RegMem::Memory(target.word(place + offset));
    let narrow = lanes.length(false);
    let blocks = (0..group.elements()).step_by(lanes.elements() as usize);
    for (i, first) in blocks.clone().enumerate() {
        let code_of = if i == 0 { op::MOVDQU } else { op::OR };
        code.vector(code_of, narrow, MASK, if i == 0 { 0 } else { MASK }, at(enable, first), None);
    }
    code.test(narrow, MASK);
    let none = code.jump_if(true);
    if let Some(flag) = group.event {
        code.store_number(target.word(flag), 1);
    }
    let length = lanes.length(group.wide);
    let step = length.words();
    let parts = if group.wide { lanes.parts() as u32 } else { 1 };
    for (first, part) in blocks.flat_map(|first| (0..parts).map(move |part| (first, part))) {
        let offset = first * group.size() + part * step;
        match group.wide {
            true => code.vector(op::MOVSXDQ, length, MASK, 0, at(enable, first + part * step / 2), None),
            false => code.vector(op::MOVDQU, length, MASK, 0, at(enable, first), None),
        }
        code.vector(op::MOVDQU, length, VALUE, 0, at(from, offset), None);
        code.vector(op::MOVDQU, length, HELD, 0, at(group.next, offset), None);
        code.blend(length, HELD, RegMem::Register(VALUE), MASK);
        code.vector(op::STORE_DQU, length, HELD, 0, at(group.next, offset), None);
    }
    code.bind(none);
}

/// Copies adjacent words.
pub(super) fn copy(code: &mut Assembler, [from, to]: [Address; 2], words: u32) {
    let vector = |code: &mut Assembler, length: Length, offset: u32, scale: u8| {
        let at = |address: Address| RegMem::Memory(Address { scale, ..address.plus(offset as i32 * 4) });
        code.vector(op::MOVDQU, length, 0, 0, at(from), None);
        code.vector(op::STORE_DQU, length, 0, 0, at(to), None);
    };
    let whole = words / LANES * LANES;
    if whole > LONG {
        code.clear_index();
        let start = code.here();
        vector(code, Length::Y, 0, 1);
        code.loop_back(LANES as i32 * 4, whole as i32 * 4, start);
    } else {
        (0..whole).step_by(LANES as usize).for_each(|offset| vector(code, Length::Y, offset, 0));
    }
    let mut done = whole;
    if words - done >= Length::X.words() {
        vector(code, Length::X, done, 0);
        done += Length::X.words();
    }
    for offset in done..words {
        let [from, to] = [from, to].map(|address| address.plus(offset as i32 * 4));
        code.copy_word(from, to);
    }
}

/// Words that are copied by a loop and not one vector after another.
const LONG: u32 = 128;

//! Captures in a single run.

use super::assembler::{Address, Assembler, Label, Length, RegMem};
use super::{CodeTarget, LANES, op, skip_unless};
use crate::plan::Plan;
use crate::register::{DataInput, Enable, RegisterGroup};

/// Copies captured values of registers with controls to their Q outputs.
pub(super) fn commit(code: &mut Assembler, plan: &Plan, target: CodeTarget) {
    let mut groups: Vec<&RegisterGroup> =
        plan.registers.iter().filter(|group| !target.is_next_state(group.next)).collect();
    groups.sort_by_key(|group| (group.event, group.next));
    let flags = |group: &RegisterGroup| group.event.map(|(flags, _)| flags);
    for of_word in groups.chunk_by(|a, b| flags(a) == flags(b)) {
        let none = skip_if_low(code, flags(of_word[0]), target);
        for alike in of_word.chunk_by(|a, b| a.event == b.event) {
            let idle = skip_unless(code, alike[0].event.as_slice(), target);
            for group in alike {
                let [from, to] = [group.next, group.next - plan.state].map(|place| target.word(place));
                copy(code, [from, to], group.words * target.runs);
            }
            idle.into_iter().for_each(|label| code.bind(label));
        }
        none.into_iter().for_each(|label| code.bind(label));
    }
}

/// A jump that is taken while a word is zero.
fn skip_if_low(code: &mut Assembler, word: Option<u32>, target: CodeTarget) -> Option<Label> {
    word.map(|word| {
        code.compare_zero(target.word(word));
        code.jump_if(true)
    })
}

/// Registers capture.
pub(super) fn capture(code: &mut Assembler, groups: &[RegisterGroup], target: CodeTarget) {
    let mut groups: Vec<&RegisterGroup> = groups.iter().collect();
    groups.sort_by_key(|group| (group.gate, group.shared_enable(), group.reset.map(|(reset, _)| reset)));
    for gated in groups.chunk_by(|a, b| a.gate == b.gate) {
        let stopped = skip_if_low(code, gated[0].gate, target);
        let by_enable: Vec<&[&RegisterGroup]> =
            gated.chunk_by(|a, b| a.shared_enable() == b.shared_enable()).collect();
        let mut rest = &by_enable[..];
        while !rest.is_empty() {
            let (together, none) = skip_if_all_low(code, rest, target);
            for enabled in &rest[..together] {
                let held = skip_if_low(code, enabled[0].shared_enable(), target);
                capture_enabled(code, enabled, target);
                held.into_iter().for_each(|label| code.bind(label));
            }
            none.into_iter().for_each(|label| code.bind(label));
            rest = &rest[together..];
        }
        stopped.into_iter().for_each(|label| code.bind(label));
    }
}

/// A jump past the first of `groups`, by enable, whose enables are a vector, while all of them are low; how many it skips.
fn skip_if_all_low(
    code: &mut Assembler,
    groups: &[&[&RegisterGroup]],
    target: CodeTarget,
) -> (usize, Option<Label>) {
    let enables: Vec<u32> =
        groups.iter().take(LANES as usize).filter_map(|alike| alike[0].shared_enable()).collect();
    let [Some(&first), Some(&last)] = [enables.first(), enables.last()] else { return (1, None) };
    let apart = (LANES as i32 - 1) * 4;
    let adjacent = enables.len() == LANES as usize && last - first == LANES - 1;
    if !adjacent || target.word(first).plus(apart) != target.word(last) {
        return (1, None);
    }
    const ENABLES: u8 = 0;
    code.vector(op::MOVDQU, Length::Y, ENABLES, 0, RegMem::Memory(target.word(first)), None);
    code.test(Length::Y, ENABLES);
    (enables.len(), Some(code.jump_if(true)))
}

/// Registers whose gate and shared enable are high capture.
fn capture_enabled(code: &mut Assembler, groups: &[&RegisterGroup], target: CodeTarget) {
    let (each, shared): (Vec<&RegisterGroup>, Vec<&RegisterGroup>) =
        groups.iter().partition(|group| matches!(group.enable, Some(Enable::Each(_))));
    for group in each {
        if let (Some(Enable::Each(enable)), &DataInput::Vector(from)) = (group.enable, &group.d) {
            capture_each(code, group, [enable, from], target);
        }
    }
    if let Some((flags, bit)) = shared.first().and_then(|group| group.event) {
        code.set_bits(target.word(flags), bit);
    }
    for alike in shared.chunk_by(|a, b| a.reset.map(|reset| reset.0) == b.reset.map(|reset| reset.0)) {
        let Some((reset, _)) = alike[0].reset else {
            alike.iter().for_each(|group| capture_data(code, group, target));
            continue;
        };
        code.compare_zero(target.word(reset));
        let low = code.jump_if(true);
        alike.iter().for_each(|group| load_reset(code, group, target));
        let end = code.jump();
        code.bind(low);
        alike.iter().for_each(|group| capture_data(code, group, target));
        code.bind(end);
    }
}

/// Registers take their reset value.
fn load_reset(code: &mut Assembler, group: &RegisterGroup, target: CodeTarget) {
    let value = group.reset.map_or(0, |(_, value)| value);
    let words = [value as u32, (value >> 32) as u32];
    for i in 0..group.words {
        let word = words[if group.wide { i as usize % 2 } else { 0 }];
        code.store_number(target.word(group.next + i), word);
    }
}

/// Registers capture their D inputs.
fn capture_data(code: &mut Assembler, group: &RegisterGroup, target: CodeTarget) {
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
    if let Some((flags, bit)) = group.event {
        code.set_bits(target.word(flags), bit);
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

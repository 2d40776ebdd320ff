//! Eight runs of a design beside each other: a word of each of them is a vector. Controls are vectors, too, and masks.

use super::assembler::{Address, Assembler, Operand, Place, op};
use super::pool::Pool;
use crate::job::Rest;
use crate::plan::{Held, Taken};

/// Registers that the code here uses.
const VALUE: u8 = 0;
const HELD: u8 = 1;
const SCRATCH: u8 = 2;
/// The masks of what is taken and of what is reset, of both parts of wide words.
const TAKEN: [u8; 2] = [4, 5];
const RESET: [u8; 2] = [6, 7];

fn load(code: &mut Assembler, register: u8, from: Address) {
    code.vector(op::MOVDQU, true, register, 0, Operand::Memory(from), None);
}

fn store(code: &mut Assembler, register: u8, to: Address) {
    code.vector(op::STORE_DQU, true, register, 0, Operand::Memory(to), None);
}

/// Words that go elsewhere.
pub(super) fn copy(code: &mut Assembler, list: &[(u32, u32)]) {
    for &(from, to) in list {
        load(code, VALUE, Address::eight(from));
        store(code, VALUE, Address::eight(to));
    }
}

fn test(code: &mut Assembler, register: u8) {
    code.vector(op::TEST, true, register, 0, Operand::Register(register), None);
}

/// Jumps past a job that may be left out in all runs; the jump.
pub(super) fn leave_out(code: &mut Assembler, rest: &Rest) -> Place {
    let seen = Address::eight(rest.seen);
    let kept = |i: usize| Address::eight(rest.seen + 1 + i as u32);
    load(code, VALUE, Address::eight(rest.gate));
    test(code, VALUE);
    let high = code.jump_if(false);
    code.compare_zero(seen);
    let mut differ = vec![code.jump_if(true)];
    for (i, &other) in rest.others.iter().enumerate() {
        load(code, VALUE, Address::eight(other));
        code.vector(op::XOR, true, VALUE, VALUE, Operand::Memory(kept(i)), None);
        test(code, VALUE);
        differ.push(code.jump_if(false));
    }
    let skip = code.jump();
    code.arrive(high);
    code.store_number(seen, 0);
    let run = code.jump();
    differ.into_iter().for_each(|place| code.arrive(place));
    code.store_number(seen, 1);
    for (i, &other) in rest.others.iter().enumerate() {
        load(code, VALUE, Address::eight(other));
        store(code, VALUE, kept(i));
    }
    code.arrive(run);
    skip
}

/// A mask for each part of a word.
fn masks(code: &mut Assembler, to: [u8; 2], from: u8, wide: bool) {
    if !wide {
        code.vector(op::MOVDQU, true, to[0], 0, Operand::Register(from), None);
        return;
    }
    code.vector(op::EXTRACT, true, from, 0, Operand::Register(HELD), Some(1));
    code.vector(op::MOVSXDQ, true, to[0], 0, Operand::Register(from), None);
    code.vector(op::MOVSXDQ, true, to[1], 0, Operand::Register(HELD), None);
}

/// Registers capture.
pub(super) fn hold(code: &mut Assembler, pool: &mut Pool, held: &Held) {
    let mut end = None;
    let controls: Vec<u32> = [held.gate, held.enable].into_iter().flatten().collect();
    if let Some((&first, rest)) = controls.split_first() {
        load(code, SCRATCH, Address::eight(first));
        for &other in rest {
            let other = Operand::Memory(Address::eight(other));
            code.vector(op::AND, true, SCRATCH, SCRATCH, other, None);
        }
        test(code, SCRATCH);
        end = Some(code.jump_if(true));
        if let Some(flag) = held.event {
            code.store_number(Address::eight(flag), 1);
        }
        masks(code, TAKEN, SCRATCH, held.wide);
    }
    let mut reset_to = None;
    if let Some((reset, value)) = held.reset {
        load(code, SCRATCH, Address::eight(reset));
        masks(code, RESET, SCRATCH, held.wide);
        let value = if held.wide { value } else { value & u64::from(u32::MAX) | value << 32 };
        reset_to = Some(Address::word(pool.constant(value)));
    }
    let size = 1 + u32::from(held.wide);
    let one = |code: &mut Assembler, from: Address, to: Address| {
        for part in 0..size as usize {
            let (from, to) = (from.plus(32 * part as i32), to.plus(32 * part as i32));
            load(code, VALUE, from);
            if let Some(reset_to) = reset_to {
                let mask = Some(RESET[part] << 4);
                code.vector(op::BLENDVB, true, VALUE, VALUE, Operand::Memory(reset_to), mask);
            }
            if !controls.is_empty() {
                load(code, HELD, to);
                let mask = Some(TAKEN[part] << 4);
                code.vector(op::BLENDVB, true, VALUE, HELD, Operand::Register(VALUE), mask);
            }
            store(code, VALUE, to);
        }
    };
    let elements = held.words / size;
    match &held.d {
        Taken::Each(from) if elements > FEW => {
            let at = |place: u32| Address { scale: size as u8, ..Address::eight(place) };
            code.clear_index();
            let start = code.here();
            one(code, at(*from), at(held.next));
            code.again(32, elements as i32 * 32, start);
        }
        taken => {
            for i in 0..elements {
                let from = match taken {
                    Taken::Each(from) => from + i * size,
                    Taken::Words(list) => list[(i * size) as usize],
                };
                one(code, Address::eight(from), Address::eight(held.next + i * size));
            }
        }
    }
    if let Some(end) = end {
        code.arrive(end);
    }
}

/// Elements that are taken one after another and not by a loop.
const FEW: u32 = 8;

//! Jobs as loops over blocks of elements, and when a job or a block is left out.

use super::allocate::Allocator;
use super::assembler::{Address, Assembler, Length, Operand, Place, op};
use super::lower::Lower;
use super::pool::Pool;
use super::registers::copy;
use super::{Machine, unless};
use crate::job::{Job, Kept, Rest};
use crate::memory::words;

/// Registers that the code here uses.
const NOW: u8 = 0;
const ALL: u8 = 1;

pub(super) fn run(code: &mut Assembler, pool: &mut Pool, job: &Job, machine: Machine) {
    let quiet = unless(code, &job.when, machine);
    match &job.rest {
        Some(rest) => run_unless_it_rests(code, pool, job, rest, machine),
        None => blocks(code, pool, job, machine, false),
    }
    let Some(quiet) = quiet else { return };
    let end = (!taken(job, machine).is_empty()).then(|| code.jump());
    code.arrive(quiet);
    keep_outputs(code, job, machine);
    end.into_iter().for_each(|end| code.arrive(end));
}

/// A job for all blocks of elements, or for those in which something moves that it [rests](Rest) on: that is kept for the next time.
fn blocks(code: &mut Assembler, pool: &mut Pool, job: &Job, machine: Machine, only_moved: bool) {
    let lanes = machine.lanes(job.elements);
    let block = lanes.elements();
    let blocks = if machine.is_beside() { job.elements } else { job.elements.div_ceil(block) };
    let moves = blocks > 1;
    if moves {
        code.clear_index();
    }
    let start = code.here();
    let mut stays = None;
    if only_moved {
        let all = job.rest.iter().flat_map(|rest| &rest.others).filter(|kept| kept.each);
        let vectors: Vec<(Address, Address, Length)> = all
            .flat_map(|kept| {
                let size = kept.count / job.elements;
                let (length, parts) = (lanes.length(size > 1), if size > 1 { lanes.parts() } else { 1 });
                let at = move |place: u32, part: usize| Address {
                    scale: if moves { size as u8 } else { 0 },
                    ..machine.word(place).plus(part as i32 * length.words() as i32 * 4)
                };
                (0..parts).map(move |part| (at(kept.from, part), at(kept.seen, part), length))
            })
            .collect();
        stays = same(code, &vectors);
        for &(from, was, length) in &vectors {
            code.vector(op::MOVDQU, length, NOW, 0, Operand::Memory(from), None);
            code.vector(op::STORE_DQU, length, NOW, 0, Operand::Memory(was), None);
        }
    }
    let lowered = Lower::block(job, pool, moves, (machine, lanes));
    Allocator::emit(code, &lowered.instructions, lowered.homes, lowered.lengths, &mut pool.end);
    stays.into_iter().for_each(|place| code.arrive(place));
    if moves {
        code.again(block as i32 * 4, (blocks * block) as i32 * 4, start);
    }
}

/// Compares vectors with what they were; the jump if all of them are the same.
fn same(code: &mut Assembler, vectors: &[(Address, Address, Length)]) -> Option<Place> {
    let longest = vectors.iter().map(|vector| vector.2).max()?;
    for (i, &(from, was, length)) in vectors.iter().enumerate() {
        let to = if i == 0 { ALL } else { NOW };
        code.vector(op::MOVDQU, length, to, 0, Operand::Memory(from), None);
        code.or_differences(length, [ALL, to], Operand::Memory(was));
    }
    code.test(longest, ALL);
    Some(code.jump_if(true))
}

/// A job with a [`Rest`]: with the gate low it is left out for what has not moved.
fn run_unless_it_rests(code: &mut Assembler, pool: &mut Pool, job: &Job, rest: &Rest, machine: Machine) {
    let seen = machine.word(rest.seen);
    match machine.is_beside() {
        true => {
            code.vector(op::MOVDQU, machine.longest, NOW, 0, Operand::Memory(machine.word(rest.gate)), None);
            code.test(machine.longest, NOW);
        }
        false => code.compare_zero(machine.word(rest.gate)),
    }
    let high = code.jump_if(false);
    code.compare_zero(seen);
    let mut differ = vec![code.jump_if(true)];
    for &flag in &rest.moved {
        code.compare_zero(machine.word(flag));
        differ.push(code.jump_if(false));
    }
    for kept in rest.others.iter().filter(|kept| !kept.each) {
        for i in 0..kept.count {
            let [from, was] = [kept.from, kept.seen].map(|first| machine.word(first + i));
            if machine.is_beside() {
                code.vector(op::MOVDQU, machine.longest, NOW, 0, Operand::Memory(from), None);
                code.vector(op::XOR, machine.longest, NOW, NOW, Operand::Memory(was), None);
                code.test(machine.longest, NOW);
            } else {
                code.load_index(from);
                code.compare_index(was);
            }
            differ.push(code.jump_if(false));
        }
    }
    keep_outputs(code, job, machine);
    if rest.others.iter().any(|kept| kept.each) {
        // Of many elements one or the other moves: the others stay.
        blocks(code, pool, job, machine, true);
    }
    let stayed = code.jump();
    code.arrive(high);
    code.store_number(seen, 0);
    let run = code.jump();
    differ.into_iter().for_each(|place| code.arrive(place));
    code.store_number(seen, 1);
    for &Kept { from, count, seen, .. } in &rest.others {
        copy(code, [machine.word(from), machine.word(seen)], count * machine.runs, machine.longest);
    }
    code.arrive(run);
    blocks(code, pool, job, machine, false);
    code.arrive(stayed);
}

/// Outputs of a job that are what registers take, and how many words: where it is left out they stay, and were elsewhere.
fn taken(job: &Job, machine: Machine) -> Vec<(u32, u32)> {
    (job.steps.outputs.iter().zip(&job.outputs))
        .filter(|&(_, &at)| machine.is_taken(at))
        .map(|(&output, &at)| (at, job.elements * words(job.steps.steps[output as usize].width)))
        .collect()
}

fn keep_outputs(code: &mut Assembler, job: &Job, machine: Machine) {
    for (at, count) in taken(job, machine) {
        copy(code, [machine.before(at), machine.word(at)], count * machine.runs, machine.longest);
    }
}

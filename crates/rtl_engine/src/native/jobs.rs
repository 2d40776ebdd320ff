//! Jobs as loops over blocks of elements, and when a job or a block is left out.

use super::allocate::Allocator;
use super::assembler::{Address, Assembler, Length, Operand, Place};
use super::lower::{Lanes, Lower, Lowered};
use super::op::{self, Unit};
use super::pool::Pool;
use super::registers::copy;
use super::{Machine, unless};
use crate::job::{Job, Kept, Rest};
use crate::memory::words;
use crate::plan::room;
use flashd_hwmodel::netlist::{Operator, Step};

/// Registers that the code here uses.
const NOW: u8 = 0;
const ALL: u8 = 1;

pub(super) fn run(code: &mut Assembler, pool: &mut Pool, job: &Job, machine: Machine) {
    let quiet = unless(code, &job.when, machine);
    match &job.rest {
        Some(rest) => run_unless_it_rests(code, pool, job, rest, machine),
        None => {
            let cut = Cut::best(pool, job, machine);
            blocks(code, pool, job, &cut, machine, false);
        }
    }
    let Some(quiet) = quiet else { return };
    let end = (!taken(job, machine).is_empty()).then(|| code.jump());
    code.arrive(quiet);
    keep_outputs(code, job, machine);
    end.into_iter().for_each(|end| code.arrive(end));
}

/// A job cut into blocks, and the instructions for one.
struct Cut {
    lanes: Lanes,
    unit: Unit,
    blocks: u32,
    lowered: Lowered,
}

impl Cut {
    fn of(pool: &mut Pool, job: &Job, machine: Machine, unit: Unit) -> Cut {
        let lanes = machine.lanes(job.elements);
        let blocks = (job.elements * machine.runs).div_ceil(lanes.elements() * unit.each());
        Cut { lanes, unit, blocks, lowered: Lower::block(job, pool, blocks > 1, (machine, lanes, unit)) }
    }

    /// The one of fewer instructions, with narrow elements of 16 bits if they can be.
    fn best(pool: &mut Pool, job: &Job, machine: Machine) -> Cut {
        let words = Cut::of(pool, job, machine, Unit::Word);
        if !has_halves(job, machine) {
            return words;
        }
        let halves = Cut::of(pool, job, machine, Unit::Half);
        // By a tenth at least: its vectors from memory need instructions of their own more often.
        if 10 * halves.instructions() < 9 * words.instructions() { halves } else { words }
    }

    fn instructions(&self) -> usize {
        self.lowered.instructions() * self.blocks as usize
    }

    /// Elements of memory in a block.
    fn elements(&self) -> u32 {
        self.lanes.elements() * self.unit.each()
    }

    /// Vectors of an element of so many words.
    fn vectors(&self, words: u32) -> (Length, usize) {
        let wide = self.unit == Unit::Half || words > 1;
        (self.lanes.length(wide), if wide { self.lanes.parts() } else { 1 })
    }
}

/// Whether a job can be done with narrow elements of 16 bits: no word is longer than two of them, and blocks of twice as many elements
/// end where those of the longest vectors do, up to which there is [room](crate::plan).
fn has_halves(job: &Job, machine: Machine) -> bool {
    let lanes = machine.lanes(job.elements);
    let fits = |step: &Step| match &step.operator {
        Operator::Lookup(entries) => step.width <= 32 && entries.len() <= 1 << 16,
        _ => step.width <= 32,
    };
    let in_two = lanes.parts() == 2 && job.steps.steps.iter().all(fits);
    let room = if machine.is_beside() { job.elements * machine.runs } else { room(job.elements) };
    in_two && room.is_multiple_of(2 * lanes.elements())
}

/// A job for all blocks of elements, or for those in which something moves that it [rests](Rest) on: that is kept for the next time.
fn blocks(code: &mut Assembler, pool: &mut Pool, job: &Job, cut: &Cut, machine: Machine, only_moved: bool) {
    let (moves, step) = (cut.blocks > 1, cut.elements());
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
                let (length, parts) = cut.vectors(size);
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
    let Lowered { instructions, homes, lengths } = &cut.lowered;
    Allocator::emit(code, instructions, homes.clone(), lengths, &mut pool.end);
    stays.into_iter().for_each(|place| code.arrive(place));
    if moves {
        code.again(step as i32 * 4, (cut.blocks * step) as i32 * 4, start);
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
    let cut = Cut::best(pool, job, machine);
    if rest.others.iter().any(|kept| kept.each) {
        // Of many elements one or the other moves: the others stay.
        blocks(code, pool, job, &cut, machine, true);
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
    blocks(code, pool, job, &cut, machine, false);
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

//! Strip-mining: jobs as loops over blocks of elements, with event masks and idle gating.

use super::allocate::Allocator;
use super::assembler::{Address, Assembler, Label, Length, RegMem};
use super::capture::copy;
use super::lower::{BlockElements, Lower, Lowered};
use super::op::{self, ElementSize};
use super::pool::Pool;
use super::{CodeTarget, skip_unless};
use crate::job::{IdleGating, Job, Snapshot};
use crate::memory::words;
use crate::plan::room;
use flashd_hwmodel::netlist::{Operator, Step};

/// Scratch registers.
const NOW: u8 = 0;
const ALL: u8 = 1;

pub(super) fn run(code: &mut Assembler, pool: &mut Pool, job: &Job, target: CodeTarget) {
    let idle = skip_unless(code, &job.events, target);
    match &job.gating {
        Some(gating) => run_gated(code, pool, job, gating, target),
        None => {
            let strips = Strips::best(pool, job, target);
            blocks(code, pool, job, &strips, target, false);
        }
    }
    let Some(idle) = idle else { return };
    let end = (!next_state_outputs(job, target).is_empty()).then(|| code.jump());
    code.bind(idle);
    copy_previous(code, job, target);
    end.into_iter().for_each(|end| code.bind(end));
}

/// A job as blocks of elements, and the instructions of a block.
struct Strips {
    lanes: BlockElements,
    unit: ElementSize,
    blocks: u32,
    lowered: Lowered,
}

impl Strips {
    fn of(pool: &mut Pool, job: &Job, target: CodeTarget, unit: ElementSize) -> Strips {
        let lanes = target.lanes(job.elements);
        let blocks = (job.elements * target.runs).div_ceil(lanes.elements() * unit.each());
        Strips { lanes, unit, blocks, lowered: Lower::block(job, pool, blocks > 1, (target, lanes, unit)) }
    }

    /// The alternative with fewer instructions, of narrow elements of 16 or 32 bits.
    fn best(pool: &mut Pool, job: &Job, target: CodeTarget) -> Strips {
        let words = Strips::of(pool, job, target, ElementSize::Word);
        if !has_halves(job, target) {
            return words;
        }
        let halves = Strips::of(pool, job, target, ElementSize::Half);
        // By a tenth at least: 16-bit elements fold fewer loads.
        if 10 * halves.instructions() < 9 * words.instructions() { halves } else { words }
    }

    fn instructions(&self) -> usize {
        self.lowered.instructions() * self.blocks as usize
    }

    /// Elements of memory in a block.
    fn elements(&self) -> u32 {
        self.lanes.elements() * self.unit.each()
    }

    /// Vectors of elements of `words` words.
    fn vectors(&self, words: u32) -> (Length, usize) {
        let wide = self.unit == ElementSize::Half || words > 1;
        (self.lanes.length(wide), if wide { self.lanes.parts() } else { 1 })
    }
}

/// Whether a job can have narrow elements of 16 bits: words of at most 32 bits, and [room](crate::plan) for blocks of twice the
/// elements.
fn has_halves(job: &Job, target: CodeTarget) -> bool {
    let lanes = target.lanes(job.elements);
    let fits = |step: &Step| match &step.operator {
        Operator::Lookup(entries) => step.width <= 32 && entries.len() <= 1 << 16,
        _ => step.width <= 32,
    };
    let in_two = lanes.parts() == 2 && job.steps.steps.iter().all(fits);
    let room = if target.is_batch() { job.elements * target.runs } else { room(job.elements) };
    in_two && room.is_multiple_of(2 * lanes.elements())
}

/// A job for all blocks of elements, or for blocks with a changed snapshot, which is updated.
fn blocks(
    code: &mut Assembler,
    pool: &mut Pool,
    job: &Job,
    strips: &Strips,
    target: CodeTarget,
    only_changed: bool,
) {
    let (moves, step) = (strips.blocks > 1, strips.elements());
    if moves {
        code.clear_index();
    }
    let start = code.here();
    let mut unchanged = None;
    if only_changed {
        let all = job.gating.iter().flat_map(|gating| &gating.snapshots).filter(|snapshot| snapshot.each);
        let vectors: Vec<(Address, Address, Length)> = all
            .flat_map(|snapshot| {
                let size = snapshot.count / job.elements;
                let (length, parts) = strips.vectors(size);
                let at = move |place: u32, part: usize| Address {
                    scale: if moves { size as u8 } else { 0 },
                    ..target.word(place).plus(part as i32 * length.words() as i32 * 4)
                };
                (0..parts).map(move |part| (at(snapshot.from, part), at(snapshot.copy, part), length))
            })
            .collect();
        unchanged = equal(code, &vectors);
        for &(from, was, length) in &vectors {
            code.vector(op::MOVDQU, length, NOW, 0, RegMem::Memory(from), None);
            code.vector(op::STORE_DQU, length, NOW, 0, RegMem::Memory(was), None);
        }
    }
    let Lowered { instructions, homes, lengths } = &strips.lowered;
    Allocator::emit(code, instructions, homes.clone(), lengths, &mut pool.end);
    unchanged.into_iter().for_each(|label| code.bind(label));
    if moves {
        code.loop_back(step as i32 * 4, (strips.blocks * step) as i32 * 4, start);
    }
}

/// Compares vectors with their snapshots; a jump if all are equal.
fn equal(code: &mut Assembler, vectors: &[(Address, Address, Length)]) -> Option<Label> {
    let longest = vectors.iter().map(|vector| vector.2).max()?;
    for (i, &(from, was, length)) in vectors.iter().enumerate() {
        let to = if i == 0 { ALL } else { NOW };
        code.vector(op::MOVDQU, length, to, 0, RegMem::Memory(from), None);
        code.vector(op::XOR, length, to, to, RegMem::Memory(was), None);
        if to != ALL {
            // A shorter vector is zero above.
            code.vector(op::OR, Length::Y, ALL, ALL, RegMem::Register(to), None);
        }
    }
    code.test(longest, ALL);
    Some(code.jump_if(true))
}

/// A job with idle gating: with the gate low, blocks without a change are skipped.
fn run_gated(code: &mut Assembler, pool: &mut Pool, job: &Job, gating: &IdleGating, target: CodeTarget) {
    let valid = target.word(gating.valid);
    let high = gating.gate.map(|gate| {
        match target.is_batch() {
            true => {
                code.vector(op::MOVDQU, Length::Y, NOW, 0, RegMem::Memory(target.word(gate)), None);
                code.test(Length::Y, NOW);
            }
            false => code.compare_zero(target.word(gate)),
        }
        code.jump_if(false)
    });
    code.compare_zero(valid);
    let mut differ = vec![code.jump_if(true)];
    for &(flags, bits) in &gating.events {
        code.test_bits(target.word(flags), bits);
        differ.push(code.jump_if(false));
    }
    for snapshot in gating.snapshots.iter().filter(|snapshot| !snapshot.each) {
        for i in 0..snapshot.count {
            let [from, was] = [snapshot.from, snapshot.copy].map(|first| target.word(first + i));
            if target.is_batch() {
                code.vector(op::MOVDQU, Length::Y, NOW, 0, RegMem::Memory(from), None);
                code.vector(op::XOR, Length::Y, NOW, NOW, RegMem::Memory(was), None);
                code.test(Length::Y, NOW);
            } else {
                code.load_index(from);
                code.compare_index(was);
            }
            differ.push(code.jump_if(false));
        }
    }
    copy_previous(code, job, target);
    let strips = Strips::best(pool, job, target);
    if gating.snapshots.iter().any(|snapshot| snapshot.each) {
        blocks(code, pool, job, &strips, target, true);
    }
    let idle = code.jump();
    let run = high.map(|high| {
        code.bind(high);
        code.store_number(valid, 0);
        code.jump()
    });
    differ.into_iter().for_each(|label| code.bind(label));
    code.store_number(valid, 1);
    for &Snapshot { from, count, copy: to, .. } in &gating.snapshots {
        copy(code, [target.word(from), target.word(to)], count * target.runs);
    }
    run.into_iter().for_each(|label| code.bind(label));
    blocks(code, pool, job, &strips, target, false);
    code.bind(idle);
}

/// Outputs in the next state, and their words. If the job is skipped, they are copied from the other buffer.
fn next_state_outputs(job: &Job, target: CodeTarget) -> Vec<(u32, u32)> {
    (job.steps.outputs.iter().zip(&job.outputs))
        .filter(|&(_, &at)| target.is_next_state(at))
        .map(|(&output, &at)| (at, job.elements * words(job.steps.steps[output as usize].width)))
        .collect()
}

fn copy_previous(code: &mut Assembler, job: &Job, target: CodeTarget) {
    for (at, count) in next_state_outputs(job, target) {
        copy(code, [target.previous(at), target.word(at)], count * target.runs);
    }
}

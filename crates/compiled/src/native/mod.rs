//! Jobs as machine code for processors with AVX2 or AVX-512.
//!
//! Made here and not by a library: what is needed are some fifty instructions on vectors of 256 or 512 bits, with a shift by a word of its
//! own in each element and a blend, in straight pieces of code. The well-kept code generators for Rust know vectors of 128 bits without such
//! shifts.
//!
//! | file | what |
//! | --- | --- |
//! | `lower` | steps of a job to instructions on virtual registers |
//! | `instruction` | instructions on virtual registers |
//! | `logic` | bitwise instructions joined, three operands in one |
//! | `allocate` | virtual registers to those that there are |
//! | `assembler` | instructions to bytes |
//! | `pool` | constants and tables |
//! | `beside` | what is different where runs lie beside each other |

mod allocate;
mod assembler;
mod beside;
mod instruction;
mod logic;
mod lower;
mod pool;

use crate::held::{Enable, Held, Taken};
use crate::job::{Job, Kept, Rest, Task};
use crate::plan::{Plan, SLACK};
use allocate::Allocator;
use assembler::{Address, Assembler, Length, Operand, Place, op};
use beside::Beside;
use lower::{Lanes, Lower};
use memmap2::{Mmap, MmapMut};
use pool::Pool;

/// Vectors that code can be made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    /// 256 bits.
    Avx2,
    /// 512 bits: AVX-512 with F, BW, DQ and VL.
    Avx512,
}

impl Vectors {
    /// Those that this machine has, the longest first.
    pub(crate) fn available() -> Vec<Vectors> {
        let long = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        match is_x86_feature_detected!("avx2") {
            true if long => vec![Vectors::Avx512, Vectors::Avx2],
            true => vec![Vectors::Avx2],
            false => Vec::new(),
        }
    }

    fn longest(self) -> Length {
        match self {
            Vectors::Avx2 => Length::Y,
            Vectors::Avx512 => Length::Z,
        }
    }

    /// Runs of a design that lie beside each other: each word of memory is a vector.
    pub(crate) fn beside(self) -> usize {
        self.longest().words() as usize
    }
}

impl std::fmt::Display for Vectors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Vectors::Avx2 => "AVX2",
            Vectors::Avx512 => "AVX-512",
        })
    }
}

/// What code is made for.
#[derive(Clone, Copy)]
struct Machine {
    longest: Length,
    /// Runs beside each other: one, or as many as a vector has words.
    runs: u32,
}

impl Machine {
    fn is_beside(self) -> bool {
        self.runs > 1
    }

    /// A word of memory, of all runs.
    fn word(self, place: u32) -> Address {
        Address::beside(place, self.runs)
    }

    /// How a job is cut into blocks.
    fn lanes(self, elements: u32) -> Lanes {
        match (if self.is_beside() { self.runs } else { elements }, self.longest) {
            (1, _) => Lanes::One,
            (2..=4, _) => Lanes::Four,
            (9.., Length::Z) => Lanes::Sixteen,
            _ => Lanes::Eight,
        }
    }
}

/// Code for a plan.
pub(crate) struct Native {
    code: Mmap,
    /// Where in the code the function for the edge begins.
    capture: usize,
    /// Words of memory that the code reaches.
    memory: usize,
    vectors: Vectors,
}

impl Native {
    /// Code for a plan, for a machine that has these vectors, if it lets code be made. `memory` grows to what the code needs.
    pub(crate) fn new(plan: &Plan, memory: &mut Vec<u32>, vectors: Vectors) -> Option<Native> {
        Native::of(plan, memory, vectors, 1)
    }

    /// The same for [so many](Vectors::beside) runs of a design at once: each word of memory is there as often.
    pub(crate) fn beside(plan: &Plan, memory: &mut Vec<u32>, vectors: Vectors) -> Option<Native> {
        Native::of(plan, memory, vectors, vectors.beside() as u32)
    }

    fn of(plan: &Plan, memory: &mut Vec<u32>, vectors: Vectors, runs: u32) -> Option<Native> {
        if !Vectors::available().contains(&vectors) {
            return None;
        }
        let mut code = Assembler::default();
        let machine = Machine { longest: vectors.longest(), runs };
        let mut pool = Pool::new(plan.memory * runs, machine.longest.words());
        show(&mut code, plan, machine);
        for task in &plan.tasks {
            match task {
                Task::Copy(list) if machine.is_beside() => Beside::new(&mut code, machine).copy(list),
                Task::Copy(list) => {
                    for &(from, to) in list {
                        code.copy_word(Address::word(from), Address::word(to));
                    }
                }
                Task::Run(job) => run(&mut code, &mut pool, job, machine),
            }
        }
        for &flag in &plan.events {
            code.store_number(machine.word(flag), 0);
        }
        code.finish();
        let capture = code.code.len();
        for held in &plan.registers {
            match machine.is_beside() {
                true => {
                    held.apart().iter().for_each(|held| Beside::new(&mut code, machine).hold(&mut pool, held))
                }
                false => hold(&mut code, held, machine),
            }
        }
        code.finish();
        memory.resize((pool.end + SLACK) as usize, 0);
        pool.words.iter().for_each(|&(at, word)| memory[at as usize] = word);
        let mut map = MmapMut::map_anon(code.code.len()).ok()?;
        map.copy_from_slice(&code.code);
        Some(Native { code: map.make_exec().ok()?, capture, memory: memory.len(), vectors })
    }

    pub(crate) fn vectors(&self) -> Vectors {
        self.vectors
    }

    /// Registers show what they captured, and all logic settles.
    pub(crate) fn settle(&self, memory: &mut [u32]) {
        self.call(0, memory);
    }

    pub(crate) fn capture(&self, memory: &mut [u32]) {
        self.call(self.capture, memory);
    }

    #[allow(unsafe_code)]
    fn call(&self, at: usize, memory: &mut [u32]) {
        assert!(memory.len() >= self.memory, "memory that the code was made for");
        let start = self.code[at..].as_ptr();
        // SAFETY: at this place begins a function of this calling convention, which `new` has made for a machine that it has looked
        // at. It only touches `self.memory` words from its argument on, and registers that the convention leaves to it.
        unsafe {
            let function: extern "sysv64" fn(*mut u32) = std::mem::transmute(start);
            function(memory.as_mut_ptr());
        }
    }
}

fn run(code: &mut Assembler, pool: &mut Pool, job: &Job, machine: Machine) {
    let quiet = unless(code, &job.when, machine);
    let skip = job.rest.as_ref().map(|rest| leave_out(code, rest, machine));
    let lanes = machine.lanes(job.elements);
    let block = lanes.elements();
    let blocks = if machine.is_beside() { job.elements } else { job.elements.div_ceil(block) };
    let moves = blocks > 1;
    if moves {
        code.clear_index();
    }
    let start = code.here();
    let lowered = Lower::block(job, pool, moves, (machine, lanes));
    Allocator::emit(code, &lowered.instructions, lowered.homes, lowered.lengths, &mut pool.end);
    if moves {
        code.again(block as i32 * 4, (blocks * block) as i32 * 4, start);
    }
    skip.into_iter().chain(quiet).for_each(|place| code.arrive(place));
}

/// Registers show what they captured, those that only take something at times where they did.
fn show(code: &mut Assembler, plan: &Plan, machine: Machine) {
    let copy = |code: &mut Assembler, first: u32, words: u32| {
        let [from, to, words] = [first + plan.held, first, words].map(|place| place * machine.runs);
        copy(code, from, to, words, machine);
    };
    copy(code, 0, plan.moving);
    for held in plan.registers.iter().filter(|held| held.next - plan.held >= plan.moving) {
        let quiet = unless(code, held.event.as_slice(), machine);
        copy(code, held.next - plan.held, held.words);
        quiet.into_iter().for_each(|place| code.arrive(place));
    }
}

/// Jumps past a job if none of the events has happened that it has to run at; the jump.
fn unless(code: &mut Assembler, when: &[u32], machine: Machine) -> Option<Place> {
    let (&last, others) = when.split_last()?;
    let mut happened = Vec::new();
    for &flag in others {
        code.compare_zero(machine.word(flag));
        happened.push(code.jump_if(false));
    }
    code.compare_zero(machine.word(last));
    let quiet = code.jump_if(true);
    happened.into_iter().for_each(|place| code.arrive(place));
    Some(quiet)
}

/// Jumps past a job that may be left out, and keeps what the next time is compared with; the jump.
fn leave_out(code: &mut Assembler, rest: &Rest, machine: Machine) -> Place {
    const NOW: u8 = 0;
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
    for kept in &rest.others {
        for (from, was, length) in pieces(kept, machine) {
            match length {
                None => {
                    code.load_index(from);
                    code.compare_index(was);
                }
                Some(length) => {
                    code.vector(op::MOVDQU, length, NOW, 0, Operand::Memory(from), None);
                    code.vector(op::XOR, length, NOW, NOW, Operand::Memory(was), None);
                    code.test(length, NOW);
                }
            }
            differ.push(code.jump_if(false));
        }
    }
    let skip = code.jump();
    code.arrive(high);
    code.store_number(seen, 0);
    let run = code.jump();
    differ.into_iter().for_each(|place| code.arrive(place));
    code.store_number(seen, 1);
    for (from, was, length) in rest.others.iter().flat_map(|kept| pieces(kept, machine)) {
        match length {
            None => code.copy_word(from, was),
            Some(length) => {
                code.vector(op::MOVDQU, length, NOW, 0, Operand::Memory(from), None);
                code.vector(op::STORE_DQU, length, NOW, 0, Operand::Memory(was), None);
            }
        }
    }
    code.arrive(run);
    skip
}

/// Words that are compared, and those that they are compared with, in vectors as far as they fill some; of runs beside each other a
/// word is a vector.
fn pieces(kept: &Kept, machine: Machine) -> Vec<(Address, Address, Option<Length>)> {
    let mut pieces = Vec::new();
    let mut done = 0;
    while done < kept.count {
        let length = match machine.is_beside() {
            true => Some(machine.longest),
            false => {
                [machine.longest, Length::Y, Length::X].into_iter().find(|l| l.words() <= kept.count - done)
            }
        };
        pieces.push((machine.word(kept.from + done), machine.word(kept.seen + done), length));
        done += if machine.is_beside() { 1 } else { length.map_or(1, Length::words) };
    }
    pieces
}

/// Registers capture.
fn hold(code: &mut Assembler, held: &Held, machine: Machine) {
    let mut ends = Vec::new();
    for control in held.controls() {
        code.compare_zero(Address::word(control));
        ends.push(code.jump_if(true));
    }
    if let (Some(Enable::Each(enable)), &Taken::Each(from)) = (held.enable, &held.d) {
        hold_each(code, held, [enable, from], machine);
        ends.into_iter().for_each(|end| code.arrive(end));
        return;
    }
    if let Some(flag) = held.event {
        code.store_number(Address::word(flag), 1);
    }
    if let Some((reset, value)) = held.reset {
        code.compare_zero(Address::word(reset));
        let low = code.jump_if(true);
        let words = [value as u32, (value >> 32) as u32];
        for i in 0..held.words {
            let word = words[if held.wide { i as usize % 2 } else { 0 }];
            code.store_number(Address::word(held.next + i), word);
        }
        ends.push(code.jump());
        code.arrive(low);
    }
    match &held.d {
        // It is there already.
        Taken::Each(from) if *from == held.next => {}
        Taken::Words(list) => {
            for (&from, to) in list.iter().zip(held.next..) {
                code.copy_word(Address::word(from), Address::word(to));
            }
        }
        Taken::Each(from) => copy(code, *from, held.next, held.words, machine),
    }
    ends.into_iter().for_each(|end| code.arrive(end));
}

/// Registers capture, each if its own enable is high.
fn hold_each(code: &mut Assembler, held: &Held, [enable, from]: [u32; 2], machine: Machine) {
    const VALUE: u8 = 0;
    const HELD: u8 = 1;
    const MASK: u8 = 2;
    let lanes = machine.lanes(held.elements());
    let at = |place: u32, offset: u32| Operand::Memory(Address::word(place + offset));
    let narrow = lanes.length(false);
    let blocks = (0..held.elements()).step_by(lanes.elements() as usize);
    for (i, first) in blocks.clone().enumerate() {
        let code_of = if i == 0 { op::MOVDQU } else { op::OR };
        code.vector(code_of, narrow, MASK, if i == 0 { 0 } else { MASK }, at(enable, first), None);
    }
    code.test(narrow, MASK);
    let none = code.jump_if(true);
    if let Some(flag) = held.event {
        code.store_number(Address::word(flag), 1);
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
fn copy(code: &mut Assembler, from: u32, to: u32, words: u32, machine: Machine) {
    let vector = |code: &mut Assembler, length: Length, offset: u32, scale: u8| {
        let at = |place: u32| Operand::Memory(Address { scale, ..Address::word(place + offset) });
        code.vector(op::MOVDQU, length, 0, 0, at(from), None);
        code.vector(op::STORE_DQU, length, 0, 0, at(to), None);
    };
    let step = machine.longest.words();
    let whole = words / step * step;
    if whole > LONG {
        code.clear_index();
        let start = code.here();
        vector(code, machine.longest, 0, 1);
        code.again(step as i32 * 4, whole as i32 * 4, start);
    } else {
        (0..whole).step_by(step as usize).for_each(|offset| vector(code, machine.longest, offset, 0));
    }
    let mut done = whole;
    for length in [Length::Y, Length::X] {
        if words - done >= length.words() {
            vector(code, length, done, 0);
            done += length.words();
        }
    }
    for offset in done..words {
        code.copy_word(Address::word(from + offset), Address::word(to + offset));
    }
}

/// Words that are copied by a loop and not one vector after another.
const LONG: u32 = 128;

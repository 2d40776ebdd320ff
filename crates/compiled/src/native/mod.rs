//! Jobs as machine code for processors with AVX2.
//!
//! Made here and not by a library: what is needed are some forty instructions on vectors of 256 bits, with a shift by a word of its own in
//! each element and a blend, in straight pieces of code. The well-kept code generators for Rust know vectors of 128 bits without such shifts.
//!
//! | file | what |
//! | --- | --- |
//! | `lower` | steps of a job to instructions on virtual registers |
//! | `allocate` | virtual registers to those that there are |
//! | `assembler` | instructions to bytes |
//! | `pool` | constants and tables |
//! | `beside` | what is different where eight runs lie beside each other |

mod allocate;
mod assembler;
mod beside;
mod lower;
mod pool;

use crate::job::{Job, Rest, Task};
use crate::plan::{Held, Plan, SLACK, Taken};
use allocate::Allocator;
use assembler::{Address, Assembler, Operand, Place, op};
use lower::{Lanes, Lower};
use memmap2::{Mmap, MmapMut};
use pool::Pool;

/// Code for a plan.
pub(crate) struct Native {
    code: Mmap,
    /// Where in the code the function for the edge begins.
    capture: usize,
    /// Words of memory that the code reaches.
    memory: usize,
}

impl Native {
    /// Whether this machine runs the code.
    pub(crate) fn is_possible() -> bool {
        is_x86_feature_detected!("avx2")
    }

    /// Code for a plan, if this machine runs it and lets code be made. `memory` grows to what the code needs.
    pub(crate) fn new(plan: &Plan, memory: &mut Vec<u32>) -> Option<Native> {
        Native::of(plan, memory, false)
    }

    /// The same for [`BESIDE`] runs of a design at once: each word of memory is there as often.
    pub(crate) fn beside(plan: &Plan, memory: &mut Vec<u32>) -> Option<Native> {
        Native::of(plan, memory, true)
    }

    fn of(plan: &Plan, memory: &mut Vec<u32>, beside: bool) -> Option<Native> {
        if !Native::is_possible() {
            return None;
        }
        let mut code = Assembler::default();
        let mut pool = Pool::new(if beside { plan.memory * BESIDE as u32 } else { plan.memory });
        for task in &plan.tasks {
            match task {
                Task::Copy(list) if beside => beside::copy(&mut code, list),
                Task::Copy(list) => {
                    for &(from, to) in list {
                        code.copy_word(Address::word(from), Address::word(to));
                    }
                }
                Task::Run(job) => run(&mut code, &mut pool, job, beside),
            }
        }
        for &flag in &plan.events {
            code.store_number(flag_at(flag, beside), 0);
        }
        code.finish();
        let capture = code.code.len();
        for held in &plan.registers {
            if beside { beside::hold(&mut code, &mut pool, held) } else { hold(&mut code, held) }
        }
        code.finish();
        memory.resize((pool.end + SLACK) as usize, 0);
        pool.words.iter().for_each(|&(at, word)| memory[at as usize] = word);
        let mut map = MmapMut::map_anon(code.code.len()).ok()?;
        map.copy_from_slice(&code.code);
        Some(Native { code: map.make_exec().ok()?, capture, memory: memory.len() })
    }

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

/// Runs beside each other.
pub(crate) const BESIDE: usize = 8;

/// Elements of a block.
const BLOCK: u32 = 8;

fn run(code: &mut Assembler, pool: &mut Pool, job: &Job, beside: bool) {
    let quiet = unless(code, &job.when, beside);
    let leave = if beside { beside::leave_out } else { leave_out };
    let skip = job.rest.as_ref().map(|rest| leave(code, rest));
    let lanes = match job.elements {
        _ if beside => Lanes::Eight,
        1 => Lanes::One,
        2..=4 => Lanes::Four,
        _ => Lanes::Eight,
    };
    let blocks = if beside { job.elements } else { job.elements.div_ceil(BLOCK) };
    let moves = blocks > 1;
    if moves {
        code.clear_index();
    }
    let start = code.here();
    let lowered = Lower::block(job, pool, [moves, beside], lanes);
    Allocator::emit(code, &lowered.instructions, lowered.homes, lowered.long, &mut pool.end);
    if moves {
        code.again(BLOCK as i32 * 4, (blocks * BLOCK) as i32 * 4, start);
    }
    skip.into_iter().chain(quiet).for_each(|place| code.arrive(place));
}

fn flag_at(flag: u32, beside: bool) -> Address {
    if beside { Address::eight(flag) } else { Address::word(flag) }
}

/// Jumps past a job if none of the events has happened that it has to run at; the jump.
fn unless(code: &mut Assembler, when: &[u32], beside: bool) -> Option<Place> {
    let (&last, others) = when.split_last()?;
    let mut happened = Vec::new();
    for &flag in others {
        code.compare_zero(flag_at(flag, beside));
        happened.push(code.jump_if(false));
    }
    code.compare_zero(flag_at(last, beside));
    let quiet = code.jump_if(true);
    happened.into_iter().for_each(|place| code.arrive(place));
    Some(quiet)
}

/// Jumps past a job that may be left out, and keeps what the next time is compared with; the jump.
fn leave_out(code: &mut Assembler, rest: &Rest) -> Place {
    let seen = Address::word(rest.seen);
    let kept = |i: usize| Address::word(rest.seen + 1 + i as u32);
    code.compare_zero(Address::word(rest.gate));
    let high = code.jump_if(false);
    code.compare_zero(seen);
    let mut differ = vec![code.jump_if(true)];
    for (i, &other) in rest.others.iter().enumerate() {
        code.load_index(Address::word(other));
        code.compare_index(kept(i));
        differ.push(code.jump_if(false));
    }
    let skip = code.jump();
    code.arrive(high);
    code.store_number(seen, 0);
    let run = code.jump();
    differ.into_iter().for_each(|place| code.arrive(place));
    code.store_number(seen, 1);
    for (i, &other) in rest.others.iter().enumerate() {
        code.copy_word(Address::word(other), kept(i));
    }
    code.arrive(run);
    skip
}

/// Registers capture.
fn hold(code: &mut Assembler, held: &Held) {
    let mut ends = Vec::new();
    for control in [held.gate, held.enable].into_iter().flatten() {
        code.compare_zero(Address::word(control));
        ends.push(code.jump_if(true));
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
        Taken::Words(list) => {
            for (&from, to) in list.iter().zip(held.next..) {
                code.copy_word(Address::word(from), Address::word(to));
            }
        }
        Taken::Each(from) => copy(code, *from, held.next, held.words),
    }
    ends.into_iter().for_each(|end| code.arrive(end));
}

/// Copies words that lie beside each other.
fn copy(code: &mut Assembler, from: u32, to: u32, words: u32) {
    let vector = |code: &mut Assembler, long: bool, offset: u32, scale: u8| {
        let at = |place: u32| Operand::Memory(Address { scale, ..Address::word(place + offset) });
        code.vector(op::MOVDQU, long, 0, 0, at(from), None);
        code.vector(op::STORE_DQU, long, 0, 0, at(to), None);
    };
    let whole = words / 8 * 8;
    if whole > LONG {
        code.clear_index();
        let start = code.here();
        vector(code, true, 0, 1);
        code.again(32, whole as i32 * 4, start);
    } else {
        (0..whole).step_by(8).for_each(|offset| vector(code, true, offset, 0));
    }
    let mut done = whole;
    if words - done >= 4 {
        vector(code, false, done, 0);
        done += 4;
    }
    for offset in done..words {
        code.copy_word(Address::word(from + offset), Address::word(to + offset));
    }
}

/// Words that are copied by a loop and not one vector after another.
const LONG: u32 = 128;

//! Jobs as machine code for processors with AVX2 or AVX-512.
//!
//! Made here and not by a library: what is needed are some fifty instructions on vectors of 256 or 512 bits, with a shift by a word of its
//! own in each element and a blend, in straight pieces of code. The well-kept code generators for Rust know vectors of 128 bits without such
//! shifts.
//!
//! | file | what |
//! | --- | --- |
//! | `jobs` | jobs, and when they are left out |
//! | `lower` | steps of a job to instructions on virtual registers |
//! | `instruction` | instructions on virtual registers |
//! | `logic` | bitwise instructions joined, three operands in one |
//! | `allocate` | virtual registers to those that there are |
//! | `op` | the instructions on vectors, on elements of each size |
//! | `assembler` | instructions to bytes |
//! | `pool` | constants and tables |
//! | `registers` | what registers show and capture |
//! | `beside` | what is different where runs lie beside each other |

mod allocate;
mod assembler;
mod beside;
mod instruction;
mod jobs;
mod logic;
mod lower;
mod op;
mod pool;
mod registers;

use crate::job::Task;
use crate::memory::Memory;
use crate::plan::{Plan, SLACK};
use assembler::{Address, Assembler, Base, Length, Place};
use beside::Beside;
use jobs::run;
use lower::Lanes;
use memmap2::{Mmap, MmapMut};
use pool::Pool;
use registers::{hold, show};

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
    /// Of the plan: words that registers hold, and those of them, the first ones, that move at every edge.
    held: u32,
    moving: u32,
}

impl Machine {
    fn is_beside(self) -> bool {
        self.runs > 1
    }

    /// A word of memory, of all runs.
    fn word(self, place: u32) -> Address {
        let (base, first) = match place {
            _ if place < self.moving => (Base::Shown, 0),
            _ if self.is_taken(place) => (Base::Next, self.held),
            _ => (Base::Memory, 0),
        };
        Address::word(base, (place - first) * self.runs)
    }

    /// Whether a word is what a register takes that moves at every edge.
    fn is_taken(self, place: u32) -> bool {
        (self.held..self.held + self.moving).contains(&place)
    }

    /// The same word when logic settled the last time.
    fn before(self, taken: u32) -> Address {
        Address { base: Base::Before, ..self.word(taken) }
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
    /// The first of those that are what registers take at every edge; by turns with the first ones, where they show it.
    taken: usize,
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
        let machine = Machine { longest: vectors.longest(), runs, held: plan.held, moving: plan.moving };
        let mut pool = Pool::new(plan.memory * runs, machine.longest.words());
        show(&mut code, plan, machine);
        for task in &plan.tasks {
            match task {
                Task::Copy(list) if machine.is_beside() => Beside::new(&mut code, machine).copy(list),
                Task::Copy(list) => {
                    for &(from, to) in list {
                        code.copy_word(machine.word(from), machine.word(to));
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
        let code = map.make_exec().ok()?;
        let taken = (plan.taken().start * runs) as usize;
        Some(Native { code, capture, memory: memory.len(), taken, vectors })
    }

    pub(crate) fn vectors(&self) -> Vectors {
        self.vectors
    }

    /// Registers show what they captured, and all logic settles.
    pub(crate) fn settle(&self, memory: &mut Memory) {
        let risen = std::mem::take(&mut memory.risen);
        // Nothing is copied from where registers take it to where they show it: the two change places.
        memory.turned ^= risen;
        self.call(0, memory, risen);
    }

    pub(crate) fn capture(&self, memory: &mut Memory) {
        self.call(self.capture, memory, false);
        memory.risen = true;
    }

    /// Calls a function. If the clock has risen since logic settled, what registers took then is where they show it.
    #[allow(unsafe_code)]
    fn call(&self, at: usize, memory: &mut Memory, risen: bool) {
        assert!(memory.len() >= self.memory, "memory that the code was made for");
        let start = self.code[at..].as_ptr();
        let [shown, next] = if memory.turned { [self.taken, 0] } else { [0, self.taken] };
        let before = if risen { shown } else { next };
        let all = memory.as_mut_ptr();
        // SAFETY: at this place begins a function of this calling convention, which `new` has made for a machine that it has looked
        // at. It only touches `self.memory` words from its first argument on, some of them by the others, which lie in there with as
        // many words behind them as the code reaches so, and registers that the convention leaves to it.
        unsafe {
            let function: extern "sysv64" fn(*mut u32, *mut u32, *mut u32, *mut u32) =
                std::mem::transmute(start);
            function(all, all.add(shown), all.add(next), all.add(before));
        }
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

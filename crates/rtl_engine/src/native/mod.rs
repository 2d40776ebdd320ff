//! Jobs as machine code for processors with AVX2.
//!
//! The generator needs some fifty instructions on vectors of 256 bits in basic blocks, among them variable shifts and blends. The well-kept
//! code generators for Rust have vectors of 128 bits without variable shifts.
//!
//! | file | what |
//! | --- | --- |
//! | `strips` | strip-mining, event masks and idle gating |
//! | `lower` | instruction selection |
//! | `instruction` | instructions on virtual registers |
//! | `allocate` | register allocation |
//! | `op` | the instructions on vectors, on elements of each size |
//! | `assembler` | encoding of instructions |
//! | `pool` | the constant pool |
//! | `capture` | captures in a single run |
//! | `batch` | captures in a vector of runs |

mod allocate;
mod assembler;
mod batch;
mod capture;
mod instruction;
mod lower;
mod op;
mod pool;
mod strips;

use crate::demand::Deferred;
use crate::job::Task;
use crate::memory::Memory;
use crate::plan::{Plan, SLACK};
use crate::register::RegisterGroup;
use assembler::{Address, Assembler, Base, Label, Length};
use batch::BatchCapture;
use capture::commit;
use flashd_spec::isa::Isa;
use lower::BlockElements;
use memmap2::{Mmap, MmapMut};
use pool::Pool;
use strips::run;

/// Words of 32 bits in a vector.
pub(crate) const LANES: u32 = Length::Y.words();

/// Whether this machine runs the code.
pub(crate) fn is_available() -> bool {
    Isa::has_avx2()
}

/// The runs and the memory layout that code is generated for.
#[derive(Clone, Copy)]
struct CodeTarget {
    /// Runs in a vector: one or [`LANES`].
    runs: u32,
    /// See [`Plan`].
    state: u32,
    buffered: u32,
}

impl CodeTarget {
    fn is_batch(self) -> bool {
        self.runs > 1
    }

    /// A word of memory, of all runs.
    fn word(self, place: u32) -> Address {
        let (base, first) = match place {
            _ if place < self.buffered => (Base::Current, 0),
            _ if self.is_next_state(place) => (Base::Next, self.state),
            _ => (Base::Memory, 0),
        };
        Address::word(base, (place - first) * self.runs)
    }

    /// Whether a word is a captured value of a double-buffered register.
    fn is_next_state(self, place: u32) -> bool {
        (self.state..self.state + self.buffered).contains(&place)
    }

    /// The same word after the previous evaluation.
    fn previous(self, place: u32) -> Address {
        Address { base: Base::Previous, ..self.word(place) }
    }

    /// The elements of a block of a job.
    fn lanes(self, elements: u32) -> BlockElements {
        let elements = if self.is_batch() { self.runs } else { elements };
        match elements {
            1 => BlockElements::One,
            2..=4 => BlockElements::Four,
            _ => BlockElements::Eight,
        }
    }
}

/// Code for a plan.
pub(crate) struct Native {
    code: Mmap,
    /// The offset of the function for the edge.
    capture: usize,
    /// Words of memory that the code reaches.
    memory: usize,
    /// The second buffer of double-buffered registers; the first one begins at 0.
    next: usize,
}

impl Native {
    /// Code for a plan and a vector of runs, one or [`LANES`]; none if this machine has no AVX2 or does not allow executable memory. `memory`
    /// grows to the size that the code needs.
    pub(crate) fn new(plan: &Plan, memory: &mut Vec<u32>, runs: u32) -> Option<Native> {
        if !is_available() {
            return None;
        }
        let mut code = Assembler::default();
        let target = CodeTarget { runs, state: plan.state, buffered: plan.buffered };
        let mut pool = Pool::new(plan.memory * runs);
        commit(&mut code, plan, target);
        plan.tasks.iter().for_each(|task| run_task(&mut code, &mut pool, task, target));
        if let Some(deferred) = &plan.deferred {
            run_deferred(&mut code, &mut pool, deferred, target);
        }
        for &flags in &plan.events {
            code.store_number(target.word(flags), 0);
        }
        code.finish();
        let capture = code.code.len();
        match target.is_batch() {
            true => (plan.registers.iter().flat_map(RegisterGroup::with_shared_enables))
                .for_each(|group| BatchCapture::new(&mut code, target).capture(&mut pool, &group)),
            false => capture::capture(&mut code, &plan.registers, target),
        }
        code.finish();
        memory.resize((pool.end + SLACK) as usize, 0);
        pool.words.iter().for_each(|&(at, word)| memory[at as usize] = word);
        let mut map = MmapMut::map_anon(code.code.len()).ok()?;
        map.copy_from_slice(&code.code);
        let code = map.make_exec().ok()?;
        let next = (plan.next_state().start * runs) as usize;
        Some(Native { code, capture, memory: memory.len(), next })
    }

    /// Q outputs take the captured values, and all logic settles.
    pub(crate) fn settle(&self, memory: &mut Memory) {
        let clocked = std::mem::take(&mut memory.clocked);
        memory.swapped ^= clocked;
        self.call(0, memory, clocked);
    }

    pub(crate) fn capture(&self, memory: &mut Memory) {
        self.call(self.capture, memory, false);
        memory.clocked = true;
    }

    /// Calls a function. If the clock has risen since logic settled, the previous next state is the current state.
    #[allow(unsafe_code)]
    fn call(&self, at: usize, memory: &mut Memory, clocked: bool) {
        assert!(memory.len() >= self.memory, "memory that the code was made for");
        let start = self.code[at..].as_ptr();
        let [current, next] = if memory.swapped { [self.next, 0] } else { [0, self.next] };
        let previous = if clocked { current } else { next };
        let all = memory.as_mut_ptr();
        // SAFETY: a function of this calling convention begins here, which `new` generated for a machine with AVX2. It only accesses
        // `self.memory` words from its first argument on, some of them relative to the other arguments, which are within that range by
        // at least the offsets of the code, and registers that the caller saves.
        unsafe {
            let function: extern "sysv64" fn(*mut u32, *mut u32, *mut u32, *mut u32) =
                std::mem::transmute(start);
            function(all, all.add(current), all.add(next), all.add(previous));
        }
    }
}

fn run_task(code: &mut Assembler, pool: &mut Pool, task: &Task, target: CodeTarget) {
    match task {
        Task::Copy(list, events) => {
            let idle = skip_unless(code, events, target);
            match target.is_batch() {
                true => BatchCapture::new(code, target).copy(list),
                false => {
                    (list.iter()).for_each(|&(from, to)| code.copy_word(target.word(from), target.word(to)))
                }
            }
            idle.into_iter().for_each(|label| code.bind(label));
        }
        Task::Run(job) => run(code, pool, job, target),
    }
}

/// The deferred tasks, and a jump past them while they are not due.
fn run_deferred(code: &mut Assembler, pool: &mut Pool, deferred: &Deferred, target: CodeTarget) {
    for &(flags, held) in &deferred.held {
        code.set_bits_of(target.word(flags), target.word(held));
    }
    code.compare_zero(target.word(deferred.always));
    let due = code.jump_if(false);
    code.compare_zero(target.word(deferred.gate));
    let idle = code.jump_if(true);
    code.bind(due);
    deferred.tasks.iter().for_each(|task| run_task(code, pool, task, target));
    for &(_, held) in &deferred.held {
        code.store_number(target.word(held), 0);
    }
    code.bind(idle);
}

/// A jump past a job, taken while its event mask is low.
fn skip_unless(code: &mut Assembler, events: &[(u32, u32)], target: CodeTarget) -> Option<Label> {
    let (&(last, bits), others) = events.split_last()?;
    let mut active = Vec::new();
    for &(flags, bits) in others {
        code.test_bits(target.word(flags), bits);
        active.push(code.jump_if(false));
    }
    code.test_bits(target.word(last), bits);
    let idle = code.jump_if(true);
    active.into_iter().for_each(|label| code.bind(label));
    Some(idle)
}

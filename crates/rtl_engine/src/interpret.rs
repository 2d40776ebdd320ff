//! Interprets jobs: plain Rust over blocks of elements, which the compiler vectorises.

use crate::demand::Deferred;
use crate::job::{EventMask, IdleGating, Job, JobInput, Snapshot, Task};
use crate::memory::{BLOCK, Block, Memory, words};
use crate::plan::Plan;
use crate::register::{DataInput, RegisterGroup};
use flashd_hwmodel::netlist::{Operator, Step};
use flashd_spec::bits::{ones, signed};
use flashd_spec::isa::{Isa, Kernel};

/// Runs a plan step by step.
pub(crate) struct Interpreter {
    plan: Plan,
    /// Steps of the longest job.
    most: usize,
}

impl Interpreter {
    pub(crate) fn new(mut plan: Plan) -> Interpreter {
        plan.registers = plan.registers.iter().flat_map(RegisterGroup::with_shared_enables).collect();
        let deferred = plan.deferred.iter().flat_map(|deferred| &deferred.tasks);
        let most = plan.tasks.iter().chain(deferred).map(|task| match task {
            Task::Run(job) => job.steps.steps.len(),
            Task::Copy(..) => 0,
        });
        let most = most.max().unwrap_or(0);
        Interpreter { plan, most }
    }

    /// Q outputs take the captured values, and all logic settles.
    pub(crate) fn settle(&self, memory: &mut Memory) {
        Isa::best().run(Settle(self, memory));
    }

    #[inline(always)]
    fn all(&self, memory: &mut Memory) {
        let state = self.plan.state as usize;
        if std::mem::take(&mut memory.clocked) {
            memory.copy_within(state..2 * state, 0);
        }
        let mut values = std::mem::take(&mut memory.blocks);
        values.resize(self.most, [0; BLOCK]);
        self.plan.tasks.iter().for_each(|task| execute_task(task, memory, &mut values));
        if let Some(Deferred { gate, always, tasks, held }) = &self.plan.deferred {
            for &(flags, held) in held {
                memory[held as usize] |= memory[flags as usize];
            }
            if memory[*gate as usize] | memory[*always as usize] != 0 {
                tasks.iter().for_each(|task| execute_task(task, memory, &mut values));
                held.iter().for_each(|&(_, held)| memory[held as usize] = 0);
            }
        }
        memory.blocks = values;
        self.plan.events.iter().for_each(|&flags| memory[flags as usize] = 0);
    }

    /// Registers capture.
    pub(crate) fn capture(&self, memory: &mut Memory) {
        self.plan.registers.iter().for_each(|group| capture(group, memory));
        memory.clocked = true;
    }
}

/// [`Interpreter::settle`].
struct Settle<'a>(&'a Interpreter, &'a mut Memory);

impl Kernel for Settle<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        self.0.all(self.1);
    }
}

fn capture(group: &RegisterGroup, memory: &mut [u32]) {
    if group.controls().any(|place| memory[place as usize] == 0) {
        return;
    }
    if let Some((flags, bit)) = group.event {
        memory[flags as usize] |= bit;
    }
    let (to, count) = (group.next as usize, group.words as usize);
    match (group.reset, &group.d) {
        (Some((reset, value)), _) if memory[reset as usize] != 0 => {
            let value = [value as u32, (value >> 32) as u32];
            for i in 0..count {
                memory[to + i] = value[if group.wide { i % 2 } else { 0 }];
            }
        }
        (_, DataInput::Vector(from)) => memory.copy_within(*from as usize..*from as usize + count, to),
        (_, DataInput::Words(list)) => {
            for (i, &from) in list.iter().enumerate() {
                memory[to + i] = memory[from as usize];
            }
        }
    }
}

/// Idle gating: whether a job is skipped. Otherwise takes new snapshots.
fn is_idle(gating: &IdleGating, memory: &mut [u32]) -> bool {
    let valid = gating.valid as usize;
    let low = gating.gate.is_none_or(|gate| memory[gate as usize] == 0);
    let range = |at: u32, count: u32| at as usize..(at + count) as usize;
    let equal = |s: &Snapshot| memory[range(s.from, s.count)] == memory[range(s.copy, s.count)];
    let event = is_high(&gating.events, memory);
    if low && memory[valid] != 0 && !event && gating.snapshots.iter().all(equal) {
        return true;
    }
    memory[valid] = low.into();
    for Snapshot { from, count, copy, .. } in &gating.snapshots {
        memory.copy_within(range(*from, *count), *copy as usize);
    }
    false
}

/// Whether a flag of a mask is high.
fn is_high(mask: &EventMask, memory: &[u32]) -> bool {
    mask.iter().any(|&(word, bits)| memory[word as usize] & bits != 0)
}

#[inline(always)]
fn execute_task(task: &Task, memory: &mut [u32], values: &mut [Block]) {
    match task {
        Task::Copy(_, mask) if !mask.is_empty() && !is_high(mask, memory) => {}
        Task::Copy(list, _) => {
            list.iter().for_each(|&(from, to)| memory[to as usize] = memory[from as usize]);
        }
        Task::Run(job) => run(job, memory, values),
    }
}

#[inline(always)]
fn run(job: &Job, memory: &mut [u32], values: &mut [Block]) {
    if !job.events.is_empty() && !is_high(&job.events, memory) {
        return;
    }
    if job.gating.as_ref().is_some_and(|gating| is_idle(gating, memory)) {
        return;
    }
    if job.elements == 1 {
        block::<1>(job, 0, memory, values);
        return;
    }
    for first in (0..job.elements as usize).step_by(BLOCK) {
        block::<BLOCK>(job, first, memory, values);
    }
}

#[inline(always)]
fn load<const N: usize>(source: JobInput, width: u32, first: usize, memory: &[u32], to: &mut Block) {
    let wide = words(width) == 2;
    let number = |at: usize| match (width, wide) {
        (1, _) => u64::from(memory[at] & 1),
        (_, false) => u64::from(memory[at]),
        (_, true) => u64::from(memory[at]) | u64::from(memory[at + 1]) << 32,
    };
    match source {
        JobInput::Broadcast(at) => to[..N].fill(number(at as usize)),
        JobInput::Vector(at) => {
            let size = words(width) as usize;
            (0..N).for_each(|i| to[i] = number(at as usize + (first + i) * size));
        }
    }
}

#[inline(always)]
fn store(at: usize, width: u32, values: &[u64], memory: &mut [u32]) {
    match width {
        1 => values
            .iter()
            .zip(&mut memory[at..])
            .for_each(|(&value, to)| *to = 0u32.wrapping_sub(value as u32)),
        2..=32 => values.iter().zip(&mut memory[at..]).for_each(|(&value, to)| *to = value as u32),
        _ => {
            for (&value, to) in values.iter().zip(memory[at..].chunks_exact_mut(2)) {
                (to[0], to[1]) = (value as u32, (value >> 32) as u32);
            }
        }
    }
}

/// Executes all steps for `N` elements from `first` on.
#[inline(always)]
fn block<const N: usize>(job: &Job, first: usize, memory: &mut [u32], values: &mut [Block]) {
    let steps = &job.steps.steps;
    for (i, step) in steps.iter().enumerate() {
        let (before, rest) = values.split_at_mut(i);
        match step.operator {
            Operator::Input(place) => {
                load::<N>(job.sources[place as usize], step.width, first, memory, &mut rest[0]);
            }
            _ => execute::<N>(steps, step, before, &mut rest[0]),
        }
    }
    let count = N.min(job.elements as usize - first);
    for (&output, &at) in job.steps.outputs.iter().zip(&job.outputs) {
        let width = steps[output as usize].width;
        let at = at as usize + first * words(width) as usize;
        store(at, width, &values[output as usize][..count], memory);
    }
}

/// Executes a step for `N` elements.
#[inline(always)]
fn execute<const N: usize>(steps: &[Step], step: &Step, before: &[Block], to: &mut Block) {
    let operand = |place: usize| &before[step.operands[place] as usize];
    // Widths of the operands, 0 for absent ones.
    let [first, second] =
        [0, 1].map(|place| step.operands.get(place).map_or(0, |&operand| steps[operand as usize].width));
    let all = ones(step.width);
    macro_rules! each {
        (|$a:ident| $result:expr) => {{
            let a = operand(0);
            for i in 0..N {
                let $a = a[i];
                to[i] = $result;
            }
        }};
        (|$a:ident, $b:ident| $result:expr) => {{
            let (a, b) = (operand(0), operand(1));
            for i in 0..N {
                let ($a, $b) = (a[i], b[i]);
                to[i] = $result;
            }
        }};
    }
    match &step.operator {
        Operator::Input(_) => unreachable!("inputs are loaded"),
        Operator::Constant(value) => to[..N].fill(*value),
        Operator::Not => each!(|a| !a & all),
        Operator::Any => each!(|a| u64::from(a != 0)),
        Operator::All => each!(|a| u64::from(a == ones(first))),
        Operator::And => each!(|a, b| a & b),
        Operator::Or => each!(|a, b| a | b),
        Operator::Xor => each!(|a, b| a ^ b),
        Operator::Add => each!(|a, b| a.wrapping_add(b) & all),
        Operator::Sub => each!(|a, b| a.wrapping_sub(b) & all),
        Operator::ShiftLeft => each!(|a, b| if b < 64 { a << b & all } else { 0 }),
        Operator::ShiftRight => each!(|a, b| if b < 64 { a >> b } else { 0 }),
        Operator::Equal => each!(|a, b| u64::from(a == b)),
        Operator::Less => each!(|a, b| u64::from(a < b)),
        Operator::AtLeast => each!(|a, b| u64::from(a >= b)),
        Operator::SignedLess => each!(|a, b| u64::from(signed(a, first) < signed(b, first))),
        Operator::Multiply => each!(|a, b| a.wrapping_mul(b) & all),
        Operator::Slice(low) => each!(|a| a >> low & all),
        Operator::Concat => each!(|a, b| a << second | b),
        Operator::Repeat => each!(|a| 0u64.wrapping_sub(a) & all),
        Operator::Select => {
            let (c, a, b) = (operand(0), operand(1), operand(2));
            for i in 0..N {
                to[i] = if c[i] != 0 { a[i] } else { b[i] };
            }
        }
        Operator::Lookup(entries) => {
            let last = entries.len() as u64 - 1;
            each!(|a| entries[a.min(last) as usize])
        }
    }
}

//! What the streams know of the steps in the array.

use super::requests::INDEX_BITS;
use crate::rtl::{Bus, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::{circuit, function, unit};

function! {
    /// Whether the array holds a block.
    pub struct RunningFunction {}
    name(this) = "array_running";
    doc = "What the array's own flag says: a block that is complete is taken over when there is none, or with its last key.";
    inputs { k_valid: 1, k_ready: 1, k_last: 1, q_ready: 1, running: 1 }
    outputs { k_end: 1, next_running: 1 }
    eval<W> {
        let k_end = k_valid.and(&k_ready).and(&k_last).named("ended");
        let free = running.not().or(&k_end).named("free");
        [k_end.clone(), free.select(&q_ready.not(), &running)]
    }
}
unit! {
    /// Whether the array holds a block.
    pub struct Running(RunningFunction) { k_valid, k_ready, k_last, q_ready, running } -> { k_end, next_running }
}

function! {
    /// Whether the array waits for a key inside a block.
    pub struct BetweenFunction {}
    name(this) = "between_keys";
    doc = "From a key that is not its block's last to the next one.";
    inputs { k_valid: 1, k_ready: 1, k_last: 1, between: 1 }
    outputs { next_between: 1, missing: 1 }
    eval<W> {
        let taken = k_valid.and(&k_ready).named("taken");
        [taken.select(&k_last.not(), &between), between.and(&k_valid.not())]
    }
}
unit! {
    /// Whether the array waits for a key inside a block.
    pub struct Between(BetweenFunction) { k_valid, k_ready, k_last, between } -> { next_between, missing }
}

function! {
    /// Place of the next step in its block.
    pub struct NextStepFunction {}
    name(this) = "next_step";
    doc = "One more for each step; 0 after the block's last.";
    inputs { step: 1, last: 1, index: INDEX_BITS }
    outputs { next_index: INDEX_BITS }
    eval<W> {
        let following = index.add(&W::constant(INDEX_BITS, 1)).named("following");
        [step.select(&last.not().repeat(INDEX_BITS).and(&following), &index)]
    }
}
unit! {
    /// Place of the next step in its block.
    pub struct NextStep(NextStepFunction) { step, last, index } -> { next_index }
}

circuit! {
    /// What the wrapper knows of the steps in the array. It is frozen with the array.
    pub struct StepTracker {
        ports {
            /// Clock of the array.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// A key is offered to the array.
            k_valid: Bus<In>,
            /// It takes one.
            k_ready: Bus<In>,
            /// It is its block's last.
            k_last: Bus<In>,
            /// The array takes a query.
            q_ready: Bus<In>,
            /// Where values are asked for: a step is there.
            step: Vec<Bus<In>>,
            /// A value will be needed, `value_latency` steps later.
            ask: Bus<In>,
            /// The array holds a block.
            running: Bus<Out>,
            /// Where steps follow each other: a block has begun, and its next key is not there.
            key_missing: Vec<Bus<Out>>,
            /// The value is needed now.
            due: Bus<Out>,
            /// Where all values are sent: it is that of the block's last key.
            due_last: Vec<Bus<Out>>,
            /// Where values are asked for: place of the step's key in its block.
            index: Vec<Bus<Out>>,
        }
        parts {
            /// The array holds a block.
            running_q: ResetRegister,
            /// Last keys on their way to where their place or their value is needed.
            end_q: Vec<ResetRegister>,
            /// Values on their way.
            due_q: Vec<ResetRegister>,
            /// Place of the step.
            index_q: Vec<ResetRegister>,
            /// A block has begun and not ended.
            between_q: Vec<ResetRegister>,
            /// Blocks.
            blocks: Running,
            /// Keys inside a block.
            between: Vec<Between>,
            /// The next place.
            next_step: Vec<NextStep>,
        }
        config {
            asked: usize,
            dense: usize,
            packets: usize,
            end_stages: usize,
            end_last: usize,
            due_stages: usize,
            due_last_stage: usize,
        }
    }
}

impl StepTracker {
    /// For an array whose steps ask for their values `v_step_latency` cycles after their keys, and need them
    /// `value_latency` cycles later. Values are asked for, or `all` are sent; `dense`: steps follow each other.
    pub fn new(v_step_latency: u32, value_latency: u32, all: bool, dense: bool) -> Self {
        let (packets, asked) = (usize::from(all), usize::from(!all));
        let dense = usize::from(dense);
        let due_stages = value_latency as usize;
        let end_stages = v_step_latency as usize + packets * due_stages;
        let flags = |n: usize| (0..n).map(|_| ResetRegister::new(1, 0)).collect();
        let suffix = match (all, dense) {
            (true, _) => "_all",
            (_, 0) => "",
            _ => "_dense",
        };
        StepTracker {
            tag: Tag::module(
                format!("step_tracker_{v_step_latency}_{value_latency}{suffix}"),
                "What the streams need to know of the steps in the array.",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            k_valid: Bus::new(1),
            k_ready: Bus::new(1),
            k_last: Bus::new(1),
            q_ready: Bus::new(1),
            step: Bus::vector(asked, 1),
            ask: Bus::new(1),
            running: Bus::new(1),
            key_missing: Bus::vector(dense, 1),
            due: Bus::new(1),
            due_last: Bus::vector(packets, 1),
            index: Bus::vector(asked, INDEX_BITS),
            running_q: ResetRegister::new(1, 0),
            end_q: flags(end_stages),
            due_q: flags(due_stages),
            index_q: (0..asked).map(|_| ResetRegister::new(INDEX_BITS, 0)).collect(),
            between_q: flags(dense),
            blocks: Running::new(RunningFunction {}),
            between: (0..dense).map(|_| Between::new(BetweenFunction {})).collect(),
            next_step: (0..asked).map(|_| NextStep::new(NextStepFunction {})).collect(),
            asked,
            dense,
            packets,
            end_stages,
            end_last: end_stages - 1,
            due_stages,
            due_last_stage: due_stages - 1,
        }
    }
}

impl Logic for StepTracker {
    #[hdl_gen]
    fn update(&mut self) {
        self.blocks.k_valid.next = self.k_valid.val();
        self.blocks.k_ready.next = self.k_ready.val();
        self.blocks.k_last.next = self.k_last.val();
        self.blocks.q_ready.next = self.q_ready.val();
        self.blocks.running.next = self.running_q.q.val();
        self.running_q.clk.next = self.clk.val();
        self.running_q.rst.next = self.rst.val();
        self.running_q.d.next = self.blocks.next_running.val();
        self.running.next = self.running_q.q.val();
        for i in 0..self.dense {
            self.between[i].k_valid.next = self.k_valid.val();
            self.between[i].k_ready.next = self.k_ready.val();
            self.between[i].k_last.next = self.k_last.val();
            self.between[i].between.next = self.between_q[i].q.val();
            self.between_q[i].clk.next = self.clk.val();
            self.between_q[i].rst.next = self.rst.val();
            self.between_q[i].d.next = self.between[i].next_between.val();
            self.key_missing[i].next = self.between[i].missing.val();
        }
        for i in 0..self.end_stages {
            self.end_q[i].clk.next = self.clk.val();
            self.end_q[i].rst.next = self.rst.val();
        }
        self.end_q[0].d.next = self.blocks.k_end.val();
        for i in 1..self.end_stages {
            self.end_q[i].d.next = self.end_q[i - 1].q.val();
        }
        for i in 0..self.due_stages {
            self.due_q[i].clk.next = self.clk.val();
            self.due_q[i].rst.next = self.rst.val();
        }
        self.due_q[0].d.next = self.ask.val();
        for i in 1..self.due_stages {
            self.due_q[i].d.next = self.due_q[i - 1].q.val();
        }
        for i in self.due_last_stage..self.due_stages {
            self.due.next = self.due_q[i].q.val();
        }
        for l in self.end_last..self.end_stages {
            for i in 0..self.packets {
                self.due_last[i].next = self.end_q[l].q.val();
            }
            for i in 0..self.asked {
                self.index_q[i].clk.next = self.clk.val();
                self.index_q[i].rst.next = self.rst.val();
                self.index_q[i].d.next = self.next_step[i].next_index.val();
                self.next_step[i].step.next = self.step[i].val();
                self.next_step[i].last.next = self.end_q[l].q.val();
                self.next_step[i].index.next = self.index_q[i].q.val();
                self.index[i].next = self.index_q[i].q.val();
            }
        }
    }
}

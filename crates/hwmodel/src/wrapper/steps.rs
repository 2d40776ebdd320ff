//! Tracks the steps in the array's pipeline for the streams around it.

use crate::attention::delay::late_flag;
use crate::function;
use crate::rtl::{Module, Tag, Wire};
use flashd_spec::streams::INDEX_BITS;

function! {
    /// Next state of the flag that the array holds a block.
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
function! {
    /// Set if the array waits for a key inside a block.
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
function! {
    /// Next value of the counter of steps in a block.
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
/// Outputs of [`step_tracker`].
pub struct StepOutputs {
    /// The array holds a block.
    pub running: Wire,
    /// Cores that need a key in every cycle of a block (`dense`): a block has begun and its next key has not come.
    pub key_missing: Option<Wire>,
    /// A step reads its value in this cycle.
    pub due: Wire,
    /// Where all values are sent: the value due belongs to the block's last key.
    pub due_last: Option<Wire>,
    /// Where requests carry it: the place of the step's key in its block, 32 bits.
    pub index: Option<Wire>,
    /// Cores with partial results: the array reads the accumulators of a state in this cycle.
    pub state_due: Option<Wire>,
}

/// The times at which steps need their operands, in cycles.
#[derive(Clone, Copy, Debug)]
pub struct StepTimes {
    /// Cycles from a key to its `v_step`.
    pub v_step_latency: u32,
    /// Cycles from `v_step` to the value.
    pub value_latency: u32,
    /// The core needs a key in every cycle of a block.
    pub dense: bool,
    /// All values are sent.
    pub all: bool,
}

/// Tracks the steps in the array. It freezes with the array.
///
/// `handshakes`: `k_valid`, a key is offered; `k_ready`, the array takes it; `k_last`, it is the last of its block; `q_ready`, the array
/// takes a query. `step`, where requests carry the place of a key: a step of a key reaches the value stage. `ask`: a value is due `value_latency`
/// cycles later. `state`, for cores with partial results: the accumulators of a state are due then, and no value.
pub fn step_tracker(
    around: &mut Module,
    name: &str,
    times: StepTimes,
    handshakes: [(&str, Wire); 4],
    step: Option<Wire>,
    ask: Wire,
    state: Option<Wire>,
) -> StepOutputs {
    let StepTimes { v_step_latency, value_latency, dense, all } = times;
    let suffix = match (all, dense) {
        (true, _) => "_all",
        (_, false) => "",
        _ => "_dense",
    };
    let places = if all || step.is_some() { "" } else { "_unplaced" };
    let states = if state.is_some() { "_states" } else { "" };
    let tag = Tag::module(
        format!("step_tracker_{v_step_latency}_{value_latency}{suffix}{places}{states}"),
        "What the streams need to know of the steps in the array.",
    );
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let [k_valid, k_ready, k_last, q_ready] = m.input_each(handshakes);
        let step = m.optional_input("step", step);
        let ask = m.input("ask", ask);
        let state = m.optional_input("state", state);

        let running = m.state("running_q", 1);
        let [k_end, next_running] =
            m.call("blocks", RunningFunction {}, [k_valid, k_ready, k_last, q_ready, running]);
        m.next(running, next_running);
        let key_missing = dense.then(|| {
            let between = m.state("between_q", 1);
            let [next, missing] = m.call("between", BetweenFunction {}, [k_valid, k_ready, k_last, between]);
            m.next(between, next);
            missing
        });
        // Delays the flag of a block's last key to where its place (values asked for) or its value (all sent) is needed.
        let end_stages = v_step_latency + if all { value_latency } else { 0 };
        let end = (all || step.is_some()).then(|| late_flag(m, "end_q", k_end, end_stages as usize));
        let due = late_flag(m, "due_q", ask, value_latency as usize);
        let state_due = state.map(|state| late_flag(m, "state_due_q", state, value_latency as usize));
        let index = step.zip(end).map(|(step, end)| {
            let index = m.state("index_q", INDEX_BITS);
            let [next] = m.call("next_step", NextStepFunction {}, [step, end, index]);
            m.next(index, next);
            index
        });
        StepOutputs {
            running: m.output("running", running),
            key_missing: m.optional_output("key_missing", key_missing),
            due: m.output("due", due),
            due_last: m.optional_output("due_last", end.filter(|_| all)),
            index: m.optional_output("index", index),
            state_due: m.optional_output("state_due", state_due),
        }
    })
}

//! What the streams know of the steps in the array.

use super::requests::INDEX_BITS;
use crate::attention::delay::late_flag;
use crate::function;
use crate::rtl::{Module, Tag, Wire};

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
/// What the streams need to know of steps.
pub struct StepOutputs {
    /// The array holds a block.
    pub running: Wire,
    /// Where steps follow each other: a block has begun, and its next key is not there.
    pub key_missing: Option<Wire>,
    /// The value is needed now.
    pub due: Wire,
    /// Where all values are sent: this is the value of the block's last key.
    pub due_last: Option<Wire>,
    /// Where values are asked for: place of the step's key in its block, 32 bits.
    pub index: Option<Wire>,
    /// With partial results: the accumulators of a state are needed now.
    pub state_due: Option<Wire>,
}

/// When steps need what.
#[derive(Clone, Copy, Debug)]
pub struct StepTimes {
    /// Cycles from a key to its step's asking for its value.
    pub v_step_latency: u32,
    /// Cycles from there to the value.
    pub value_latency: u32,
    /// Steps follow each other.
    pub dense: bool,
}

/// What the wrapper knows of the steps in the array. It is frozen with the array.
///
/// By the names of the ports: a key is offered to the array (`k_valid`), it takes one (`k_ready`), it is its block's last (`k_last`), the
/// array takes a query (`q_ready`). Where values are asked for, a `step` is there; `ask`: a value will be needed, `value_latency` steps
/// later. With partial results, a state's accumulators will be (`state`), which no value is asked for.
pub fn step_tracker(
    around: &mut Module,
    name: &str,
    times: StepTimes,
    handshakes: [(&str, Wire); 4],
    step: Option<Wire>,
    ask: Wire,
    state: Option<Wire>,
) -> StepOutputs {
    let StepTimes { v_step_latency, value_latency, dense } = times;
    let all = step.is_none();
    let suffix = match (all, dense) {
        (true, _) => "_all",
        (_, false) => "",
        _ => "_dense",
    };
    let states = if state.is_some() { "_states" } else { "" };
    let tag = Tag::module(
        format!("step_tracker_{v_step_latency}_{value_latency}{suffix}{states}"),
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
        m.reserve(&["end_q", "due_q", "state_due_q", "index_q", "between_q"]);
        let [k_end, next_running] =
            m.call("blocks", RunningFunction {}, [k_valid, k_ready, k_last, q_ready, running]);
        m.next(running, next_running);
        let key_missing = dense.then(|| {
            let between = m.state(("between_q", 0), 1);
            let [next, missing] =
                m.call(("between", 0), BetweenFunction {}, [k_valid, k_ready, k_last, between]);
            m.next(between, next);
            missing
        });
        // Last keys on their way to where their place or their value is needed.
        let end_stages = v_step_latency + if all { value_latency } else { 0 };
        let end = late_flag(m, "end_q", k_end, end_stages as usize);
        let due = late_flag(m, "due_q", ask, value_latency as usize);
        let state_due = state.map(|state| late_flag(m, "state_due_q", state, value_latency as usize));
        let index = step.map(|step| {
            let index = m.state(("index_q", 0), INDEX_BITS);
            let [next] = m.call(("next_step", 0), NextStepFunction {}, [step, end, index]);
            m.next(index, next);
            index
        });
        StepOutputs {
            running: m.output("running", running),
            key_missing: m.optional_output("key_missing", key_missing),
            due: m.output("due", due),
            due_last: m.optional_output("due_last", all.then_some(end)),
            index: m.optional_output("index", index),
            state_due: m.optional_output("state_due", state_due),
        }
    })
}

//! The handshakes of an array: when it takes a query or a key, when a block starts, and which cores have a query.
//!
//! | register | meaning |
//! | --- | --- |
//! | `filled` | shadow register b holds a query of the next block |
//! | `complete` | the next block has all its queries |
//! | `running` | the cores hold a block whose last key has not come |
//! | `active` | core b has a query of that block |
//! | `sending` | bit b: if a block ended now, its first result would come while result b + 1 of the last block waits |
//!
//! `filled` and `active` have a bit for each core, `sending` for each core but the first. The ones come first: each
//! register is a unary count, without a counter.

use super::LowFunction;
use crate::function;
use crate::rtl::{Module, Tag, Wire};

function! {
    /// Ready and take of both handshakes, the end of a block and the start of the next.
    pub struct HandshakeFunction {}
    name(this) = "block_handshake";
    doc = "Ready and taken; a block starts in the cycle of the previous one's last key or later.";
    inputs { q_valid: 1, k_valid: 1, k_last: 1, complete: 1, running: 1, sending: 1 }
    outputs { q_ready: 1, q_take: 1, k_ready: 1, k_take: 1, k_end: 1, start: 1 }
    eval<W> {
        let q_ready = complete.not().named("room");
        // A last key waits until the results of its block cannot collide with the results of the block before.
        let k_ready = running.and(&k_last.and(&sending).not()).named("open");
        let k_take = k_valid.and(&k_ready).named("taken");
        let k_end = k_take.and(&k_last).named("ended");
        let start = complete.and(&running.not().or(&k_end));
        [q_ready.clone(), q_valid.and(&q_ready), k_ready, k_take, k_end, start]
    }
}

function! {
    /// Whether the next block has all its queries, and whether a block runs.
    pub struct BlockStateFunction {}
    name(this) = "block_state";
    doc = "A block is complete with q_last or when every shadow register is filled; it runs from start to its last key.";
    inputs { q_take: 1, q_last: 1, full: 1, complete: 1, start: 1, running: 1, k_end: 1 }
    outputs { next_complete: 1, next_running: 1 }
    eval<W> {
        let completed = q_take.and(&q_last.or(&full));
        [completed.or(&complete.and(&start.not())), start.or(&running.and(&k_end.not()))]
    }
}

function! {
    /// The actions of a core and its shadow register in a cycle. `ahead`: the shadow register before it is filled.
    pub struct QuerySlotFunction {}
    name(this) = "query_slot";
    doc = "Queries fill the slots in order; a core meets keys when its slot was filled at the block's start.";
    inputs { q_take: 1, ahead: 1, filled: 1, start: 1, active: 1, k_take: 1 }
    outputs { load: 1, take_query: 1, key: 1, next_filled: 1, next_active: 1 }
    eval<W> {
        let load = q_take.and(&ahead).and(&filled.not()).named("loads");
        [
            load.clone(),
            start.and(&filled),
            k_take.and(&active),
            start.not().and(&filled.or(&load)),
            start.select(&filled, &active),
        ]
    }
}

function! {
    /// Tracks how long the results of a block occupy the port.
    pub struct SendingFunction {}
    name(this) = "block_sending";
    doc = "A block's end sets one bit for each result after the first; they move up by one a cycle.";
    inputs { k_end: 1, active: 1, behind: 1 }
    outputs { next_sending: 1 }
    eval<W> { [k_end.select(&active, &behind)] }
}

/// The outputs of the control.
pub struct ControlOutputs {
    /// The array takes a query in this cycle if one is offered.
    pub q_ready: Wire,
    /// The array takes a key in this cycle if one is offered.
    pub k_ready: Wire,
    /// Shadow register b loads the query on the port.
    pub load: Vec<Wire>,
    /// Core b loads its query from shadow register b.
    pub take_query: Vec<Wire>,
    /// The array takes a key, and core b has a query for it.
    pub key: Vec<Wire>,
}

/// The control for blocks of 1 to `queries` queries. `q` are `q_valid` and `q_last`: a query is offered, and it is the
/// last of its block. `k` are `k_valid` and `k_last`, the same for a key.
pub fn array_control(around: &mut Module, queries: usize, q: [Wire; 2], k: [Wire; 2]) -> ControlOutputs {
    let followers = queries - 1;
    let tag = Tag::module(
        format!("block_control_{queries}"),
        format!("Handshakes of blocks of up to {queries} queries, and which cores have one."),
    );
    around.part("control", tag, |m| {
        m.clock();
        m.reset();
        let [q_valid, q_last] = m.input_each([("q_valid", q[0]), ("q_last", q[1])]);
        let [k_valid, k_last] = m.input_each([("k_valid", k[0]), ("k_last", k[1])]);

        let flags = |m: &mut Module, name: &str, count| -> Vec<Wire> {
            (0..count).map(|i| m.state((name, i), 1)).collect()
        };
        // The next block: which shadow registers hold a query, and whether it has all its queries.
        let filled = flags(m, "filled_q", queries);
        let complete = m.state("complete_q", 1);
        // The running block: whether there is one, and which cores have a query of it.
        let running = m.state("running_q", 1);
        let active = flags(m, "active_q", queries);
        // The results after the first that still wait for the port.
        let sending = flags(m, "sending_q", followers);
        let [low] = m.call("low", LowFunction {}, []);

        let still_sending = sending.first().copied().unwrap_or(low);
        let [q_ready, q_take, k_ready, k_take, k_end, start] = m.call(
            "handshake",
            HandshakeFunction {},
            [q_valid, k_valid, k_last, complete, running, still_sending],
        );

        let (mut load, mut take_query, mut key) = (Vec::new(), Vec::new(), Vec::new());
        // No slot comes before the first, so it is free for any query that is taken.
        let mut ahead = q_take;
        for (b, (&filled, &active)) in filled.iter().zip(&active).enumerate() {
            let slot = [q_take, ahead, filled, start, active, k_take];
            let [loads, takes, meets, next_filled, next_active] =
                m.call(("slot", b), QuerySlotFunction {}, slot);
            load.push(loads);
            take_query.push(takes);
            key.push(meets);
            m.next_all(&[filled, active], &[next_filled, next_active]);
            ahead = filled;
        }
        let full = load[followers];
        let state = [q_take, q_last, full, complete, start, running, k_end];
        let [next_complete, next_running] = m.call("state", BlockStateFunction {}, state);
        m.next_all(&[complete, running], &[next_complete, next_running]);
        for (i, &flag) in sending.iter().enumerate() {
            let behind = sending.get(i + 1).copied().unwrap_or(low);
            let [next] = m.call(("next_sending", i), SendingFunction {}, [k_end, active[i + 1], behind]);
            m.next(flag, next);
        }
        ControlOutputs {
            q_ready: m.output("q_ready", q_ready),
            k_ready: m.output("k_ready", k_ready),
            load: m.outputs("load", &load),
            take_query: m.outputs("take_query", &take_query),
            key: m.outputs("key", &key),
        }
    })
}

//! The handshakes of a block of queries: what is taken, and which cores have a query.
//!
//! | register | meaning |
//! | --- | --- |
//! | `filled` | shadow register b holds a query of the next block |
//! | `complete` | the next block has all its queries |
//! | `running` | the cores hold a block whose last key has not come |
//! | `active` | core b has a query of that block |
//! | `sending` | if a block ended now, its first result would be due while result b + 1 of the last block is still to leave |
//!
//! `filled`, `active` and `sending` have one bit for each core, ones first: they say how many without counting.

use super::{Low, LowFunction};
use crate::rtl::{Bus, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::{circuit, function, unit};

function! {
    /// Both handshakes.
    pub struct HandshakeFunction {}
    name(this) = "block_handshake";
    doc = "Ready and taken; a block starts in the cycle of the previous one's last key or later.";
    inputs { q_valid: 1, k_valid: 1, k_last: 1, complete: 1, running: 1, sending: 1 }
    outputs { q_ready: 1, q_take: 1, k_ready: 1, k_take: 1, k_end: 1, start: 1 }
    eval<W> {
        let q_ready = complete.not().named("room");
        // A last key waits until the results of its block cannot meet those of the block before.
        let k_ready = running.and(&k_last.and(&sending).not()).named("open");
        let k_take = k_valid.and(&k_ready).named("taken");
        let k_end = k_take.and(&k_last).named("ended");
        let start = complete.and(&running.not().or(&k_end));
        [q_ready.clone(), q_valid.and(&q_ready), k_ready, k_take, k_end, start]
    }
}
unit! {
    /// Both handshakes.
    pub struct Handshake(HandshakeFunction) { q_valid, k_valid, k_last, complete, running, sending }
        -> { q_ready, q_take, k_ready, k_take, k_end, start }
}

function! {
    /// Where the blocks stand.
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
unit! {
    /// Where the blocks stand.
    pub struct BlockState(BlockStateFunction) { q_take, q_last, full, complete, start, running, k_end }
        -> { next_complete, next_running }
}

function! {
    /// One core's share.
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
unit! {
    /// One core's share.
    pub struct QuerySlot(QuerySlotFunction) { q_take, ahead, filled, start, active, k_take }
        -> { load, take_query, key, next_filled, next_active }
}

function! {
    /// How long results occupy the port.
    pub struct SendingFunction {}
    name(this) = "block_sending";
    doc = "A block's end sets one bit for each result after the first; they move up by one a cycle.";
    inputs { k_end: 1, active: 1, behind: 1 }
    outputs { next_sending: 1 }
    eval<W> { [k_end.select(&active, &behind)] }
}
unit! {
    /// How long results occupy the port.
    pub struct Sending(SendingFunction) { k_end, active, behind } -> { next_sending }
}

circuit! {
    /// Control of an array.
    pub struct BlockControl {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// A query is offered.
            q_valid: Bus<In>,
            /// It is its block's last.
            q_last: Bus<In>,
            /// A query is taken if offered.
            q_ready: Bus<Out>,
            /// A key is offered.
            k_valid: Bus<In>,
            /// It is its block's last.
            k_last: Bus<In>,
            /// A key is taken if offered.
            k_ready: Bus<Out>,
            /// Shadow register b takes the query.
            load: Vec<Bus<Out>>,
            /// Core b takes its query from the shadow register.
            take_query: Vec<Bus<Out>>,
            /// Core b meets the key.
            key: Vec<Bus<Out>>,
        }
        parts {
            /// Next block: slots that hold a query.
            filled_q: Vec<ResetRegister>,
            /// Next block: has all its queries.
            complete_q: ResetRegister,
            /// The cores hold a block.
            running_q: ResetRegister,
            /// Cores with a query.
            active_q: Vec<ResetRegister>,
            /// Results after the first that are still to leave.
            sending_q: Vec<ResetRegister>,
            /// Nothing.
            low: Low,
            /// Decisions.
            handshake: Handshake,
            /// Decisions of each core.
            slot: Vec<QuerySlot>,
            /// Next state.
            state: BlockState,
            /// Next state of `sending`.
            next_sending: Vec<Sending>,
        }
        config {
            queries: usize,
            followers: usize,
            last_follower: usize,
        }
    }
}

impl BlockControl {
    /// Control for blocks of at most `queries` queries.
    pub fn new(queries: usize) -> Self {
        let followers = queries - 1;
        let flags = |n: usize| (0..n).map(|_| ResetRegister::new(1, 0)).collect();
        BlockControl {
            tag: Tag::module(
                format!("block_control_{queries}"),
                format!("Handshakes of blocks of up to {queries} queries, and which cores have one."),
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            q_valid: Bus::new(1),
            q_last: Bus::new(1),
            q_ready: Bus::new(1),
            k_valid: Bus::new(1),
            k_last: Bus::new(1),
            k_ready: Bus::new(1),
            load: Bus::vector(queries, 1),
            take_query: Bus::vector(queries, 1),
            key: Bus::vector(queries, 1),
            filled_q: flags(queries),
            complete_q: ResetRegister::new(1, 0),
            running_q: ResetRegister::new(1, 0),
            active_q: flags(queries),
            sending_q: flags(followers),
            low: Low::new(LowFunction {}),
            handshake: Handshake::new(HandshakeFunction {}),
            slot: (0..queries).map(|_| QuerySlot::new(QuerySlotFunction {})).collect(),
            state: BlockState::new(BlockStateFunction {}),
            next_sending: (0..followers).map(|_| Sending::new(SendingFunction {})).collect(),
            queries,
            followers,
            last_follower: followers.saturating_sub(1),
        }
    }
}

impl Logic for BlockControl {
    #[hdl_gen]
    fn update(&mut self) {
        self.complete_q.clk.next = self.clk.val();
        self.complete_q.rst.next = self.rst.val();
        self.complete_q.d.next = self.state.next_complete.val();
        self.running_q.clk.next = self.clk.val();
        self.running_q.rst.next = self.rst.val();
        self.running_q.d.next = self.state.next_running.val();
        self.handshake.q_valid.next = self.q_valid.val();
        self.handshake.k_valid.next = self.k_valid.val();
        self.handshake.k_last.next = self.k_last.val();
        self.handshake.complete.next = self.complete_q.q.val();
        self.handshake.running.next = self.running_q.q.val();
        self.q_ready.next = self.handshake.q_ready.val();
        self.k_ready.next = self.handshake.k_ready.val();
        self.state.q_take.next = self.handshake.q_take.val();
        self.state.q_last.next = self.q_last.val();
        self.state.complete.next = self.complete_q.q.val();
        self.state.start.next = self.handshake.start.val();
        self.state.running.next = self.running_q.q.val();
        self.state.k_end.next = self.handshake.k_end.val();
        for b in 0..self.queries {
            self.filled_q[b].clk.next = self.clk.val();
            self.filled_q[b].rst.next = self.rst.val();
            self.filled_q[b].d.next = self.slot[b].next_filled.val();
            self.active_q[b].clk.next = self.clk.val();
            self.active_q[b].rst.next = self.rst.val();
            self.active_q[b].d.next = self.slot[b].next_active.val();
            self.slot[b].q_take.next = self.handshake.q_take.val();
            self.slot[b].filled.next = self.filled_q[b].q.val();
            self.slot[b].start.next = self.handshake.start.val();
            self.slot[b].active.next = self.active_q[b].q.val();
            self.slot[b].k_take.next = self.handshake.k_take.val();
            self.load[b].next = self.slot[b].load.val();
            self.take_query[b].next = self.slot[b].take_query.val();
            self.key[b].next = self.slot[b].key.val();
        }
        // Nothing comes before the first slot.
        self.slot[0].ahead.next = self.handshake.q_take.val();
        for b in 1..self.queries {
            self.slot[b].ahead.next = self.filled_q[b - 1].q.val();
        }
        for b in self.followers..self.queries {
            self.state.full.next = self.slot[b].load.val();
        }
        for i in 0..self.followers {
            self.sending_q[i].clk.next = self.clk.val();
            self.sending_q[i].rst.next = self.rst.val();
            self.sending_q[i].d.next = self.next_sending[i].next_sending.val();
            self.next_sending[i].k_end.next = self.handshake.k_end.val();
            self.next_sending[i].active.next = self.active_q[i + 1].q.val();
        }
        for i in 1..self.followers {
            self.next_sending[i - 1].behind.next = self.sending_q[i].q.val();
        }
        for i in self.last_follower..self.followers {
            self.next_sending[i].behind.next = self.low.y.val();
            self.handshake.sending.next = self.sending_q[0].q.val();
        }
        for _none in self.queries..2 {
            self.handshake.sending.next = self.low.y.val();
        }
    }
}

//! What travels beside the data, from the ports on: valid, first, last and invalid bits. Those of results: [`super::results`].

use super::lane_group::{FlagOr, flag_or};
use super::masks::{NextFirst, NextFirstFunction, Unmasked, unmasked};
use super::partial::{StateStep, StateStepFunction};
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Register, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::{circuit, function, unit};

function! {
    /// First-key state and the key's invalid bit.
    pub struct KeyFlagsFunction {}
    name(this) = "key_flags";
    doc = "The key after k_last (or after reset) is a first key; a key is invalid with its query.";
    inputs { k_valid: 1, k_last: 1, expect_first: 1, k_special: 1, q_special: 1 }
    outputs { next_expect_first: 1, invalid: 1 }
    eval<W> { [k_valid.select(&k_last, &expect_first), k_special.or(&q_special)] }
}
unit! {
    /// First-key state and the key's invalid bit.
    pub struct KeyFlags(KeyFlagsFunction) { k_valid, k_last, expect_first, k_special, q_special }
        -> { next_expect_first, invalid }
}

circuit! {
    /// Delays the four flags by a number of cycles. Only `valid` is reset: the others mean something only
    /// beside it.
    pub struct FlagPipe {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// A step is present.
            valid: Bus<In>,
            /// It is its query's first.
            first: Bus<In>,
            /// It is its query's last.
            last: Bus<In>,
            /// Its query has met Inf or NaN.
            invalid: Bus<In>,
            /// `valid`, delayed by a cycle less.
            valid_before: Bus<Out>,
            /// `valid`, delayed.
            valid_out: Bus<Out>,
            /// `first`, delayed.
            first_out: Bus<Out>,
            /// `last`, delayed.
            last_out: Bus<Out>,
            /// `invalid`, delayed.
            invalid_out: Bus<Out>,
        }
        parts {
            /// Stages.
            valid_q: Vec<ResetRegister>,
            /// Stages.
            first_q: Vec<Register>,
            /// Stages.
            last_q: Vec<Register>,
            /// Stages.
            invalid_q: Vec<Register>,
        }
        config {
            stages: usize,
            last_stage: usize,
            second_last: usize,
        }
    }
}

impl FlagPipe {
    /// A delay of `stages` cycles, possibly none.
    pub fn new(stages: usize) -> Self {
        let registers = || (0..stages).map(|_| Register::new(1)).collect();
        FlagPipe {
            tag: Tag::module(
                format!("flag_pipe_{stages}"),
                format!("Flags of a step, {stages} cycles later."),
            )
            .dissolved(),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            valid: Bus::new(1),
            first: Bus::new(1),
            last: Bus::new(1),
            invalid: Bus::new(1),
            valid_before: Bus::new(1),
            valid_out: Bus::new(1),
            first_out: Bus::new(1),
            last_out: Bus::new(1),
            invalid_out: Bus::new(1),
            valid_q: (0..stages).map(|_| ResetRegister::new(1, 0)).collect(),
            first_q: registers(),
            last_q: registers(),
            invalid_q: registers(),
            stages,
            last_stage: stages.saturating_sub(1),
            second_last: stages.saturating_sub(2),
        }
    }
}

impl Logic for FlagPipe {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..self.stages {
            self.valid_q[i].clk.next = self.clk.val();
            self.valid_q[i].rst.next = self.rst.val();
            self.first_q[i].clk.next = self.clk.val();
            self.last_q[i].clk.next = self.clk.val();
            self.invalid_q[i].clk.next = self.clk.val();
        }
        for i in 1..self.stages {
            self.valid_q[i].d.next = self.valid_q[i - 1].q.val();
            self.first_q[i].d.next = self.first_q[i - 1].q.val();
            self.last_q[i].d.next = self.last_q[i - 1].q.val();
            self.invalid_q[i].d.next = self.invalid_q[i - 1].q.val();
        }
        for i in self.last_stage..self.stages {
            self.valid_q[0].d.next = self.valid.val();
            self.first_q[0].d.next = self.first.val();
            self.last_q[0].d.next = self.last.val();
            self.invalid_q[0].d.next = self.invalid.val();
            self.valid_out.next = self.valid_q[i].q.val();
            self.first_out.next = self.first_q[i].q.val();
            self.last_out.next = self.last_q[i].q.val();
            self.invalid_out.next = self.invalid_q[i].q.val();
        }
        for i in self.second_last..self.last_stage {
            self.valid_before.next = self.valid_q[i].q.val();
        }
        for _short in self.stages..2 {
            self.valid_before.next = self.valid.val();
        }
        for _none in self.stages..1 {
            self.valid_out.next = self.valid.val();
            self.first_out.next = self.first.val();
            self.last_out.next = self.last.val();
            self.invalid_out.next = self.invalid.val();
        }
    }
}

circuit! {
    /// From the key handshake to the flags at the score stage.
    pub struct KeyControl {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// A query is loaded.
            q_valid: Bus<In>,
            /// It has an element that is Inf or NaN.
            q_special: Bus<In>,
            /// A key is accepted.
            k_valid: Bus<In>,
            /// It is its query's last.
            k_last: Bus<In>,
            /// It has an element that is Inf or NaN.
            k_special: Bus<In>,
            /// It is masked; none without masks.
            k_mask: Vec<Bus<In>>,
            /// It is a partial result; none where there are no such steps.
            k_state: Vec<Bus<In>>,
            /// A partial result reaches the score stage in the next cycle.
            state_next: Vec<Bus<Out>>,
            /// The step at the score stage is a partial result.
            state: Vec<Bus<Out>>,
            /// Flags at the score stage.
            valid: Bus<Out>,
            /// With masks: the key is not masked, the weight unit sees it.
            live: Vec<Bus<Out>>,
            /// First key of its query, masked ones aside: no key before it was seen.
            first: Bus<Out>,
            /// Last key of its query.
            last: Bus<Out>,
            /// The query or this key has met Inf or NaN.
            invalid: Bus<Out>,
        }
        parts {
            /// The loaded query is invalid.
            q_special_q: EnabledRegister,
            /// The next key is a first one.
            expect_first_q: ResetRegister,
            /// The key is there and not masked.
            seen: Vec<Unmasked>,
            /// The next key is a first one after this one.
            next_first: Vec<NextFirst>,
            /// Decisions.
            flags: KeyFlags,
            /// What a masked key holds does not count.
            invalid_seen: Vec<Unmasked>,
            /// The way through dot product and tree.
            pipe: FlagPipe,
            /// The same for the keys that are not masked.
            live_q: Vec<ResetRegister>,
            /// A partial result is accepted.
            state_step: Vec<StateStep>,
            /// It is a first step, wherever it comes.
            starts: Vec<FlagOr>,
            /// It has no key.
            key_special: Vec<Unmasked>,
            /// The way of partial results to the score stage.
            state_q: Vec<ResetRegister>,
        }
        config {
            masks: usize,
            partials: usize,
            state_stages: usize,
            state_requests: usize,
            plain: usize,
            live_stages: usize,
            last_stage: usize,
        }
    }
}

impl KeyControl {
    /// Control for a dot product of `stages` cycles, with or without masks and partial results.
    pub fn new(stages: usize, masks: bool, partial: bool) -> Self {
        let filters = || (0..masks as usize).map(|_| unmasked()).collect();
        let live_stages = if masks { stages } else { 0 };
        let state_stages = if partial { stages } else { 0 };
        let partials = partial as usize;
        KeyControl {
            tag: Tag::module(
                format!(
                    "key_control_{}{}{stages}",
                    if masks { "masked_" } else { "" },
                    if partial { "partial_" } else { "" }
                ),
                "Key handshake and the flags that follow a key.",
            )
            .dissolved(),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            q_valid: Bus::new(1),
            q_special: Bus::new(1),
            k_valid: Bus::new(1),
            k_last: Bus::new(1),
            k_special: Bus::new(1),
            k_mask: Bus::vector(masks as usize, 1),
            k_state: Bus::vector(partials, 1),
            state_next: Bus::vector(partials, 1),
            state: Bus::vector(partials, 1),
            valid: Bus::new(1),
            live: Bus::vector(masks as usize, 1),
            first: Bus::new(1),
            last: Bus::new(1),
            invalid: Bus::new(1),
            q_special_q: EnabledRegister::new(1),
            expect_first_q: ResetRegister::new(1, 1),
            seen: filters(),
            next_first: (0..masks as usize).map(|_| NextFirst::new(NextFirstFunction {})).collect(),
            flags: KeyFlags::new(KeyFlagsFunction {}),
            invalid_seen: filters(),
            pipe: FlagPipe::new(stages),
            live_q: (0..live_stages).map(|_| ResetRegister::new(1, 0)).collect(),
            state_step: (0..partials).map(|_| StateStep::new(StateStepFunction {})).collect(),
            starts: (0..partials).map(|_| flag_or()).collect(),
            key_special: (0..partials).map(|_| unmasked()).collect(),
            state_q: (0..state_stages).map(|_| ResetRegister::new(1, 0)).collect(),
            masks: masks as usize,
            partials,
            state_stages,
            state_requests: (state_stages > 1) as usize,
            plain: !masks as usize,
            live_stages,
            last_stage: live_stages.saturating_sub(1),
        }
    }
}

impl Logic for KeyControl {
    #[hdl_gen]
    fn update(&mut self) {
        self.q_special_q.clk.next = self.clk.val();
        self.q_special_q.enable.next = self.q_valid.val();
        self.q_special_q.d.next = self.q_special.val();
        self.expect_first_q.clk.next = self.clk.val();
        self.expect_first_q.rst.next = self.rst.val();
        self.expect_first_q.d.next = self.flags.next_expect_first.val();
        self.flags.k_valid.next = self.k_valid.val();
        for _plain in 0..self.plain {
            self.flags.k_last.next = self.k_last.val();
            self.pipe.invalid.next = self.flags.invalid.val();
        }
        for i in 0..self.masks {
            self.seen[i].x.next = self.k_valid.val();
            self.seen[i].mask.next = self.k_mask[i].val();
            self.next_first[i].k_last.next = self.k_last.val();
            self.next_first[i].k_mask.next = self.k_mask[i].val();
            self.next_first[i].expect_first.next = self.expect_first_q.q.val();
            self.flags.k_last.next = self.next_first[i].y.val();
            self.invalid_seen[i].x.next = self.flags.invalid.val();
            self.invalid_seen[i].mask.next = self.k_mask[i].val();
            self.pipe.invalid.next = self.invalid_seen[i].y.val();
        }
        for i in 0..self.live_stages {
            self.live_q[i].clk.next = self.clk.val();
            self.live_q[i].rst.next = self.rst.val();
        }
        for i in 1..self.live_stages {
            self.live_q[i].d.next = self.live_q[i - 1].q.val();
        }
        for i in self.last_stage..self.live_stages {
            self.live_q[0].d.next = self.seen[0].y.val();
            self.live[0].next = self.live_q[i].q.val();
        }
        for _none in self.live_stages..self.masks {
            self.live[0].next = self.seen[0].y.val();
        }
        for _keys in self.partials..1 {
            self.flags.k_special.next = self.k_special.val();
            self.pipe.first.next = self.expect_first_q.q.val();
        }
        for i in 0..self.partials {
            self.state_step[i].x.next = self.seen[i].y.val();
            self.state_step[i].state.next = self.k_state[i].val();
            self.starts[i].a.next = self.expect_first_q.q.val();
            self.starts[i].b.next = self.state_step[i].y.val();
            self.pipe.first.next = self.starts[i].y.val();
            self.key_special[i].x.next = self.k_special.val();
            self.key_special[i].mask.next = self.k_state[i].val();
            self.flags.k_special.next = self.key_special[i].y.val();
        }
        for i in 0..self.state_stages {
            self.state_q[i].clk.next = self.clk.val();
            self.state_q[i].rst.next = self.rst.val();
        }
        for i in 1..self.state_stages {
            self.state_q[i].d.next = self.state_q[i - 1].q.val();
        }
        for i in 0..self.partials {
            self.state_q[i].d.next = self.state_step[i].y.val();
            for n in self.state_stages..(self.state_stages + 1) {
                self.state[i].next = self.state_q[n - 1].q.val();
            }
        }
        for i in 0..self.state_requests {
            for n in self.state_stages..(self.state_stages + 1) {
                self.state_next[i].next = self.state_q[n - 2].q.val();
            }
        }
        for i in self.state_requests..self.partials {
            self.state_next[i].next = self.state_step[i].y.val();
        }
        self.flags.expect_first.next = self.expect_first_q.q.val();
        self.flags.q_special.next = self.q_special_q.q.val();
        self.pipe.clk.next = self.clk.val();
        self.pipe.rst.next = self.rst.val();
        self.pipe.valid.next = self.k_valid.val();
        self.pipe.last.next = self.k_last.val();
        self.valid.next = self.pipe.valid_out.val();
        self.first.next = self.pipe.first_out.val();
        self.last.next = self.pipe.last_out.val();
        self.invalid.next = self.pipe.invalid_out.val();
    }
}

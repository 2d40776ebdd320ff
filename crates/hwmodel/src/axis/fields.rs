//! The registers themselves: what a write and an event do to them.

use super::leaf::vector_unit;
use super::registers::{ADDRESS_BITS, BUSY_BIT, CLEAR_BIT, COUNTER_BITS, RUN_BIT};
use crate::rtl::{Bus, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::word::Word;
use crate::{circuit, function, unit};

/// Whether an address of bytes is that of a register; its two low bits do not count.
fn is_at<W: Word>(address: &W, offset: u32) -> W {
    let word = address.drop_low(2);
    word.eq(&W::constant(word.width(), u64::from(offset) / 4)).label(|| format!("at_{offset:02x}"))
}

/// Any of some flags.
fn any_of<W: Word>(flags: &[W]) -> W {
    flags.iter().fold(W::zero(1), |any, flag| any.or(flag))
}

vector_unit! {
    /// Which register is written.
    pub struct WriteDecode { offsets: Vec<u32> }
    inputs { address, write }
    outputs { select, known }
    eval<W>(this) {
        let at: Vec<W> = this.offsets.iter().map(|offset| is_at(&address[0], *offset)).collect();
        let select = at.iter().map(|at| at.and(&write[0])).collect();
        (select, vec![any_of(&at)])
    }
}

impl WriteDecode {
    /// For registers at these addresses.
    pub fn new(offsets: Vec<u32>) -> Self {
        let tag = Tag::module("write_decode", "Which register is written, and whether there is one.");
        WriteDecode::with(tag, (1, ADDRESS_BITS), (1, 1), (offsets.len(), 1), (1, 1), offsets)
    }
}

vector_unit! {
    /// What is read.
    pub struct ReadDecode { offsets: Vec<u32> }
    inputs { address, value }
    outputs { data, known }
    eval<W>(this) {
        let at: Vec<W> = this.offsets.iter().map(|offset| is_at(&address[0], *offset)).collect();
        let chosen = at.iter().zip(value).map(|(at, value)| at.repeat(32).and(value));
        let data = chosen.reduce(|all, one| all.or(&one)).unwrap_or_else(|| W::zero(32));
        (vec![data], vec![any_of(&at)])
    }
}

impl ReadDecode {
    /// For registers at these addresses.
    pub fn new(offsets: Vec<u32>) -> Self {
        let tag =
            Tag::module("read_decode", "What the register at an address says, and whether there is one.");
        ReadDecode::with(tag, (1, ADDRESS_BITS), (offsets.len(), 32), (1, 32), (1, 1), offsets)
    }
}

/// The bits that a write gives a register.
fn merged<W: Word>(old: &W, select: &W, data: &W, mask: &W) -> W {
    let width = old.width();
    let (data, mask) = (data.slice(0, width), mask.slice(0, width));
    select.select(&data.and(&mask).or(&old.and(&mask.not())), old)
}

function! {
    /// A register that only a host writes.
    pub struct MergeFunction { width: u32 }
    name(this) = format!("write_merge_{}", this.width);
    doc = "The bits that a write touches are replaced.";
    inputs { select: 1, data: 32, mask: 32, old: this.width }
    outputs { merged: this.width }
    eval<W> { [merged(&old, &select, &data, &mask)] }
}
unit! {
    /// A register that only a host writes.
    pub struct Merge(MergeFunction) { select, data, mask, old } -> { merged }
}

function! {
    /// A register as it is read.
    pub struct WidenFunction { width: u32 }
    name(this) = format!("widen_{}", this.width);
    doc = "y = x, zeros above.";
    inputs { x: this.width }
    outputs { y: 32 }
    eval<W> { [x.zext(32)] }
}
unit! {
    /// A register as it is read.
    pub struct Widen(WidenFunction) { x } -> { y }
}

circuit! {
    /// A register that only a host writes.
    pub struct HostRegister {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// It is written.
            select: Bus<In>,
            /// With what.
            data: Bus<In>,
            /// Which bits.
            mask: Bus<In>,
            /// What it holds.
            value: Bus<Out>,
        }
        parts {
            /// The register.
            value_q: ResetRegister,
            /// What it holds next.
            merge: Merge,
        }
        config {}
    }
}

impl HostRegister {
    /// A register of so many bits, zero after reset.
    pub fn new(width: u32) -> Self {
        HostRegister {
            tag: Tag::module(format!("host_register_{width}"), "Written by the host."),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            select: Bus::new(1),
            data: Bus::new(32),
            mask: Bus::new(32),
            value: Bus::new(width),
            value_q: ResetRegister::new(width, 0),
            merge: Merge::new(MergeFunction { width }),
        }
    }
}

impl Logic for HostRegister {
    #[hdl_gen]
    fn update(&mut self) {
        self.merge.select.next = self.select.val();
        self.merge.data.next = self.data.val();
        self.merge.mask.next = self.mask.val();
        self.merge.old.next = self.value_q.q.val();
        self.value_q.clk.next = self.clk.val();
        self.value_q.rst.next = self.rst.val();
        self.value_q.d.next = self.merge.merged.val();
        self.value.next = self.value_q.q.val();
    }
}

function! {
    /// Start and stop.
    pub struct RunRulesFunction {}
    name(this) = "run_rules";
    doc = "A start loads the number of blocks; each block that begins counts down, and the last one stops. 0 counts nothing.";
    inputs { select: 1, data: 32, mask: 32, run: 1, opens: 1, blocks: 32, left: 32 }
    outputs { next_run: 1, next_left: 32, clear: 1 }
    eval<W> {
        let write = |bit| select.and(&mask.bit(bit));
        let writes_run = write(RUN_BIT).named("writes_run");
        let start = writes_run.and(&data.bit(RUN_BIT)).and(&run.not()).named("start");
        let counts = opens.and(&left.any()).named("counts");
        let stop = opens.and(&left.eq(&W::constant(32, 1))).named("stop");
        let minus_one = W::constant(32, 0xffff_ffff);
        let next_left = start.select(&blocks, &counts.select(&left.add(&minus_one), &left));
        [
            writes_run.select(&data.bit(RUN_BIT), &run).and(&stop.not()),
            next_left,
            write(CLEAR_BIT).and(&data.bit(CLEAR_BIT)),
        ]
    }
}
unit! {
    /// Start and stop.
    pub struct RunRules(RunRulesFunction) { select, data, mask, run, opens, blocks, left }
        -> { next_run, next_left, clear }
}

function! {
    /// Place of the next query.
    pub struct NextPositionFunction { width: u32 }
    name(this) = format!("next_position_{}", this.width);
    doc = "A query that is taken moves the place on by the stride.";
    inputs { select: 1, data: 32, mask: 32, position: this.width, stride: 1, taken: 1 }
    outputs { following: this.width }
    eval<W> {
        let moved = position.add(&stride.and(&taken).zext(this.width)).named("moved");
        [merged(&moved, &select, &data, &mask)]
    }
}
unit! {
    /// Place of the next query.
    pub struct NextPosition(NextPositionFunction) { select, data, mask, position, stride, taken } -> { following }
}

function! {
    /// Which keys a query sees.
    pub struct QueryLimitsFunction { width: u32 }
    name(this) = format!("query_limits_{}", this.width);
    doc = "0: all; 1: up to its place; 2, 3: the last WINDOW of these. Places from all ones on are seen by no query.";
    inputs { mode: 2, position: this.width, window: this.width }
    outputs { q_from: this.width, q_to: this.width }
    eval<W> {
        let limit = W::constant(this.width, crate::word::ones(this.width));
        let following = position.add(&position.all().not().zext(this.width)).named("following");
        let to = mode.any().select(&following, &limit).named("to");
        let reaches_back = window.lt(&following).named("reaches_back");
        let first = following.sub(&window).named("window_start");
        let from = mode.bit(1).and(&reaches_back).repeat(this.width).and(&first);
        [from, to]
    }
}
unit! {
    /// Which keys a query sees.
    pub struct QueryLimits(QueryLimitsFunction) { mode, position, window } -> { q_from, q_to }
}

vector_unit! {
    /// Errors that stay until they are cleared.
    pub struct ErrorRules { bits: Vec<u32> }
    inputs { occurs, old, select, data, mask }
    outputs { y }
    eval<W>(this) {
        let cleared = |bit: u32| select[0].and(&data[0].bit(bit)).and(&mask[0].bit(bit));
        let next = |((occurs, old), bit): ((&W, &W), &u32)| occurs.or(&old.and(&cleared(*bit).not()));
        (occurs.iter().zip(old).zip(&this.bits).map(next).collect(),)
    }
}

impl ErrorRules {
    /// For errors at these bits of STATUS.
    pub fn new(bits: Vec<u32>) -> Self {
        let tag = Tag::module("error_rules", "An error stays until a one is written to its bit.");
        let flags = (bits.len(), 1);
        ErrorRules::with(tag, flags, flags, (1, 1), (1, 32), (1, 32), flags, bits)
    }
}

vector_unit! {
    /// STATUS as it is read.
    pub struct StatusWord { bits: Vec<u32> }
    inputs { busy, error }
    outputs { y }
    eval<W>(this) {
        let bit = |i: u32| match this.bits.iter().position(|bit| *bit == i) {
            Some(place) => error[place].clone(),
            None if i == BUSY_BIT => busy[0].clone(),
            None => W::zero(1),
        };
        let word = (1..32).fold(bit(0), |low, i| bit(i).concat(&low));
        (vec![word],)
    }
}

impl StatusWord {
    /// With errors at these bits.
    pub fn new(bits: Vec<u32>) -> Self {
        let tag = Tag::module("status_word", "STATUS as it is read.");
        StatusWord::with(tag, (1, 1), (bits.len(), 1), (1, 32), bits)
    }
}

function! {
    /// A counter.
    pub struct CountFunction {}
    name(this) = "count_event";
    doc = "One more for each cycle with the event.";
    inputs { occurs: 1, count: COUNTER_BITS }
    outputs { following: COUNTER_BITS }
    eval<W> { [count.add(&occurs.zext(COUNTER_BITS))] }
}
unit! {
    /// A counter.
    pub struct Count(CountFunction) { occurs, count } -> { following }
}

circuit! {
    /// Counts cycles in which something happens.
    pub struct EventCounter {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset, also by the host.
            rst: Bus<In>,
            /// It happens.
            occurs: Bus<In>,
            /// How often it has.
            count: Bus<Out>,
        }
        parts {
            /// The count.
            count_q: ResetRegister,
            /// The next one.
            step: Count,
        }
        config {}
    }
}

impl Default for EventCounter {
    fn default() -> Self {
        EventCounter::new()
    }
}

impl EventCounter {
    /// A counter.
    pub fn new() -> Self {
        EventCounter {
            tag: Tag::module("event_counter", "Counts cycles in which something happens."),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            occurs: Bus::new(1),
            count: Bus::new(COUNTER_BITS),
            count_q: ResetRegister::new(COUNTER_BITS, 0),
            step: Count::new(CountFunction {}),
        }
    }
}

impl Logic for EventCounter {
    #[hdl_gen]
    fn update(&mut self) {
        self.step.occurs.next = self.occurs.val();
        self.step.count.next = self.count_q.q.val();
        self.count_q.clk.next = self.clk.val();
        self.count_q.rst.next = self.rst.val();
        self.count_q.d.next = self.step.following.val();
        self.count.next = self.count_q.q.val();
    }
}

//! The registers themselves, and how writes and events change them.

use super::registers::{BUSY_BIT, CLEAR_BIT, COUNTER_BITS, RUN_BIT};
use crate::function;
use crate::rtl::{Module, Name, Pins, Tag, VectorFunction, Wire};
use crate::word::Word;

/// Set if a byte address belongs to the register at `offset`; the two low bits do not count.
fn is_at<W: Word>(address: &W, offset: u32) -> W {
    let word = address.drop_low(2);
    word.eq(&W::constant(word.width(), u64::from(offset) / 4)).label(|| format!("at_{offset:02x}"))
}

/// The OR of the flags.
fn any_of<W: Word>(flags: &[W]) -> W {
    flags.iter().fold(W::zero(1), |any, flag| any.or(flag))
}

/// Decodes the address of a write: which register is written, and whether the address is known.
pub struct WriteDecode {
    /// Bits of an address.
    pub address_bits: u32,
    /// Addresses of the registers.
    pub offsets: Vec<u32>,
}

impl VectorFunction for WriteDecode {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let tag = Tag::module("write_decode", "Which register is written, and whether there is one.");
        let select = Pins::vector("select", self.offsets.len(), 1);
        let inputs = vec![Pins::vector("address", 1, self.address_bits), Pins::vector("write", 1, 1)];
        (tag, inputs, vec![select, Pins::vector("known", 1, 1)])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let (address, write) = (&inputs[0][0], &inputs[1][0]);
        let at: Vec<W> = self.offsets.iter().map(|offset| is_at(address, *offset)).collect();
        let select = at.iter().map(|at| at.and(write)).collect();
        vec![select, vec![any_of(&at)]]
    }
}

/// Reads the register at an address; `known` says whether the address has one.
pub struct ReadDecode {
    /// Bits of an address.
    pub address_bits: u32,
    /// Addresses of the registers.
    pub offsets: Vec<u32>,
}

impl VectorFunction for ReadDecode {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let tag =
            Tag::module("read_decode", "What the register at an address says, and whether there is one.");
        let value = Pins::vector("value", self.offsets.len(), 32);
        let outputs = vec![Pins::vector("data", 1, 32), Pins::vector("known", 1, 1)];
        (tag, vec![Pins::vector("address", 1, self.address_bits), value], outputs)
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let (address, value) = (&inputs[0][0], &inputs[1]);
        let at: Vec<W> = self.offsets.iter().map(|offset| is_at(address, *offset)).collect();
        let chosen = at.iter().zip(value).map(|(at, value)| at.repeat(32).and(value));
        let data = chosen.reduce(|all, one| all.or(&one)).unwrap_or_else(|| W::zero(32));
        vec![vec![data], vec![any_of(&at)]]
    }
}

/// A register's contents after a write: `select ? (data & mask) | (old & ~mask) : old`.
fn merged<W: Word>(old: &W, select: &W, data: &W, mask: &W) -> W {
    let width = old.width();
    let (data, mask) = (data.slice(0, width), mask.slice(0, width));
    select.select(&data.and(&mask).or(&old.and(&mask.not())), old)
}

function! {
    /// Next contents of a register that only the host writes.
    pub struct MergeFunction { width: u32 }
    name(this) = format!("write_merge_{}", this.width);
    doc = "The bits that a write touches are replaced.";
    inputs { select: 1, data: 32, mask: 32, old: this.width }
    outputs { merged: this.width }
    eval<W> { [merged(&old, &select, &data, &mask)] }
}
function! {
    /// Zero-extends a register to the 32 bits of a read.
    pub struct WidenFunction { width: u32 }
    name(this) = format!("widen_{}", this.width);
    doc = "y = x, zeros above.";
    inputs { x: this.width }
    outputs { y: 32 }
    eval<W> { [x.zext(32)] }
}
/// Data and mask of a write.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    /// Data, 32 bits.
    pub data: Wire,
    /// Set for the bits that are written, 32 bits.
    pub mask: Wire,
}

/// A register of `width` bits that only the host writes, zero after reset. Returns its contents.
pub fn host_register(
    around: &mut Module,
    name: impl Into<Name>,
    width: u32,
    select: Wire,
    write: Write,
) -> Wire {
    host_register_from(0, around, name, width, select, write)
}

/// [`host_register`] with other contents after reset.
pub fn host_register_from(
    reset: u32,
    around: &mut Module,
    name: impl Into<Name>,
    width: u32,
    select: Wire,
    write: Write,
) -> Wire {
    let from = if reset == 0 { String::new() } else { format!("_from_{reset:x}") };
    let tag = Tag::module(format!("host_register_{width}{from}"), "Written by the host.");
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let [select, data, mask] =
            m.input_each([("select", select), ("data", write.data), ("mask", write.mask)]);
        let next = m.later(width);
        let value = m.register_reset("value_q", reset.into(), next);
        let [merged] = m.call("merge", MergeFunction { width }, [select, data, mask, value]);
        m.drive(next, merged);
        m.output("value", value)
    })
}

function! {
    /// Next state of RUN and of the blocks left to begin.
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
function! {
    /// Next contents of POSITION.
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
function! {
    /// The range of keys that a query sees: `q_from <= place < q_to`.
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
/// Next state of the error bits, which stay set until the host clears them.
pub struct ErrorRules {
    /// Their bit numbers in STATUS.
    pub bits: Vec<u32>,
}

impl VectorFunction for ErrorRules {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let tag = Tag::module("error_rules", "An error stays until a one is written to its bit.");
        let flags = |name| Pins::vector(name, self.bits.len(), 1);
        let write =
            [("select", 1), ("data", 32), ("mask", 32)].map(|(name, width)| Pins::vector(name, 1, width));
        (tag, [flags("occurs"), flags("old")].into_iter().chain(write).collect(), vec![flags("y")])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let (occurs, old) = (&inputs[0], &inputs[1]);
        let (select, data, mask) = (&inputs[2][0], &inputs[3][0], &inputs[4][0]);
        let cleared = |bit: u32| select.and(&data.bit(bit)).and(&mask.bit(bit));
        let next = |((occurs, old), bit): ((&W, &W), &u32)| occurs.or(&old.and(&cleared(*bit).not()));
        vec![occurs.iter().zip(old).zip(&self.bits).map(next).collect()]
    }
}

/// The word that a read of STATUS returns.
pub struct StatusWord {
    /// The bit numbers of the errors.
    pub bits: Vec<u32>,
}

impl VectorFunction for StatusWord {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let tag = Tag::module("status_word", "STATUS as it is read.");
        let inputs = vec![Pins::vector("busy", 1, 1), Pins::vector("error", self.bits.len(), 1)];
        (tag, inputs, vec![Pins::vector("y", 1, 32)])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let (busy, error) = (&inputs[0][0], &inputs[1]);
        let bit = |i: u32| match self.bits.iter().position(|bit| *bit == i) {
            Some(place) => error[place].clone(),
            None if i == BUSY_BIT => busy.clone(),
            None => W::zero(1),
        };
        let word = (1..32).fold(bit(0), |low, i| bit(i).concat(&low));
        vec![vec![word]]
    }
}

function! {
    /// Next contents of a counter.
    pub struct CountFunction { bits: u32 }
    name(this) = if this.bits == 1 { "count_event".into() } else { format!("count_{}", this.bits) };
    doc = if this.bits == 1 { "One more for each cycle with the event." } else { "Adds a number." };
    inputs { occurs: this.bits, count: COUNTER_BITS }
    outputs { following: COUNTER_BITS }
    eval<W> { [count.add(&occurs.zext(COUNTER_BITS))] }
}
/// Adds up the numbers on `occurs`, whose one bit marks the cycles that count; returns the sum.
pub fn event_counter(around: &mut Module, name: impl Into<Name>, occurs: Wire) -> Wire {
    let bits = occurs.width();
    let tag = match bits {
        1 => Tag::module("event_counter", "Counts cycles in which something happens."),
        _ => Tag::module(format!("counter_{bits}"), "Adds up numbers."),
    };
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let occurs = m.input("occurs", occurs);
        let count = m.state("count_q", COUNTER_BITS);
        let [next] = m.call("step", CountFunction { bits }, [occurs, count]);
        m.next(count, next);
        m.output("count", count)
    })
}

//! The addresses of values that are asked for.
//!
//! A pointer goes along the segments of values with the steps of the array. So a value's address is there when the step asks, whatever was
//! skipped before it.

use super::fifo::queue;
use super::segments::{ROW_BITS, Segment, ahead};
use crate::function;
use crate::rtl::{Module, Tag, Wire};

/// Logarithm of the segments between the keys that are requested and the values that are asked for.
const SEGMENT_QUEUE_BITS: u32 = 4;

function! {
    /// The next value of a segment, or the next segment.
    pub struct PointerFunction { bits: u32 }
    name(this) = format!("value_pointer_{}", this.bits);
    doc = "One row with each step; the next segment after the last one, or when there was none.";
    inputs {
        step: 1, moves: 1, waiting: 1, first: this.bits, count: ROW_BITS, active: 1, address: this.bits, rows: ROW_BITS,
        stride: 32
    }
    outputs { take: 1, next_active: 1, next_address: this.bits, next_rows: ROW_BITS }
    eval<W> {
        let steps = step.and(&moves).and(&active).named("steps");
        let ends = steps.and(&rows.eq(&W::constant(ROW_BITS, 1))).named("ends");
        let take = waiting.and(&active.not().or(&ends)).named("takes");
        let ahead = ahead(&address, &stride);
        let less = rows.sub(&W::constant(ROW_BITS, 1)).named("less");
        [
            take.clone(),
            take.or(&active.and(&ends.not())),
            take.select(&first, &steps.select(&ahead, &address)),
            take.select(&count, &steps.select(&less, &rows)),
        ]
    }
}

/// The address of the value of the key whose step comes next. Returns also whether there is room for a segment.
///
/// `push`: a segment comes, only if there is room; `step`: a key's step reaches the value stage; `moves`: the array is not frozen.
pub fn value_pointer(
    around: &mut Module,
    name: &str,
    (push, segment): (Wire, &Segment),
    stride: Wire,
    [step, moves]: [Wire; 2],
) -> (Wire, Wire) {
    let bits = segment.address.width();
    let tag = Tag::module(format!("value_pointer_unit_{bits}"), "The address of the next step's value.");
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let [push, address, rows] =
            m.input_each([("push", push), ("address", segment.address), ("rows", segment.rows)]);
        let [stride, step, moves] = m.input_each([("stride", stride), ("step", step), ("moves", moves)]);
        let take_later = m.later(1);
        let waiting = queue(m, "segments", SEGMENT_QUEUE_BITS, push, &[&[address], &[rows]], take_later);
        let active = m.state("active_q", 1);
        let (at, left) = (m.state("address_q", bits), m.state("rows_q", ROW_BITS));
        let [first, count] = [waiting.words[0][0], waiting.words[1][0]];
        let inputs = [step, moves, waiting.valid, first, count, active, at, left, stride];
        let [take, next_active, next_address, next_rows] =
            m.call("pointer", PointerFunction { bits }, inputs);
        m.drive(take_later, take);
        m.next_all(&[active, at, left], &[next_active, next_address, next_rows]);
        (m.output("at", at), m.output("room", waiting.room))
    })
}

//! The flags of a result: whether a query ends, and whether its result is invalid, has overflowed, or has a saturated score.

use super::flags::Flags;
use super::masks::UnmaskedFunction;
use crate::function;
use crate::rtl::{Module, Tag, Wire};

function! {
    /// The sticky invalid bit of a query, and its end.
    pub struct ResultFlagsFunction {}
    name(this) = "result_flags";
    doc = "A query is invalid if its q, one of its keys or a value it read is Inf or NaN.";
    inputs { valid: 1, first: 1, last: 1, invalid: 1, reads_v: 1, v_special: 1, sticky: 1 }
    outputs { next_sticky: 1, done: 1 }
    eval<W> {
        let so_far = first.not().and(&sticky);
        [so_far.or(&invalid).or(&reads_v.and(&v_special)), valid.and(&last)]
    }
}

/// Collects the invalid bits of a query over its steps.
///
/// `flags` belong to a step; `reads_v`: it has read its value; `v_special`: the value was Inf or NaN.
/// Returns, a cycle after the query's last step, `o_valid` and the sticky invalid bit.
pub fn result_control(around: &mut Module, flags: Flags, reads_v: Wire, v_special: Wire) -> (Wire, Wire) {
    let tag = Tag::module("result_control", "End of a query and its sticky invalid bit.");
    around.part("result", tag.dissolved(), |m| {
        m.clock();
        m.reset();
        let Flags { valid, first, last, invalid } = m.enter("", &flags);
        let [reads_v, v_special] = m.input_each([("reads_v", reads_v), ("v_special", v_special)]);
        let sticky = m.state_if("sticky_q", 1, valid);
        let flags = [valid, first, last, invalid, reads_v, v_special, sticky];
        let [next_sticky, done] = m.call("flags", ResultFlagsFunction {}, flags);
        m.next(sticky, next_sticky);
        let done = m.register_reset("done_q", 0, done);
        (m.output("done", done), m.output("done_invalid", sticky))
    })
}

function! {
    /// Whether a step is the last of its query, for scalar path and lanes.
    pub struct EndOfQueryFunction {}
    name(this) = "end_of_query";
    doc = "end = valid and last.";
    inputs { valid: 1, last: 1 }
    outputs { end: 1 }
    eval<W> { [valid.and(&last)] }
}

function! {
    /// The sticky overflow flag of a query.
    pub struct OverflowFlagFunction {}
    name(this) = "overflow_flag";
    doc = "sticky_next = (first ? 0 : sticky) or (reads_v and outside).";
    inputs { first: 1, sticky: 1, reads_v: 1, outside: 1 }
    outputs { sticky_next: 1 }
    eval<W> { [first.not().and(&sticky).or(&reads_v.and(&outside))] }
}

/// Collects the overflow flags of a query over its steps. Returns the sticky flag, a cycle after the step.
pub fn overflow_control(around: &mut Module, flags: Flags, reads_v: Wire, outside: Wire) -> Wire {
    let tag = Tag::module("overflow_control", "A query's overflow flag.");
    around.part("overflow", tag.dissolved(), |m| {
        m.clock();
        let [valid, first] = m.input_each([("valid", flags.valid), ("first", flags.first)]);
        let [reads_v, outside] = m.input_each([("reads_v", reads_v), ("outside", outside)]);
        let sticky = m.state_if("overflow_q", 1, valid);
        let [next] = m.call("flag", OverflowFlagFunction {}, [first, sticky, reads_v, outside]);
        m.next(sticky, next);
        m.output("overflow", sticky)
    })
}

function! {
    /// A flag of a step that counts.
    pub struct CountedFlagFunction {}
    name(this) = "counted_flag";
    doc = "y = flag and counts.";
    inputs { flag: 1, counts: 1 }
    outputs { y: 1 }
    eval<W> { [flag.and(&counts)] }
}

/// Whether the step at the score stage is a key whose score saturates. With masks, `live` says that the query sees the key; with
/// partial results, `state` that the step is a restore.
pub fn saturated_keys(m: &mut Module, saturated: Wire, live: Option<Wire>, state: Option<Wire>) -> Wire {
    let seen = match live {
        Some(live) => m.call("saturated_seen", CountedFlagFunction {}, [saturated, live])[0],
        None => saturated,
    };
    match state {
        Some(state) => m.call("saturated_key", UnmaskedFunction {}, [seen, state])[0],
        None => seen,
    }
}

function! {
    /// The sticky flag of a query with a saturated score.
    pub struct SaturationFlagFunction {}
    name(this) = "saturation_flag";
    doc = "sticky_next = (first ? 0 : sticky) or saturated.";
    inputs { first: 1, sticky: 1, saturated: 1 }
    outputs { sticky_next: 1 }
    eval<W> { [first.not().and(&sticky).or(&saturated)] }
}

/// Collects the saturated scores of a query over its steps. Returns the sticky flag, a cycle after the step.
pub fn saturation_control(around: &mut Module, flags: Flags, saturated: Wire) -> Wire {
    let tag = Tag::module("saturation_control", "A query's flag of saturated scores.");
    around.part("saturation", tag.dissolved(), |m| {
        m.clock();
        let [valid, first] = m.input_each([("valid", flags.valid), ("first", flags.first)]);
        let saturated = m.input("saturated", saturated);
        let sticky = m.state_if("saturated_q", 1, valid);
        let [next] = m.call("flag", SaturationFlagFunction {}, [first, sticky, saturated]);
        m.next(sticky, next);
        m.output("sticky", sticky)
    })
}

//! Key windows: a query sees the keys `from <= j < to` of its block.
//!
//! The array counts the keys of a block. The window of each core compares the count with the limits that were loaded
//! with the query. Count and limits start at the first key of the block, not of the sequence. A host may leave out the
//! keys before the first one that any query of the block needs; it then subtracts their number from both limits.

use crate::function;
use crate::rtl::{Module, Name, Tag, Wire, wires};

function! {
    /// The place of the next key in its block.
    pub struct NextKeyFunction { bits: u32 }
    name(this) = format!("next_key_{}", this.bits);
    doc = "One more for each key, saturating; 0 after the block's last.";
    inputs { index: this.bits, taken: 1, k_last: 1 }
    outputs { next_index: this.bits }
    eval<W> {
        let more = taken.and(&index.all().not()).named("more");
        let following = index.add(&more.zext(this.bits)).named("following");
        [taken.and(&k_last).not().repeat(this.bits).and(&following)]
    }
}

function! {
    /// [`NextKeyFunction`] with partial results: a restore does not count as a key.
    pub struct NextKeyOrStateFunction { bits: u32 }
    name(this) = format!("next_key_or_state_{}", this.bits);
    doc = "One more for each key that is no state, saturating; 0 after the block's last.";
    inputs { index: this.bits, taken: 1, k_last: 1, k_state: 1 }
    outputs { next_index: this.bits }
    eval<W> {
        let more = taken.and(&k_state.not()).and(&index.all().not()).named("more");
        let following = index.add(&more.zext(this.bits)).named("following");
        [taken.and(&k_last).not().repeat(this.bits).and(&following)]
    }
}

function! {
    /// Whether a step is masked for the query of core `core`: a key outside its window, or the state of another query.
    pub struct StateMaskFunction { bits: u32, core: u64 }
    name(this) = format!("state_mask_{}_{}", this.bits, this.core);
    doc = format!("mask = k_mask, or (k_state ? k_index is not {} : outside).", this.core);
    inputs { outside: 1, k_mask: 1, k_state: 1, k_index: this.bits }
    outputs { mask: 1 }
    eval<W> {
        let others = k_index.xor(&W::constant(this.bits, this.core)).any().named("of_another");
        [k_mask.or(&k_state.select(&others, &outside))]
    }
}

/// Counts the keys of a block. Returns the place of the key on the port, from 0, in `bits` bits.
///
/// The count stays at all ones, a place in no window. `taken` says that the array takes a key, `k_last` that it is the
/// last of its block and, with partial results, `k_state` that it is a restore, which does not count.
pub fn key_counter(around: &mut Module, bits: u32, taken: Wire, k_last: Wire, k_state: Option<Wire>) -> Wire {
    let tag = Tag::module(format!("key_counter_{bits}"), "Place of a key in its block.");
    around.part("counter", tag.dissolved(), |m| {
        m.clock();
        m.reset();
        let [taken, k_last] = m.input_each([("taken", taken), ("k_last", k_last)]);
        let k_state = m.optional_input("k_state", k_state);
        let index = m.state("index_q", bits);
        let [following] = match k_state {
            Some(k_state) => {
                m.call("next_key", NextKeyOrStateFunction { bits }, [index, taken, k_last, k_state])
            }
            None => m.call("next_key", NextKeyFunction { bits }, [index, taken, k_last]),
        };
        m.next(index, following);
        m.output("index", index)
    })
}

function! {
    /// Whether a query does not see a key: it is outside the window, or masked for all queries.
    pub struct OutsideFunction { bits: u32 }
    name(this) = format!("outside_window_{}", this.bits);
    doc = "mask = k_mask, or not from <= index < to.";
    inputs { index: this.bits, from: this.bits, to: this.bits, k_mask: 1 }
    outputs { mask: 1 }
    eval<W> { [k_mask.or(&index.lt(&from)).or(&index.lt(&to).not())] }
}

/// The inputs of the window of a core.
pub struct KeyWindow {
    /// The core loads its query, and with it `limits`.
    pub load: Wire,
    /// The places `from` and `to`.
    pub limits: Vec<Wire>,
    /// The place of the key.
    pub index: Wire,
    /// No query sees the key.
    pub k_mask: Wire,
}

wires!(KeyWindow { load, limits, index, k_mask });

/// The window of a core. Returns `mask`: the query of the core does not see the key on the port.
pub fn key_window(around: &mut Module, name: Name, inputs: &KeyWindow) -> Wire {
    let bits = inputs.index.width();
    let tag = Tag::module(format!("key_window_{bits}"), "Which keys a query does not see.");
    around.part(name, tag, |m| {
        m.clock();
        let load = m.input("load", inputs.load);
        let limits = m.inputs("limit", &inputs.limits);
        let [index, k_mask] = m.input_each([("index", inputs.index), ("k_mask", inputs.k_mask)]);
        let limits = m.registers_if("limit_q", load, &limits);
        let [mask] = m.call("outside", OutsideFunction { bits }, [index, limits[0], limits[1], k_mask]);
        m.output("mask", mask)
    })
}

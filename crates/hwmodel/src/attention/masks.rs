//! Flags of cores with masks.
//!
//! A masked key passes through the pipeline as a step, but the scalar path does not see it: to it, the cycle is a gap
//! between keys. So no state depends on a masked key.

use crate::function;

function! {
    /// A flag, low where a mask removes it.
    pub struct UnmaskedFunction {}
    name(this) = "unmasked";
    doc = "y = x and not mask.";
    inputs { x: 1, mask: 1 }
    outputs { y: 1 }
    eval<W> { [x.and(&mask.not())] }
}

function! {
    /// Whether the key after an accepted one is a first key.
    pub struct NextFirstFunction {}
    name(this) = "next_first";
    doc = "After a query's last key, and after a masked one before which there was none to see.";
    inputs { k_last: 1, k_mask: 1, expect_first: 1 }
    outputs { y: 1 }
    eval<W> { [k_last.or(&k_mask.and(&expect_first))] }
}

function! {
    /// Whether a query ends without having seen a key.
    pub struct EmptyQueryFunction {}
    name(this) = "empty_query";
    doc = "empty = valid and last, and no key was seen, neither before (first) nor now: a first key that is not masked\nreads its value.";
    inputs { valid: 1, first: 1, last: 1, reads_v: 1 }
    outputs { empty: 1 }
    eval<W> { [valid.and(&last).and(&first).and(&reads_v.not())] }
}

function! {
    /// Whether the step is the last of its query, for the lanes' results.
    pub struct QueryEndsFunction {}
    name(this) = "query_ends";
    doc = "ends = valid and last.";
    inputs { valid: 1, last: 1 }
    outputs { ends: 1 }
    eval<W> { [valid.and(&last)] }
}

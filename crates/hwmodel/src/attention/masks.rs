//! Flags of cores with masks: a masked key goes through the pipeline as a step that the weight unit does not see, as in
//! a gap of the key stream, so that no state depends on it.

use crate::function;

function! {
    /// What remains of a flag that a mask removes.
    pub struct UnmaskedFunction {}
    name(this) = "unmasked";
    doc = "y = x and not mask.";
    inputs { x: 1, mask: 1 }
    outputs { y: 1 }
    eval<W> { [x.and(&mask.not())] }
}

function! {
    /// Whether the next key is a first one.
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
    /// The end of a query at the results.
    pub struct QueryEndsFunction {}
    name(this) = "query_ends";
    doc = "ends = valid and last.";
    inputs { valid: 1, last: 1 }
    outputs { ends: 1 }
    eval<W> { [valid.and(&last)] }
}

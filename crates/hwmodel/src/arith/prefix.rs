//! A sum whose carries all take the same few steps.
//!
//! A sum by `+` is mapped to the smallest adder that meets the clock, mostly a chain, whose bits come one after another. What reads
//! such a sum at once, a multiplier above all, toggles with each of them.

use crate::word::Word;

/// `a + b` modulo `2^width` by a parallel-prefix network after Kogge and Stone: `ceil(log2 width)` levels, the same for nearly all bits.
pub fn prefix_sum<W: Word>(a: &W, b: &W) -> W {
    let width = a.width();
    let half = a.xor(b).named("half_sum");
    // Whether the bits from a place down to 2^level places below generate a carry, or pass one on.
    let (mut generates, mut passes) = (a.and(b).named("generates_1"), half.clone());
    let mut reach = 1;
    while reach < width {
        let below = |x: &W| x.slice(0, width - reach).append_zeros(reach);
        generates =
            generates.or(&passes.and(&below(&generates))).label(|| format!("generates_{}", 2 * reach));
        passes = passes.and(&below(&passes)).label(|| format!("passes_{}", 2 * reach));
        reach *= 2;
    }
    match width {
        1 => half,
        _ => half.xor(&generates.slice(0, width - 1).append_zeros(1)),
    }
}

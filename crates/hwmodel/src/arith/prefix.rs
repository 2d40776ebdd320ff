//! A parallel-prefix adder, whose sum bits all settle at nearly the same time.
//!
//! Synthesis maps `+` to the smallest adder that meets the clock, mostly a ripple chain, whose bits settle one after another. Logic
//! that reads such a sum in the same cycle, above all a multiplier, glitches with each bit.

use crate::word::Word;

/// `a + b` modulo `2^width` by a Kogge-Stone network: `ceil(log2 width)` levels, the same depth for nearly all bits.
pub fn prefix_sum<W: Word>(a: &W, b: &W) -> W {
    let width = a.width();
    let half = a.xor(b).named("half_sum");
    // Bit i: the `reach` bits from i downwards generate a carry, or propagate one.
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

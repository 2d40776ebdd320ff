//! Widths of FLASH-D's fixed-point lanes that follow from a configuration's.

use crate::config::LaneBits;

/// Most bits of the dither of `v - o`. The difference is rounded to v's places, up as often as the bits of o below them say.
pub const DITHER_BITS: u32 = 8;

/// Top bits of the accumulator o that differences and the result are formed from: v's and the dither's. The rest is truncated.
pub fn fixed_result_bits(lane: LaneBits) -> u32 {
    lane.o.min(lane.v + DITHER_BITS)
}

/// Bits of the dither; none in a merge, whose operands both have an accumulator's places. One bit more of the threshold decides the ties of
/// the product.
pub fn dither_bits(lane: LaneBits) -> u32 {
    fixed_result_bits(lane) - lane.v
}

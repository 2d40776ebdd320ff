//! Widths in FA2's fixed-point variants on which scalar path and lane must agree.

use crate::flash_d::fixed_lane::lane_bits;
use crate::word::bits_for;
use flashd_spec::numerics::{LOG_SUM_GUARD_BITS, Numerics};

/// Width of the accumulator: OW and the guard bits.
pub fn accumulator_bits(n: &Numerics) -> u32 {
    lane_bits(n).o + LOG_SUM_GUARD_BITS
}

/// Width of delta, which shifts the accumulator and l; all ones shifts everything out.
pub fn delta_bits(n: &Numerics) -> u32 {
    bits_for(accumulator_bits(n).max(n.sum_bits()).into())
}

//! Integer and guard bits of FA2's sums.

/// Integer bits of FA2's running sum: 65,536 equal scores give exactly 65,536.
pub const SUM_INTEGER_BITS: u32 = 17;

/// Guard bits of FA2's fixed-point accumulator above the value: `|o| <= l max|v|`, and l is at most 65,536.
pub const SUM_GUARD_BITS: u32 = 16;

/// Guard bits if the reference follows l: `|o| < 2 max|v|` as l is below 2, and the sum of two needs one bit more.
pub const LOG_SUM_GUARD_BITS: u32 = 2;

//! Guard bits of FA2's sums.

/// Guard bits if the reference follows l: `|o| < 2 max|v|` as l is below 2, and the sum of two needs one bit more.
pub const LOG_SUM_GUARD_BITS: u32 = 2;

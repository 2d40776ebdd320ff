//! Room for FA2's sums.

/// Integer bits of FA2's running sum: 65,536 equal scores give exactly 65,536.
pub const SUM_INTEGER_BITS: u32 = 17;

/// Bits that FA2's fixed-point accumulator has above the values': |o| stays below l, at most 65,536.
pub const SUM_GUARD_BITS: u32 = 16;

/// And where the reference follows l, which is below 2: |o| is, too, and one bit more is for what two of them make.
pub const LOG_SUM_GUARD_BITS: u32 = 2;

//! The constants of the hold rule with a budget.

use crate::bits::bits_for;

/// Register bits R of a budget: as many keys of no weight as 2^R can be held in a row.
pub const BUDGET_REGISTER: u32 = 16;
/// Reserve c of a budget: a key may take one in 2^c of what is left.
pub const BUDGET_RESERVE: u32 = 2;
/// Fewest fraction bits of the state with a budget. A kept key gives units back down to `x = 1 - R`, where L has to grow
/// by at least half of `log2(1 + 2^x)`: with these, it grows there by no less than it takes to round up.
pub const BUDGET_STATE_FRACTION: u32 = BUDGET_REGISTER - 2;

/// The hold rule with a budget for fixed-point x in base 2; F is the integer part of x.
///
/// The budget is `2^-b`, its unit `2^-(b + R)`, and h units of it are spent:
///
/// ```text
/// first key       h = 0
/// charge e        2^max(0, F + 1 + b + R) units: 2^x rounded up to a power of two, one unit at least
/// held            e 2^c <= 2^R - h, and then h <- h + e
/// kept, F < 0     h <- h - floor(h / 2^(1 - F))
/// kept, F >= 0    h <- ceil(h / 2^max(1, F))
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetNumerics {
    /// b.
    pub exponent: u32,
    /// R.
    pub register: u32,
    /// c.
    pub reserve: u32,
}

impl BudgetNumerics {
    /// The budget with which a result of so many fraction bits loses less than half an ulp, the largest value lying in
    /// `[1/2, 1)`.
    pub fn new(fraction: u32) -> Self {
        BudgetNumerics { exponent: fraction + 2, register: BUDGET_REGISTER, reserve: BUDGET_RESERVE }
    }

    /// Width of what is left, `2^R - h`.
    pub fn room_bits(&self) -> u32 {
        self.register + 1
    }

    /// Width of the limit: a key is held where `-F - 1 >= limit`. It is `b + c` where all is left, and grows with the
    /// leading zeros of what is left.
    pub fn limit_bits(&self) -> u32 {
        bits_for((self.exponent + self.reserve + self.register + 1).into())
    }
}

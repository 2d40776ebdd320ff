//! The constants of the hold rule with a budget.

use crate::bits::bits_for;

/// Reserve c of a budget: one key may take at most 2^-c of the rest.
pub const BUDGET_RESERVE: u32 = 2;

/// The hold rule with a budget, for fixed-point x in base 2; F is `floor(x)`.
///
/// The budget is `2^-b` in units of `2^-(b + R)`; h of its `2^R` units are spent:
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
    /// Exponent b of the budget.
    pub exponent: u32,
    /// Register bits R, for the largest number of keys: it lets 2^R keys of negligible weight be held in a row.
    pub register: u32,
    /// Reserve c.
    pub reserve: u32,
}

impl BudgetNumerics {
    /// The budget with which a result of `fraction` fraction bits loses less than half an ulp, for a largest value in `[1/2, 1)`.
    pub fn new(fraction: u32, key_bits: u32) -> Self {
        BudgetNumerics { exponent: fraction + 2, register: register(key_bits), reserve: BUDGET_RESERVE }
    }

    /// Fewest fraction bits of the state. A kept key returns units down to `x = 1 - R`, where L must grow by at least half of `log2(1 + 2^x)`; with this many
    /// bits its increment there rounds up.
    pub fn least_state_fraction(key_bits: u32) -> u32 {
        register(key_bits) - 2
    }

    /// Width of the units left, `2^R - h`.
    pub fn room_bits(&self) -> u32 {
        self.register + 1
    }

    /// Width of the limit: a key is held if `-F - 1 >= limit`. The limit is `b + c` with the whole budget, and grows with the leading zeros
    /// of the remaining budget.
    pub fn limit_bits(&self) -> u32 {
        bits_for((self.exponent + self.reserve + self.register + 1).into())
    }
}

/// The reserve needs a few units.
fn register(key_bits: u32) -> u32 {
    key_bits.max(2 * BUDGET_RESERVE)
}

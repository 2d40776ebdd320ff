//! What a user chooses between.

use crate::format::Format;
use serde::{Deserialize, Serialize};

/// Which recurrence the core runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// FLASH-D: `o <- o + (v - o) w`, the softmax division hidden in the weight `w`.
    FlashD,
    /// FlashAttention-2: running maximum, running sum, final division.
    Fa2,
}

impl Design {
    /// Both, in the order of tables and legends.
    pub const ALL: [Design; 2] = [Design::FlashD, Design::Fa2];

    /// What it is called in tables and legends.
    pub fn title(self) -> &'static str {
        ["FLASH-D", "FA2"][self as usize]
    }

    /// The other design, to compare with.
    pub fn other(self) -> Design {
        Design::ALL[1 - self as usize]
    }
}

/// FLASH-D's weight unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WeightUnit {
    /// State is the log-sum-exp in fixed point; `w = sigmoid(s - L)`.
    Lse,
    /// The paper's Alg. 3 with everything in the format, sigmoid and ln PWL units.
    Paper,
}

/// How the dot product is formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dot {
    /// Every product and every sum rounded to the format.
    Tree,
    /// Products rounded once, to a common fixed-point position; integer adders.
    Fused,
}

/// The output update that goes with FLASH-D's log-sum-exp weight unit; the paper's has its own, every operation in
/// the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// Float: difference, product and sum rounded one by one.
    Rounded,
    /// Float: one alignment, one rounding.
    Fused,
    /// Fixed point relative to a power of two that is loaded with q.
    Fixed,
    /// Fixed point, each lane relative to the largest exponent of the values that it has read.
    Ranged,
}

/// Widths of fixed-point lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaneBits {
    /// The accumulator o with its sign, without FA2's guard bits.
    pub o: u32,
    /// The value v with its sign; FA2 does not use it.
    pub v: u32,
    /// Significand of the weight or exponential.
    pub w: u32,
}

/// When a FLASH-D step may hold its output instead of updating it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// Every step updates.
    None,
    /// `lse`: hold `o` and `L` when `x = s - L <= -T`.
    Below(f64),
    /// `lse`: hold as long as a bound of all that was held, relative to what was kept, stays below `2^-(f + 2)`: half
    /// an ulp of a result with f fraction bits, however many keys there are. See
    /// [`BudgetNumerics`](crate::numerics::BudgetNumerics).
    Budget(u32),
    /// `paper`: `s_i - s_{i-1} <= -6` holds, `>= 11` loads the value.
    Static,
}

/// The number format of the output accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accumulator {
    /// The format of the operands.
    Format,
    /// The format with this many bits of fraction.
    Fraction(u32),
    /// Another format, which holds every number of the operands': its exponents, its policy for subnormals. Values
    /// are converted to it where they enter the lanes.
    Float(Format),
}

/// Lengths of the vectors of a core or a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lengths {
    /// Of queries and keys, d_k.
    pub k: usize,
    /// Of values and results, d_v.
    pub v: usize,
}

impl From<usize> for Lengths {
    fn from(d: usize) -> Self {
        Lengths { k: d, v: d }
    }
}

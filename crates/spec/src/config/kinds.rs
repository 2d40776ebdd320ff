//! The choices of the options `design`, `weight`, `dot`, `update`, `lane`, `hold` and `accumulator`.

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
    /// Both designs, in the order of tables and legends.
    pub const ALL: [Design; 2] = [Design::FlashD, Design::Fa2];

    /// Its name in tables and legends.
    pub fn title(self) -> &'static str {
        ["FLASH-D", "FA2"][self as usize]
    }

    /// The other design, for comparisons.
    pub fn other(self) -> Design {
        Design::ALL[1 - self as usize]
    }
}

/// FLASH-D's weight unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WeightUnit {
    /// The state is the log-sum-exp L in fixed point; `w = sigmoid(s - L)`.
    Lse,
    /// The paper's Alg. 3: every operation in the format; PWL units for sigmoid and ln.
    Paper,
}

/// The output update of FLASH-D's log-sum-exp weight unit. The paper's weight unit has its own, with every operation in the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// Float: `v - o`, the product with w and the sum are each rounded.
    Rounded,
    /// Fixed point relative to a power of two loaded with q.
    Fixed,
    /// Fixed point, each lane relative to the largest exponent of the values it has read.
    Ranged,
}

/// Widths of fixed-point lanes, in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaneBits {
    /// Accumulator o, sign included, without FA2's guard bits.
    pub o: u32,
    /// Value v, sign included; FA2 does not use it.
    pub v: u32,
    /// Significand of the weight or exponential.
    pub w: u32,
}

/// When a step may keep o instead of updating it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// Every step updates.
    None,
    /// Hold o and the state when `s - L <= -T` (FLASH-D, natural units) or `s - m <= -T` (FA2).
    Below(f64),
    /// `lse`: hold while the bound on the weight of all held keys, relative to the kept ones, stays below `2^-(f + 2)`: half an ulp of a result with f fraction
    /// bits, at any number of keys. See [`BudgetNumerics`](crate::numerics::BudgetNumerics).
    Budget(u32),
    /// `paper`: `s_i - s_{i-1} <= -6` holds, `>= 11` loads v.
    Static,
}

/// The number format of the output accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accumulator {
    /// The format of the operands.
    Format,
    /// The format's exponents with this many fraction bits.
    Fraction(u32),
    /// A format that holds every number of the operands' format; its exponents and its policy for subnormals apply. Values are converted where they enter the
    /// lanes.
    Float(Format),
}

/// Vector lengths of a core or a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lengths {
    /// Length of queries and keys, d_k.
    pub k: usize,
    /// Length of values and results, d_v.
    pub v: usize,
}

impl From<usize> for Lengths {
    fn from(d: usize) -> Self {
        Lengths { k: d, v: d }
    }
}

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

    /// The design that it is compared with.
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

/// FLASH-D's datapaths: the paper's weight unit, or the log-sum-exp weight unit with one of the output updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlashDVariant {
    /// [`WeightUnit::Paper`].
    Paper,
    /// [`Update::Rounded`].
    Rounded,
    /// [`Update::Fused`].
    Fused,
    /// [`Update::Fixed`].
    Fixed,
}

/// FA2's datapath.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fa2Variant {
    /// Fixed-point maximum and sum, one exponential, one multiplier a lane (exact: of the two factors one
    /// is always 1), and another one a lane for the final scale. The textbook's datapath, hence the alias.
    #[serde(alias = "default")]
    SeparateScale,
    /// As the paper draws it: two exponentials, two multipliers a lane, everything in the format.
    Literal,
    /// The same update, but the lane's multiplier also does the final scale: in the cycle after the last key it is
    /// idle, because the next step is a gap or a first key, which only loads v.
    SharedScale,
    /// Fixed-point accumulator with guard bits for 65,536 keys; the reference is an integer power of two at or
    /// above the maximum, so that rescaling is a shift.
    Fixed,
    /// Fixed-point accumulator whose reference follows the exponent of l, which stays in [1, 2): no guard bits.
    LogReference,
    /// The lanes of [`Fa2Variant::SharedScale`] with a reference that moves by whole octaves, and only for a score
    /// that is more than [`LAZY_SLACK`](crate::config::LAZY_SLACK) octaves above it, as FlashAttention-4 rescales: rescaling is a shift, and rare.
    LazyReference,
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

//! FLASH-D: weight units and output updates.
//!
//! | file | what | equation |
//! | --- | --- | --- |
//! | `weight`, `lse_step` | the log-sum-exp recurrence, (11) | `x = s - L`, `w = sigmoid(x)`, `L <- L + softplus(x)` |
//! | `scalars` | the scalars for the lanes | |
//! | `hold_budget` | the hold rule with a budget | `h <= beta` |
//! | `fixed_lane` | output update, (12), in fixed point | `o <- o + w (v - o) = v + (1 - w) (o - v)` |
//! | `ranged_lane` | (12) in fixed point, an exponent for each lane | |
//! | `rounded_lane` | (12) in floats, every operation rounded | |
//! | `paper`, `paper_lane` | Alg. 3 as the paper has it | `w = sigmoid(s_i - s_{i-1} + ln w_{i-1})` |

pub mod fixed_lane;
pub mod hold_budget;
pub mod lse_step;
pub mod paper;
pub mod paper_lane;
pub mod ranged_lane;
pub mod rounded_lane;
pub mod scalars;
pub mod weight;

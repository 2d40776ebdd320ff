//! Attention in f64, in every form in use; all give the same result up to rounding.
//!
//! A query has scores `s_1 .. s_N` (finite, or -inf for a masked key) and values `v_i` of length d, row-major `[N * d]`. Every form returns a [`PartialAttention`]: the
//! output `o` and the log-sum-exp `L`,
//!
//! ```text
//! o = sum_i e^(s_i - L) v_i        L = ln sum_i e^(s_i)
//! ```
//!
//! A query without a visible key gives `o = 0` and no `L`: [`PartialAttention::is_empty`].
//!
//! | form | function |
//! | --- | --- |
//! | naive softmax, for scores whose exponentials fit f64 | [`naive_softmax`] |
//! | safe softmax, relative to the maximum | [`safe_softmax`] |
//! | FlashAttention, divided in every step | [`flash_attention`] |
//! | FlashAttention-2, divided once | [`flash_attention2`] |
//! | FLASH-D, no division | [`flash_d`] |
//! | FlashAttention in blocks of rows and columns, the 2022 order of loops | [`tiled`](tiled()) |
//! | FlashAttention-2 in blocks, queries resident, keys and values streamed | [`flash_attention2_blocks`] |
//! | the running log-sum-exp of blocks of keys, with additive mask | [`running_lse`] |
//! | log-sum-exps of blocks of keys, joined at the end | [`lse_blocks`] |
//! | the monoid of weighted sum and maximum, folded in any order | [`WeightedSum`], [`folded`] |
//! | the merge of partial results, as in split-KV decoding | [`PartialAttention`] as a [`Monoid`] |
//!
//! [`HoldRule`] has the rules that hold keys, and bounds of their errors.
//!
//! On a whole [`Problem`] each algorithm counts its operations and accesses to slow memory ([`Counts`]). [`ALGORITHMS`] lists them with a closed formula for
//! each, [`EQUATIONS`] the paper's numbered equations.
//!
//! Sources: Dao, Fu, Ermon, Rudra, Ré, *FlashAttention* (2022), "the 2022 paper"; Dao, *FlashAttention-2* (2023); Alexandridis, Titopoulos, Dimitrakopoulos,
//! *FLASH-D* (2025), "the paper", with its Alg. 1 to 3.

mod algorithms;
mod blocks;
mod counts;
mod equations;
mod folds;
mod hold;
mod hold_budget;
mod lse_blocks;
mod machine;
mod monoid;
mod problem;
mod recurrences;
mod row;
mod softmax;
mod standard;
mod streamed;
mod tiled;
mod weighted_sum;

pub use algorithms::{ALGORITHMS, Algorithm};
pub use blocks::{
    flash_attention2_blocks, flash_attention2_blocks_formula, merged_blocks, merged_blocks_formula,
    running_lse, running_lse_formula,
};
pub use counts::{Counts, MemoryTensor, Operation};
pub use equations::{EQUATIONS, Equation};
pub use folds::{Fold, folded, folded_formula};
pub use hold::{
    CappedThreshold, GrowingThreshold, HoldRule, MaximumThreshold, StaticStep, Threshold, flash_d_hold,
    held_error_bound, hold_weights, output_of_weights, static_steps, weights_under,
};
pub use hold_budget::{Budget, CoarseBudget, CoarseDecay, budget_of_fraction};
pub use lse_blocks::lse_blocks;
pub use monoid::{Monoid, fold, fold_bracketed, fold_padded, fold_parallel, prefixes, prefixes_parallel};
pub use problem::{Blocks, Counted, Problem, Sizes};
pub use recurrences::{
    flash_attention, flash_attention_counted, flash_attention_formula, flash_attention2,
    flash_attention2_counted, flash_attention2_formula, flash_d, flash_d_counted, flash_d_formula,
    flash_d_weights,
};
pub use row::{LogSum, PartialAttention, sigmoid};
pub use softmax::{add_mask, naive_softmax, safe_softmax, safe_softmax_of_rows, scores};
pub use standard::{standard, standard_formula, standard_naive, standard_naive_formula};
pub use tiled::{tiled, tiled_formula};
pub use weighted_sum::WeightedSum;

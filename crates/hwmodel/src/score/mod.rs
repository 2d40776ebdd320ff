//! From query and key to the score, and from scores to their running sum.
//!
//! | file | unit | equation |
//! | --- | --- | --- |
//! | `dot` | products and adder tree | `q . k`, every operation rounded |
//! | `fused_dot`, `term_sum` | terms and integer adders | `q . k`, rounded once |
//! | `score` | the score | `s = q . k * scale * log2(e)` |
//! | `operand` | elements with their scales | `q = q_element * q_scale` |
//! | `scaled` | the score with scales of vectors | `s = q . k * q_scale * k_scale * scale * log2(e)` |
//! | `saturate` | scores stay below 2^IS | |
//! | `softcap` | the soft cap of a score | `c tanh(s / c)` |
//! | `bias` | the bias of a score | `s + b * log2(e)` |
//! | `special` | Inf and NaN in a vector | |
//! | `sum` | FA2's running sum | `l <- l c + e`, `1 / l` |

pub mod bias;
pub mod dot;
pub mod fused_dot;
pub mod operand;
mod saturate;
pub mod scaled;
#[expect(clippy::module_inception, reason = "the unit that the folder is about")]
pub mod score;
pub mod softcap;
pub mod special;
pub mod sum;
pub mod term_sum;

use crate::rtl::{Module, Number, SHOWN_ELEMENTS, Stage, Wire};

/// Rows for the sums of a level of an adder tree, of which the first is not folded away.
fn show_sums(m: &mut Module, sums: &[Wire], number: Number, [stage, level]: [usize; 2]) {
    m.stage(Stage::AdderTree);
    m.number_each(sums, number);
    for (i, &sum) in sums.iter().enumerate().take(SHOWN_ELEMENTS) {
        m.fold((i > 0).then_some("More sums"));
        m.show(sum, &format!("stage {stage}, level {level}, sum {i}"));
    }
    m.fold(None);
}

/// The plural ending of a noun after `count`.
fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

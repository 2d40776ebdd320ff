//! The family as a table: name, equation, counting implementation and closed formula of each algorithm.

use super::blocks::{
    flash_attention2_blocks, flash_attention2_blocks_formula, merged_blocks, merged_blocks_formula,
    running_lse, running_lse_formula,
};
use super::counts::Counts;
use super::folds::{Fold, folded, folded_formula};
use super::problem::{Blocks, Counted, Problem, Sizes};
use super::recurrences::{
    flash_attention_counted, flash_attention_formula, flash_attention2_counted, flash_attention2_formula,
    flash_d_counted, flash_d_formula,
};
use super::standard::{standard, standard_formula, standard_naive, standard_naive_formula};
use super::tiled::{tiled, tiled_formula};

/// An algorithm of the family.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// Its name in commands and reports.
    pub name: &'static str,
    /// Its description.
    pub words: &'static str,
    /// Its equation; numbers in brackets refer to the FLASH-D paper.
    pub equation: &'static str,
    run: fn(&Problem, Blocks) -> Option<Counted>,
    formula: fn(&Sizes) -> Counts,
}

impl Algorithm {
    /// Results of all queries with counts of operations and accesses; `None` if scores are outside the domain of naive softmax.
    ///
    /// # Panics
    /// If the tensors do not fit each other, or a block size is 0.
    pub fn run(&self, problem: &Problem, blocks: Blocks) -> Option<Counted> {
        (self.run)(problem, blocks)
    }

    /// The counts in closed form.
    pub fn formula(&self, sizes: &Sizes) -> Counts {
        (self.formula)(sizes)
    }
}

/// All algorithms.
pub const ALGORITHMS: [Algorithm; 12] = [
    Algorithm {
        name: "softmax",
        words: "standard attention with safe softmax; S and P are written and read",
        equation: "m = max_j s_j, o = sum_j e^(s_j - m) v_j / sum_j e^(s_j - m)",
        run: |problem, _| Some(standard(problem)),
        formula: standard_formula,
    },
    Algorithm {
        name: "naive",
        words: "the same without the maximum; scores up to about 700",
        equation: "o = sum_j e^s_j v_j / sum_j e^s_j",
        run: |problem, _| standard_naive(problem),
        formula: standard_naive_formula,
    },
    Algorithm {
        name: "alg1",
        words: "the paper's Alg. 1: FlashAttention, a key a step, divided in every step",
        equation: "(1): o = o l' e^(m' - m) / l + v e^(s - m) / l, where ' is the step before",
        run: |problem, blocks| Some(flash_attention_counted(problem, blocks)),
        formula: flash_attention_formula,
    },
    Algorithm {
        name: "alg2",
        words: "the paper's Alg. 2: FlashAttention-2, a key a step, divided once",
        equation: "o = o e^(m' - m) + v e^(s - m), result o / l",
        run: |problem, blocks| Some(flash_attention2_counted(problem, blocks)),
        formula: flash_attention2_formula,
    },
    Algorithm {
        name: "alg3",
        words: "the paper's Alg. 3: FLASH-D, a key a step, no division",
        equation: "(11), (12): w = sigmoid(s - s' + ln w'), o = o + (v - o) w",
        run: |problem, blocks| Some(flash_d_counted(problem, blocks)),
        formula: flash_d_formula,
    },
    Algorithm {
        name: "flash-attention",
        words: "FlashAttention of 2022 in blocks: keys outside, queries inside; O, l and m go to and fro",
        equation: "o = (e^(m' - m) l' / l) o + (e^(m_b - m) / l) sum_j e^(s_j - m_b) v_j for each block b",
        run: |problem, blocks| Some(tiled(problem, blocks)),
        formula: tiled_formula,
    },
    Algorithm {
        name: "flash-attention-2",
        words: "FlashAttention-2 in blocks: queries outside and resident, keys and values streamed",
        equation: "o = e^(m' - m) o + sum_j e^(s_j - m) v_j for each block, result o / l",
        run: |problem, blocks| Some(flash_attention2_blocks(problem, blocks)),
        formula: flash_attention2_blocks_formula,
    },
    Algorithm {
        name: "running-lse",
        words: "the running log-sum-exp of blocks, mask added to the scores, no division",
        equation: "C = max(max_j S_j, lse'), L = e^(lse' - C) + sum_j e^(S_j - C), O = e^(C' - C) O + P V, \
                   lse = C + log L, result O e^(C - lse)",
        run: |problem, blocks| Some(running_lse(problem, blocks)),
        formula: running_lse_formula,
    },
    Algorithm {
        name: "merged-blocks",
        words: "each block by safe softmax, results merged by their log-sum-exps, as of split keys",
        equation: "w = sigmoid(L_b - L_a), o = o_a + (o_b - o_a) w, L = L_a + softplus(L_b - L_a)",
        run: |problem, blocks| Some(merged_blocks(problem, blocks)),
        formula: merged_blocks_formula,
    },
    Algorithm {
        name: "monoid-left",
        words: "the monoid of weighted sum and maximum, folded from the left",
        equation: "(u_1, m_1) (u_2, m_2) = (e^(m_1 - m) u_1 + e^(m_2 - m) u_2, m), m = max(m_1, m_2)",
        run: |problem, blocks| Some(folded(problem, blocks, Fold::Left)),
        formula: folded_formula,
    },
    Algorithm {
        name: "monoid-balanced",
        words: "the same monoid, folded in halves",
        equation: "as monoid-left",
        run: |problem, blocks| Some(folded(problem, blocks, Fold::Balanced)),
        formula: folded_formula,
    },
    Algorithm {
        name: "monoid-tree",
        words: "the same monoid, pairs of neighbours level by level as in an adder tree",
        equation: "as monoid-left",
        run: |problem, blocks| Some(folded(problem, blocks, Fold::Tree)),
        formula: folded_formula,
    },
];

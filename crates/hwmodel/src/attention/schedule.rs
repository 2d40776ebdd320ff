//! The pipeline stages of a core.
//!
//! With `A = ceil(log2 d)` the result is due `A + 4` cycles after the last key was accepted. The dot product takes the
//! first `A - 1` of them, with two levels of its tree in a cycle where necessary. Scalar path and output update share
//! the other five:
//!
//! | stage | FLASH-D | FA2 |
//! | --- | --- | --- |
//! | A - 1 | score | score, maximum, difference |
//! | A | `x = s - L` | exponential (log-reference: reference and l) |
//! | A + 1 | `w = sigmoid(x)`, hold; `softplus(x)` for the next x | `l` |
//! | A + 2 | w to the lanes; with a value stage: v to fixed point | `o`, reciprocal of l |
//! | A + 3 | `o` | final scale |
//!
//! With a soft cap the dot product is registered and capped in stage A, and everything from the score on comes a stage
//! later. A value latency of N puts N - 1 stages before the output update.

use flashd_spec::numerics::Numerics;

/// The places of the registers of the dot product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontSchedule {
    /// The products are registered.
    pub after_products: bool,
    /// For each level of the tree, whether its sums are registered.
    pub after_level: Vec<bool>,
    /// Registers that only delay the result.
    pub delays: usize,
}

/// Stages from the score stage to the stage at which FLASH-D with a value stage, and FA2, receive the value at a value
/// latency of 1.
pub const SCORE_TO_VALUE: u32 = 3;

/// Stages of the dot product, `A - 1`.
pub fn dot_stages(tree_levels: u32) -> u32 {
    tree_levels - 1
}

/// Stages from the acceptance of a key to its score stage: the dot product's, and one for a soft cap.
pub fn score_stage(n: &Numerics) -> u32 {
    dot_stages(n.tree_levels) + n.cap_stages()
}

impl FrontSchedule {
    /// Places the `A - 1` registers of a tree of A = `levels` levels. Adders that round are the slowest part of a core, so
    /// each level gets a stage as long as there are enough. Integer adders go two levels to a stage, which saves the
    /// registers of every second level; the registers that remain delay the narrow result.
    pub fn new(rounded: bool, levels: u32) -> Self {
        let registers = dot_stages(levels) as usize;
        let levels = levels as usize;
        // With few registers the products share a stage with the first level.
        let after_products = registers >= 3;
        let stages = registers - after_products as usize;
        let groups: Vec<usize> = match registers {
            0 => vec![],
            1 => vec![levels],
            2 => vec![1, levels - 1],
            // The tree has two stages less than levels, so its first two stages take two levels each.
            _ if rounded => (0..stages).map(|stage| if stage < 2 { 2 } else { 1 }).collect(),
            _ => (0..levels.div_ceil(2)).map(|stage| (levels - 2 * stage).min(2)).collect(),
        };
        let mut after_level = vec![false; levels];
        let mut done = 0;
        for group in &groups {
            done += group;
            after_level[done - 1] = true;
        }
        FrontSchedule { after_products, after_level, delays: stages - groups.len() }
    }

    /// The stages of the tree: the number of levels in each, and whether registers end it.
    pub fn stages(&self) -> Vec<(u32, bool)> {
        let mut stages = Vec::new();
        let mut levels = 0;
        for registered in &self.after_level {
            levels += 1;
            if *registered {
                stages.push((std::mem::take(&mut levels), true));
            }
        }
        stages.extend((levels > 0).then_some((levels, false)));
        stages
    }

    /// Number of register stages.
    pub fn registers(&self) -> usize {
        self.after_products as usize + self.after_level.iter().filter(|r| **r).count() + self.delays
    }
}

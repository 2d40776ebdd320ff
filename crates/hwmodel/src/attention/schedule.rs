//! Which stage of a core does what.
//!
//! With `A = ceil(log2 d)` a key's result is due `A + 4` cycles after it was accepted. The dot product takes
//! the first `A - 1` of them, two levels of its tree a cycle where that is needed; the scalar path and the
//! output update share the other five:
//!
//! | stage | FLASH-D | FA2 |
//! | --- | --- | --- |
//! | A - 1 | score | score, maximum, difference |
//! | A | `x = s - L` | exponential (log-reference: reference and l) |
//! | A + 1 | `w = sigmoid(x)`, hold; `softplus(x)` for the next x | `l` |
//! | A + 2 | w to the lanes; with a value stage: v to fixed point | `o`, reciprocal of l |
//! | A + 3 | `o` | final scale |
//!
//! With a soft cap the dot product's score is registered and capped in stage A, and what follows comes a stage later.

use flashd_spec::config::Dot;
use flashd_spec::numerics::Numerics;

/// Registers between key and score stage, and where in the dot product they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontSchedule {
    /// The products are registered.
    pub after_products: bool,
    /// For each level of the tree, whether its sums are registered.
    pub after_level: Vec<bool>,
    /// Registers that only delay the result.
    pub delays: usize,
}

/// Stages from the score stage to the one at which FLASH-D with a value stage and FA2 receive the value.
pub const SCORE_TO_VALUE: u32 = 3;

/// Stages of the dot product, `A - 1`.
pub fn dot_stages(tree_levels: u32) -> u32 {
    tree_levels - 1
}

/// Stages from a key's acceptance to its score stage: those of the dot product, and that of the cap, if there is one.
pub fn score_stage(n: &Numerics) -> u32 {
    dot_stages(n.tree_levels) + n.cap_stages()
}

impl FrontSchedule {
    /// The placement of the `A - 1` registers. Float adders are the slowest part of a core, so they get a
    /// stage each as long as there are stages. Integer adders go two to a stage, which saves the registers of
    /// every second level; what is left over delays the narrow result.
    pub fn new(dot: Dot, levels: u32) -> Self {
        let registers = dot_stages(levels) as usize;
        let levels = levels as usize;
        // With few registers the products share the first level's stage.
        let after_products = registers >= 3;
        let stages = registers - after_products as usize;
        let groups: Vec<usize> = match (registers, dot) {
            (0, _) => vec![],
            (1, _) => vec![levels],
            (2, _) => vec![1, levels - 1],
            // One stage less than levels, and one for the products: two stages have two levels.
            (_, Dot::Tree) => (0..stages).map(|stage| if stage < 2 { 2 } else { 1 }).collect(),
            (_, Dot::Fused) => (0..levels.div_ceil(2)).map(|stage| (levels - 2 * stage).min(2)).collect(),
        };
        let mut after_level = vec![false; levels];
        let mut done = 0;
        for group in &groups {
            done += group;
            after_level[done - 1] = true;
        }
        FrontSchedule { after_products, after_level, delays: stages - groups.len() }
    }

    /// The tree's levels by stage: how many, and whether the stage ends with registers.
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

    /// Registers in all.
    pub fn registers(&self) -> usize {
        self.after_products as usize + self.after_level.iter().filter(|r| **r).count() + self.delays
    }
}

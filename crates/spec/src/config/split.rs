//! What a user chooses: a core, and into how many parts the keys are split.

use super::{ConfigError, CoreConfig, Design};
use crate::numerics::Numerics;
use serde::{Deserialize, Serialize};

/// Fewest and most parts, powers of two.
pub const PARTS_RANGE: (usize, usize) = (2, 64);

/// Cycles of a merge, from the parts' scalars to its own.
pub const MERGE_CYCLES: u32 = 2;

/// Configuration of split keys: `parts` cores meet a key each in every cycle, for the same query; their results are merged
/// by a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitConfig {
    /// The core, with partial results.
    pub core: CoreConfig,
    /// Parts of the keys, P: 2, 4, 8, 16, 32 or 64.
    pub parts: usize,
}

impl SplitConfig {
    /// Split keys for cores of a configuration, with partial results whether it has them or not.
    pub fn new(core: CoreConfig, parts: usize) -> Self {
        SplitConfig { core: CoreConfig { masks: true, partial: true, ..core }, parts }
    }

    /// Checks the core's configuration and the number of parts.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let (lo, hi) = PARTS_RANGE;
        if !(lo..=hi).contains(&self.parts) || !self.parts.is_power_of_two() {
            let problem = format!("{} is not one of 2, 4, 8, 16, 32, 64", self.parts);
            return Err(ConfigError { field: "parts", problem });
        }
        if !self.core.partial {
            let problem = "what is merged are the partial results of cores; add partial".to_string();
            return Err(ConfigError { field: "parts", problem });
        }
        self.core.validate()
    }

    /// Module and file name: the core's and `_pP`, as in `flash_d_partial_bf16_d64_p8`.
    pub fn name(&self) -> String {
        format!("{}_p{}", self.core.name(), self.parts)
    }

    /// Levels of the tree.
    pub fn levels(&self) -> u32 {
        self.parts.ilog2()
    }

    /// Cycles from the accepted last keys to the result: those of the core, a merge each level, the lanes of the last one,
    /// and, FA2, the division.
    pub fn latency(&self) -> u32 {
        let n = Numerics::new(&self.core);
        n.latency() + MERGE_CYCLES * self.levels() + 1 + self.result_cycles()
    }
    /// Cycles from the last merge's accumulators to the result: FA2 divides there.
    pub fn result_cycles(&self) -> u32 {
        (self.core.design() == Design::Fa2).into()
    }
}

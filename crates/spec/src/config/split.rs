//! The configuration of a split: a core, and the number of parts of the keys.

use super::{ConfigError, CoreConfig, Design, design_name};
use crate::numerics::Numerics;
use serde::{Deserialize, Serialize};

/// Fewest and most parts; powers of two.
pub const PARTS_RANGE: (usize, usize) = (2, 64);

/// Cycles from the scalars of a merge's operands to its own.
pub const MERGE_CYCLES: u32 = 2;

/// Configuration of a split: `parts` cores each take a key per cycle for the same query; a tree merges their results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitConfig {
    /// The core; it must have partial results.
    pub core: CoreConfig,
    /// Number of parts P: 2, 4, 8, 16, 32 or 64.
    pub parts: usize,
}

impl SplitConfig {
    /// A split of this core; turns partial results on.
    pub fn new(core: CoreConfig, parts: usize) -> Self {
        SplitConfig { core: CoreConfig { masks: true, partial: true, ..core }, parts }
    }

    /// Checks the core's configuration and the number of parts.
    ///
    /// # Errors
    /// Names the field, the given value and the allowed ones.
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

    /// Module and file name: the core's and `_pP`: `flash_d_partial_bf16_d64_p8`.
    pub fn name(&self) -> String {
        design_name(format!("{}_p{}", self.core.whole_name(), self.parts))
    }

    /// Levels of the merge tree, `log2 P`.
    pub fn levels(&self) -> u32 {
        self.parts.ilog2()
    }

    /// Cycles from accepting the last keys to the result: the core's, [`MERGE_CYCLES`] per level, one for the lanes of the last merge, and one for FA2's
    /// division.
    pub fn latency(&self) -> u32 {
        let n = Numerics::new(&self.core);
        n.latency() + MERGE_CYCLES * self.levels() + 1 + self.result_cycles()
    }
    /// Cycles from the last merge's accumulators to the result: 1 for FA2's division, 0 for FLASH-D.
    pub fn result_cycles(&self) -> u32 {
        (self.core.design() == Design::Fa2).into()
    }
}

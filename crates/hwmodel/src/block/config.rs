//! What a user chooses: a core and how many of them share the keys.

use crate::config::{ConfigError, CoreConfig};
use crate::numerics::Numerics;
use crate::word::index_bits;
use serde::{Deserialize, Serialize};

/// Smallest and largest number of queries in a block.
pub const QUERIES_RANGE: (usize, usize) = (1, 64);

/// Cycles between the loading of a block's last query and of the next block's first one: the cycle in which the
/// cores take the block over. `q_ready` is a register, so that no path leads from the key port to the query port.
pub const TRANSFER_CYCLES: usize = 1;

/// Configuration of an array: `queries` cores of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockConfig {
    /// The core.
    pub core: CoreConfig,
    /// Most queries in a block, B: 1 to 64.
    pub queries: usize,
}

impl BlockConfig {
    /// Checks the core's configuration and the number of queries.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let (lo, hi) = QUERIES_RANGE;
        if !(lo..=hi).contains(&self.queries) {
            let problem = format!("{} is outside {lo} to {hi}", self.queries);
            return Err(ConfigError { field: "queries", problem });
        }
        self.core.validate()
    }

    /// Module and file name: the core's and `_xB`, as in `flash_d_bf16_d64_x8`. A core's name ends with its vector
    /// length, so that no core has the name of an array. An array of one core has `_x1`: its ports differ.
    pub fn name(&self) -> String {
        format!("{}_x{}", self.core.name(), self.queries)
    }

    /// Cycles from an accepted last key to the block's first result, those of the core; result i comes i cycles later.
    pub fn latency(&self) -> u32 {
        Numerics::new(&self.core).latency()
    }

    /// Width of `o_index`.
    pub fn index_bits(&self) -> u32 {
        index_bits(self.queries)
    }

    /// Cycles from the last key of one block to that of the next, for blocks of `queries` queries and `keys` keys that
    /// follow each other without a pause of the sources: `max(keys, queries + TRANSFER_CYCLES)`.
    pub fn cycles_per_block(queries: usize, keys: usize) -> usize {
        keys.max(queries + TRANSFER_CYCLES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Design;
    use crate::format::Format;

    fn block(queries: usize) -> BlockConfig {
        BlockConfig { core: CoreConfig::new(Design::FlashD, 64, Format::BF16), queries }
    }

    #[test]
    fn names_say_how_many() {
        assert_eq!(block(8).name(), "flash_d_bf16_d64_x8");
        assert_eq!(block(1).name(), "flash_d_bf16_d64_x1");
    }

    #[test]
    fn numbers_outside_the_range_are_refused() {
        for queries in [0, 65, 1000] {
            let e = block(queries).validate().unwrap_err();
            assert_eq!(e.to_string(), format!("queries: {queries} is outside 1 to 64"));
        }
        let mut bad = block(8);
        bad.core.d = 1;
        assert_eq!(bad.validate().unwrap_err().field, "d");
        assert!(block(1).validate().is_ok() && block(64).validate().is_ok());
    }

    #[test]
    fn indices_fit() {
        let bits: Vec<u32> = [1, 2, 3, 4, 5, 8, 9, 64].map(|n| block(n).index_bits()).to_vec();
        assert_eq!(bits, [1, 1, 2, 2, 3, 3, 4, 6]);
    }
}

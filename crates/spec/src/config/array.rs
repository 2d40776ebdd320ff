//! The configuration of an array: a core, and the number of copies that share the keys.

use super::{ConfigError, CoreConfig, design_name};
use crate::bits::index_bits;
use crate::numerics::Numerics;
use serde::{Deserialize, Serialize};

/// Smallest and largest number of cores in an array.
pub const QUERIES_RANGE: (usize, usize) = (1, 64);

/// Fewest and most bits of a key's index.
pub const KEY_INDEX_BITS_RANGE: (u32, u32) = (2, 32);

/// Fewest and most queries that take turns in a core of an array.
pub const INTERLEAVE_RANGE: (usize, usize) = (1, 8);

/// Cycles between loading the last query of a block and the first query of the next one: in this cycle the cores take the block over. `q_ready` is a register,
/// so that no combinational path leads from the key port to the query port.
pub const TRANSFER_CYCLES: usize = 1;

/// Configuration of an array of `queries` equal cores. In a file, `C` is [`CoreFields`](super::CoreFields).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayConfig<C = CoreConfig> {
    /// The core.
    pub core: C,
    /// Number of cores and most queries in a block, B: 1 to 64.
    pub queries: usize,
    /// Width of a key's index in its block, for cores with masks; by default enough for the core's most keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_index_bits: Option<u32>,
    /// Queries that take turns in a core, C: the array has B / C cores, takes a key every C cycles, and its loops over keys are C stages deep. 1 to 8; B is a
    /// multiple of it.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub interleave: usize,
}

fn one() -> usize {
    1
}

fn is_one(interleave: &usize) -> bool {
    *interleave == 1
}

impl ArrayConfig {
    /// An array of `queries` cores.
    pub fn new(core: CoreConfig, queries: usize) -> Self {
        ArrayConfig { core, queries, key_index_bits: None, interleave: 1 }
    }

    /// Checks the core's configuration and the number of queries.
    ///
    /// # Errors
    /// Names the field, the given value and the allowed ones.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let refuse = |field, problem: String| Err(ConfigError { field, problem });
        let (lo, hi) = QUERIES_RANGE;
        if !(lo..=hi).contains(&self.queries) {
            return refuse("queries", format!("{} is outside {lo} to {hi}", self.queries));
        }
        let (lo, hi) = INTERLEAVE_RANGE;
        if !(lo..=hi).contains(&self.interleave) {
            return refuse("interleave", format!("{} is outside {lo} to {hi}", self.interleave));
        }
        if !self.queries.is_multiple_of(self.interleave) {
            let (queries, interleave) = (self.queries, self.interleave);
            let problem = format!(
                "{queries} queries cannot take turns {interleave} to a core; use a divisor of {queries}"
            );
            return refuse("interleave", problem);
        }
        if self.interleave > 1 && self.core.partial {
            return refuse(
                "interleave",
                "queries that take turns have no partial results; leave one of both out".into(),
            );
        }
        if let Some(bits) = self.key_index_bits {
            let (lo, hi) = KEY_INDEX_BITS_RANGE;
            if !self.core.masks {
                let problem = "only an array of cores with masks counts its keys; leave it out";
                return refuse("key_index_bits", problem.into());
            }
            if !(lo..=hi).contains(&bits) {
                return refuse("key_index_bits", format!("{bits} is outside {lo} to {hi}"));
            }
        }
        self.core.validate()
    }

    /// Number of cores, B / C.
    pub fn cores(&self) -> usize {
        self.queries / self.interleave
    }

    /// The array of a single turn: a query for each core.
    pub fn one_turn(&self) -> ArrayConfig {
        ArrayConfig { queries: self.cores(), interleave: 1, ..self.clone() }
    }

    /// A limit can be one more than the last index.
    fn default_key_index_bits(&self) -> u32 {
        self.core.key_bits() + 1
    }

    /// Width of a key's index in its block and of a query's limits. No query sees a key whose index is all ones or beyond.
    pub fn key_index_bits(&self) -> u32 {
        self.key_index_bits.unwrap_or(self.default_key_index_bits())
    }

    /// Module and file name: the core's name, `_xB`, `_iC` if C queries take turns, and `_kW` if the width of a key's index is not the default: `flash_d_bf16_d64_x8`. A core's name ends with
    /// its vector length, so no core has the name of an array. An array of one core still has `_x1`, because its ports differ.
    pub fn name(&self) -> String {
        design_name(self.whole_name())
    }

    /// [`Self::name`] of any length.
    pub(super) fn whole_name(&self) -> String {
        let bits = self.key_index_bits.filter(|&bits| bits != self.default_key_index_bits());
        let bits = bits.map_or(String::new(), |bits| format!("_k{bits}"));
        let turns = if self.interleave > 1 { format!("_i{}", self.interleave) } else { String::new() };
        format!("{}_x{}{turns}{bits}", self.core.whole_name(), self.queries)
    }

    /// Cycles from accepting the last key to the block's first result, as in the core; result i comes i cycles later. The first of C turns
    /// has begun C - 1 cycles before the key is accepted.
    pub fn latency(&self) -> u32 {
        self.in_turns(Numerics::new(&self.core).latency())
    }

    /// Cycles from `v_ren` to the value on the port, where it stays for the C turns.
    pub fn value_latency(&self) -> u32 {
        self.in_turns(self.core.value_latency)
    }

    /// The cycles from the last of C turns to the first one `cycles` cycles later, each of which takes C turns.
    fn in_turns(&self, cycles: u32) -> u32 {
        let turns = self.interleave as u32;
        turns * cycles - (turns - 1)
    }

    /// Width of `o_index`.
    pub fn index_bits(&self) -> u32 {
        index_bits(self.queries)
    }

    /// Cycles from one block's last key to the next block's, for blocks of `queries` queries and `keys` keys that
    /// follow each other without a pause of the sources: `max(keys, queries + TRANSFER_CYCLES)`.
    pub fn cycles_per_block(queries: usize, keys: usize) -> usize {
        keys.max(queries + TRANSFER_CYCLES)
    }

    /// [`Self::cycles_per_block`] of this array: C queries load, and C results leave, in the cycles of a key.
    pub fn block_period(&self, queries: usize, keys: usize) -> usize {
        self.interleave * Self::cycles_per_block(queries.div_ceil(self.interleave), keys)
    }

    /// Cycles from the first key to the last result, both included, for blocks of `(queries, keys)` whose sources do not pause. Block b starts at `s_b =
    /// max(e_{b-1}, s_{b-1} + n_b + TRANSFER_CYCLES)`: its queries load one per cycle from the start of block b - 1 on. Its last key comes at `e_b = max(s_b +
    /// keys_b, e_{b-1} + n_{b-1})`, after the results of block b - 1 have left.
    pub fn cycles(&self, blocks: impl IntoIterator<Item = (usize, usize)>) -> usize {
        // In the cycles of a key.
        let (mut start, mut end, mut before) = (0usize, 0usize, None::<usize>);
        for (queries, keys) in blocks {
            if let Some(results) = before {
                let earliest = end + results.div_ceil(self.interleave);
                start = end.max(start + queries.div_ceil(self.interleave) + TRANSFER_CYCLES);
                end = earliest.max(start + keys);
            } else {
                end = keys;
            }
            before = Some(queries);
        }
        before.map_or(0, |results| self.interleave * end + self.latency() as usize + results - 1)
    }
}

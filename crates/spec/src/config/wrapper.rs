//! What a user chooses: an array of cores, the width of a beat, and which values are sent.

use super::{ArrayConfig, ConfigError, CoreConfig};
use serde::{Deserialize, Serialize};

/// Most bits of a beat by default.
pub const DEFAULT_BEAT_BITS: u32 = 512;

/// Cycles that the streams add to the array's latency: the key register, and the register of the result's beat.
pub const STREAM_LATENCY: u32 = 2;

/// Which values the wrapper takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Values {
    /// Those that it has asked for; a value that no query of the block needs is never fetched.
    #[default]
    Requested,
    /// All of the block, in a packet; those that no query needs are dropped.
    All,
}

/// Configuration of a stream wrapper around an array of cores. `C` is what is known of the core, as in [`ArrayConfig`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrapperConfig<C = CoreConfig> {
    /// The array.
    #[serde(rename = "block")]
    pub array: ArrayConfig<C>,
    /// Bits of a beat: divides the bits of a vector, a multiple of 8. When absent, the most up to
    /// [`DEFAULT_BEAT_BITS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beat_bits: Option<u32>,
    /// Which values are sent.
    #[serde(default)]
    pub values: Values,
}

impl WrapperConfig {
    /// A wrapper around an array, with everything else as by default.
    pub fn new(array: ArrayConfig) -> Self {
        WrapperConfig { array, beat_bits: None, values: Values::default() }
    }

    /// Checks the array's configuration and the width of a beat.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.array.validate()?;
        let core = &self.array.core;
        if core.partial {
            let problem =
                "a stream wrapper has no ports for partial results; use an array alone, or masks alone";
            return Err(ConfigError { field: "partial", problem: problem.into() });
        }
        if !core.has_one_shape() {
            let problem = format!(
                "a stream wrapper has one width for the vectors of all streams, and {} has formats or lengths of their own for k, v \
                 or o",
                core.name()
            );
            return Err(ConfigError { field: "wrapper", problem });
        }
        if self.array.core.bias {
            let problem = "a stream wrapper's beats carry no bias; use an array or a core";
            return Err(ConfigError { field: "bias", problem: problem.into() });
        }
        let beat = self.beat();
        if !self.beat_choices().any(|bits| bits == beat) {
            let choices: Vec<String> = self.beat_choices().map(|bits| bits.to_string()).collect();
            let problem = format!(
                "{beat} bits are no beat of a vector of {} bits, which can be sent in beats of {}",
                self.vector_bits(),
                choices.join(", ")
            );
            return Err(ConfigError { field: "beat", problem });
        }
        Ok(())
    }

    /// The widths that a beat can have, in ascending order.
    pub fn beat_choices(&self) -> impl Iterator<Item = u32> + use<> {
        let vector = self.vector_bits();
        (8..=vector).step_by(8).filter(move |bits| vector.is_multiple_of(*bits))
    }

    /// The width of a beat when nothing else is asked for.
    fn default_beat(&self) -> u32 {
        let fits = |bits: &u32| *bits <= DEFAULT_BEAT_BITS;
        self.beat_choices().filter(fits).last().unwrap_or(self.vector_bits())
    }

    /// Bits of a beat.
    pub fn beat(&self) -> u32 {
        self.beat_bits.unwrap_or_else(|| self.default_beat())
    }

    /// Bits of a vector, d W.
    pub fn vector_bits(&self) -> u32 {
        self.array.core.d as u32 * self.element_bits()
    }

    /// Bits of an element, W.
    pub fn element_bits(&self) -> u32 {
        self.array.core.format.width()
    }

    /// Beats of a vector.
    pub fn beats(&self) -> u32 {
        self.vector_bits() / self.beat()
    }

    /// Module and file name: the array's and `_axis`, then `_b` and the bits of a beat unless they are the default, and
    /// `_all` where all values are sent: `flash_d_bf16_d64_x8_axis_b128_all`.
    pub fn name(&self) -> String {
        let beat = self.beat_bits.filter(|bits| *bits != self.default_beat());
        let beat = beat.map_or(String::new(), |bits| format!("_b{bits}"));
        let values = match self.values {
            Values::Requested => "",
            Values::All => "_all",
        };
        format!("{}_axis{beat}{values}", self.array.name())
    }

    /// Cycles from the last beat of a block's last key to the first beat of its first result, when the key and its
    /// values do not have to wait: those of the array and [`STREAM_LATENCY`].
    pub fn latency(&self) -> u32 {
        self.array.latency() + STREAM_LATENCY
    }

    /// Cycles from block to block of `queries` queries and `keys` keys when no source and no sink pauses and values come
    /// in time (see [`WrapperConfig::value_delay`]): a beat a cycle on the busiest stream,
    ///
    /// ```text
    /// max(keys beats, queries beats + t)
    /// ```
    ///
    /// where t is the cycle in which the array takes a block over, as in [`ArrayConfig::cycles_per_block`]. A vector of
    /// several beats hides it, because the query register fills meanwhile. With beats of whole vectors this is exact.
    /// With several beats it is a lower bound, which long blocks come close to: results and keys want the array at
    /// different times, and freezing it for one delays the other, which costs up to two vectors a block; in blocks of
    /// a few keys requested values cost their delay besides.
    pub fn cycles_per_block(&self, queries: usize, keys: usize) -> usize {
        let beats = self.beats() as usize;
        let transfer = match beats {
            1 => ArrayConfig::cycles_per_block(queries, 1) - queries,
            _ => 0,
        };
        (keys * beats).max(queries * beats + transfer)
    }

    /// Most cycles from a request to the first beat of its value at which requested values cost no time. A request
    /// shows one cycle after the step before its own has been made, its value is on the array's port
    /// `delay + beats` cycles later, and has to be there `value_latency` steps after its own: `value_latency + 1` steps,
    /// each of `beats` cycles, less one cycle. So
    ///
    /// ```text
    /// delay = value_latency beats - 1
    /// ```
    ///
    /// A larger delay makes a step take `(delay + beats + 1) / (value_latency + 1)` cycles.
    pub fn value_delay(&self) -> u32 {
        self.array.value_latency() * self.beats() - 1
    }

    /// Whether the array is also frozen while the next key of a block is not there, so that steps follow each other.
    ///
    /// Where a key takes several cycles to come, an array that moves on meanwhile has empty stages between two keys,
    /// and the second one's value is asked for only after the first one's has come: a step takes the beats of its key,
    /// the way of its request, and the beats of its value, one after another. Frozen, it has asked for the next value by
    /// then, and a beat a cycle is sustained. The price is that a step's request waits for the keys that fill the
    /// stages before it.
    pub fn is_dense(&self) -> bool {
        self.values == Values::Requested && self.beats() > 1
    }
}

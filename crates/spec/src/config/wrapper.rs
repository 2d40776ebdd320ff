//! What a user chooses: an array of cores, the width of a beat, and which values are sent.

use super::{ArrayConfig, ConfigError, CoreConfig};
use crate::numerics::{BIAS, Numerics};
use serde::{Deserialize, Serialize};

/// Most bits of a beat by default.
pub const DEFAULT_BEAT_BITS: u32 = 512;

/// Cycles that the streams add to the array's latency: the key register, and the register of the result's beat.
pub const STREAM_LATENCY: u32 = 2;

/// What a stream of vectors carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// Queries, with their scales behind.
    Query,
    /// Keys, with their scales and, behind these, what each query of the block adds to the score.
    Key,
    /// Values.
    Value,
    /// Results; of cores with partial results the state behind each.
    Result,
    /// The states that queries start from.
    State,
}

/// Words of one width in a vector on its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamWords {
    /// How many.
    pub count: usize,
    /// Bits of a word.
    pub bits: u32,
    /// Bits that it takes, of which the upper ones are not looked at, and 0 in results.
    pub room: u32,
}

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
        let beat = self.beat();
        if !self.beat_choices().any(|bits| bits == beat) {
            let choices: Vec<String> = self.beat_choices().map(|bits| bits.to_string()).collect();
            let problem = format!(
                "{beat} bits are no beat of {}, which can be sent in beats of {}",
                match self.is_uniform() {
                    true => format!("a vector of {} bits", self.bits(Carried::Key)),
                    false => format!("keys of {} bits", self.bits(Carried::Key)),
                },
                match self.is_uniform() {
                    true => choices.join(", "),
                    false => format!("8 to {}, in steps of 8", choices.last().map_or("8", String::as_str)),
                }
            );
            return Err(ConfigError { field: "beat", problem });
        }
        Ok(())
    }

    /// Whether queries, keys, values and results are vectors of one length and width, and nothing is beside them: then a vector is a
    /// whole number of beats.
    fn is_uniform(&self) -> bool {
        self.array.core.has_one_shape() && !self.array.core.bias
    }

    /// The widths that a beat can have, in ascending order: what divides a vector, or, where vectors have several widths, any number of
    /// bytes up to a key's.
    pub fn beat_choices(&self) -> impl Iterator<Item = u32> + use<> {
        let (uniform, key) = (self.is_uniform(), self.bits(Carried::Key));
        let most = if uniform { key } else { key.next_multiple_of(8) };
        (8..=most).step_by(8).filter(move |bits| !uniform || key.is_multiple_of(*bits))
    }

    /// The width of a beat when nothing else is asked for. Where vectors have several widths, a key's beats are filled as far as whole
    /// bytes allow: keys are what there is most of.
    fn default_beat(&self) -> u32 {
        let key = self.bits(Carried::Key);
        if !self.is_uniform() {
            return key.div_ceil(key.div_ceil(DEFAULT_BEAT_BITS)).next_multiple_of(8);
        }
        let fits = |bits: &u32| *bits <= DEFAULT_BEAT_BITS;
        self.beat_choices().filter(fits).last().unwrap_or(key)
    }

    /// Bits of a beat.
    pub fn beat(&self) -> u32 {
        self.beat_bits.unwrap_or_else(|| self.default_beat())
    }

    /// The words of a vector on its stream, from the lowest bit on. A state's stand in whole bytes, so that a program reads them without
    /// shifts: the accumulators first, as they are behind the elements of a result, then the scalars.
    pub fn words(&self, carried: Carried) -> Vec<StreamWords> {
        let core = &self.array.core;
        let (words, formats) = (core.port_words(), core.encodings().formats);
        let packed = |count: usize, bits: u32| StreamWords { count, bits, room: bits };
        let bytes = |count: usize, bits: u32| StreamWords { count, bits, room: bits.next_multiple_of(8) };
        let biases = core.bias.then(|| packed(self.array.queries, BIAS.width()));
        let state = || -> Vec<StreamWords> {
            let scalars = Numerics::new(core).scalar_bits(core);
            let accumulators = bytes(core.dv(), core.accumulator_bits());
            [accumulators].into_iter().chain(scalars.into_iter().map(|bits| bytes(1, bits))).collect()
        };
        match carried {
            Carried::Query => vec![packed(words.q, formats.q.width())],
            Carried::Key => [packed(words.k, formats.k.width())].into_iter().chain(biases).collect(),
            Carried::Value => vec![packed(words.v, formats.v.width())],
            Carried::Result => {
                let o = packed(core.dv(), formats.o.width());
                [o].into_iter().chain(if core.partial { state() } else { Vec::new() }).collect()
            }
            Carried::State => state(),
        }
    }

    /// Bits of a vector on its stream.
    pub fn bits(&self, carried: Carried) -> u32 {
        self.words(carried).iter().map(|words| words.count as u32 * words.room).sum()
    }

    /// Beats of a vector on its stream; where it is no whole number of them, the last one's upper bits are not looked at, and 0 in
    /// results.
    pub fn beats(&self, carried: Carried) -> u32 {
        self.bits(carried).div_ceil(self.beat())
    }

    /// Bits of a stream's beat: those of a beat, or of a vector that is shorter, in whole bytes.
    pub fn beat_of(&self, carried: Carried) -> u32 {
        self.beat().min(self.bits(carried).next_multiple_of(8))
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
    /// max(keys key_beats, queries query_beats + t, queries result_beats)
    /// ```
    ///
    /// where t is the cycle in which the array takes a block over, as in [`ArrayConfig::cycles_per_block`]. A vector of
    /// several beats hides it, because the query register fills meanwhile. With beats of whole vectors this is exact.
    /// With several beats it is a lower bound, which long blocks come close to: results and keys want the array at
    /// different times, and freezing it for one delays the other, which costs up to two vectors a block; in blocks of
    /// a few keys requested values cost their delay besides.
    pub fn cycles_per_block(&self, queries: usize, keys: usize) -> usize {
        let beats = |carried| self.beats(carried) as usize;
        let transfer = match beats(Carried::Query) {
            1 => ArrayConfig::cycles_per_block(queries, 1) - queries,
            _ => 0,
        };
        let step = beats(Carried::Key).max(beats(Carried::Value));
        (keys * step).max(queries * beats(Carried::Query) + transfer).max(queries * beats(Carried::Result))
    }

    /// Most cycles from a request to the first beat of its value at which requested values cost no time. A request
    /// shows one cycle after the step before its own has been made, its value is on the array's port
    /// `delay + value_beats` cycles later, and has to be there `value_latency` steps after its own: `value_latency + 1` steps,
    /// each of `key_beats` cycles, less one cycle. So
    ///
    /// ```text
    /// delay = (value_latency + 1) key_beats - value_beats - 1
    /// ```
    ///
    /// and 0 where values have more beats than that leaves room for. A larger delay makes a step take
    /// `(delay + value_beats + 1) / (value_latency + 1)` cycles.
    pub fn value_delay(&self) -> u32 {
        let steps = (self.array.value_latency() + 1) * self.beats(Carried::Key);
        steps.saturating_sub(self.beats(Carried::Value) + 1)
    }

    /// Whether the array is also frozen while the next key of a block is not there, so that steps follow each other.
    ///
    /// Where a key takes several cycles to come, an array that moves on meanwhile has empty stages between two keys,
    /// and the second one's value is asked for only after the first one's has come: a step takes the beats of its key,
    /// the way of its request, and the beats of its value, one after another. Frozen, it has asked for the next value by
    /// then, and a beat a cycle is sustained. The price is that a step's request waits for the keys that fill the
    /// stages before it.
    pub fn is_dense(&self) -> bool {
        self.values == Values::Requested && self.beats(Carried::Key) > 1
    }
}

//! The configuration of a stream wrapper: an array, the width of a beat, and which values are sent.

use super::{ArrayConfig, ConfigError, CoreConfig, design_name};
use crate::numerics::{BIAS, Numerics};
use serde::{Deserialize, Serialize};

/// Most bits of a default beat.
pub const DEFAULT_BEAT_BITS: u32 = 512;

/// Cycles that the wrapper adds to the array's latency: the key register and the output register of results.
pub const STREAM_LATENCY: u32 = 2;

/// Contents of a stream of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// Queries, followed by their scales.
    Query,
    /// Keys, followed by their scales and by the bias of each query of the block.
    Key,
    /// Values.
    Value,
    /// Results, each followed by its state if the core has partial results.
    Result,
    /// States that queries start from.
    State,
}

/// Equally wide words of a vector on its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamWords {
    /// Number of words.
    pub count: usize,
    /// Bits used in each word.
    pub bits: u32,
    /// Bits that each word takes on the stream. The upper ones are ignored on input and 0 in results.
    pub room: u32,
}

impl StreamWords {
    /// Bits of all words on the stream.
    pub fn total(&self) -> u32 {
        self.count as u32 * self.room
    }
}

/// Which values the master sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Values {
    /// Only requested values: a value that no query of the block needs is never fetched.
    #[default]
    Requested,
    /// All values of a block, in a packet; the wrapper drops values that no query needs.
    All,
}

/// Configuration of a stream wrapper around an array. `C` is as in [`ArrayConfig`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrapperConfig<C = CoreConfig> {
    /// The array.
    #[serde(rename = "block")]
    pub array: ArrayConfig<C>,
    /// Bits of a beat: a multiple of 8 that divides the bits of a vector. By default the largest up to [`DEFAULT_BEAT_BITS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beat_bits: Option<u32>,
    /// Which values are sent.
    #[serde(default)]
    pub values: Values,
}

impl WrapperConfig {
    /// A wrapper around an array; everything else at its default.
    pub fn new(array: ArrayConfig) -> Self {
        WrapperConfig { array, beat_bits: None, values: Values::default() }
    }

    /// Checks the array's configuration and the width of a beat.
    ///
    /// # Errors
    /// Names the field, the given value and the allowed ones.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.array.validate()?;
        if self.array.interleave > 1 {
            let problem = "an array behind streams or a memory has a core for each query; leave it out";
            return Err(ConfigError { field: "interleave", problem: problem.into() });
        }
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

    /// Set if queries, keys, values and results have one length and width, and no other words. A vector is then a whole number of beats.
    fn is_uniform(&self) -> bool {
        self.array.core.has_one_shape() && !self.array.core.bias
    }

    /// Allowed widths of a beat, ascending: the divisors of a vector, or, if vectors differ in width, any number of bytes up to a key's.
    pub fn beat_choices(&self) -> impl Iterator<Item = u32> + use<> {
        let (uniform, key) = (self.is_uniform(), self.bits(Carried::Key));
        let most = if uniform { key } else { key.next_multiple_of(8) };
        (8..=most).step_by(8).filter(move |bits| !uniform || key.is_multiple_of(*bits))
    }

    /// The default width of a beat. If vectors differ in width, it fills a key's beats as far as whole bytes allow, because keys are the most frequent.
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

    /// The words of a vector on its stream, from the lowest bit on. In a state, accumulators come first and scalars follow, each in whole bytes, so that a
    /// program reads them without shifts.
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
        self.words(carried).iter().map(StreamWords::total).sum()
    }

    /// Beats of a vector on its stream. If the vector does not fill the last beat, its upper bits are ignored on input and 0 in results.
    pub fn beats(&self, carried: Carried) -> u32 {
        self.bits(carried).div_ceil(self.beat())
    }

    /// Bits of a stream's beat: [`Self::beat`], or a shorter vector rounded up to bytes.
    pub fn beat_of(&self, carried: Carried) -> u32 {
        self.beat().min(self.bits(carried).next_multiple_of(8))
    }

    /// Module and file name: the array's, `_axis`, `_bW` if the beat's width is not the default, and `_all` if all values are sent:
    /// `flash_d_bf16_d64_x8_axis_b128_all`.
    pub fn name(&self) -> String {
        let beat = self.beat_bits.filter(|bits| *bits != self.default_beat());
        let beat = beat.map_or(String::new(), |bits| format!("_b{bits}"));
        let values = match self.values {
            Values::Requested => "",
            Values::All => "_all",
        };
        design_name(format!("{}_axis{beat}{values}", self.array.whole_name()))
    }

    /// Cycles from the last beat of a block's last key to the first beat of its first result, if neither keys nor values wait: the array's latency and
    /// [`STREAM_LATENCY`].
    pub fn latency(&self) -> u32 {
        self.array.latency() + STREAM_LATENCY
    }

    /// Cycles per block of `queries` queries and `keys` keys if no source or sink pauses and values come in time (see [`WrapperConfig::value_delay`]): one beat
    /// per cycle on the busiest stream,
    ///
    /// ```text
    /// max(keys key_beats, queries query_beats + t, queries result_beats)
    /// ```
    ///
    /// where t is the cycle in which the array takes a block over, as in [`ArrayConfig::cycles_per_block`]. A vector of several beats hides t, because the
    /// query register fills meanwhile. With beats of whole vectors this is exact. With several beats per vector it is a lower bound that long blocks approach:
    /// results and keys need the array at different times, and freezing it for one delays the other, which costs up to two vectors per block. In blocks of a
    /// few keys, requested values add their delay.
    pub fn cycles_per_block(&self, queries: usize, keys: usize) -> usize {
        let beats = |carried| self.beats(carried) as usize;
        let transfer = match beats(Carried::Query) {
            1 => ArrayConfig::cycles_per_block(queries, 1) - queries,
            _ => 0,
        };
        let step = beats(Carried::Key).max(beats(Carried::Value));
        (keys * step).max(queries * beats(Carried::Query) + transfer).max(queries * beats(Carried::Result))
    }

    /// Most cycles from a request to the first beat of its value at which requested values cost no time. A request is visible one cycle after the preceding
    /// step has completed. Its value is on the array's port `delay + value_beats` cycles later, and is needed `value_latency` steps after its own step: after
    /// `value_latency + 1` steps of `key_beats` cycles, less one cycle. So
    ///
    /// ```text
    /// delay = (value_latency + 1) key_beats - value_beats - 1
    /// ```
    ///
    /// and 0 if values have more beats than that allows. With a larger delay a step takes `(delay + value_beats + 1) / (value_latency + 1)` cycles.
    pub fn value_delay(&self) -> u32 {
        let steps = (self.array.value_latency() + 1) * self.beats(Carried::Key);
        steps.saturating_sub(self.beats(Carried::Value) + 1)
    }

    /// Set if the array also freezes while the next key of a block has not come, so that steps follow each other without gaps.
    ///
    /// If a key takes several cycles to arrive, an array that keeps moving has empty stages between two keys, and requests the second key's value only after
    /// the first one's has come: a step then takes the beats of its key, the delay of its request and the beats of its value in sequence. A frozen array has
    /// requested the next value by then, and sustains a beat per cycle. In return, a step's request waits for the keys that fill the stages before it.
    pub fn is_dense(&self) -> bool {
        self.values == Values::Requested && self.beats(Carried::Key) > 1
    }
}

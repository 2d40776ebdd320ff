//! The attention unit: an array that fetches queries, keys and values from a memory and writes the results back.
//!
//! The host writes a [job](Job) to registers, or a chain of them to memory as [descriptors](descriptor). The unit divides
//! a job into [blocks](Job::blocks), with a query for each core of the array.

pub mod codes;
pub mod descriptor;
mod job;
pub mod ports;

pub use job::{Block, Flag, Job, JobError, Pages, Place, Rows};

use crate::config::{
    ArrayConfig, Carried, ConfigError, CoreConfig, Design, StreamWords, Values, WrapperConfig, design_name,
};
use crate::format::{Encodings, Scale, Scales, Words};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Fewest and most bits of a beat. A beat is a power of two of bytes, as AXI4 has it.
pub const BEAT_RANGE: (u32, u32) = (64, 1024);
/// Fewest and most bits of an address.
pub const ADDRESS_RANGE: (u32, u32) = (32, 64);
/// Fewest and most beats of reads in flight.
pub const IN_FLIGHT_RANGE: (u32, u32) = (16, 1024);

/// Beats of descriptors and block tables that may be on their way or wait.
pub const CONTROL_ROOM: u32 = 32;

/// Fewest and most tokens of a buffer of keys and values.
pub const KV_BUFFER_RANGE: (u32, u32) = (16, 4096);

/// Bytes of a log-sum-exp: a binary32 number of IEEE 754.
pub const LSE_BYTES: u32 = 4;

/// Configuration of an attention unit. `C` is as in [`ArrayConfig`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitConfig<C = CoreConfig> {
    /// The array.
    #[serde(rename = "block")]
    pub array: ArrayConfig<C>,
    /// Bits of a beat of the memory port.
    pub beat_bits: u32,
    /// Bits of an address.
    pub address_bits: u32,
    /// Beats that have been requested and have not come, at most: memory latency in cycles, and some more.
    pub in_flight: u32,
    /// Which values are fetched.
    #[serde(default)]
    pub values: Values,
    /// Tokens of a head whose keys and values stay on chip, from the first on: a power of two, or 0.
    #[serde(default)]
    pub kv_buffer: u32,
    /// The first 32 bits of the generator's git revision, which VERSION returns; 0: unknown.
    #[serde(default, skip_serializing_if = "is_unknown")]
    pub revision: u32,
}

fn is_unknown(revision: &u32) -> bool {
    *revision == 0
}

impl UnitConfig {
    /// A unit around an array: beats of 128 bits, addresses of 40, 64 beats in flight.
    pub fn new(array: ArrayConfig) -> Self {
        UnitConfig {
            array,
            beat_bits: 128,
            address_bits: 40,
            in_flight: 64,
            values: Values::default(),
            kv_buffer: 0,
            revision: 0,
        }
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// Names the field, the given value and the allowed ones.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.array.validate()?;
        if self.array.interleave > 1 {
            let problem = "an array behind streams or a memory has a core for each query; leave it out";
            return Err(ConfigError { field: "interleave", problem: problem.into() });
        }
        let within = |field, value: u32, (low, high): (u32, u32)| match (low..=high).contains(&value) {
            true => Ok(()),
            false => Err(ConfigError { field, problem: format!("{value} is outside {low} to {high}") }),
        };
        within("beat", self.beat_bits, BEAT_RANGE)?;
        within("address_bits", self.address_bits, ADDRESS_RANGE)?;
        within("in_flight", self.in_flight, IN_FLIGHT_RANGE)?;
        if !self.beat_bits.is_power_of_two() {
            let problem = format!(
                "{} is no power of two; AXI4 has beats of 64, 128, 256, 512 or 1024 bits",
                self.beat_bits
            );
            return Err(ConfigError { field: "beat", problem });
        }
        let state = self.array.core.partial.then_some(Carried::State);
        for carried in
            [Carried::Query, Carried::Key, Carried::Value, Carried::Result].into_iter().chain(state)
        {
            let (bytes, beat) = (self.row_bytes(carried), self.beat_bits / 8);
            if bytes > 4096 || bytes.div_ceil(beat) >= 256 {
                let problem = format!(
                    "{} bits with rows of {bytes} bytes, more than a burst and its boundary hold",
                    self.beat_bits
                );
                return Err(ConfigError { field: "beat", problem });
            }
        }
        let kept = self.kv_buffer;
        if kept > 0 && !(kept.is_power_of_two() && (KV_BUFFER_RANGE.0..=KV_BUFFER_RANGE.1).contains(&kept)) {
            let (low, high) = KV_BUFFER_RANGE;
            let problem = format!("{kept} is no power of two from {low} to {high}");
            return Err(ConfigError { field: "kv_buffer", problem });
        }
        if kept > 0 && self.values != Values::All {
            let problem = "keeps all values: take --values all".into();
            return Err(ConfigError { field: "kv_buffer", problem });
        }
        Ok(())
    }

    /// Module and file name: the array's, `_axi4_bW`, `_aA` and `_fF` if the bits of an address or the beats in flight are not the default,
    /// `_all` if all values are fetched, `_kvN` with a buffer of N tokens: `flash_d_bf16_d64_x8_axi4_b128`.
    pub fn name(&self) -> String {
        let values = match self.values {
            Values::Requested => "",
            Values::All => "_all",
        };
        let other = |letters: &str, value: u32, default: u32| match value == default {
            true => String::new(),
            false => format!("_{letters}{value}"),
        };
        let plain = UnitConfig::new(self.array.clone());
        let address = other("a", self.address_bits, plain.address_bits);
        let in_flight = other("f", self.in_flight, plain.in_flight);
        let buffer = other("kv", self.kv_buffer, plain.kv_buffer);
        let beat = self.beat_bits;
        design_name(format!("{}_axi4_b{beat}{address}{in_flight}{values}{buffer}", self.array.name()))
    }

    /// The first 32 bits of the SHA-256 of the configuration in JSON, without its revision: CONFIG returns them.
    pub fn digest(&self) -> u32 {
        let text = serde_json::to_string(&UnitConfig { revision: 0, ..self.clone() }).unwrap_or_default();
        Sha256::digest(text)[..4].iter().fold(0, |digest, &byte| digest << 8 | u32::from(byte))
    }

    /// Set if SCALE is the scale of a job's queries: the scores' factor is `SCALE / 2^16 * 2^score_shift`, and SCALE = 0 means 1. Other
    /// units have the core's factor alone.
    pub fn has_scale(&self) -> bool {
        self.array.core.scales().q == Scale::RowQ16
    }

    /// The factor of scores that the core has, as Q0.16; none if it is no such number.
    pub fn scale(&self) -> Option<u32> {
        let shift = self.array.core.score_shift() + 16;
        (0..16).contains(&shift).then(|| 1 << shift)
    }

    /// The streams around the array, in beats of the memory port.
    pub fn streams(&self) -> WrapperConfig {
        WrapperConfig { array: self.array.clone(), beat_bits: Some(self.beat_bits), values: self.values }
    }

    /// Formats and scales of vectors in memory. Queries have no scale there if SCALE is it.
    pub fn encodings(&self) -> Encodings {
        let Encodings { formats, scales } = self.array.core.encodings();
        let q = if self.has_scale() { Scale::None } else { scales.q };
        Encodings { formats, scales: Scales { q, ..scales } }
    }

    /// Words of vectors in memory: elements, then scales.
    pub fn words(&self) -> Words {
        let core = &self.array.core;
        self.encodings().words(core.d, core.dv())
    }

    /// The words of a row of queries, keys, values, results or states in memory, packed from the lowest bit on.
    pub fn row_words(&self, carried: Carried) -> Vec<StreamWords> {
        let mut words = self.streams().words(carried);
        if let (Carried::Query, [q]) = (carried, &mut words[..]) {
            q.count = self.words().q;
        }
        if carried == Carried::Result {
            // A state is another row.
            words.truncate(1);
        }
        words
    }

    /// Bytes of a row in memory. Its words are packed from the lowest bit on.
    pub fn row_bytes(&self, carried: Carried) -> u32 {
        self.row_words(carried).iter().map(StreamWords::total).sum::<u32>().div_ceil(8)
    }

    /// Beats of a kind of rows that may be on their way or wait: as configured for keys and values, four queries, two states.
    ///
    /// An array without a key is frozen, and so are the steps whose values it has asked for. All these values have room: with less, a unit
    /// whose values are requested would wait for ever.
    pub fn room(&self, carried: Carried) -> u32 {
        let rows = |rows: u32| (rows * (self.row_bytes(carried).div_ceil(self.beat_bits / 8) + 1)).max(16);
        match carried {
            Carried::Value if self.values == Values::Requested => {
                self.in_flight.max(rows(self.array.value_latency() + 2))
            }
            Carried::Query | Carried::Result => rows(4),
            Carried::State => rows(2),
            Carried::Key | Carried::Value => self.in_flight,
        }
    }

    /// The parts of a result, each from a new beat on: its elements and, with partial results, its state, and the scalars that its
    /// log-sum-exp follows from, one by one: L, or m and l.
    pub fn result_parts(&self) -> Vec<Vec<StreamWords>> {
        let mut parts = vec![self.row_words(Carried::Result)];
        if self.array.core.partial {
            let state = self.row_words(Carried::State);
            let scalars = match self.array.core.design() {
                Design::FlashD => 1,
                Design::Fa2 => 2,
            };
            let of_lse = state[1..=scalars].iter().map(|words| vec![*words]).collect::<Vec<_>>();
            parts.push(state);
            parts.extend(of_lse);
        }
        parts
    }
}

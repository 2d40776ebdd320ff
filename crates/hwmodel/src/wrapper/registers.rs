//! The registers that a host sees: one table, from which the hardware's decoder, the manifest and the description are
//! made.

use crate::wrapper::{AxisConfig, Values};
use flashd_spec::numerics::Numerics;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Bits of a register's address in bytes.
pub const ADDRESS_BITS: u32 = 8;

/// What a host may do with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Read; a write is answered with an error.
    ReadOnly,
    /// Read and write.
    ReadWrite,
    /// Read; a one clears its bit.
    ClearByOne,
}

/// Which register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RegisterName {
    /// Start and stop; clears the counters.
    Control,
    /// What the wrapper is doing, and the errors of the streams, which stay until they are cleared.
    Status,
    /// How many blocks begin after a start; 0 for no end.
    Blocks,
    /// Keys of a block; 0 for as many as its packet has.
    Length,
    /// Exponent field of the largest |v|, which each query is loaded with. Of fixed-point lanes.
    VExponent,
    /// Which keys a query sees: all, those up to its place, or the last few of these. Of cores with masks, as the next three.
    MaskMode,
    /// Whether queries are at the same place among the keys or one after another.
    Stride,
    /// Keys of the sliding window.
    Window,
    /// Place of the next query among the keys of its block.
    Position,
    /// Counts cycles in which there is something to do.
    Cycles,
    /// Counts blocks whose last result has left.
    BlocksDone,
    /// Counts keys that the array has taken.
    Keys,
    /// Counts keys whose value some query of the block needed.
    ValuesRead,
    /// Counts keys whose value no query needed.
    ValuesSkipped,
    /// Counts cycles frozen for a value alone.
    StallValue,
    /// Counts cycles frozen for a result that could not leave, and those in which a last key waited for the results of the block
    /// before.
    StallResult,
    /// Counts cycles, not frozen, in which a block had no key to take.
    WaitKeys,
    /// Counts cycles, not frozen, in which the array waited for the queries of a block.
    WaitQueries,
    /// Counts cycles frozen for a request that could not leave. Of wrappers that ask for their values.
    StallRequest,
}

/// A bit or a group of bits of a register.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Name.
    pub name: Cow<'static, str>,
    /// Lowest bit.
    pub bit: u32,
    /// Bits.
    pub width: u32,
    /// What it says or does.
    pub meaning: Cow<'static, str>,
}

/// A register.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Register {
    /// Name.
    pub name: RegisterName,
    /// Address in bytes.
    pub offset: u32,
    /// What a host may do.
    pub access: Access,
    /// Bits from bit 0 on; the others read as zero, and what is written to them is dropped.
    pub width: u32,
    /// What it says or does.
    pub meaning: Cow<'static, str>,
    /// Its parts, if it has more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
}

fn field(name: &'static str, bit: u32, meaning: &'static str) -> Field {
    Field { name: name.into(), bit, width: 1, meaning: meaning.into() }
}

/// Bit of STATUS from which the errors are.
const FIRST_ERROR: u32 = 8;

/// An error that a stream reports, as a bit of STATUS; those of one stream follow each other.
struct StreamError {
    name: &'static str,
    meaning: &'static str,
}

const Q_ERRORS: [StreamError; 2] = [
    StreamError {
        name: "Q_LONG",
        meaning: "a query packet had more queries than the array; those beyond were dropped",
    },
    StreamError {
        name: "Q_PARTIAL",
        meaning: "a query packet ended inside a query; the missing elements count as zero",
    },
];
const K_ERRORS: [StreamError; 3] = [
    StreamError {
        name: "K_LONG",
        meaning: "a key packet had more keys than LENGTH; those beyond were dropped",
    },
    StreamError {
        name: "K_SHORT",
        meaning: "a key packet had fewer keys than LENGTH; its block ended with its last key",
    },
    StreamError {
        name: "K_PARTIAL",
        meaning: "a key packet ended inside a key; the missing elements count as zero, and its mask as 0",
    },
];
const V_ERRORS: [StreamError; 3] = [
    StreamError {
        name: "V_LONG",
        meaning: "a value packet had more values than its block keys; those beyond were dropped",
    },
    StreamError {
        name: "V_SHORT",
        meaning: "a value packet had fewer values than its block keys; the missing ones are undefined",
    },
    StreamError {
        name: "V_PARTIAL",
        meaning: "a value packet ended inside a value; the missing elements count as zero",
    },
];

/// A stream whose packets can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packets {
    /// Queries.
    Queries,
    /// Keys.
    Keys,
    /// Values, where all are sent.
    Values,
}

/// The bits of STATUS in which the errors of a stream are, in the order of its error port. With beats of whole vectors no packet
/// ends inside one.
pub fn error_bits(config: &AxisConfig, packets: Packets) -> Vec<u32> {
    let (first, errors, exists) = match packets {
        Packets::Queries => (FIRST_ERROR, Q_ERRORS.len(), true),
        Packets::Keys => (FIRST_ERROR + Q_ERRORS.len() as u32, K_ERRORS.len(), true),
        Packets::Values => {
            let before = Q_ERRORS.len() + K_ERRORS.len();
            (FIRST_ERROR + before as u32, V_ERRORS.len(), config.values == Values::All)
        }
    };
    // The partial vector is each stream's last.
    let count = if exists { errors - usize::from(config.beats() == 1) } else { 0 };
    (first..).take(count).collect()
}

/// Bit of STATUS that says that a block is on its way.
pub const BUSY_BIT: u32 = 0;
/// Bit of CONTROL that lets blocks begin.
pub const RUN_BIT: u32 = 0;
/// Bit of CONTROL that clears the counters.
pub const CLEAR_BIT: u32 = 1;

fn status(config: &AxisConfig) -> Register {
    let mut fields = vec![field("BUSY", BUSY_BIT, "RUN is set, or a block is on its way")];
    let streams =
        [(Packets::Queries, &Q_ERRORS[..]), (Packets::Keys, &K_ERRORS[..]), (Packets::Values, &V_ERRORS[..])];
    for (packets, errors) in streams {
        let bits = error_bits(config, packets).into_iter().zip(errors);
        fields.extend(bits.map(|(bit, error)| field(error.name, bit, error.meaning)));
    }
    let width = fields.iter().map(|f| f.bit + 1).max().unwrap_or(1);
    Register {
        name: RegisterName::Status,
        offset: 0x04,
        access: Access::ClearByOne,
        width,
        meaning: "state, and errors since they were cleared".into(),
        fields,
    }
}

/// The registers of a wrapper in ascending order of address. A register that a configuration does not have leaves its
/// address unknown.
pub fn registers(config: &AxisConfig) -> Vec<Register> {
    use Access::{ReadOnly, ReadWrite};
    use RegisterName::*;
    let masks = config.block.core.masks;
    let fixed = config.block.core.has_fixed_lanes();
    let requested = config.values == Values::Requested;
    let exponent_bits = Numerics::new(&config.block.core).format.exponent_bits;
    let key_bits = config.block.key_index_bits();
    let register = |name, offset, access, width, meaning: &'static str| Register {
        name,
        offset,
        access,
        width,
        meaning: meaning.into(),
        fields: Vec::new(),
    };
    let rows = [
        (
            true,
            Register {
                fields: vec![
                    field(
                        "RUN",
                        RUN_BIT,
                        "blocks may begin; cleared by writing 0, or when BLOCKS blocks have begun. A block that has \
                         begun is completed",
                    ),
                    field("CLEAR", CLEAR_BIT, "writing 1 sets all counters to zero; reads as 0"),
                ],
                ..register(Control, 0x00, ReadWrite, 2, "start and stop")
            },
        ),
        (true, status(config)),
        (
            true,
            register(
                Blocks,
                0x08,
                ReadWrite,
                32,
                "how many blocks begin after RUN was set; 0: until it is cleared",
            ),
        ),
        (true, register(Length, 0x0c, ReadWrite, 32, "keys of a block; 0: as many as its packet has")),
        (
            fixed,
            register(
                VExponent,
                0x10,
                ReadWrite,
                exponent_bits,
                "exponent field of the largest abs(v), loaded with each query",
            ),
        ),
        (
            masks,
            register(
                MaskMode,
                0x14,
                ReadWrite,
                2,
                "which keys a query sees: 0 all; 1 causal, the keys up to POSITION; 2 and 3 sliding window, the last \
                 WINDOW of these",
            ),
        ),
        (
            masks,
            register(
                Stride,
                0x18,
                ReadWrite,
                1,
                "0: all queries are at the same place (grouped-query attention); 1: one after another",
            ),
        ),
        (masks, register(Window, 0x1c, ReadWrite, key_bits, "keys of the sliding window; 0: none")),
        (
            masks,
            register(
                Position,
                0x20,
                ReadWrite,
                key_bits,
                "place of the next query in its block's keys, the first key's being 0; STRIDE is added after each query",
            ),
        ),
        (true, register(Cycles, 0x40, ReadOnly, COUNTER_BITS, "cycles with BUSY")),
        (true, register(BlocksDone, 0x44, ReadOnly, COUNTER_BITS, "blocks whose last result has left")),
        (true, register(Keys, 0x48, ReadOnly, COUNTER_BITS, "keys that the array has taken")),
        (
            true,
            register(
                ValuesRead,
                0x4c,
                ReadOnly,
                COUNTER_BITS,
                "keys whose value some query of the block needed",
            ),
        ),
        (true, register(ValuesSkipped, 0x50, ReadOnly, COUNTER_BITS, "keys whose value no query needed")),
        (
            true,
            register(
                StallValue,
                0x54,
                ReadOnly,
                COUNTER_BITS,
                "cycles frozen for a value, and for nothing else",
            ),
        ),
        (
            true,
            register(
                StallResult,
                0x58,
                ReadOnly,
                COUNTER_BITS,
                "cycles frozen for a result that could not leave, and in which a last key waited for the results of the \
                 block before",
            ),
        ),
        (
            true,
            register(
                WaitKeys,
                0x5c,
                ReadOnly,
                COUNTER_BITS,
                "cycles not frozen in which a block had no key to take",
            ),
        ),
        (
            true,
            register(
                WaitQueries,
                0x60,
                ReadOnly,
                COUNTER_BITS,
                "cycles not frozen, with RUN, in which the array waited for the queries of a block",
            ),
        ),
        (
            requested,
            register(
                StallRequest,
                0x64,
                ReadOnly,
                COUNTER_BITS,
                "cycles frozen for a request that could not leave, and for no result",
            ),
        ),
    ];
    rows.into_iter().filter(|(exists, _)| *exists).map(|(_, register)| register).collect()
}

/// Width of a counter; it wraps around.
pub const COUNTER_BITS: u32 = 32;

/// The counters among the registers, in order of address: that of the events that they count.
pub fn counters(config: &AxisConfig) -> Vec<RegisterName> {
    let is_counter = |r: &Register| r.access == Access::ReadOnly;
    registers(config).into_iter().filter(is_counter).map(|r| r.name).collect()
}

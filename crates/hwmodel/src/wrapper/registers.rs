//! The host's registers, in one table. The decoder in hardware, the manifest and the description are made from it.

use flashd_spec::config::{Carried, Values, WrapperConfig};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Width of a register's byte address.
pub const ADDRESS_BITS: u32 = 8;

/// The access of a host to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Read; a write is answered with an error.
    ReadOnly,
    /// Read and write.
    ReadWrite,
    /// Read; a one clears its bit.
    ClearByOne,
    /// Write: a one is a command. Reads as 0.
    Command,
}

/// Names of the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RegisterName {
    /// Start and stop; clears the counters.
    Control,
    /// BUSY, and the errors of the streams, which stay set until the host clears them.
    Status,
    /// Number of blocks that begin after a start; 0: no limit.
    Blocks,
    /// Keys of a block; 0: as many as its packet has.
    Length,
    /// Exponent field of max|v|, loaded with each query. Fixed-point lanes only.
    VExponent,
    /// Which keys a query sees: all, those up to its place, or the last WINDOW of these. Cores with masks only, like the next three.
    MaskMode,
    /// 0: all queries are at the same place among the keys; 1: one after another.
    Stride,
    /// Length of the sliding window in keys.
    Window,
    /// Place of the next query among the keys of its block.
    Position,
    /// Set if each block brings a packet of states. Cores with partial results only.
    States,
    /// Counts cycles with BUSY: RUN is set, or a block is under way.
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
    /// Counts cycles frozen for a request that could not leave, and for no result. Wrappers that ask for values only.
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
    /// The access of a host, if it is not the register's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// Its meaning, for the manifest and the documentation.
    pub meaning: Cow<'static, str>,
}

/// A register, with a name of type `N`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Register<N = RegisterName> {
    /// Name.
    pub name: N,
    /// Address in bytes.
    pub offset: u32,
    /// Access by the host.
    pub access: Access,
    /// Width in bits, from bit 0. The bits above read as zero and ignore writes.
    pub width: u32,
    /// Contents after reset.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reset: u32,
    /// Its meaning, for the manifest and the documentation.
    pub meaning: Cow<'static, str>,
    /// Its fields, if it has more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
}

fn is_zero(reset: &u32) -> bool {
    *reset == 0
}

/// A field of one bit.
pub(crate) fn field(name: &'static str, bit: u32, meaning: &'static str) -> Field {
    Field { name: name.into(), bit, width: 1, access: None, meaning: meaning.into() }
}

/// The lowest bit of STATUS that is an error.
const FIRST_ERROR: u32 = 8;

/// The errors of a stream, in consecutive bits of STATUS: name and meaning.
type StreamErrors = &'static [(&'static str, &'static str)];

const Q_ERRORS: StreamErrors = &[
    ("Q_LONG", "a query packet had more queries than the array; those beyond were dropped"),
    ("Q_PARTIAL", "a query packet ended inside a query; the missing elements count as zero"),
];
const K_ERRORS: StreamErrors = &[
    ("K_LONG", "a key packet had more keys than LENGTH; those beyond were dropped"),
    ("K_SHORT", "a key packet had fewer keys than LENGTH; its block ended with its last key"),
    ("K_PARTIAL", "a key packet ended inside a key; the missing elements count as zero, and its mask as 0"),
];
const V_ERRORS: StreamErrors = &[
    ("V_LONG", "a value packet had more values than its block keys; those beyond were dropped"),
    ("V_SHORT", "a value packet had fewer values than its block keys; the missing ones are undefined"),
    ("V_PARTIAL", "a value packet ended inside a value; the missing elements count as zero"),
];

const S_ERRORS: StreamErrors = &[
    ("S_LONG", "a packet of states had more than the array has queries; those beyond were dropped"),
    ("S_PARTIAL", "a packet of states ended inside a state; the missing bits count as zero"),
];

/// The error bits of STATUS: for queries, for keys, for values where all are sent, and for states of cores with partial results. Within
/// a stream they have the order of its error port. If a beat is a whole vector, no packet ends inside one, and `_PARTIAL` is left out.
pub fn errors(config: &WrapperConfig) -> Vec<Field> {
    let (mut first, mut fields) = (FIRST_ERROR, Vec::new());
    for (there, errors, carried) in [
        (true, Q_ERRORS, Carried::Query),
        (true, K_ERRORS, Carried::Key),
        (config.values == Values::All, V_ERRORS, Carried::Value),
        (config.array.core.partial, S_ERRORS, Carried::State),
    ] {
        // `_PARTIAL` is the last error of each stream.
        let whole = there && config.beats(carried) == 1;
        let count = if there { errors.len() - usize::from(whole) } else { 0 };
        let of_stream = (first..).zip(errors).take(count);
        fields.extend(of_stream.map(|(bit, (name, meaning))| field(name, bit, meaning)));
        first += errors.len() as u32;
    }
    fields
}

/// BUSY in STATUS: RUN is set, or a block is under way.
pub const BUSY_BIT: u32 = 0;
/// RUN in CONTROL: blocks may begin.
pub const RUN_BIT: u32 = 0;
/// CLEAR in CONTROL: writing 1 clears the counters.
pub const CLEAR_BIT: u32 = 1;

/// The fields of STATUS.
fn status(config: &WrapperConfig) -> Vec<Field> {
    let busy = field("BUSY", BUSY_BIT, "RUN is set, or a block is on its way");
    [busy].into_iter().chain(errors(config)).collect()
}

impl RegisterName {
    /// The register's meaning, for the manifest and the documentation.
    fn meaning(self) -> &'static str {
        use RegisterName::*;
        match self {
            Control => "start and stop",
            Status => "state, and errors since they were cleared",
            Blocks => "how many blocks begin after RUN was set; 0: until it is cleared",
            Length => "keys of a block; 0: as many as its packet has",
            VExponent => "exponent field of the largest abs(v), loaded with each query",
            MaskMode => {
                "which keys a query sees: 0 all; 1 causal, the keys up to POSITION; 2 and 3 sliding window, the last \
                 WINDOW of these"
            }
            Stride => "0: all queries are at the same place (grouped-query attention); 1: one after another",
            Window => "keys of the sliding window; 0: none",
            Position => {
                "place of the next query in its block's keys, the first key's being 0; STRIDE is added after each query"
            }
            States => {
                "1: each block has a packet of states, one for each query that starts from one, in order; 0: no query starts from a \
                 state"
            }
            Cycles => "cycles with BUSY",
            BlocksDone => "blocks whose last result has left",
            Keys => "keys that the array has taken",
            ValuesRead => "keys whose value some query of the block needed",
            ValuesSkipped => "keys whose value no query needed",
            StallValue => "cycles frozen for a value, and for nothing else",
            StallResult => {
                "cycles frozen for a result that could not leave, and in which a last key waited for the results of the \
                 block before"
            }
            WaitKeys => "cycles not frozen in which a block had no key to take",
            WaitQueries => {
                "cycles not frozen, with RUN, in which the array waited for the queries of a block"
            }
            StallRequest => "cycles frozen for a request that could not leave, and for no result",
        }
    }

    /// The register's fields, if it has more than one.
    fn fields(self, config: &WrapperConfig) -> Vec<Field> {
        let run = "blocks may begin; cleared by writing 0, or when BLOCKS blocks have begun. A block that has begun is \
                   completed";
        let clear = "writing 1 sets all counters to zero; reads as 0";
        match self {
            RegisterName::Control => vec![field("RUN", RUN_BIT, run), field("CLEAR", CLEAR_BIT, clear)],
            RegisterName::Status => status(config),
            _ => Vec::new(),
        }
    }
}

/// The registers of a wrapper by ascending address. If a configuration lacks a register, accesses to its address are
/// answered with SLVERR.
pub fn registers(config: &WrapperConfig) -> Vec<Register> {
    use Access::{ClearByOne, ReadOnly, ReadWrite};
    use RegisterName::*;
    let (masks, partial) = (config.array.core.masks, config.array.core.partial);
    let fixed = config.array.core.has_value_exponent();
    let requested = config.values == Values::Requested;
    let exponent_bits = config.array.core.products().v.exponent_bits;
    let key_bits = config.array.key_index_bits();
    let status_bits = status(config).iter().map(|field| field.bit + 1).max().unwrap_or(1);
    // (present, name, address in bytes, access, width in bits)
    let rows = [
        (true, Control, 0x00, ReadWrite, 2),
        (true, Status, 0x04, ClearByOne, status_bits),
        (true, Blocks, 0x08, ReadWrite, 32),
        (true, Length, 0x0c, ReadWrite, 32),
        (fixed, VExponent, 0x10, ReadWrite, exponent_bits),
        (masks, MaskMode, 0x14, ReadWrite, 2),
        (masks, Stride, 0x18, ReadWrite, 1),
        (masks, Window, 0x1c, ReadWrite, key_bits),
        (masks, Position, 0x20, ReadWrite, key_bits),
        (partial, States, 0x24, ReadWrite, 1),
        (true, Cycles, 0x40, ReadOnly, COUNTER_BITS),
        (true, BlocksDone, 0x44, ReadOnly, COUNTER_BITS),
        (true, Keys, 0x48, ReadOnly, COUNTER_BITS),
        (true, ValuesRead, 0x4c, ReadOnly, COUNTER_BITS),
        (true, ValuesSkipped, 0x50, ReadOnly, COUNTER_BITS),
        (true, StallValue, 0x54, ReadOnly, COUNTER_BITS),
        (true, StallResult, 0x58, ReadOnly, COUNTER_BITS),
        (true, WaitKeys, 0x5c, ReadOnly, COUNTER_BITS),
        (true, WaitQueries, 0x60, ReadOnly, COUNTER_BITS),
        (requested, StallRequest, 0x64, ReadOnly, COUNTER_BITS),
    ];
    let register = |(_, name, offset, access, width): (bool, RegisterName, u32, Access, u32)| {
        let (meaning, fields) = (name.meaning().into(), name.fields(config));
        Register { name, offset, access, width, reset: 0, meaning, fields }
    };
    rows.into_iter().filter(|row| row.0).map(register).collect()
}

/// Width of a counter. Counters wrap around.
pub const COUNTER_BITS: u32 = 32;

/// The counters by ascending address, which is also the order of the events that they count.
pub fn counters(config: &WrapperConfig) -> Vec<RegisterName> {
    let is_counter = |r: &Register| r.access == Access::ReadOnly;
    registers(config).into_iter().filter(is_counter).map(|r| r.name).collect()
}

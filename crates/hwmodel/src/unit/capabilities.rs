//! Identification and capabilities: registers that do not change.

use crate::wrapper::registers::{Field, field};
use flashd_spec::config::{Carried, Design, Values};
use flashd_spec::format::{Format, Scale, Specials};
use flashd_spec::unit::UnitConfig;

/// Contents of ID: `FLAU` from the lowest byte on.
pub const ID: u32 = u32::from_le_bytes(*b"FLAU");

/// A register that does not change.
pub(super) struct Constant {
    pub(super) name: &'static str,
    pub(super) offset: u32,
    pub(super) value: u32,
    pub(super) meaning: &'static str,
    pub(super) fields: Vec<Field>,
}

/// A field: name, lowest bit, bits, value, meaning.
type Valued = (&'static str, u32, u32, u32, &'static str);

/// A register of these fields.
fn constant(name: &'static str, offset: u32, meaning: &'static str, fields: &[Valued]) -> Constant {
    let value = fields.iter().fold(0, |all, (_, bit, _, value, _)| all | value << bit);
    let described = |&(name, bit, width, _, meaning): &Valued| Field { width, ..field(name, bit, meaning) };
    Constant { fields: fields.iter().map(described).collect(), ..whole(name, offset, value, meaning) }
}

/// A register of one number.
fn whole(name: &'static str, offset: u32, value: u32, meaning: &'static str) -> Constant {
    Constant { name, offset, value, meaning, fields: Vec::new() }
}

/// Identification and capabilities.
pub(super) fn capabilities(config: &UnitConfig) -> Vec<Constant> {
    let core = &config.array.core;
    let (formats, scales) = (core.formats(), core.scales());
    let row = |carried| config.row_bytes(carried);
    let state = if core.partial { row(Carried::State) } else { 0 };
    vec![
        whole("ID", 0x54, ID, "\"FLAU\" from the lowest byte on"),
        whole(
            "VERSION",
            0x58,
            config.revision,
            "the first 32 bits of the generator's git revision; 0: unknown",
        ),
        whole("CONFIG", 0x5c, config.digest(), "the first 32 bits of the configuration's SHA-256"),
        constant("FEATURES", 0x60, "the core", &features(config)),
        constant(
            "LENGTHS",
            0x64,
            "elements of vectors",
            &[
                ("D", 0, 16, core.d as u32, "elements of a query and of a key"),
                ("DV", 16, 16, core.dv() as u32, "elements of a value and of a result"),
            ],
        ),
        constant(
            "ARRAY",
            0x68,
            "the array and the memory port",
            &[
                ("B", 0, 8, config.array.queries as u32, "queries of a block"),
                ("BEAT_BYTES", 8, 8, config.beat_bits / 8, "bytes of a beat"),
                ("ADDRESS_BITS", 16, 8, config.address_bits, "bits of an address"),
            ],
        ),
        whole("MAX_KEYS", 0x6c, core.max_keys as u32, "the most keys of a job"),
        constant("FORMAT_Q", 0x70, "format of queries", &format(formats.q, scales.q)),
        constant("FORMAT_K", 0x74, "format of keys", &format(formats.k, scales.k)),
        constant("FORMAT_V", 0x78, "format of values", &format(formats.v, scales.v)),
        constant("FORMAT_O", 0x7c, "format of results", &format(formats.o, Scale::None)),
        constant(
            "ROWS_QK",
            0x80,
            "rows in memory",
            &[
                ("Q_BYTES", 0, 16, row(Carried::Query), "bytes of a query"),
                ("K_BYTES", 16, 16, row(Carried::Key), "bytes of a key"),
            ],
        ),
        constant(
            "ROWS_VO",
            0x84,
            "rows in memory",
            &[
                ("V_BYTES", 0, 16, row(Carried::Value), "bytes of a value"),
                ("O_BYTES", 16, 16, row(Carried::Result), "bytes of a result"),
            ],
        ),
        whole("STATE_BYTES", 0x88, state, "bytes of a state; 0: the core has no states"),
        whole("KV_BUFFER", 0x8c, config.kv_buffer, "tokens whose keys and values are kept on chip, at most"),
    ]
}

fn features(config: &UnitConfig) -> [Valued; 6] {
    let core = &config.array.core;
    [
        ("FA2", 0, 1, (core.design() == Design::Fa2).into(), "1: FlashAttention-2, 0: FLASH-D"),
        ("MASKS", 1, 1, core.masks.into(), "jobs may have CAUSAL and WINDOW"),
        ("PARTIAL", 2, 1, core.partial.into(), "jobs may have LSE, STATE_IN and STATE_OUT"),
        (
            "VALUES_NEEDED",
            3,
            1,
            (config.values == Values::Requested).into(),
            "a value that no query of the block needs is not fetched",
        ),
        (
            "SCALE",
            4,
            1,
            config.has_scale().into(),
            "1: SCALE is the factor of a job's scores, and SCALE = 0 is 1; 0: SCALE is the core's factor, or 0",
        ),
        ("IN_FLIGHT", 16, 16, config.in_flight, "beats of reads in flight, at most"),
    ]
}

/// The fields that describe a format.
fn format(format: Format, scale: Scale) -> [Valued; 6] {
    let integer = format.is_integer();
    let (exponent, fraction) = match integer {
        true => (0, format.integer_fraction() as u32),
        false => (format.exponent_bits, format.fraction_bits),
    };
    let scale = match scale {
        Scale::None => 0,
        Scale::Row => 1,
        Scale::RowE8m0 => 2,
        // SCALE of the job, which is not in the row.
        Scale::RowQ16 => 0,
        Scale::Mx => 3,
        Scale::Nvfp4 => 4,
    };
    let specials = match format.specials {
        Specials::None => 0,
        Specials::Ieee => 1,
        Specials::AllOnes => 2,
    };
    [
        ("WIDTH", 0, 8, format.width(), "bits of an element"),
        ("EXPONENT", 8, 8, exponent, "bits of its exponent; 0: fixed point in two's complement"),
        ("FRACTION", 16, 6, fraction, "bits of its fraction"),
        ("INTEGER", 22, 1, integer.into(), "fixed point"),
        (
            "SCALE",
            24,
            4,
            scale,
            "what multiplies elements: 0 nothing, 1 bf16 a row, 2 E8M0 a row, 3 E8M0 for 32 elements, 4 e4m3 for 16 elements",
        ),
        ("SPECIALS", 28, 4, specials, "0: every encoding is finite; 1: as in IEEE 754; 2: all ones are NaN"),
    ]
}

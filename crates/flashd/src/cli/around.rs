//! Arguments of wrappers around an array.

use super::AROUND;
use super::numbers::whole;
use clap::{Args, ValueEnum};
use flashd_spec::unit::{ADDRESS_RANGE, IN_FLIGHT_RANGE, KV_BUFFER_RANGE};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WrapperArg {
    /// AXI4-Stream for queries, keys, values and results, AXI4-Lite for registers
    Axis,
    /// An AXI4 master that fetches queries, keys and values and writes results, AXI4-Lite for registers
    Axi4,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ValuesArg {
    /// Only the values that it requests; others are never fetched
    Requested,
    /// All values; it drops those that no query needs
    All,
}

/// Streams or a memory port around an array.
#[derive(Args, Clone, Default, PartialEq)]
pub struct WrapperArgs {
    /// With --queries: streams (axis) or a port to a memory (axi4), and registers
    #[arg(long, value_enum, value_name = "KIND", hide_possible_values = true, help_heading = AROUND)]
    pub wrapper: Option<WrapperArg>,
    /// With --wrapper: bits of a beat
    ///
    /// axis takes a divisor of a vector's bits (default: the largest up to 512), axi4 64, 128, 256, 512 or 1024 (default: 128).
    #[arg(long, value_parser = whole::<u32>(1, u64::from(u32::MAX)), value_name = "BITS", help_heading = AROUND, hide_short_help = true)]
    pub beat: Option<u32>,
    /// With --wrapper: which values it takes (default: requested)
    #[arg(long, value_enum, help_heading = AROUND, hide_short_help = true)]
    pub values: Option<ValuesArg>,
    /// With --wrapper axi4: bits of an address, 32 to 64 (default: 40)
    #[arg(long, value_parser = whole::<u32>(ADDRESS_RANGE.0.into(), ADDRESS_RANGE.1.into()), value_name = "BITS", help_heading = AROUND, hide_short_help = true)]
    pub address_bits: Option<u32>,
    /// With --wrapper axi4: beats of keys, and of values, that are requested ahead, 16 to 1024 (default: 64)
    #[arg(long, value_parser = whole::<u32>(IN_FLIGHT_RANGE.0.into(), IN_FLIGHT_RANGE.1.into()), value_name = "BEATS", help_heading = AROUND, hide_short_help = true)]
    pub in_flight: Option<u32>,
    /// With --wrapper axi4 --values all: keep the keys and values of the first N tokens of a head on chip, a power of two
    #[arg(long, value_parser = whole::<u32>(KV_BUFFER_RANGE.0.into(), KV_BUFFER_RANGE.1.into()), value_name = "N", help_heading = AROUND, hide_short_help = true)]
    pub kv_buffer: Option<u32>,
}

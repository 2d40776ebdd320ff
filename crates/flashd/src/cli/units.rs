//! The command line of `flashd units`.

use super::numbers::{SEGMENTS, one_of, whole};
use super::{OUTPUT, RUN, WHAT};
use clap::Args;
use flashd_spec::format::Format;
use std::path::PathBuf;

#[derive(Args)]
pub struct UnitsArgs {
    /// Format; can be repeated (default: bf16, fp8-e4m3, fp8-e5m2 and fp16)
    #[arg(long, value_parser = super::named::float_format(), hide_possible_values = true, help_heading = WHAT)]
    pub format: Vec<Format>,
    /// Instead, sums and products of all pairs of 16-bit operands, 2^32 each: some minutes
    #[arg(long, help_heading = WHAT)]
    pub pairs: bool,
    /// With --pairs: the first operand to start from
    #[arg(long, value_parser = whole::<u64>(0, u64::from(u16::MAX)), value_name = "A", default_value_t = 0, help_heading = WHAT)]
    pub first: u64,
    /// With --pairs: how many first operands (default: all)
    #[arg(long, value_parser = whole::<u64>(1, 1 << 16), value_name = "N", help_heading = WHAT)]
    pub count: Option<u64>,
    /// Segments of the PWL tables: 4, 8, 16 or 32
    #[arg(long, value_parser = one_of::<u32>(&SEGMENTS), default_value_t = 8, conflicts_with = "pairs", help_heading = WHAT)]
    pub segments: u32,
    /// Folder for compiled simulators (default: flashd/cosim in the user's cache folder)
    #[arg(long, value_name = "DIR", help_heading = RUN, hide_short_help = true)]
    pub build: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

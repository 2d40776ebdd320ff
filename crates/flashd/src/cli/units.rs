//! The command line of `flashd units`.

use clap::Args;
use flashd_spec::format::Format;
use std::path::PathBuf;

#[derive(Args)]
pub struct UnitsArgs {
    /// Formats (default: bf16, fp8-e4m3, fp8-e5m2 and fp16); can be repeated
    #[arg(long, value_parser = super::float_format)]
    pub format: Vec<Format>,
    /// Instead, sum and product of all pairs of 16-bit operands (default: bf16), unit arithmetic against the model:
    /// 2^32 each, some minutes
    #[arg(long)]
    pub pairs: bool,
    /// With --pairs: the first of both operands, to run a part
    #[arg(long, value_name = "A", default_value_t = 0)]
    pub first: u64,
    /// With --pairs: how many of them (default: all)
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
    /// Segments of the PWL tables: 4, 8, 16 or 32
    #[arg(long, default_value_t = 8, conflicts_with = "pairs")]
    pub segments: u32,
    /// Folder for generated files and compiled simulators (default: flashd/cosim in the user's cache folder)
    #[arg(long, value_name = "DIR")]
    pub build: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

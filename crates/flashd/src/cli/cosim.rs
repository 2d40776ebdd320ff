//! The command line of `flashd cosim`.

use super::ArrayArgs;
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub struct CosimArgs {
    #[command(flatten)]
    pub array: ArrayArgs,
    /// Split keys: P cores for one query and a tree of merges, a power of two from 2 to 64
    #[arg(long, value_name = "P", conflicts_with_all = ["queries", "key_index_bits"])]
    pub parts: Option<usize>,
    /// Another core, array or split keys, by its flags or a configuration file; can be repeated
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub core: Vec<String>,
    /// All shipped cores
    #[arg(long)]
    pub shipped: bool,
    /// Keys for each core at least, compared between model and Verilog
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub keys: u64,
    /// Keys of them that the cycle engine computes too; arrays and split keys are compared by it alone and stop there
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub engine_keys: u64,
    /// Seed of the streams
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Cores at the same time (default: one for each processor)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub jobs: Option<u64>,
    /// Folder for generated files and compiled simulators, which are used again for an unchanged core
    /// (default: flashd/cosim in the user's cache folder)
    #[arg(long, value_name = "DIR")]
    pub build: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

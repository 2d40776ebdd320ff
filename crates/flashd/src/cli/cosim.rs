//! The command line of `flashd cosim`.

use super::numbers::whole;
use super::{ArrayArgs, EngineArg, OUTPUT, RUN, WHAT};
use clap::Args;
use flashd_generator::Prefix;
use flashd_spec::config::PARTS_RANGE;
use std::path::PathBuf;

#[derive(Args)]
pub struct CosimArgs {
    #[command(flatten)]
    pub array: ArrayArgs,
    /// Split keys: P cores for one query and a tree that merges, 2 to 64
    #[arg(long, value_parser = whole::<usize>(PARTS_RANGE.0 as u64, PARTS_RANGE.1 as u64), value_name = "P", conflicts_with_all = ["queries", "key_index_bits"], help_heading = WHAT)]
    pub parts: Option<usize>,
    /// Another core, array or split keys, by its flags or a configuration file; can be repeated
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true, help_heading = WHAT)]
    pub core: Vec<String>,
    /// All shipped cores
    #[arg(long, help_heading = WHAT)]
    pub shipped: bool,
    /// Fewest keys for each core
    #[arg(long, value_parser = whole::<u64>(1, 1_000_000_000), value_name = "N", default_value_t = 20_000, help_heading = RUN)]
    pub keys: u64,
    /// Keys of these that the cycle engine computes too; arrays and split keys stop there
    #[arg(long, value_parser = whole::<u64>(1, 1_000_000_000), value_name = "N", default_value_t = 1_000, help_heading = RUN, hide_short_help = true)]
    pub engine_keys: u64,
    /// The cycle engine
    #[arg(long, value_enum, default_value_t = EngineArg::Compiled, help_heading = RUN, hide_short_help = true)]
    pub engine: EngineArg,
    /// Seed of the streams
    #[arg(long, value_parser = whole::<u64>(0, u64::MAX), default_value_t = 1, help_heading = RUN)]
    pub seed: u64,
    /// Cores at the same time (default: one for each processor)
    #[arg(long, value_parser = whole::<u64>(1, 1024), value_name = "N", help_heading = RUN)]
    pub jobs: Option<u64>,
    /// Folder for compiled simulators, which an unchanged core uses again (default: flashd/cosim in the user's cache folder)
    #[arg(long, value_name = "DIR", help_heading = RUN, hide_short_help = true)]
    pub build: Option<PathBuf>,
    /// Prefix of the Verilog's module names, as with generate; or none (default: the top's name)
    #[arg(long, value_name = "P", help_heading = RUN, hide_short_help = true)]
    pub prefix: Option<Prefix>,
    /// Also waves of the Verilog, NAME.vcd and NAME.gtkw for GTKWave, of the keys that the cycle engine computes too
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub waves: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

//! The command line of `flashd check-random`.

use super::numbers::whole;
use super::{OUTPUT, RUN};
use clap::Args;
use flashd_simulator::random::LONGEST;
use std::path::{Path, PathBuf};

/// Defaults.
const COUNT: u32 = 20;
const KEYS: u64 = 400;
const VERILATOR: u64 = 20;
const REPOSITORY: &str = ".";

#[derive(Args)]
pub struct RandomArgs {
    /// How many configurations
    #[arg(long, value_parser = whole::<u32>(1, 1_000_000), value_name = "N", default_value_t = COUNT, help_heading = RUN)]
    pub count: u32,
    /// Seed of the first configuration; the next ones count up
    #[arg(long, value_parser = whole::<u64>(0, u64::MAX), default_value_t = 1, help_heading = RUN)]
    pub seed: u64,
    /// Longest vectors
    #[arg(long, value_parser = whole::<u64>(2, LONGEST as u64), value_name = "D", default_value_t = LONGEST as u64, help_heading = RUN)]
    pub longest: u64,
    /// About how many keys run through the engines and the testbench of each
    #[arg(long, value_parser = whole::<u64>(1, 1_000_000), value_name = "N", default_value_t = KEYS, help_heading = RUN)]
    pub keys: u64,
    /// Every N-th configuration, by its seed, also runs in Verilator; 0 for none
    #[arg(long, value_parser = whole::<u64>(0, u64::MAX), value_name = "N", default_value_t = VERILATOR, help_heading = RUN)]
    pub verilator: u64,
    /// Folder of this project, for scripts/lint and the wrappers' testbench in testbench/axis
    #[arg(long, value_name = "DIR", default_value = REPOSITORY, help_heading = RUN, hide_short_help = true)]
    pub repository: PathBuf,
    /// Keep what is generated, a folder for each seed
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,
    /// Keep each outcome in this file, a line of JSON each, and continue from it
    ///
    /// A run with the same file and program skips what has passed, so that a long check can be stopped and continued.
    #[arg(long, value_name = "FILE", conflicts_with = "generate_only", help_heading = OUTPUT)]
    pub results: Option<PathBuf>,
    /// Write each design and its testbench, and check nothing
    #[arg(long, help_heading = OUTPUT)]
    pub generate_only: bool,
    /// Configurations at the same time (default: one for each processor)
    #[arg(long, value_parser = whole::<u64>(1, 1024), value_name = "N", help_heading = RUN)]
    pub jobs: Option<u64>,
    /// Print the result as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

impl RandomArgs {
    /// The options that are needed to draw and check the same again.
    pub fn not_default(&self) -> String {
        let numbers = [
            ("longest", self.longest, LONGEST as u64),
            ("keys", self.keys, KEYS),
            ("verilator", self.verilator, VERILATOR),
        ];
        let mut text = String::new();
        for (flag, value, _) in numbers.into_iter().filter(|(_, value, default)| value != default) {
            text += &format!(" --{flag} {value}");
        }
        if self.repository != Path::new(REPOSITORY) {
            text += &format!(" --repository {}", self.repository.display());
        }
        text
    }
}

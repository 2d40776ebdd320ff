//! The command line of `flashd check-random`.

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
    #[arg(long, value_name = "N", default_value_t = COUNT, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub count: u32,
    /// Seed of the first; each one's is one more than that of the one before
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Longest vectors
    #[arg(long, value_name = "D", default_value_t = LONGEST as u64, value_parser = clap::value_parser!(u64).range(2..=LONGEST as u64))]
    pub longest: u64,
    /// Keys for each configuration, about, through the engines and through the testbench
    #[arg(long, value_name = "N", default_value_t = KEYS, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub keys: u64,
    /// One configuration in N, those whose seed N divides, runs in Verilator too, which has to compile it; 0 for none
    #[arg(long, value_name = "N", default_value_t = VERILATOR)]
    pub verilator: u64,
    /// Folder of this project, for scripts/lint and the wrappers' testbench in testbench/axis
    #[arg(long, value_name = "DIR", default_value = REPOSITORY)]
    pub repository: PathBuf,
    /// Keep what is generated, a folder for each seed
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Add each configuration's outcome to this file as soon as it is known, a line of JSON each. The next run with the same
    /// file and the same program takes from it what has passed, so that a long check can be stopped and continued
    #[arg(long, value_name = "FILE", conflicts_with = "generate_only")]
    pub results: Option<PathBuf>,
    /// Check nothing: only write each design and its testbench
    #[arg(long)]
    pub generate_only: bool,
    /// Configurations at the same time (default: one for each processor)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub jobs: Option<u64>,
    /// Print the result as JSON
    #[arg(long)]
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

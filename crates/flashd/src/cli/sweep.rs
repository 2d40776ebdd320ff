//! The command line of `flashd sweep`.

use super::numbers::whole;
use super::{OUTPUT, WHAT};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args)]
pub struct SweepArgs {
    #[command(subcommand)]
    pub action: SweepAction,
}

#[derive(Subcommand)]
pub enum SweepAction {
    /// Write the shards of a grid, each with the hash of all that its result depends on
    ///
    /// Results in the folder stay if their shards stay the same; damaged ones are removed.
    Plan(PlanArgs),
    /// Compute a shard, unless its result is there
    ///
    /// A result gets its name when it is complete. If the program, the data, the library, a tool or the container is not the one of the plan,
    /// nothing runs. Exit code 1: the shard's command failed.
    Run(RunArgs),
    /// Put the results together: the same bytes, wherever and in whatever order they were computed
    Merge(MergeArgs),
    /// Compute one part of an exploration
    #[command(hide = true)]
    Part {
        /// The part
        #[arg(value_name = "JSON")]
        part: String,
    },
}

#[derive(Args)]
pub struct PlanArgs {
    /// JSON list of entries, each with a kind and the values of its options
    #[arg(value_name = "GRID.json")]
    pub grid: PathBuf,
    /// Folder of the sweep, for shards and results (default: the grid's name without .json)
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

#[derive(Args)]
pub struct RunArgs {
    /// Folder of the sweep
    #[arg(value_name = "DIR")]
    pub sweep: PathBuf,
    /// Number of the shard, from 0
    #[arg(long, value_parser = whole::<usize>(0, 999_999), value_name = "N", help_heading = WHAT)]
    pub shard: usize,
}

#[derive(Args)]
pub struct MergeArgs {
    /// Folder of the sweep
    #[arg(value_name = "DIR")]
    pub sweep: PathBuf,
    /// File to write (default: standard output)
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,
    /// Merge what is there; without this a missing result is an error
    #[arg(long, help_heading = OUTPUT)]
    pub partial: bool,
}

//! The command line of `flashd sweep`.

use super::numbers::whole;
use super::{OUTPUT, RUN};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args)]
pub struct SweepArgs {
    #[command(subcommand)]
    pub action: SweepAction,
}

#[derive(Subcommand)]
pub enum SweepAction {
    /// Write the shards of a grid: a line of JSON each, with the hash of all that its result depends on
    Plan(PlanArgs),
    /// Compute shards whose results are not there yet
    ///
    /// Any number of runs may share a folder, on as many machines as see it. A result gets its name when it is complete, and is never computed
    /// again. If the program, the data, the library, a tool or the container is not the one of the plan, nothing runs. Exit code 1: some
    /// shards failed; their messages are kept until they succeed.
    Run(RunArgs),
    /// Put the results together: the same bytes, wherever and in whatever order they were computed
    Merge(MergeArgs),
    /// Say what is done, failed and left, and what it cost
    Status(StatusArgs),
    /// Write a page of HTML from what is there so far
    Report(ReportArgs),
    /// Compute one part of an exploration
    #[command(hide = true)]
    Part(PartArgs),
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
    /// Shards by number from 0, by range such as 0-24, or by hash (default: all)
    #[arg(value_name = "SHARD")]
    pub shards: Vec<String>,
    /// Threads of a shard (default: one for each processor)
    #[arg(long, value_parser = whole::<u64>(1, 1024), value_name = "N", help_heading = RUN)]
    pub threads: Option<u64>,
    /// Folder for the finished work of ppa, cosim, units and mutate, which nodes may share (default: flashd in the user's cache
    /// folder)
    #[arg(long, value_name = "DIR", help_heading = RUN)]
    pub cache: Option<PathBuf>,
    /// Leave out shards that have failed before
    #[arg(long, help_heading = RUN)]
    pub skip_failed: bool,
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
    /// Also what was measured with a clock, such as keys per second, from the last complete run
    #[arg(long, help_heading = OUTPUT)]
    pub measured: bool,
}

#[derive(Args)]
pub struct StatusArgs {
    /// Folder of the sweep
    #[arg(value_name = "DIR")]
    pub sweep: PathBuf,
    /// Print the result as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

#[derive(Args)]
pub struct ReportArgs {
    /// Folder of the sweep
    #[arg(value_name = "DIR")]
    pub sweep: PathBuf,
    /// File to write
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub html: PathBuf,
}

#[derive(Args)]
pub struct PartArgs {
    /// The part
    #[arg(value_name = "JSON")]
    pub part: String,
    /// Folder for finished work
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
}

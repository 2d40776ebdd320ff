//! `flashd sweep`: many commands, on as many machines as there are.
//!
//! ```text
//!  GRID.json --grid--> combinations --plan--> shards --run, anywhere--> results --merge--> one JSON
//!                                        ^                                  |  +--status, page
//!                 inputs: hashes, versions                                  +--explorations--> as flashd explore
//! ```
//!
//! Nothing here schedules, retries or carries anything: `workflow` has what Snakemake and Slurm need for that.

mod grid;
mod inputs;
mod kind;
mod merge;
mod page;
mod plan;
mod run;
mod shard;
mod status;

use crate::cli::{PartArgs, SweepAction, SweepArgs};
use crate::explore;
use crate::output::{Failure, print_json};
use indicatif::ProgressBar;

pub fn run(args: &SweepArgs) -> Result<(), Failure> {
    match &args.action {
        SweepAction::Plan(args) => plan::run(args),
        SweepAction::Run(args) => run::run(args),
        SweepAction::Merge(args) => merge::run(args),
        SweepAction::Status(args) => status::run(args),
        SweepAction::Report(args) => page::run(args),
        SweepAction::Part(args) => part(args),
    }
}

fn part(args: &PartArgs) -> Result<(), Failure> {
    let part: explore::Part = flashd_files::from_json(&args.part).map_err(|e| {
        Failure::input(format!("{e}: a part of an exploration is needed, as sweep plan writes it"))
    })?;
    let mut worker = explore::Worker::new(args.cache.as_deref());
    print_json(&worker.run(&part, &ProgressBar::hidden(), &|| ())?)
}

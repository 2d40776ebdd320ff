//! `flashd sweep`: many commands on any number of machines.
//!
//! ```text
//!  GRID.json --plan--> sweep.json: shards --run, one at a time, anywhere--> results/HASH.json --merge--> one JSON
//!                          ^                                                                      |
//!           inputs: digests, versions                                   explorations, as flashd explore prints them
//! ```
//!
//! Scheduling, retries, progress and reports are Snakemake's and Slurm's: see `workflow`.

mod inputs;
mod kind;
mod merge;
mod plan;
mod run;
mod shard;

use crate::cli::{SweepAction, SweepArgs};
use crate::explore;
use crate::output::{Failure, print_json};
use indicatif::ProgressBar;

pub fn run(args: &SweepArgs) -> Result<(), Failure> {
    match &args.action {
        SweepAction::Plan(args) => plan::run(args),
        SweepAction::Run(args) => run::run(args),
        SweepAction::Merge(args) => merge::run(args),
        SweepAction::Part { part } => {
            let part: explore::WorkPart = flashd_files::from_json(part).map_err(|e| {
                Failure::input(format!("{e}: a part of an exploration is needed, as sweep plan writes it"))
            })?;
            print_json(&explore::Worker::default().run(&part, &ProgressBar::hidden(), &|| ())?)
        }
    }
}

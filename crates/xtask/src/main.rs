//! Checks of the project that hold state or lists of designs: `cargo xtask --help`.

mod guard;
mod selections;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Checks of the project
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write all that a flashd emits into a folder: Verilog, manifests, testbenches and waves of every kind of design
    ///
    /// All shipped cores, all variants, arrays, masks, partial results, split keys, stream wrappers, units and random configurations.
    /// What it prints of an error is kept as well. Two folders of two revisions are compared by `cargo xtask same`.
    Emit {
        /// The program
        #[arg(long, value_name = "PROGRAM")]
        flashd: PathBuf,
        /// Where to: a folder that is not there yet
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Random configurations
        #[arg(long, value_name = "N", default_value_t = 200)]
        random: u32,
        /// Seed of the first of them
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Compare two folders of `cargo xtask emit`, byte by byte
    Same {
        /// One revision's
        old: PathBuf,
        /// The other's
        new: PathBuf,
        /// Leave out lines that contain this, as those of headers
        #[arg(long, value_name = "TEXT")]
        without: Vec<String>,
    },
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Emit { flashd, out, random, seed } => guard::emit(&flashd, &out, random, seed),
        Command::Same { old, new, without } => guard::same(&old, &new, &without),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::from(2)
        }
    }
}

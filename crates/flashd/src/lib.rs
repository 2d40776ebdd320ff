//! `flashd`: generate, simulate and check attention hardware from the command line.
//!
//! Arguments as typed (`cli.rs`) become one validated configuration (`select.rs`), then one short match.
//! Exit codes: 0 success, 1 a check failed (core and model differ), 2 bad input, 130 interrupted.

mod accuracy;
mod cli;
mod cosim;
mod demo;
mod explore;
mod figure;
mod generate;
mod interrupt;
mod list;
mod llm;
mod measure;
mod output;
mod plot;
mod ppa;
mod pwl;
mod random;
mod sample;
mod select;
mod simulate;
mod skips;
mod target;
mod traffic;
mod units;

use clap::Parser;
use cli::{Cli, Command};
use std::process::ExitCode;

/// The program: reads the process's arguments, runs what they ask for and says how it ended.
pub fn main() -> ExitCode {
    let command = Cli::parse().command;
    interrupt::install();
    let result = match command {
        Command::Generate(args) => generate::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Cosim(args) => cosim::run(&args),
        Command::Units(args) => units::run(&args),
        Command::CheckRandom(args) => random::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Pwl(args) => pwl::run(&args),
        Command::Ppa(args) => ppa::run(&args),
        Command::Explore(args) => explore::run(&args),
        Command::Accuracy(args) => accuracy::run(&args),
        Command::Figure(args) => figure::run(&args),
        Command::Traffic(args) => traffic::run(&args),
        Command::Skips(args) => skips::run(&args),
        Command::Llm(args) => llm::run(args),
        Command::List(args) => list::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

/// The names of the modules that arguments of `flashd generate` select, or what is wrong with them.
///
/// # Errors
/// What the program would print before it ends with 2.
pub fn selected<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>, String> {
    let words = ["flashd", "generate"].into_iter().chain(arguments);
    match Cli::try_parse_from(words).map_err(|e| e.to_string())?.command {
        Command::Generate(args) => generate::selected(&args).map_err(|e| e.to_string()),
        _ => Err("not the arguments of generate".into()),
    }
}

/// The names of the cores and arrays that arguments of `flashd ppa` select, or what is wrong with them.
///
/// # Errors
/// What the program would print before it ends with 2.
pub fn measured<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>, String> {
    let words = ["flashd", "ppa"].into_iter().chain(arguments);
    match Cli::try_parse_from(words).map_err(|e| e.to_string())?.command {
        Command::Ppa(args) => ppa::measured(&args).map_err(|e| e.to_string()),
        _ => Err("not the arguments of ppa".into()),
    }
}

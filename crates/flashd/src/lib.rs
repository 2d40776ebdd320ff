//! `flashd`: generate, simulate and check attention hardware from the command line.
//!
//! Arguments as typed (`cli.rs`) become one validated configuration (`select.rs`), then one short match.
//! Exit codes: 0 success, 1 a check failed (core and model differ), 2 bad input, 130 interrupted.

mod accuracy;
mod cli;
mod cosim;
mod demo;
mod digest;
mod explore;
mod figure;
mod generate;
mod interrupt;
mod liberty;
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
mod sweep;
mod target;
mod traffic;
mod units;

use clap::{CommandFactory, FromArgMatches};
use cli::{Cli, Command};
use std::ffi::OsString;
use std::process::ExitCode;

/// The program: reads the process's arguments, runs what they ask for and says how it ended.
pub fn main() -> ExitCode {
    ExitCode::from(run(std::env::args_os()))
}

/// The program with other words than the process's, its own name first, for who has it inside; returns the exit code. It takes over the
/// signals of the process.
pub fn run(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> u8 {
    let command = match parse(words) {
        Ok(command) => command,
        Err(Refused::ByClap(error)) => error.exit(),
        Err(Refused::ByUs(failure)) => return ended(Err(failure)),
    };
    interrupt::install();
    ended(match command {
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
        Command::Sweep(args) => sweep::run(&args),
        Command::Liberty(args) => liberty::run(&args),
        Command::List(args) => list::run(&args),
    })
}

/// Why arguments are no command.
enum Refused {
    ByClap(clap::Error),
    ByUs(output::Failure),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refused::ByClap(error) => error.fmt(f),
            Refused::ByUs(failure) => failure.fmt(f),
        }
    }
}

/// From words, the program's name first, to a command.
fn parse(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Command, Refused> {
    let matches = Cli::command().try_get_matches_from(words).map_err(Refused::ByClap)?;
    cli::needs::check(&matches).map_err(Refused::ByUs)?;
    Cli::from_arg_matches(&matches).map(|cli| cli.command).map_err(Refused::ByClap)
}

fn ended(result: Result<(), output::Failure>) -> u8 {
    match result {
        Ok(()) => 0,
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.exit_code()
        }
    }
}

/// The names of the modules, cores and arrays that a command and its arguments select, or what is wrong with them; none if the
/// command takes no core.
///
/// # Errors
/// What the program would print before it ends with 2.
pub fn selected<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>, String> {
    let words = ["flashd"].into_iter().chain(arguments);
    match parse(words).map_err(|e| e.to_string())? {
        Command::Generate(args) => generate::selected(&args),
        Command::Simulate(args) => simulate::selected(&args),
        Command::Cosim(args) => cosim::selected(&args),
        Command::Ppa(args) => ppa::selected(&args),
        Command::Accuracy(args) => accuracy::selected(&args),
        Command::Llm(args) => llm::selected(&args),
        _ => Ok(Vec::new()),
    }
    .map_err(|e| e.to_string())
}

/// The names of all commands.
pub fn commands() -> Vec<String> {
    Cli::command().get_subcommands().map(|command| command.get_name().to_string()).collect()
}

//! `flashd`: generate, simulate and check attention hardware from the command line.
//!
//! Arguments as typed (`cli.rs`) become one validated configuration (`select.rs`), then one short match.
//! Exit codes: 0 success, 1 a check failed (core and model differ), 2 bad input, 130 interrupted (`docs/reference/errors.md`).

mod accuracy;
mod cli;
mod cosim;
mod demo;
mod digest;
mod explore;
mod figure;
mod generate;
mod golden;
mod interrupt;
mod liberty;
mod list;
mod llm;
mod manual;
mod measure;
mod origin;
mod output;
mod plot;
mod ppa;
mod progress;
mod pwl;
mod sample;
mod select;
mod simulate;
mod size;
mod skips;
mod sweep;
mod traffic;

use clap::FromArgMatches;
use cli::{Cli, Command};
use flashd_generator::GeneratedFile;
use std::ffi::OsString;
use std::process::ExitCode;

pub use output::Failure;

/// The parts of the program that `cargo xtask` builds its checks from.
pub mod parts {
    pub use crate::cli::examples::{COMMANDS, Example, groups};
    pub use crate::cli::named::float_format;
    pub use crate::cli::numbers::{SEGMENTS, one_of, whole};
    pub use crate::cli::with_range;
    pub use crate::cosim::build::{Compile, RunningSimulator, Simulator, require_tools};
    pub use crate::digest::{sealed_line, sha256, unsealed_line};
    pub use crate::generate::testbench::{VectorPlan, layout, stream_vectors, testbench, unit_result};
    pub use crate::list::{formats, variants};
    pub use crate::output::{check_writable, print, print_json, table};
    pub use crate::progress::{Work, on_all_processors};
}

/// The program: parses the process's arguments, runs the command and returns its exit code.
pub fn main() -> ExitCode {
    ExitCode::from(run(std::env::args_os()))
}

/// Runs the program with these words, its own name first, and returns the exit code. For callers that embed it; it takes over the
/// process's signal handlers.
pub fn run(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> u8 {
    let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
    origin::keep(&words);
    // Looked for in the words: what cannot be parsed has its error in JSON, too.
    let json =
        words.iter().filter_map(|word| word.to_str()).any(|w| w == "--json" || w.starts_with("--json="));
    let cli = match parse(words) {
        Ok(cli) => cli,
        Err(Refused::ByClap(error)) if json && error.use_stderr() => {
            return ended(Err(output::Failure::input(output::first_paragraph(&error.to_string()))), json);
        }
        Err(Refused::ByClap(error)) => error.exit(),
        Err(Refused::ByUs(failure)) => return ended(Err(failure), json),
    };
    interrupt::install();
    cli.set_progress();
    let result = match cli.command {
        Command::Generate(args) => generate::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Cosim(args) => cosim::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Pwl(args) => pwl::run(&args),
        Command::Ppa(args) => ppa::run(&args),
        Command::Explore(args) => explore::run(&args),
        Command::Size(args) => size::run(&args),
        Command::Accuracy(args) => accuracy::run(&args),
        Command::Figure(args) => figure::run(&args),
        Command::Traffic(args) => traffic::run(&args),
        Command::Golden(args) => golden::run(&args),
        Command::Skips(args) => skips::run(&args),
        Command::Llm(args) => llm::run(args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Liberty(args) => liberty::run(&args),
        Command::List(args) => list::run(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
    };
    progress::step(|| "done".into());
    ended(result, json)
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

/// Parses words, the program's name first.
fn parse(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Cli, Refused> {
    parse_with(&mut cli::command(), words)
}

fn parse_with(
    command: &mut clap::Command,
    words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<Cli, Refused> {
    let matches = command.try_get_matches_from_mut(words).map_err(|error| match cli::problem(&error) {
        Some(problem) => Refused::ByUs(output::Failure::input(problem)),
        None => Refused::ByClap(error),
    })?;
    cli::needs::check(&matches).map_err(Refused::ByUs)?;
    Cli::from_arg_matches(&matches).map_err(Refused::ByClap)
}

fn ended(result: Result<(), output::Failure>, json: bool) -> u8 {
    match result {
        Ok(()) => 0,
        Err(failure) => {
            match json {
                true => eprintln!("{}", failure.json()),
                false => eprintln!("error: {failure}"),
            }
            failure.exit_code()
        }
    }
}

/// The names of the modules, cores and arrays that a command and its arguments select; none if the command takes no core.
///
/// # Errors
/// The message that the program would print before it ends with 2.
pub fn selected<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>, String> {
    match parse_again(arguments).map_err(|e| e.to_string())?.command {
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

/// The files that `flashd generate` with these arguments writes, without the revision and the command in their headers.
///
/// # Errors
/// As the command: arguments that select no design, and with `--testbench` a design that differs from the model.
pub fn generated<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Vec<GeneratedFile>, Failure> {
    let cli = parse_again(["generate", "--quiet"].into_iter().chain(arguments));
    let cli = cli.map_err(|refused| match refused {
        Refused::ByClap(error) => Failure::input(output::first_paragraph(&error.to_string())),
        Refused::ByUs(failure) => failure,
    })?;
    cli.set_progress();
    match cli.command {
        Command::Generate(args) => generate::files(&args),
        _ => Ok(Vec::new()),
    }
}

/// Parses arguments by a command line that each thread describes once: its options take longer to describe than to parse.
fn parse_again<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Cli, Refused> {
    thread_local! {
        static COMMAND: std::cell::RefCell<clap::Command> = std::cell::RefCell::new(cli::command());
    }
    let words = ["flashd"].into_iter().chain(arguments);
    COMMAND.with_borrow_mut(|command| parse_with(command, words))
}

/// The description of the command line, with all commands and options.
pub fn command_line() -> clap::Command {
    cli::command()
}

/// The options of a command that take numbers.
pub fn number_options(command: &clap::Command) -> impl Iterator<Item = &clap::Arg> {
    command.get_arguments().filter(|arg| cli::takes_number(arg))
}

/// Why the words of a command, the program's name first, are refused before anything runs; `None` if they are not.
pub fn refusal(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Option<String> {
    parse(words).err().map(|refused| refused.to_string())
}

/// The examples in the help of each command, as one would type them, and whether each is quick and needs no tool.
pub fn examples() -> Vec<(String, bool)> {
    let all = cli::examples::COMMANDS.iter().flat_map(|(.., examples)| examples);
    all.map(|example| (format!("flashd {}", example.words), example.quick)).collect()
}

/// The names of all commands.
pub fn commands() -> Vec<String> {
    cli::command().get_subcommands().map(|command| command.get_name().to_string()).collect()
}

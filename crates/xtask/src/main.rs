//! Checks of the project that hold state or lists of designs: `cargo xtask --help`.

mod attention_unit;
mod axis;
mod cosim;
mod failure;
mod formal;
mod generate;
mod guard;
mod icarus;
mod mutate;
mod process;
mod random;
mod reference;
mod selection;
mod selections;
mod traces;
mod units;
mod work;

use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Checks of the project
///
/// Exit code 0: the check passes. 1: it found something. 2: bad input, or a tool is missing.
#[derive(Parser)]
struct XtaskCli {
    #[command(subcommand)]
    command: XtaskCommand,
}

#[derive(Subcommand)]
enum XtaskCommand {
    /// Write all that a flashd emits into a folder: Verilog, manifests, testbenches and waves of every kind of design
    ///
    /// All shipped cores, all variants, arrays, masks, partial results, split keys, stream wrappers, units and random configurations.
    /// Errors are kept as well. Two folders of two revisions are compared by `cargo xtask same`.
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
        /// Leave out lines that contain this text, for example lines of headers
        #[arg(long, value_name = "TEXT")]
        without: Vec<String>,
    },
    Traces(traces::TracesOptions),
    Generate(generate::GenerateOptions),
    Sample(generate::SampleOptions),
    Mutate(mutate::MutateOptions),
    Cosim(cosim::CosimOptions),
    Axis(axis::WrapperOptions),
    ProveAxis(axis::proofs::ProofOptions),
    AttentionUnit(attention_unit::UnitOptions),
    Prove(formal::prove::ProveOptions),
    ProveFault(formal::fault::FaultOptions),
    Equivalent(formal::equivalent::EquivalentOptions),
    Units(units::UnitsOptions),
    CheckRandom(random::RandomOptions),
    Reference(reference::ReferenceOptions),
    /// Run flashd
    #[command(hide = true, disable_help_flag = true)]
    Flashd {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    work::remove_when_interrupted();
    let result = match XtaskCli::parse().command {
        XtaskCommand::Emit { flashd, out, random, seed } => guard::emit(&flashd, &out, random, seed),
        XtaskCommand::Same { old, new, without } => guard::same(&old, &new, &without),
        XtaskCommand::Traces(options) => traces::traces(&options),
        XtaskCommand::Generate(options) => generate::generate(&options),
        XtaskCommand::Sample(options) => generate::sample(&options),
        XtaskCommand::Mutate(options) => mutate::mutate(&options),
        XtaskCommand::Cosim(options) => cosim::cosim(&options),
        XtaskCommand::Axis(options) => axis::axis(&options),
        XtaskCommand::ProveAxis(options) => axis::proofs::prove_axis(&options),
        XtaskCommand::AttentionUnit(options) => attention_unit::attention_unit(&options),
        XtaskCommand::Prove(options) => formal::prove::prove(&options),
        XtaskCommand::ProveFault(options) => formal::fault::prove_fault(&options),
        XtaskCommand::Equivalent(options) => formal::equivalent::equivalent(&options),
        XtaskCommand::Units(options) => units::units(&options),
        XtaskCommand::CheckRandom(options) => random::check_random(&options),
        XtaskCommand::Reference(options) => reference::reference(&options),
        XtaskCommand::Flashd { words } => {
            return flashd::run(std::iter::once("flashd".into()).chain(words)).into();
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.exit_code().into()
        }
    }
}

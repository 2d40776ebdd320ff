//! The command line as typed.

mod accuracy;
mod around;
mod core;
mod cosim;
pub mod examples;
mod golden;
mod manual;
mod measure;
pub mod named;
pub mod needs;
pub mod numbers;
mod simulate;
mod skips;
mod sweep;

pub use accuracy::*;
pub use around::*;
pub use core::{Selection, with_range};
pub use cosim::*;
pub use golden::*;
pub use manual::*;
pub use measure::*;
pub use numbers::{problem, takes_number};
pub use simulate::*;
pub use skips::*;
pub use sweep::*;

use crate::progress;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, Args, Parser, Subcommand, ValueEnum};
use flashd_generator::Prefix;
use flashd_simulator::RtlEngine;
use flashd_spec::config::{
    D_RANGE, INTERLEAVE_RANGE, KEY_INDEX_BITS_RANGE, OPTIONS, PARTS_RANGE, QUERIES_RANGE,
};
use flashd_spec::format::Format;
use flashd_workload::{CausalAlign, ScaleRule, TensorScale};
use numbers::{SEGMENTS, between, one_of, whole};
use std::path::PathBuf;

/// Headings of flags, in addition to the headings of a core's options.
const WHAT: &str = "What to work on";
const AROUND: &str = "Arrays, split keys, wrappers, units";
const DATA: &str = "Data";
const RUN: &str = "How it runs";
const OUTPUT: &str = "Output";

#[derive(Parser)]
#[command(name = "flashd", version, about, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// No progress: standard error has nothing but errors
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = OUTPUT, display_order = 1001)]
    pub quiet: bool,
    /// Say each step, with the seconds since the start
    #[arg(short, long, global = true, help_heading = OUTPUT, display_order = 1002, hide_short_help = true)]
    pub verbose: bool,
}

impl Cli {
    /// Sets for the whole process how much is said.
    pub fn set_progress(&self) {
        progress::set(match (self.quiet, self.verbose) {
            (true, _) => progress::Level::Quiet,
            (_, true) => progress::Level::Verbose,
            _ => progress::Level::Usual,
        });
    }
}

/// Options of a core that `-h` shows for every command that has them; the others only for `generate`, which makes cores.
const EVERYWHERE: [&str; 3] = ["design", "d", "format"];

/// The command line with the examples of each command.
pub fn command() -> clap::Command {
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help).global(true);
    let help = help.help("Print help (--help: everything)").help_heading(OUTPUT).display_order(1003);
    let command = <Cli as clap::CommandFactory>::command().disable_help_flag(true).arg(help);
    let command = command.version(crate::origin::version());
    let command = command.mut_subcommand("generate", |generate| {
        let help = "JSON configuration; options override its fields; repeatable";
        generate.mut_arg(core::CONFIG, |config| config.action(ArgAction::Append).help(help))
    });
    examples::with_examples(
        command
            .mut_subcommands(|command| {
                let makes_cores = command.get_name() == "generate";
                let rare = |arg: &Arg| {
                    let of_a_core = OPTIONS.into_iter().any(|option| option.field == arg.get_id().as_str());
                    of_a_core && !EVERYWHERE.contains(&arg.get_id().as_str())
                };
                command
                    .mut_args(|arg| if !makes_cores && rare(&arg) { arg.hide_short_help(true) } else { arg })
            })
            .mut_subcommands(with_negative_numbers),
    )
}

/// A value such as -1 is a number of the option before it, so that the error names that.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let command = command.mut_subcommands(with_negative_numbers);
    command.mut_args(|arg| if numbers::is_number(&arg) { arg.allow_negative_numbers(true) } else { arg })
}

#[derive(Subcommand)]
// One value for the whole run: its size does not matter.
#[allow(clippy::large_enum_variant)]
pub enum Command {
    /// Write the Verilog of cores, arrays, split keys and stream wrappers, or of a single unit
    Generate(GenerateArgs),
    /// Run a core cycle by cycle on Q, K and V, checked bit for bit against the model
    Simulate(SimulateArgs),
    /// Compare the emitted Verilog in Verilator with the model and the cycle engine
    ///
    /// Every output is compared in every cycle, over seeded streams of short and long queries with gaps, masks, partial
    /// results, special values and resets, as far as the core has them.
    Cosim(CosimArgs),
    /// The whole tour: generate, simulate and trace all shipped cores on a bundled sample
    Demo(DemoArgs),
    /// Print the piecewise-linear tables with their errors and draw them
    Pwl(PwlArgs),
    /// Measure area, timing and power of cores with Yosys, OpenSTA and a Liberty library
    Ppa(PpaArgs),
    /// Measure error against area or power over a grid of variants of both designs
    Explore(ExploreArgs),
    /// Find the smallest core that keeps the rule of equal error
    ///
    /// A core keeps it if its error is at most 1.1 times that of exact attention on the rounded operands, as the geometric mean over kinds of
    /// data: equal, random and spread scores, values with and without a mean, recorded heads, at each of 256, 4,096 and --max-keys keys; and
    /// in each kind at most 2 times the mean error and 3 times the largest. Widths that are not given are searched: lanes or accumulator, fraction
    /// bits of score and state, segments of the tables. What a bit of each costs is measured by mapping the core without it.
    Size(SizeArgs),
    /// Measure errors against f64 attention: what the format loses, what the core adds
    ///
    /// Errors are fractions of the head's max|v|, and percentages of it in tables. Each thread measures one head at a time and takes
    /// about 40 bytes for each element of K and V of the largest head: about 300 MB with 65,536 keys.
    Accuracy(AccuracyArgs),
    /// Draw a figure of the paper with the hardware's own results
    Figure(FigureArgs),
    /// Count operations and memory accesses of attention, and value reads that are saved
    ///
    /// All algorithms run in f64 and count as they go. An access is one element of Q, K, V, S, P, O, l or m read from or written to memory
    /// outside the SRAM. Standard attention reads each operand once in each of its three steps, which takes an SRAM that holds all of K or
    /// V: it makes the fewest accesses possible, whatever --sram says. FlashAttention of 2022 runs in blocks of B_c = ceil(M / 4d) keys and
    /// B_r = min(B_c, d) queries, keys outside. FlashAttention-2 turns the loops around: queries stay while keys and values stream by, as
    /// in these cores and their arrays (--queries). A product, sum, quotient, maximum or exponential counts as one operation.
    Traffic(TrafficArgs),
    /// Run attention algorithms in f64 on a head, and count what they do
    ///
    /// From standard attention over FlashAttention and FLASH-D to the running log-sum-exp of blocks and monoid folds: --list prints them
    /// with their equations. Each computes and counts as it goes; operations, memory accesses and extra memory stand beside their closed
    /// formulas. The error is that against safe softmax.
    Golden(GoldenArgs),
    /// Count the steps that a rule may hold, and measure the error that this adds
    ///
    /// A rule decides from the score, so that the key itself has always been read. The added error is the distance between the results
    /// with and without the rule, as a fraction of max|v|.
    Skips(SkipsArgs),
    /// Run a small language model with attention by a core, and compare it with f32
    ///
    /// Decoding is greedy. The core is the bit-exact model of the hardware: in each head the query meets all keys of the sequence so far.
    /// In fp8 and fp16 the powers of two on Q, K and V are chosen for the run with f32.
    Llm(LlmArgs),
    /// Plan many commands as shards, run them on many machines, merge the results
    Sweep(SweepArgs),
    /// Join the files of a cell library
    Liberty(LibertyArgs),
    /// List designs, formats, units and shipped configurations
    List(ListArgs),
    /// Print the script with which a shell completes commands and options
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command
    Man(ManArgs),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineArg {
    /// The RTL in lock-step with the model: machine code made from the described design in milliseconds
    #[value(alias = "cycle")]
    Compiled,
    /// The same by this project's reference simulator of the described design, which the compiled engine is checked against; slower
    Reference,
    /// The same by RustHDL's simulator, whose event loop updates a tree of blocks; the slowest
    #[value(name = "rusthdl")]
    RustHdl,
    /// The bit-exact model alone, in vector instructions: the same results and counts, thousands of times faster
    Model,
}

impl EngineArg {
    /// What runs the RTL, unless it is the model alone that runs.
    pub fn rtl(self) -> Option<RtlEngine> {
        match self {
            EngineArg::Compiled => Some(RtlEngine::Compiled),
            EngineArg::Reference => Some(RtlEngine::Reference),
            EngineArg::RustHdl => Some(RtlEngine::RustHdl),
            EngineArg::Model => None,
        }
    }
}

/// Which core or array of cores.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct ArrayArgs {
    #[command(flatten)]
    pub selection: Selection,
    /// An array of B cores, 1 to 64, that share keys and values
    #[arg(long, value_parser = whole::<usize>(QUERIES_RANGE.0 as u64, QUERIES_RANGE.1 as u64), value_name = "B", help_heading = AROUND)]
    pub queries: Option<usize>,
    /// Arrays with masks: bits of a key's place in its block, 2 to 32 (default: 17)
    #[arg(long, value_parser = whole::<u32>(KEY_INDEX_BITS_RANGE.0 as u64, KEY_INDEX_BITS_RANGE.1 as u64), value_name = "BITS", help_heading = AROUND, hide_short_help = true)]
    pub key_index_bits: Option<u32>,
    /// Arrays: queries that take turns in a core, 1 to 8, at as many times the clock (default: 1)
    #[arg(long, value_parser = whole::<usize>(INTERLEAVE_RANGE.0 as u64, INTERLEAVE_RANGE.1 as u64), value_name = "C", help_heading = AROUND, hide_short_help = true)]
    pub interleave: Option<usize>,
}

#[derive(Args)]
pub struct GenerateArgs {
    #[command(flatten)]
    pub array: ArrayArgs,
    /// P cores for one query, each with a part of the keys, 2 to 64
    #[arg(long, value_parser = whole::<usize>(PARTS_RANGE.0 as u64, PARTS_RANGE.1 as u64), value_name = "P", conflicts_with_all = ["unit", "all", "queries", "wrapper"], help_heading = AROUND)]
    pub parts: Option<usize>,
    #[command(flatten)]
    pub around: WrapperArgs,
    /// A unit alone: add, sub, mul, max, sigmoid, softplus, ln, exp or reciprocal
    #[arg(long, value_parser = named::unit(), hide_possible_values = true, conflicts_with_all = ["config", "queries", "key_index_bits", "wrapper"], help_heading = AROUND)]
    pub unit: Option<String>,
    /// All shipped cores
    #[arg(long, conflicts_with_all = ["unit", "config", "queries", "key_index_bits", "wrapper"], help_heading = AROUND)]
    pub all: bool,
    /// Another core, array, split keys or wrapper, by its flags or a configuration file; can be repeated
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true, conflicts_with = "unit", help_heading = AROUND, hide_short_help = true)]
    pub core: Vec<String>,
    /// A Verilog file for each module, <name>/<module>.v, instead of one for all; <name>.f and the manifest list them
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    pub split: bool,
    /// Prefix of modules' names, or none (default: the top's name)
    ///
    /// By default no two designs have names in common, and any can be compiled together. With P, all names begin with P, that of the
    /// top, too, and names of other modules end with a digest of their text: equal names are equal text. Several designs then share
    /// modules, each in a file P/<module>.v (without a prefix: modules/<module>.v); P.f lists them all.
    #[arg(long, value_name = "P", conflicts_with = "unit", help_heading = OUTPUT)]
    pub prefix: Option<Prefix>,
    /// Also a self-checking testbench and its vectors
    ///
    /// In Verilog, with a port list for the harness in testbench/verilator. It compares ports and, by hierarchical names, score, argument, weight and sum of each step inside every core; `ports` leaves the
    /// inside out, for a netlist. Stream wrappers have none, since their ports follow a protocol and not a schedule of cycles:
    /// testbench/axis has benches for them.
    #[arg(long, value_name = "inside|ports", hide_possible_values = true, num_args = 0..=1, default_missing_value = "inside", help_heading = OUTPUT)]
    pub testbench: Option<LookArg>,
    /// Also assertions of the protocol at the ports, <name>_sva.sv, which SystemVerilog binds to the design
    #[arg(long, conflicts_with = "unit", help_heading = OUTPUT, hide_short_help = true)]
    pub sva: bool,
    /// Also a bench for cocotb, <name>_cocotb.py
    ///
    /// Of a core, an array or a wrapper; its expectations come from the Python package flashd (docs/guide/bindings.md).
    #[arg(long, conflicts_with_all = ["unit", "parts"], help_heading = OUTPUT)]
    pub cocotb: bool,
    /// Seed of the testbench's vectors
    #[arg(long, value_parser = whole::<u64>(0, u64::MAX), default_value_t = 1, help_heading = OUTPUT, hide_short_help = true)]
    pub seed: u64,
    /// Keys in the testbench's vectors (default: as many as Icarus manages in seconds)
    #[arg(long, value_parser = whole::<u64>(1, 10_000_000), value_name = "N", help_heading = OUTPUT, hide_short_help = true)]
    pub keys: Option<u64>,
    /// Folder to write to
    #[arg(long, default_value = "rtl-out", value_name = "DIR", help_heading = OUTPUT)]
    pub out: PathBuf,
    /// Print the result as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

/// What a testbench compares.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LookArg {
    /// Ports, and the steps inside
    Inside,
    /// Ports alone
    Ports,
}

#[derive(Args)]
pub struct DemoArgs {
    /// Folder to write to
    #[arg(long, default_value = "rtl-out", value_name = "DIR", help_heading = OUTPUT)]
    pub out: PathBuf,
    /// Print the result as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

#[derive(Args)]
pub struct PwlArgs {
    /// Segments of a table: 4, 8, 16 or 32
    #[arg(long, value_parser = one_of::<u32>(&SEGMENTS), default_value_t = 8, help_heading = WHAT)]
    pub segments: u32,
    /// Format in which ulp errors are counted, or, with --softcap, of the core
    #[arg(long, default_value = "bf16", value_parser = named::float_format(), hide_possible_values = true, help_heading = WHAT)]
    pub format: Format,
    /// Instead, the table of a soft cap, for scores of the default widths
    #[arg(long, value_parser = between(1.0, 1e6), value_name = "C", conflicts_with_all = ["segments", "out"], help_heading = WHAT)]
    pub softcap: Option<f64>,
    /// Folder for the drawings
    #[arg(long, default_value = "rtl-out", value_name = "DIR", help_heading = OUTPUT)]
    pub out: PathBuf,
    /// Print every coefficient
    #[arg(long, help_heading = OUTPUT)]
    pub coefficients: bool,
    /// Print the result as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

#[derive(Args)]
pub struct LibertyArgs {
    #[command(subcommand)]
    pub command: LibertyCommand,
}

#[derive(Subcommand)]
pub enum LibertyCommand {
    /// Merge the Liberty files of one corner, as ASAP7 has them for each kind of cell, into one for --liberty
    ///
    /// All files must have the same units and corner, and equal templates under equal names; no cell may occur twice. Cells are copied as they
    /// stand.
    Merge {
        /// The published files, plain, .gz or .xz
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// File to write
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
pub struct ListArgs {
    /// Print the list as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
    /// Instead, the flags of every core that is not shipped, a line each: all variants in bf16 and fp8-e4m3, mixed precision, fixed
    /// thresholds
    #[arg(long, conflicts_with = "json", help_heading = WHAT)]
    pub variants: bool,
    /// With --variants: vector length
    #[arg(long, value_parser = whole::<usize>(D_RANGE.0 as u64, D_RANGE.1 as u64), default_value_t = 16, help_heading = WHAT)]
    pub d: usize,
}

fn align_parser() -> impl TypedValueParser<Value = CausalAlign> {
    let value = |name: String| CausalAlign::NAMED.into_iter().find(|(known, _)| *known == name);
    PossibleValuesParser::new(CausalAlign::NAMED.map(|(name, _)| name))
        .map(move |name| value(name).map_or_else(CausalAlign::default, |(_, align)| align))
}

/// One of the rules for scales that are powers of two.
pub fn parse_scale_rule(text: &str) -> Result<ScaleRule, String> {
    serde_json::from_value(text.into()).map_err(|_| "none of floor, ceil, rceil and even".into())
}

fn parse_tensor_scale(text: &str) -> Result<TensorScale, String> {
    match text {
        "auto" => Ok(TensorScale::Auto),
        "none" => Ok(TensorScale::None),
        _ => Err("neither auto nor none".into()),
    }
}

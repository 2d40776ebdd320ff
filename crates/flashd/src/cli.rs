//! The command line as typed.

mod accuracy;
mod core;
mod cosim;
mod measure;
pub mod needs;
mod random;
mod skips;
mod sweep;
mod units;

pub use accuracy::*;
pub use core::Selection;
pub use cosim::*;
pub use measure::*;
pub use random::*;
pub use skips::*;
pub use sweep::*;
pub use units::*;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use flashd_simulator::RtlEngine;
use flashd_spec::format::Format;
use flashd_workload::{CausalAlign, ScoreScale, TensorScale};
use std::path::PathBuf;

#[derive(Parser)]
#[command(name = "flashd", version, about, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
// One value for the whole run: its size does not matter.
#[allow(clippy::large_enum_variant)]
pub enum Command {
    /// Write the Verilog of a core or of a single unit
    Generate(GenerateArgs),
    /// Run a core cycle by cycle on Q, K and V, checked bit for bit against the model
    Simulate(SimulateArgs),
    /// Compare the emitted Verilog in Verilator with the bit-exact model and the cycle engine
    ///
    /// Every output is compared in every cycle, over seeded streams of short and long queries with gaps, masks, partial
    /// results, special values and resets, as far as the core has them.
    Cosim(CosimArgs),
    /// Compare the emitted units in Verilator with correctly rounded results, over all operands
    Units(UnitsArgs),
    /// Check random legal configurations of cores, arrays, split keys and stream wrappers, over all options and formats
    ///
    /// Each is generated and linted; its testbench runs in Icarus and now and then in Verilator; the cycle engine runs in
    /// lock-step with the bit-exact model on streams of every kind, with gaps and without, and the vector engine must give the
    /// same bits, cycles, held steps and values read. Inf and NaN in keys and values that no query sees must change nothing.
    /// Of a failure it prints the seed and the command that repeats it.
    CheckRandom(RandomArgs),
    /// The whole tour: generate, simulate and trace all shipped cores on a bundled sample
    Demo(DemoArgs),
    /// Print the piecewise-linear tables with their errors and draw them
    Pwl(PwlArgs),
    /// Area, timing and power of cores with Yosys, OpenSTA and a Liberty library
    Ppa(PpaArgs),
    /// Error against area or power over a grid of variants of both designs
    Explore(ExploreArgs),
    /// Errors of cores against f64 attention: what the format loses, what the datapath adds, and how it grows with N
    ///
    /// Errors are fractions of the head's max|v|, and percentages of that in tables. Heads are measured one at a time
    /// in each thread: the memory is that of the heads, and in each thread about 40 bytes for each element of K and V of
    /// the largest head; with 65,536 keys that is about 300 MB.
    Accuracy(AccuracyArgs),
    /// Draw a figure of the paper with the hardware's own results
    Figure(FigureArgs),
    /// Count operations and memory accesses of standard attention and FlashAttention, and values that holding saves
    ///
    /// All run in f64 and count as they go. An access is one element of Q, K, V, S, P, O, l or m read from
    /// or written to memory outside the SRAM. Standard attention reads each operand once in each of its three steps,
    /// which takes an SRAM that holds all of K or V: its accesses are the fewest possible and do not depend on --sram.
    /// FlashAttention of 2022 runs in blocks of B_c = ceil(M / 4d) keys and B_r = min(B_c, d) queries, keys outside.
    /// FlashAttention-2 turns its loops around: queries stay and keys and values stream by, which is also the order of
    /// these cores, whose arrays have --queries. Products, sums, quotients, maxima and exponentials count one operation
    /// each.
    Traffic(TrafficArgs),
    /// How often a step may be held, and the read of its value skipped, by which rule, at what added error
    ///
    /// A rule decides from the scores: a held key is known before its value is read, never before the key is. The
    /// added error is the distance between the results with and without the rule, as a fraction of max|v|.
    Skips(SkipsArgs),
    /// Run a small language model whose attention is computed by a core, and compare it with f32
    ///
    /// Decoding is greedy. A core is the bit-exact model of the hardware: each head's query against all keys of the
    /// sequence so far. In fp8 and fp16 the powers of two on Q, K and V are those that suit the run with f32.
    Llm(LlmArgs),
    /// Plan many commands as shards, run them on any number of machines, and merge what comes of them
    Sweep(SweepArgs),
    /// Cell libraries: one file of several
    Liberty(LibertyArgs),
    /// List designs, formats, units and shipped configurations
    List(ListArgs),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineArg {
    /// The RTL and the model in lock-step: the RustHDL design as machine code for vectors of equal instances, made in milliseconds
    #[value(alias = "cycle")]
    Compiled,
    /// The same by RustHDL's own sweeps, the reference that the compiled engine is checked against; slower
    #[value(name = "rusthdl")]
    RustHdl,
    /// The bit-exact model alone, 16 queries side by side in vector instructions: the same results and counts, thousands of
    /// times faster
    Model,
}

impl EngineArg {
    /// What runs the RTL, unless it is the model alone that runs.
    pub fn rtl(self) -> Option<RtlEngine> {
        match self {
            EngineArg::Compiled => Some(RtlEngine::Compiled),
            EngineArg::RustHdl => Some(RtlEngine::RustHdl),
            EngineArg::Model => None,
        }
    }
}

/// Which core or array of cores.
#[derive(Args, Debug, Default, PartialEq)]
pub struct ArrayArgs {
    #[command(flatten)]
    pub selection: Selection,
    /// An array of B cores, 1 to 64, that share one key and one value stream
    #[arg(long, value_name = "B")]
    pub queries: Option<usize>,
    /// Arrays with masks: bits of a key's place in its block, 2 to 32 (default: 17)
    #[arg(long, value_name = "BITS")]
    pub key_index_bits: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WrapperArg {
    /// AXI4-Stream for queries, keys, values and results, AXI4-Lite for registers
    Axis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ValuesArg {
    /// Those that it asks for; others are never fetched
    Requested,
    /// All; those that no query needs are dropped
    All,
}

#[derive(Args)]
pub struct GenerateArgs {
    #[command(flatten)]
    pub array: ArrayArgs,
    /// P cores for one query, 2 to 64, each with a part of the keys, and a tree that merges their results
    #[arg(long, value_name = "P", conflicts_with_all = ["unit", "all", "queries"])]
    pub parts: Option<usize>,
    /// With --queries: AXI4-Stream ports and registers around the array
    #[arg(long, value_enum, conflicts_with_all = ["unit", "all", "parts"])]
    pub wrapper: Option<WrapperArg>,
    /// With --wrapper: bits of a beat, which divide those of a vector (default: the most up to 512)
    #[arg(long, value_name = "BITS")]
    pub beat: Option<u32>,
    /// With --wrapper: the values that it takes (default: requested)
    #[arg(long, value_enum)]
    pub values: Option<ValuesArg>,
    /// A unit alone: add, sub, mul, max, sigmoid, softplus, ln, exp or reciprocal
    #[arg(long, conflicts_with_all = ["config", "queries", "key_index_bits"])]
    pub unit: Option<String>,
    /// All shipped cores
    #[arg(long, conflicts_with_all = ["unit", "config", "queries", "key_index_bits"])]
    pub all: bool,
    /// A Verilog file a module, <name>/<module>.v, instead of one for all; <name>.f and the manifest list
    /// them. A unit is one module
    #[arg(long)]
    pub split: bool,
    /// Also a self-checking testbench in Verilog, its vectors, and the port list for testbench/verilator. It compares ports, and inside
    /// every core score, argument, weight and sum of each step by hierarchical names; `ports` leaves the inside out, for a netlist.
    /// Not of a stream wrapper, whose ports follow a protocol and not a schedule of cycles: testbench/axis has benches for it
    #[arg(long, value_name = "COMPARE", num_args = 0..=1, default_missing_value = "inside")]
    pub testbench: Option<LookArg>,
    /// Also a bench for cocotb, <name>_cocotb.py, of a core or an array: its expectations come from the Python package flashd, see
    /// docs/guide/bindings.md
    #[arg(long, conflicts_with_all = ["unit", "parts"])]
    pub cocotb: bool,
    /// Seed of the testbench's vectors
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Keys in the testbench's vectors (default: as many as an interpreting simulator manages in seconds)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub keys: Option<u64>,
    /// Folder to write to
    #[arg(long, default_value = "rtl-out", value_name = "DIR")]
    pub out: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// What a testbench compares.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LookArg {
    /// Ports and what is inside
    Inside,
    /// Ports alone
    Ports,
}

#[derive(Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    pub array: ArrayArgs,
    /// Queries: .npy of shape [queries, d] or [d], or [heads, queries, d], a head each; or one .npz or .safetensors with q,
    /// k and v. float32, float16, float64, bfloat16, float8_e5m2 and (.safetensors) float8_e4m3fn
    #[arg(long, value_name = "FILE", required_unless_present = "data")]
    pub q: Option<PathBuf>,
    /// Instead, all heads of a folder, as meta.json there describes them; takes --engine model and --results. Each thread
    /// has one file at a time in memory, 40 bytes for each element of Q, K and V
    #[arg(long, value_name = "DIR", conflicts_with_all = ["q", "k", "v", "window", "lengths", "queries", "parts", "tile", "first_queries", "first_keys", "key_index_bits", "key_bias", "alibi", "o", "vcd", "fst", "pipeline", "vectors", "scale"])]
    pub data: Option<PathBuf>,
    /// With --data: folder for <head>-o.npy, the result, and <head>.json, its counts, written as heads finish. Heads that
    /// are there already, from the same inputs and core, are not run again
    #[arg(long, value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// With --engine model: write histograms of scores, arguments and weights as JSON
    #[arg(long, value_name = "FILE")]
    pub histograms: Option<PathBuf>,
    /// Keys: .npy of shape [keys, d] or [heads, keys, d]
    #[arg(long, value_name = "FILE")]
    pub k: Option<PathBuf>,
    /// Values: .npy of shape [keys, d] or [heads, keys, d]
    #[arg(long, value_name = "FILE")]
    pub v: Option<PathBuf>,
    /// A query sees the keys up to its own position only, see --causal-align; with --data in all heads, whatever meta.json
    /// says
    #[arg(long)]
    pub causal: bool,
    /// Where queries stand if there are not as many as keys: the last one at the last key (bottom-right, the default), as
    /// where a sequence goes on, or query i at key i (top-left), as in PyTorch's scaled_dot_product_attention with
    /// is_causal=True. Sizes are those of the files, before --first-queries and --first-keys. A query that stands before
    /// the first key sees none: its result is 0
    #[arg(long, value_name = "top-left|bottom-right", value_parser = align_parser())]
    pub causal_align: Option<CausalAlign>,
    /// With --masks: the query at position i sees no key before position i - W + 1
    #[arg(long, value_name = "W", value_parser = parse_positive)]
    pub window: Option<usize>,
    /// With --partial: the keys in tiles of N, each tile restoring the state that the one before hands out
    #[arg(long, value_name = "N", conflicts_with = "queries")]
    pub tile: Option<usize>,
    /// P cores for each query, 2 to 64, each with a part of the keys, and a tree that merges their results
    #[arg(long, value_name = "P", conflicts_with_all = ["queries", "tile"])]
    pub parts: Option<usize>,
    /// With --masks: how many keys each query sees, from the first; one number for all or one for each
    #[arg(long, value_name = "N,N,...", value_delimiter = ',')]
    pub lengths: Option<Vec<usize>>,
    /// With --bias: what is added to scores, .npy of shape [keys] or [queries, keys], natural units, after --scale; for all heads
    #[arg(long, value_name = "FILE", conflicts_with = "alibi")]
    pub key_bias: Option<PathBuf>,
    /// With --bias: ALiBi, SLOPE times the distance of query and key is subtracted from each score; positions as --causal-align says
    #[arg(long, value_name = "SLOPE", value_parser = parse_slope, allow_negative_numbers = true)]
    pub alibi: Option<f32>,
    /// Use the first N queries only; they keep their positions
    #[arg(long, value_name = "N")]
    pub first_queries: Option<usize>,
    /// Use the first N keys only; queries keep their positions
    #[arg(long, alias = "keys", value_name = "N")]
    pub first_keys: Option<usize>,
    /// Which engine
    #[arg(long, value_enum, default_value = "compiled")]
    pub engine: EngineArg,
    /// Write the result as .npy of shape [queries, d], with the heads in front as in Q
    #[arg(long, value_name = "FILE")]
    pub o: Option<PathBuf>,
    /// Write a wave as text, and a GTKWave save file beside it
    #[arg(long, value_name = "FILE")]
    pub vcd: Option<PathBuf>,
    /// Write a wave in GTKWave's compressed format, about a tenth of the size, and a save file beside it
    #[arg(long, value_name = "FILE")]
    pub fst: Option<PathBuf>,
    /// Write which step is in which stage in which cycle: a Kanata log (.log) for the viewer Konata, or a page (.html)
    #[arg(long, value_name = "FILE")]
    pub pipeline: Option<PathBuf>,
    /// Signals in the wave: default, all, or patterns with * separated by commas
    #[arg(long, default_value = "default")]
    pub signals: String,
    /// First cycle of the wave, or of the keys in the pipeline chart
    #[arg(long, default_value_t = 0, value_name = "CYCLE")]
    pub from: u64,
    /// Last cycle of them
    #[arg(long, value_name = "CYCLE")]
    pub to: Option<u64>,
    /// Write test vectors for other simulators
    #[arg(long, value_name = "FILE")]
    pub vectors: Option<PathBuf>,
    /// Random gaps in the key stream and noise on idle ports
    #[arg(long, value_name = "SEED")]
    pub gaps: Option<u64>,
    /// Factor between q . k and the score: auto (1/sqrt(d)), none, or a number
    #[arg(long, value_parser = parse_scale, default_value = "auto", value_name = "auto|none|X")]
    pub scale: ScoreScale,
    /// Powers of two on Q, K and V in narrow formats: auto or none
    #[arg(long, value_parser = parse_tensor_scale, default_value = "auto", value_name = "auto|none")]
    pub tensor_scale: TensorScale,
    /// Give the core K minus its mean over the keys, channel by channel: softmax does not change, and narrow formats lose less. Errors
    /// stay those against attention on K as it is
    #[arg(long)]
    pub smooth_k: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

impl SimulateArgs {
    /// The files that record the cycles of one head, by their flags.
    pub fn recordings(&self) -> impl Iterator<Item = (&'static str, &PathBuf)> {
        let all = [
            ("--vcd", &self.vcd),
            ("--fst", &self.fst),
            ("--pipeline", &self.pipeline),
            ("--vectors", &self.vectors),
        ];
        all.into_iter().filter_map(|(flag, path)| Some((flag, path.as_ref()?)))
    }
}

#[derive(Args)]
pub struct DemoArgs {
    /// Folder to write to
    #[arg(long, default_value = "rtl-out", value_name = "DIR")]
    pub out: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct PwlArgs {
    /// Segments of a table: 4, 8, 16 or 32
    #[arg(long, default_value_t = 8)]
    pub segments: u32,
    /// Format in which ulp errors are counted
    #[arg(long, default_value = "bf16", value_parser = float_format)]
    pub format: Format,
    /// Folder for the drawings
    #[arg(long, default_value = "rtl-out", value_name = "DIR")]
    pub out: PathBuf,
    /// Print every coefficient
    #[arg(long)]
    pub coefficients: bool,
    /// Print the result as JSON
    #[arg(long)]
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
    /// Units and corner must be the same, templates of one name too, and no cell may be there twice. Cells are written as they are.
    Merge {
        /// The published files, unpacked
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
    #[arg(long)]
    pub json: bool,
    /// Instead, the flags of every core that is not shipped but has other parts, a line each: all variants in bf16 and
    /// fp8-e4m3, cores of mixed precision, and cores that hold by a fixed threshold
    #[arg(long, conflicts_with = "json")]
    pub variants: bool,
    /// Vector length of those
    #[arg(long, default_value_t = 16)]
    pub d: usize,
}

fn parse_slope(text: &str) -> Result<f32, String> {
    text.parse()
        .ok()
        .filter(|x: &f32| x.is_finite())
        .ok_or_else(|| "not a finite number such as 0.0625".into())
}

fn parse_positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err("not a whole number above 0".into()),
    }
}

fn parse_scale(text: &str) -> Result<ScoreScale, String> {
    match text {
        "auto" => Ok(ScoreScale::Auto),
        "none" => Ok(ScoreScale::None),
        _ => text.parse().map(ScoreScale::Value).map_err(|_| "neither auto nor none nor a number".into()),
    }
}

fn align_parser() -> impl TypedValueParser<Value = CausalAlign> {
    let value = |name: String| CausalAlign::NAMED.into_iter().find(|(known, _)| *known == name);
    PossibleValuesParser::new(CausalAlign::NAMED.map(|(name, _)| name))
        .map(move |name| value(name).map_or_else(CausalAlign::default, |(_, align)| align))
}

fn parse_tensor_scale(text: &str) -> Result<TensorScale, String> {
    match text {
        "auto" => Ok(TensorScale::Auto),
        "none" => Ok(TensorScale::None),
        _ => Err("neither auto nor none".into()),
    }
}

/// A format of floats, for what integers do not have.
fn float_format(text: &str) -> Result<Format, String> {
    let format: Format = text.parse().map_err(|e: flashd_spec::format::UnknownFormat| e.to_string())?;
    match format.is_integer() {
        true => Err(format!("this takes a format of floats: {}", Format::float_names())),
        false => Ok(format),
    }
}

//! Arguments of the commands that measure: area and power, errors, traffic, a language model.

use super::{Selection, parse_positive};
use clap::{Args, ValueEnum};
use flashd_ppa::synthesis::{KEPT_BYTES, KEPT_DAYS, SPARED_DAYS};
use flashd_spec::config::DEFAULT_HOLD;
use flashd_spec::format::Format;
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AttentionArg {
    /// Safe softmax in f32, no core
    F32,
    FlashD,
    Fa2,
}

#[derive(Args)]
pub struct PpaArgs {
    #[command(flatten)]
    pub selection: Selection,
    /// A core or array by its flags, in quotes, or by a configuration file; any number of them
    ///
    /// --core "--design fa2 --fa2 fixed" --core configs/flash_d_bf16_d16.json. --d and --format beside it hold
    /// for flags that do not give their own.
    #[arg(long, value_name = "FLAGS|FILE", allow_hyphen_values = true, conflicts_with_all = ["variants", "config"])]
    pub core: Vec<String>,
    /// Every variant of both designs, of one --d and --format
    #[arg(long, conflicts_with = "config")]
    pub variants: bool,
    /// Also arrays of each core, of B cores that share keys and values, next to B single cores
    #[arg(long, value_name = "B,B,...", value_delimiter = ',')]
    pub queries: Vec<usize>,
    /// Cell library, plain or .xz; several for figures side by side (default: osu018 of qflow-tech-osu018)
    #[arg(long, value_name = "FILE")]
    pub liberty: Vec<PathBuf>,
    /// Clock period to meet with the least area, in ns (default: the shortest possible)
    #[arg(long, value_name = "NS")]
    pub clock: Option<f64>,
    /// Dissolve the hierarchy before mapping: a few percent smaller, and takes very long
    #[arg(long)]
    pub flat: bool,
    /// Cycles that each of the 64 streams is simulated for; 0 leaves power out
    #[arg(long, default_value_t = 300, value_name = "N")]
    pub cycles: usize,
    /// Cycles, over all streams, that are also simulated with delays; 0 leaves glitches out (default: 1000 for cores of
    /// at most 250,000 cells)
    ///
    /// Every net's toggles with the delays of the library at the loads of the netlist, so with glitches: power with and
    /// without stand side by side. A thousand cycles of a core of d = 16 take seconds. Larger cores than the default does
    /// take more than a minute: name a number for them.
    #[arg(long, value_name = "N")]
    pub glitches: Option<usize>,
    /// Folder of attention heads for the power figures (default: the bundled sample)
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Folder for finished work (default: flashd/ppa in the user's cache folder)
    #[arg(long, value_name = "DIR", long_help = cache_help())]
    pub cache: Option<PathBuf>,
    /// Show the figures of an earlier run, as --json printed them, and measure nothing; several are joined
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "Selection", "core", "variants", "queries", "liberty", "clock", "flat", "cycles", "glitches", "data", "cache",
    ])]
    pub from: Vec<PathBuf>,
    /// Also print area and power by function, the largest modules and the worst path
    #[arg(long)]
    pub breakdown: bool,
    /// Write a report with charts, all tables and the commands to make them again: one HTML page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the charts of FLASH-D against FA2 alone, area_LIBRARY.svg and power_LIBRARY.svg
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CostArg {
    /// Cell area
    Area,
    /// Power at the clock, without glitches
    Power,
    /// Power at the clock, with glitches
    Glitches,
}

#[derive(Args)]
pub struct ExploreArgs {
    /// Vector length of the cores that are measured; errors are those on heads of all lengths
    #[arg(long, default_value_t = 16)]
    pub d: usize,
    /// Number format; may be given several times (default: bf16 and fp8-e4m3)
    #[arg(long)]
    pub format: Vec<Format>,
    /// JSON list of configurations in which a field may be a list (default: all variants, widths around the usual)
    #[arg(long, value_name = "FILE")]
    pub grid: Option<PathBuf>,
    /// What the error is held against
    #[arg(long, value_enum, default_value = "area")]
    pub cost: CostArg,
    /// Clock period that all cores have to meet, in ns
    #[arg(long, value_name = "NS", required_unless_present = "errors_only")]
    pub clock: Option<f64>,
    /// Cell library, plain or .xz (default: osu018 of qflow-tech-osu018)
    #[arg(long, value_name = "FILE")]
    pub liberty: Option<PathBuf>,
    /// Folder of attention heads for errors and power (default: the bundled sample)
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Use every N-th query of a head for the errors
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = parse_positive)]
    pub every: usize,
    /// Cycles that each of the 64 streams is simulated for when the cost is power
    #[arg(long, default_value_t = 300, value_name = "N", value_parser = parse_positive)]
    pub cycles: usize,
    /// Core, as named in the table, whose mean error in every group is to be reached
    #[arg(long, default_value = "fa2", value_name = "CORE")]
    pub reference: String,
    /// Leave out cores with a larger mean error, in percent of max|v|
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    pub max_error: Option<f64>,
    /// Errors alone: nothing is synthesised
    #[arg(long, conflicts_with_all = ["svg", "cost", "clock", "liberty", "cycles", "cache"])]
    pub errors_only: bool,
    /// Folder for finished work (default: flashd/ppa in the user's cache folder)
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Draw error over cost
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write the result as JSON to a file, or print it instead of the table
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

#[derive(Args)]
pub struct TrafficArgs {
    /// Queries and keys of synthetic heads
    #[arg(long, value_delimiter = ',', default_value = "1024", value_name = "N,..")]
    pub n: Vec<usize>,
    /// Vector lengths of synthetic heads
    #[arg(long, value_delimiter = ',', default_value = "64", value_name = "D,..")]
    pub d: Vec<usize>,
    /// SRAM sizes M, in elements, or in bytes with --element-bytes; 4d elements at least
    #[arg(long, value_delimiter = ',', default_value = "8192,16384,32768,65536", value_name = "M,..")]
    pub sram: Vec<usize>,
    /// Bytes of an element: --sram is in bytes then
    #[arg(long, value_name = "B")]
    pub element_bytes: Option<usize>,
    /// Instead of --sram: B_r, queries of a block
    #[arg(long, value_name = "B_R", value_parser = parse_positive, conflicts_with_all = ["sram", "element_bytes"])]
    pub br: Option<usize>,
    /// Instead of --sram: B_c, keys of a block
    #[arg(long, value_name = "B_C", value_parser = parse_positive, conflicts_with_all = ["sram", "element_bytes"])]
    pub bc: Option<usize>,
    /// Queries that stay while keys and values stream by, a key at a time: those of an array of B cores (default: blocks as
    /// of FlashAttention)
    #[arg(long, value_name = "B", value_parser = parse_positive)]
    pub queries: Option<usize>,
    /// Folder of attention heads instead of synthetic ones
    #[arg(long, value_name = "DIR", conflicts_with_all = ["n", "d", "seed"])]
    pub data: Option<PathBuf>,
    /// Seed of the synthetic heads
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Threshold T of FLASH-D's hold rule, in f64: a step with s - L <= -T reads no value
    #[arg(long, default_value_t = DEFAULT_HOLD, value_name = "T")]
    pub hold: f64,
    /// Draw the accesses against the SRAM size, or against N for a single size
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct LlmArgs {
    /// Weights: a llama2.c checkpoint in the legacy format
    #[arg(long, value_name = "FILE")]
    pub checkpoint: PathBuf,
    /// Vocabulary: the llama2.c tokenizer of the checkpoint
    #[arg(long, value_name = "FILE")]
    pub tokenizer: PathBuf,
    /// Text to go on with
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub prompt: String,
    /// Positions, prompt included, up to the model's context (default: 256, or the context if that is less)
    #[arg(long, value_name = "N")]
    pub steps: Option<usize>,
    /// What computes attention (default: flash-d, or the design of --config)
    #[arg(long, value_enum)]
    pub attention: Option<AttentionArg>,
    #[command(flatten)]
    pub selection: Selection,
    /// Text to measure the perplexity on
    #[arg(long, value_name = "FILE")]
    pub text: Option<PathBuf>,
    /// Use the first N tokens of the text only
    #[arg(long, value_name = "N")]
    pub tokens: Option<usize>,
    /// Also write Q, K and V of every head in f32 into a folder with a meta.json, which all commands with --data read: those of the first
    /// tokens of --text, as many as the context takes, or else of what was generated
    #[arg(long, value_name = "DIR")]
    pub dump: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// What happens in the cache, with the bounds in force.
fn cache_help() -> String {
    format!(
        "Folder for finished work (default: flashd/ppa in the user's cache folder)\n\n\
         Every mapped module and every timing run is put there when it is finished: a run that was interrupted \
         continues there when it is given again, and only power is simulated anew. After a run the program removes \
         what was not used for {KEPT_DAYS} days, and beyond {} GiB what was not used for longest, but no finished \
         work of the last {SPARED_DAYS} days.",
        KEPT_BYTES >> 30
    )
}

//! Arguments of the commands that measure: area and power, errors, traffic, a language model.

use super::Selection;
use super::numbers::{LEAST_PERCENT, LONGEST_NS, MANY, SHORTEST_NS, between, whole};
use super::{DATA, OUTPUT, RUN, WHAT};
use clap::{Args, ValueEnum};
use flashd_generator::EXTERNAL_SHARE;
use flashd_ppa::synthesis::{KEPT_BYTES, KEPT_DAYS, SPARED_DAYS};
use flashd_spec::config::D_RANGE;
use flashd_spec::config::DEFAULT_HOLD;
use flashd_spec::format::Format;
use serde::{Deserialize, Serialize};
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
    /// A core or array by its flags, in quotes, or by a file; can be repeated
    ///
    /// --core "--design fa2 --fa2 log-reference" --core configs/flash_d_bf16_d16.json. --d and --format of the command
    /// are the defaults of these flags.
    #[arg(long, value_name = "FLAGS|FILE", allow_hyphen_values = true, conflicts_with_all = ["variants", "config"], help_heading = WHAT)]
    pub core: Vec<String>,
    /// Every variant of both designs, of one --d and --format
    #[arg(long, conflicts_with = "config", help_heading = WHAT)]
    pub variants: bool,
    /// Also an array of B of each core, against B single cores
    #[arg(long, value_parser = whole::<usize>(1, MANY), value_name = "B,B,...", value_delimiter = ',', help_heading = WHAT)]
    pub queries: Vec<usize>,
    /// Cell library, plain, .gz or .xz; can be repeated (default: osu018 of qflow-tech-osu018)
    #[arg(long, value_name = "FILE", help_heading = RUN)]
    pub liberty: Vec<PathBuf>,
    /// Leave out the cells that match a pattern with * and ?; can be repeated
    ///
    /// Always left out are cells that the library marks with dont_use or dont_touch, cells with a second supply, level shifters,
    /// isolation cells and other special kinds, SkyWater's lpflow cells, and cells without an area.
    #[arg(long, value_name = "PATTERN", help_heading = RUN, hide_short_help = true)]
    pub dont_use: Vec<String>,
    /// Clock period to meet with the least area, in ns (default: the shortest)
    #[arg(long, value_parser = between(SHORTEST_NS, LONGEST_NS), value_name = "NS", long_help = clock_help(), help_heading = RUN)]
    pub clock: Option<f64>,
    /// Dissolve the hierarchy before mapping: a few percent smaller, and very slow
    #[arg(long, help_heading = RUN, hide_short_help = true)]
    pub flat: bool,
    /// Clock gates of the library in place of the enables of registers
    ///
    /// Registers of at least 4 bits that one enable keeps share a gate, within each module. Neither here nor without gates is a clock tree counted.
    #[arg(long, help_heading = RUN, hide_short_help = true)]
    pub clock_gates: bool,
    /// Cycles that each of the 64 streams is simulated for; 0 leaves power out
    #[arg(long, value_parser = whole::<usize>(0, MANY), default_value_t = 300, value_name = "N", help_heading = RUN, hide_short_help = true)]
    pub cycles: usize,
    /// Cycles that are also simulated with delays, for glitches; 0 leaves them out
    ///
    /// Counts every net's toggles with the delays of the library at the loads of the netlist; the table has power with and without
    /// glitches. The default is 1000 cycles over all streams for cores of at most 250,000 cells: seconds for a core of d = 16. Larger cores take
    /// more than a minute; give a number for them.
    #[arg(long, value_parser = whole::<usize>(0, MANY), value_name = "N", help_heading = RUN)]
    pub glitches: Option<usize>,
    /// Folder of attention heads for the power figures (default: the bundled sample)
    #[arg(long, value_name = "DIR", help_heading = RUN)]
    pub data: Option<PathBuf>,
    /// Folder for finished work (default: flashd/ppa in the user's cache folder)
    #[arg(long, value_name = "DIR", long_help = cache_help(), help_heading = RUN, hide_short_help = true)]
    pub cache: Option<PathBuf>,
    /// Show figures of earlier runs, as --json printed them; measure nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "Selection", "core", "variants", "queries", "liberty", "dont_use", "clock", "flat", "clock_gates", "cycles", "glitches", "data", "cache",
    ], help_heading = OUTPUT)]
    pub from: Vec<PathBuf>,
    /// Also print area and power by function, the largest modules and the worst path
    #[arg(long, help_heading = OUTPUT)]
    pub breakdown: bool,
    /// Write a page with charts, all tables and their commands
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub html: Option<PathBuf>,
    /// Write the charts alone, area_LIBRARY.svg and power_LIBRARY.svg
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub svg: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cost {
    /// Cell area
    Area,
    /// Power at the clock, without glitches
    Power,
    /// Power at the clock, with glitches
    Glitches,
}

#[derive(Args)]
pub struct ExploreArgs {
    /// Vector length of the cores that are mapped; errors are measured on heads of all lengths
    #[arg(long, value_parser = whole::<usize>(D_RANGE.0 as u64, D_RANGE.1 as u64), default_value_t = 16, help_heading = WHAT)]
    pub d: usize,
    /// Number format; can be repeated (default: bf16 and fp8-e4m3, and a grid's formats)
    ///
    /// For several formats, or combinations of operands' formats and scales, a table and fronts of all together follow.
    #[arg(long, value_parser = super::named::format(), hide_possible_values = true, help_heading = WHAT)]
    pub format: Vec<Format>,
    /// JSON list of configurations in which a field may be a list (default: all variants)
    ///
    /// Formats of operands and scales are fields, too. An entry without a format is for every --format.
    #[arg(long, value_name = "FILE", help_heading = WHAT)]
    pub grid: Option<PathBuf>,
    /// Cost against which errors are compared
    #[arg(long, value_enum, default_value = "area", help_heading = WHAT)]
    pub cost: Cost,
    /// Clock period that all cores must meet, in ns
    #[arg(long, value_parser = between(SHORTEST_NS, LONGEST_NS), value_name = "NS", required_unless_present = "errors_only", help_heading = RUN)]
    pub clock: Option<f64>,
    /// Cell library, plain, .gz or .xz (default: osu018 of qflow-tech-osu018)
    #[arg(long, value_name = "FILE", help_heading = RUN)]
    pub liberty: Option<PathBuf>,
    /// Folder of attention heads for errors and power (default: the bundled sample)
    #[arg(long, value_name = "DIR", help_heading = RUN)]
    pub data: Option<PathBuf>,
    /// Use every N-th query of a head for the errors
    #[arg(long, value_parser = whole::<usize>(1, MANY), default_value_t = 1, value_name = "N", help_heading = RUN)]
    pub every: usize,
    /// Cycles that each of the 64 streams is simulated for when the cost is power
    #[arg(long, value_parser = whole::<usize>(1, MANY), default_value_t = 300, value_name = "N", help_heading = RUN, hide_short_help = true)]
    pub cycles: usize,
    /// Core, as named in the table, whose mean error is to be reached in every group
    ///
    /// Each format has a reference of that name. For all formats together it is the first format's; a name with format and length,
    /// such as fa2_int8_d16, chooses another.
    #[arg(long, default_value = "fa2", value_name = "CORE", help_heading = OUTPUT)]
    pub reference: String,
    /// Leave out cores with a larger mean error, in percent of max|v|
    #[arg(long, value_parser = between(LEAST_PERCENT, 100.0), value_name = "PERCENT", help_heading = OUTPUT)]
    pub max_error: Option<f64>,
    /// Errors alone: nothing is synthesised
    #[arg(long, conflicts_with_all = ["svg", "cost", "clock", "liberty", "cycles", "cache"], help_heading = RUN)]
    pub errors_only: bool,
    /// Folder for finished work (default: flashd/ppa in the user's cache folder)
    #[arg(long, value_name = "DIR", help_heading = RUN, hide_short_help = true)]
    pub cache: Option<PathBuf>,
    /// Draw error over cost
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub svg: Option<PathBuf>,
    /// Write the result as JSON to a file, or print it instead of the table
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-", help_heading = OUTPUT)]
    pub json: Option<PathBuf>,
}

#[derive(Args)]
pub struct SizeArgs {
    #[command(flatten)]
    pub selection: Selection,
    /// Largest geometric mean of error ratios
    #[arg(long, value_parser = between(1.0, 10.0), value_delimiter = ',', default_value = "1.1", value_name = "RATIO,..", help_heading = WHAT)]
    pub limit: Vec<f64>,
    /// Clock period that the cores are mapped for, in ns
    #[arg(long, value_parser = between(SHORTEST_NS, LONGEST_NS), value_name = "NS", help_heading = RUN)]
    pub clock: f64,
    /// Cell library, plain, .gz or .xz (default: osu018 of qflow-tech-osu018)
    #[arg(long, value_name = "FILE", help_heading = RUN)]
    pub liberty: Option<PathBuf>,
    /// Cost that is minimised among mapped cores; widths are searched by area
    #[arg(long, value_enum, default_value = "area", help_heading = WHAT)]
    pub cost: Cost,
    /// Folder of recorded attention heads (default: the bundled sample)
    #[arg(long, value_name = "DIR", help_heading = RUN)]
    pub data: Option<PathBuf>,
    /// Use every N-th query of a recorded head
    #[arg(long, value_parser = whole::<usize>(1, MANY), default_value_t = 8, value_name = "N", help_heading = RUN)]
    pub every: usize,
    /// Cycles that each of the 64 streams is simulated for where power is measured
    #[arg(long, value_parser = whole::<usize>(1, MANY), default_value_t = 300, value_name = "N", help_heading = RUN, hide_short_help = true)]
    pub cycles: usize,
    /// Folder for finished work (default: flashd/ppa in the user's cache folder)
    #[arg(long, value_name = "DIR", help_heading = RUN, hide_short_help = true)]
    pub cache: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

#[derive(Args)]
pub struct TrafficArgs {
    /// Queries and keys of synthetic heads
    #[arg(long, value_parser = whole::<usize>(0, MANY), value_delimiter = ',', default_value = "1024", value_name = "N,..", help_heading = WHAT)]
    pub n: Vec<usize>,
    /// Vector lengths of synthetic heads
    #[arg(long, value_parser = whole::<usize>(0, MANY), value_delimiter = ',', default_value = "64", value_name = "D,..", help_heading = WHAT)]
    pub d: Vec<usize>,
    /// SRAM sizes M in elements, or in bytes with --element-bytes; at least 4d elements
    #[arg(long, value_parser = whole::<usize>(0, MANY), value_delimiter = ',', default_value = "8192,16384,32768,65536", value_name = "M,..", help_heading = WHAT)]
    pub sram: Vec<usize>,
    /// Bytes of an element; --sram is then in bytes
    #[arg(long, value_parser = whole::<usize>(1, MANY), value_name = "B", help_heading = WHAT)]
    pub element_bytes: Option<usize>,
    /// Instead of --sram: B_r, queries of a block
    #[arg(long, value_parser = whole::<usize>(1, MANY), value_name = "B_R", conflicts_with_all = ["sram", "element_bytes"], help_heading = WHAT)]
    pub br: Option<usize>,
    /// Instead of --sram: B_c, keys of a block
    #[arg(long, value_parser = whole::<usize>(1, MANY), value_name = "B_C", conflicts_with_all = ["sram", "element_bytes"], help_heading = WHAT)]
    pub bc: Option<usize>,
    /// Queries that stay while keys stream by, as in an array of B cores (default: a block)
    #[arg(long, value_parser = whole::<usize>(1, MANY), value_name = "B", help_heading = WHAT)]
    pub queries: Option<usize>,
    /// Folder of attention heads instead of synthetic ones
    #[arg(long, value_name = "DIR", conflicts_with_all = ["n", "d", "seed"], help_heading = DATA)]
    pub data: Option<PathBuf>,
    /// Seed of the synthetic heads
    #[arg(long, value_parser = whole::<u64>(0, u64::MAX), default_value_t = 1, help_heading = DATA, hide_short_help = true)]
    pub seed: u64,
    /// Threshold T of FLASH-D's hold rule, in f64: a step with s - L <= -T reads no value
    #[arg(long, value_parser = between(1.0, 64.0), default_value_t = DEFAULT_HOLD, value_name = "T", help_heading = WHAT)]
    pub hold: f64,
    /// Draw the accesses against the SRAM size, or against N for a single size
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub svg: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

#[derive(Args)]
pub struct LlmArgs {
    /// Weights: a llama2.c checkpoint in the legacy format
    #[arg(long, value_name = "FILE", help_heading = WHAT)]
    pub checkpoint: PathBuf,
    /// Vocabulary: the llama2.c tokenizer of the checkpoint
    #[arg(long, value_name = "FILE", help_heading = WHAT)]
    pub tokenizer: PathBuf,
    /// Text to continue
    #[arg(long, default_value = "", value_name = "TEXT", help_heading = WHAT)]
    pub prompt: String,
    /// Positions, prompt included, up to the model's context (default: 256, or the context if that is less)
    #[arg(long, value_parser = whole::<usize>(0, MANY), value_name = "N", help_heading = WHAT)]
    pub steps: Option<usize>,
    /// Engine of attention (default: flash-d, or the design of --config)
    #[arg(long, value_enum, help_heading = WHAT)]
    pub attention: Option<AttentionArg>,
    #[command(flatten)]
    pub selection: Selection,
    /// Text to measure the perplexity on
    #[arg(long, value_name = "FILE", help_heading = DATA)]
    pub text: Option<PathBuf>,
    /// Use the first N tokens of the text only
    #[arg(long, value_parser = whole::<usize>(0, MANY), value_name = "N", help_heading = DATA)]
    pub tokens: Option<usize>,
    /// Also write Q, K and V of every head, for commands with --data
    ///
    /// In f32, with a meta.json. The tokens are the first ones of --text, up to the model's context, or the generated ones.
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub dump: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

/// Help of the cache, with the bounds in force.
fn cache_help() -> String {
    format!(
        "Folder for finished work (default: flashd/ppa in the user's cache folder)\n\n\
         Every mapped module and every timing run is put there when it is finished: an interrupted run continues \
         there when it is repeated, and only power is simulated anew. After a run the program removes entries that \
         were not used for {KEPT_DAYS} days, and beyond {} GiB the least recently used, but no finished work of the \
         last {SPARED_DAYS} days.",
        KEPT_BYTES >> 30
    )
}

fn clock_help() -> String {
    format!(
        "Clock period to meet with the least area, in ns (default: the shortest)\n\n\
         Without it each core is mapped for speed, and the table has its shortest period; with it, the slack at that clock. In both cases \
         every port has an external delay of {} % of the period.",
        100.0 * EXTERNAL_SHARE
    )
}

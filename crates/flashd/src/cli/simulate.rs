//! Arguments of `simulate`.

use super::numbers::{MANY, parse_scale, parse_slope, whole};
use super::{
    AROUND, ArrayArgs, DATA, EngineArg, OUTPUT, RUN, WrapperArgs, align_parser, parse_scale_rule,
    parse_tensor_scale,
};
use clap::Args;
use flashd_simulator::RtlEngine;
use flashd_spec::config::PARTS_RANGE;
use flashd_workload::{CausalAlign, ScaleRule, ScoreScale, TensorScale};
use std::path::PathBuf;

#[derive(Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    pub array: ArrayArgs,
    #[command(flatten)]
    pub around: WrapperArgs,
    /// With --wrapper: cycles from a request to its first beat
    ///
    /// With axis from a request to its value (default: the largest number without stalls), with axi4 for every burst (default: 8).
    #[arg(long, alias = "memory", value_parser = whole::<u64>(0, 10_000), value_name = "CYCLES", help_heading = AROUND, hide_short_help = true)]
    pub memory_latency: Option<u64>,
    /// With --wrapper axi4: the memory sends a beat in N cycles (default: 1)
    #[arg(long, value_parser = whole::<u64>(1, 1000), value_name = "N", help_heading = AROUND, hide_short_help = true)]
    pub memory_gap: Option<u64>,
    /// With --wrapper axi4: the jobs, as JSON, with files of tensors or a seed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["q", "k", "v", "data", "results", "histograms", "causal", "causal_align", "window", "tile", "parts", "lengths", "key_bias", "alibi", "sink", "first_queries", "first_keys", "smooth_k", "vectors"], help_heading = DATA, hide_short_help = true)]
    pub job: Option<PathBuf>,
    /// Queries: .npy of shape [queries, d], or one .npz or .safetensors with q, k and v
    ///
    /// Also [d] and [heads, queries, d]; stacked heads run one after another. Elements are float32, float16, float64, bfloat16, float8_e5m2
    /// or (.safetensors) float8_e4m3fn.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["data", "job"], help_heading = DATA)]
    pub q: Option<PathBuf>,
    /// Instead of files, all heads of a folder; takes --results and runs the model
    ///
    /// meta.json in the folder describes the heads. Each thread has one file at a time in memory, 40 bytes for each element of Q, K and V.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["q", "k", "v", "window", "lengths", "queries", "wrapper", "parts", "tile", "first_queries", "first_keys", "key_index_bits", "key_bias", "alibi", "sink", "o", "vcd", "fst", "pipeline", "vectors", "scale"], help_heading = DATA)]
    pub data: Option<PathBuf>,
    /// With --data: folder for the result and the counts of each head
    ///
    /// <head>-o.npy and <head>.json are written as heads finish. Heads whose results are there, from the same inputs and core, do not run again.
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub results: Option<PathBuf>,
    /// With --engine model: write histograms of scores, arguments and weights as JSON
    #[arg(long, value_name = "FILE", help_heading = OUTPUT, hide_short_help = true)]
    pub histograms: Option<PathBuf>,
    /// Keys: .npy of shape [keys, d] or [heads, keys, d]
    #[arg(long, value_name = "FILE", help_heading = DATA)]
    pub k: Option<PathBuf>,
    /// Values: .npy of shape [keys, d] or [heads, keys, d]
    #[arg(long, value_name = "FILE", help_heading = DATA)]
    pub v: Option<PathBuf>,
    /// A query sees no key after its own position
    ///
    /// With --data in all heads, whatever meta.json says.
    #[arg(long, help_heading = DATA)]
    pub causal: bool,
    /// Positions of queries if their number is not the keys' (default: bottom-right)
    ///
    /// bottom-right puts the last query at the last key, as when a sequence is continued; top-left puts query i at key i, as PyTorch's
    /// scaled_dot_product_attention does with is_causal=True. Positions are in the files, before --first-queries and --first-keys. A query
    /// before the first key sees none, and its result is 0.
    #[arg(long, value_name = "top-left|bottom-right", value_parser = align_parser(), help_heading = DATA, hide_short_help = true)]
    pub causal_align: Option<CausalAlign>,
    /// With --masks: the query at position i sees no key before position i - W + 1
    #[arg(long, value_parser = whole::<usize>(1, MANY), value_name = "W", help_heading = DATA, hide_short_help = true)]
    pub window: Option<usize>,
    /// With --partial: the keys in tiles of N; each tile starts from the state of the one before
    ///
    /// With --queries tiles of a block's keys.
    #[arg(long, value_parser = whole::<usize>(0, MANY), value_name = "N", conflicts_with = "wrapper", help_heading = RUN, hide_short_help = true)]
    pub tile: Option<usize>,
    /// P cores for each query, each with a part of the keys, 2 to 64
    #[arg(long, value_parser = whole::<usize>(PARTS_RANGE.0 as u64, PARTS_RANGE.1 as u64), value_name = "P", conflicts_with_all = ["queries", "tile", "wrapper"], help_heading = AROUND)]
    pub parts: Option<usize>,
    /// With --masks: the number of keys that each query sees, one for all or one for each
    #[arg(long, value_parser = whole::<usize>(0, MANY), value_name = "N,N,...", value_delimiter = ',', help_heading = DATA, hide_short_help = true)]
    pub lengths: Option<Vec<usize>>,
    /// With --bias: a number to add to each score, .npy of shape [keys] or [queries, keys]
    ///
    /// In natural units, after --scale; the same for all heads. -inf hides the key and takes --masks.
    #[arg(long, value_name = "FILE", conflicts_with = "alibi", help_heading = DATA, hide_short_help = true)]
    pub key_bias: Option<PathBuf>,
    /// With --bias: ALiBi, which subtracts SLOPE times the distance of query and key from each score
    ///
    /// --causal-align sets the positions.
    #[arg(long, value_name = "SLOPE", value_parser = parse_slope, allow_negative_numbers = true, help_heading = DATA, hide_short_help = true)]
    pub alibi: Option<f32>,
    /// With --bias: a score that has a weight but no value, one for all heads or one for each
    ///
    /// In natural units. A key of zeros is sent before the others, with this bias and a value of zero.
    #[arg(long, value_name = "S,S,...", value_delimiter = ',', value_parser = parse_slope, allow_negative_numbers = true, help_heading = DATA, hide_short_help = true)]
    pub sink: Option<Vec<f32>>,
    /// Use the first N queries only; they keep their positions
    #[arg(long, value_parser = whole::<usize>(0, MANY), value_name = "N", help_heading = DATA, hide_short_help = true)]
    pub first_queries: Option<usize>,
    /// Use the first N keys only; queries keep their positions
    #[arg(long, value_parser = whole::<usize>(0, MANY), alias = "keys", value_name = "N", help_heading = DATA, hide_short_help = true)]
    pub first_keys: Option<usize>,
    /// Default: compiled
    #[arg(long, value_enum, help_heading = RUN)]
    pub engine: Option<EngineArg>,
    /// Write the results as .npy, shaped as Q
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub o: Option<PathBuf>,
    /// Write a wave as text, and a GTKWave save file next to it
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub vcd: Option<PathBuf>,
    /// The same in GTKWave's compressed format, about a tenth of the size
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub fst: Option<PathBuf>,
    /// Write a chart of the pipeline: a page (.html) or a Konata log (.log)
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub pipeline: Option<PathBuf>,
    /// Signals in the wave: default, all, or patterns with * separated by commas
    #[arg(long, default_value = "default", help_heading = OUTPUT, hide_short_help = true)]
    pub signals: String,
    /// First cycle of the wave, or of the keys in the pipeline chart
    #[arg(long, value_parser = whole::<u64>(0, u64::MAX), default_value_t = 0, value_name = "CYCLE", help_heading = OUTPUT, hide_short_help = true)]
    pub from: u64,
    /// Last cycle of either
    #[arg(long, value_parser = whole::<u64>(0, u64::MAX), value_name = "CYCLE", help_heading = OUTPUT, hide_short_help = true)]
    pub to: Option<u64>,
    /// Write test vectors for other simulators
    #[arg(long, value_name = "FILE", conflicts_with = "wrapper", help_heading = OUTPUT, hide_short_help = true)]
    pub vectors: Option<PathBuf>,
    /// Random gaps in the key stream, with --wrapper in all streams, and noise on idle ports
    #[arg(long, value_parser = whole::<u64>(0, u64::MAX), value_name = "SEED", help_heading = RUN, hide_short_help = true)]
    pub gaps: Option<u64>,
    /// Factor between q . k and the score: auto (1/sqrt(d)), none, or a number
    #[arg(long, value_parser = parse_scale, default_value = "auto", value_name = "auto|none|X", help_heading = DATA, hide_short_help = true)]
    pub scale: ScoreScale,
    /// Powers of two on Q, K and V in narrow formats: auto or none
    #[arg(long, value_parser = parse_tensor_scale, default_value = "auto", value_name = "auto|none", help_heading = DATA, hide_short_help = true)]
    pub tensor_scale: TensorScale,
    /// Rounding of E8M0 scales to powers of two: floor (OCP v1.0), ceil, rceil or even
    #[arg(long, value_parser = parse_scale_rule, default_value = "rceil", value_name = "RULE", help_heading = DATA, hide_short_help = true)]
    pub scale_rule: ScaleRule,
    /// Give the core K minus its mean over the keys, channel by channel
    ///
    /// Softmax does not change, and narrow formats lose less. Errors are still measured against attention on K itself.
    #[arg(long, help_heading = DATA, hide_short_help = true)]
    pub smooth_k: bool,
    /// Print the result as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

impl SimulateArgs {
    /// The engine that runs cycles; none for the model. Where one engine alone is possible, it need not be named.
    pub fn rtl(&self) -> Option<RtlEngine> {
        let model_alone = self.data.is_some() || self.histograms.is_some();
        let default = if model_alone { EngineArg::Model } else { EngineArg::Compiled };
        self.engine.unwrap_or(default).rtl()
    }

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

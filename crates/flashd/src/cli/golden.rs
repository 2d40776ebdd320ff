//! Arguments of `flashd golden`.

use super::numbers::parse_scale;
use super::numbers::{MANY, whole};
use super::{DATA, OUTPUT, RUN, WHAT, align_parser};
use clap::Args;
use clap::builder::PossibleValuesParser;
use flashd_golden::family::ALGORITHMS;
use flashd_workload::{CausalAlign, ScoreScale};
use std::path::PathBuf;

#[derive(Args)]
pub struct GoldenArgs {
    /// Algorithms, by the names that --list prints (default: all)
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', value_parser = names(), hide_possible_values = true, help_heading = WHAT)]
    pub algorithm: Vec<String>,
    /// Print the algorithms with their equations, and the numbered equations of the FLASH-D paper
    #[arg(long, conflicts_with_all = ["algorithm", "q", "k", "v", "data", "n", "d", "seed", "br", "bc", "mask", "causal", "causal_align",
        "scale"], help_heading = WHAT)]
    pub list: bool,
    /// B_r: queries of a block
    #[arg(long, value_parser = whole::<usize>(1, MANY), default_value_t = 64, value_name = "B_R", help_heading = RUN)]
    pub br: usize,
    /// B_c: keys of a block
    #[arg(long, value_parser = whole::<usize>(1, MANY), default_value_t = 64, value_name = "B_C", help_heading = RUN)]
    pub bc: usize,
    /// Queries: .npy of shape [queries, d], or one .npz or .safetensors with q, k and v
    ///
    /// Also [d] and [heads, queries, d]; of stacked heads all are added up.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "n", "d", "seed"], help_heading = DATA)]
    pub q: Option<PathBuf>,
    /// Keys: .npy of shape [keys, d] or [heads, keys, d]
    #[arg(long, value_name = "FILE", requires = "q", help_heading = DATA)]
    pub k: Option<PathBuf>,
    /// Values: .npy of the shape of the keys
    #[arg(long, value_name = "FILE", requires = "q", help_heading = DATA)]
    pub v: Option<PathBuf>,
    /// All heads of a folder, as meta.json there describes them
    #[arg(long, value_name = "DIR", conflicts_with_all = ["n", "d", "seed", "scale", "mask"], help_heading = DATA)]
    pub data: Option<PathBuf>,
    /// Queries and keys of a synthetic head, where there are no files
    #[arg(long, value_parser = whole::<usize>(1, MANY), default_value_t = 256, value_name = "N", help_heading = DATA)]
    pub n: usize,
    /// Its vector length
    #[arg(long, value_parser = whole::<usize>(1, MANY), default_value_t = 64, value_name = "D", help_heading = DATA)]
    pub d: usize,
    /// Its seed
    #[arg(long, value_parser = whole::<u64>(0, u64::MAX), default_value_t = 1, help_heading = DATA)]
    pub seed: u64,
    /// Biases of the scores: .npy of shape [queries, keys], or [keys]
    ///
    /// Any finite numbers, and -inf for a key that its query does not see; [keys] is for all queries.
    #[arg(long, value_name = "FILE", help_heading = DATA)]
    pub mask: Option<PathBuf>,
    /// A query sees no key after its own position
    ///
    /// With --data in all heads, whatever meta.json says.
    #[arg(long, help_heading = DATA)]
    pub causal: bool,
    /// Positions of queries if their number is not the keys' (default: bottom-right)
    #[arg(long, value_name = "top-left|bottom-right", value_parser = align_parser(), help_heading = DATA, hide_short_help = true)]
    pub causal_align: Option<CausalAlign>,
    /// Factor between q . k and the score: auto (1/sqrt(d)), none, or a number
    #[arg(long, value_parser = parse_scale, allow_negative_numbers = true, default_value = "auto", value_name = "auto|none|X", help_heading = DATA, hide_short_help = true)]
    pub scale: ScoreScale,
    /// Print the result as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(ALGORITHMS.iter().map(|algorithm| algorithm.name))
}

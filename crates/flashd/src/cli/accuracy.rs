//! Arguments of `flashd accuracy` and `flashd figure`.

use super::ByArg;
use super::numbers::parse_slope;
use super::numbers::{MANY, SEGMENTS, between, one_of, whole};
use super::parse_scale_rule;
use super::{DATA, OUTPUT, RUN, WHAT};
use clap::{Args, Subcommand};
use flashd_spec::config::{OptionValue, WeightUnit};
use flashd_spec::format::Format;
use flashd_study::lengths::LENGTHS;
use flashd_study::weight::PREVIOUS;
use flashd_workload::ScaleRule;
use std::path::PathBuf;

#[derive(Args)]
pub struct AccuracyArgs {
    /// Folder of attention heads; can be repeated (default: the bundled sample)
    #[arg(long, value_name = "DIR", help_heading = DATA)]
    pub data: Vec<PathBuf>,
    /// Seeded synthetic heads instead
    #[arg(long, value_parser = whole::<u64>(0, u64::MAX), value_name = "SEED", num_args = 0..=1, default_missing_value = "1", conflicts_with = "data", help_heading = DATA)]
    pub synthetic: Option<u64>,
    /// Use every N-th query of a head
    #[arg(long, value_parser = whole::<usize>(1, MANY), default_value_t = 1, value_name = "N", help_heading = DATA)]
    pub every: usize,
    /// Number format; can be repeated (default: all, with --core bf16)
    #[arg(long, value_parser = super::named::format(), hide_possible_values = true, help_heading = WHAT)]
    pub format: Vec<Format>,
    /// A core by its flags, in quotes, or by a file; can be repeated (default: FLASH-D and FA2)
    ///
    /// --core "--design fa2 --accumulator 7" --core configs/flash_d_bf16_d16.json. Flags without a --format are a core
    /// in every --format of the command. Each head sets the vector length. The other cores are compared with the first
    /// FA2 core.
    #[arg(long, value_name = "FLAGS|FILE", allow_hyphen_values = true, help_heading = WHAT)]
    pub core: Vec<String>,
    /// Also the errors with K minus its mean over the keys, and the gain
    #[arg(long, conflicts_with_all = ["no_traces", "channels"], help_heading = RUN)]
    pub smooth_k: bool,
    /// With --no-lengths: heads of a model with ALiBi, which subtracts SLOPE times the distance of query and key from each score
    ///
    /// Cores then have --bias, and exact results include ALiBi.
    #[arg(long, value_name = "SLOPE", value_parser = parse_slope, allow_negative_numbers = true, conflicts_with_all = ["no_traces", "channels"], help_heading = DATA, hide_short_help = true)]
    pub alibi: Option<f32>,
    /// With --no-lengths: heads of a model with a sink, a score that has a weight but no value
    ///
    /// In natural units. A key of zeros is met before the others, with this bias and a value of zero; cores then have --bias.
    #[arg(long, value_name = "S", value_parser = parse_slope, allow_negative_numbers = true, conflicts_with_all = ["no_traces", "channels", "smooth_k"], help_heading = DATA, hide_short_help = true)]
    pub sink: Option<f32>,
    /// Rounding of E8M0 scales to powers of two: floor (OCP v1.0), ceil, rceil or even
    #[arg(long, value_parser = parse_scale_rule, default_value = "rceil", value_name = "RULE", help_heading = RUN, hide_short_help = true)]
    pub scale_rule: ScaleRule,
    /// Grouping of heads in rows of the table
    #[arg(long, value_enum, default_value = "model", help_heading = OUTPUT)]
    pub by: ByArg,
    /// Queries of the first head of each row that also run through the RTL, in lock-step with the model; 0 leaves that out
    #[arg(long, value_parser = whole::<usize>(0, MANY), default_value_t = 2, value_name = "N", help_heading = RUN, hide_short_help = true)]
    pub check: usize,
    /// Numbers of keys for errors over the length
    #[arg(long, value_parser = whole::<usize>(0, MANY), value_delimiter = ',', value_name = "N,..", default_values_t = LENGTHS, help_heading = RUN)]
    pub n: Vec<usize>,
    /// Leave the heads out
    #[arg(long, conflicts_with_all = ["no_lengths", "data", "synthetic", "every", "by", "check", "svg_rows"], help_heading = RUN)]
    pub no_traces: bool,
    /// Leave errors over the length out
    #[arg(long, conflicts_with_all = ["n", "svg"], help_heading = RUN)]
    pub no_lengths: bool,
    /// Instead, errors of small channels next to large ones
    ///
    /// One channel of V, or a tenth of them, is 1 to 4096 times the others. The errors are means over the small channels, each as a fraction of
    /// the channel's max|v|.
    #[arg(long, conflicts_with_all = ["data", "synthetic", "every", "by", "check", "n", "no_traces", "no_lengths", "svg", "svg_rows"], help_heading = RUN)]
    pub channels: bool,
    /// Draw errors over the length
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub svg: Option<PathBuf>,
    /// Draw errors by row
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub svg_rows: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

#[derive(Args)]
pub struct FigureArgs {
    #[command(subcommand)]
    pub figure: Figure,
}

#[derive(Subcommand)]
pub enum Figure {
    /// Fig. 2: FLASH-D's weight over the difference of neighbouring scores, exact and as computed
    Weight(WeightFigureArgs),
}

#[derive(Args)]
pub struct WeightFigureArgs {
    /// Weight unit: the shipped core's, or the paper's ln and sigmoid
    #[arg(long, default_value = "lse", value_parser = WeightUnit::parse, value_name = "lse|paper", help_heading = WHAT)]
    pub weight: WeightUnit,
    /// Number format of the hardware's result
    #[arg(long, default_value = "bf16", value_parser = super::named::float_format(), hide_possible_values = true, help_heading = WHAT)]
    pub format: Format,
    /// Segments of the PWL tables: 4, 8, 16 or 32
    #[arg(long, value_parser = one_of::<u32>(&SEGMENTS), default_value_t = 8, help_heading = WHAT)]
    pub segments: u32,
    #[arg(long, help = previous_help(), value_parser = between(0.0, 1.0), value_delimiter = ',', value_name = "W,..", help_heading = WHAT)]
    pub previous: Vec<f64>,
    /// Drawing (default: rtl-out/weight_UNIT_FORMAT_SEGMENTS.svg)
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub svg: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

fn previous_help() -> String {
    let weights: Vec<String> = PREVIOUS.iter().map(f64::to_string).collect();
    format!(
        "Previous weights, above 0 and below 1 (default: {}, as far as the format has them)",
        weights.join(",")
    )
}

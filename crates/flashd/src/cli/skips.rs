//! Arguments of `flashd skips`.

use super::numbers::{LEAST_PERCENT, MANY, between, whole};
use super::{DATA, OUTPUT, WHAT};
use clap::{Args, ValueEnum};
use flashd_spec::format::Format;
use flashd_study::By;
use flashd_study::skips::{DEFAULT_THRESHOLDS, Rule};
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ByArg {
    /// One head
    Head,
    /// A layer of a model
    Layer,
    /// A prompt of a model
    Prompt,
    /// A model and head dimension
    Model,
}

impl From<ByArg> for By {
    fn from(by: ByArg) -> By {
        match by {
            ByArg::Head => By::Head,
            ByArg::Layer => By::Layer,
            ByArg::Prompt => By::Prompt,
            ByArg::Model => By::Model,
        }
    }
}

#[derive(Args)]
pub struct SkipsArgs {
    /// Folder of attention heads (default: the bundled sample)
    #[arg(long, value_name = "DIR", help_heading = DATA)]
    pub data: Option<PathBuf>,
    /// Use every N-th query of a head
    #[arg(long, value_parser = whole::<usize>(1, MANY), default_value_t = 1, value_name = "N", help_heading = DATA)]
    pub every: usize,
    /// Grouping of heads in rows
    #[arg(long, value_enum, default_value = "model", help_heading = OUTPUT)]
    pub by: ByArg,
    /// Rules to compare (default: the paper's, thresholds, budgets)
    ///
    /// static: the paper's. hold:T, FLASH-D's: x = s - L at most -T. fa2:T: s - m at most -T. growing:T: T + ln n for the
    /// n-th held key. capped:T:KEYS: T for at most KEYS held keys. budget-exact:F[:C] and budget-none:F[:C]: the lost mass stays
    /// below 2^-(F + 2), half an ulp of an accumulator with F fraction bits; a key may take one in 2^C of the rest;
    /// kept keys let the mass decay, or not. budget-shift, budget-jump, budget-never:F[:C[:R]]: the same in a register of R
    /// bits, decay by a shift and a subtraction, by a shift where x is positive, or none.
    #[arg(long, value_name = "RULE,..", value_delimiter = ',', help_heading = WHAT)]
    pub rules: Vec<Rule>,
    /// Thresholds T of FLASH-D's and FA2's hold rule
    #[arg(long, value_name = "T,..", value_delimiter = ',', conflicts_with = "rules", value_parser = parse_threshold,
        default_values_t = DEFAULT_THRESHOLDS, help_heading = WHAT)]
    pub hold: Vec<f64>,
    /// Number format of the cores
    #[arg(long, default_value = "bf16", value_parser = super::named::float_format(), hide_possible_values = true, help_heading = WHAT)]
    pub format: Format,
    /// Added error, in percent of max|v|, that the best rule may have
    #[arg(long, value_parser = between(LEAST_PERCENT, 100.0), default_value_t = 0.1, value_name = "PERCENT", help_heading = OUTPUT)]
    pub limit: f64,
    /// Instead of recorded heads, constructed streams and the worst case of every rule
    #[arg(long, conflicts_with_all = ["data", "every", "by", "limit", "svg"], help_heading = WHAT)]
    pub worst_case: bool,
    /// Draw the added error over the share of value reads saved
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub svg: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

/// A threshold that the cores can have.
fn parse_threshold(text: &str) -> Result<f64, String> {
    match format!("hold:{text}").parse() {
        Ok(Rule::Hold(t)) => Ok(t),
        Ok(_) => Err("no threshold".into()),
        Err(e) => Err(e.to_string()),
    }
}

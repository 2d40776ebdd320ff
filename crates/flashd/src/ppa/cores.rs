//! Which cores are measured.

use crate::cli::{PpaArgs, Selection};
use crate::output::Failure;
use crate::select::{add_core, configuration, parse_core};
use flashd_hwmodel::config::{CoreConfig, D_RANGE};
use flashd_hwmodel::format::Format;

/// The cores asked for; by default the shipped ones but for those that follow the paper to the letter.
pub(super) fn cores(args: &PpaArgs) -> Result<Vec<CoreConfig>, Failure> {
    let s = &args.selection;
    if args.variants {
        let (lo, hi) = D_RANGE;
        let missing = || {
            Failure::input(format!("--d is missing: --variants are those of one vector length, {lo} to {hi}"))
        };
        let all = CoreConfig::variants(s.d.ok_or_else(missing)?, s.format.unwrap_or(Format::BF16));
        for core in &all {
            core.validate().map_err(|e| Failure::input(format!("--{e}")))?;
        }
        return Ok(all);
    }
    if !args.core.is_empty() {
        let mut all: Vec<CoreConfig> = Vec::new();
        for text in &args.core {
            add_core(&mut all, text, named(text, s))?;
        }
        return Ok(all);
    }
    if s.config.is_some() || s.design.is_some() {
        return Ok(vec![configuration(s, None)?]);
    }
    let fits = |c: &CoreConfig| s.d.is_none_or(|d| d == c.d) && s.format.is_none_or(|f| f == c.format);
    let all: Vec<_> =
        CoreConfig::shipped().into_iter().filter(|c| !c.follows_the_paper() && fits(c)).collect();
    match all.is_empty() {
        true => Err(Failure::input("no shipped core has that --d and --format; name a --design")),
        false => Ok(all),
    }
}

/// One core by its flags, which begin with a dash, or by its file.
fn named(text: &str, outer: &Selection) -> Result<CoreConfig, Failure> {
    let mut s = parse_core(text)?;
    if s.config.is_none() {
        s.d = s.d.or(outer.d);
        s.format = s.format.or(outer.format);
    }
    configuration(&s, None)
}

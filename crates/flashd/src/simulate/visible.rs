//! Which keys each query sees, from `--causal`, `--causal-align`, `--window` and `--lengths`.

use crate::cli::SimulateArgs;
use crate::output::Failure;
use flashd_workload::{Attention, Visible};

/// What the flags ask for.
///
/// # Errors
/// `--window` and `--lengths` without masks, lengths that do not fit, and an alignment of nothing.
pub fn visible(args: &SimulateArgs, masks: bool, attention: &Attention) -> Result<Visible, Failure> {
    for (flag, given) in [("--window", args.window.is_some()), ("--lengths", args.lengths.is_some())] {
        if given && !masks {
            return Err(Failure::input(format!("{flag}: takes a core with masks; add --masks")));
        }
    }
    if args.causal_align.is_some() && !args.causal && args.window.is_none() {
        return Err(Failure::input(
            "--causal-align: says where the queries of causal attention or of a window stand; add --causal or --window",
        ));
    }
    let (queries, keys) = (attention.queries, attention.keys);
    let lengths = args.lengths.clone().unwrap_or_default();
    if !lengths.is_empty() && lengths.len() != 1 && lengths.len() != queries {
        return Err(Failure::input(format!(
            "--lengths: {} numbers for {queries} queries; give one for all or one for each",
            lengths.len()
        )));
    }
    if let Some(length) = lengths.iter().find(|&&n| n > keys) {
        return Err(Failure::input(format!(
            "--lengths: {length} is more than the {keys} keys that there are"
        )));
    }
    let align = args.causal_align.unwrap_or_default();
    Ok(Visible { causal: args.causal, align, window: args.window, lengths })
}

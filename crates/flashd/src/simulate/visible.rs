//! Which keys each query sees, from `--causal`, `--window` and `--lengths`.

use crate::cli::SimulateArgs;
use crate::output::Failure;
use flashd_workload::Attention;
use std::ops::Range;

/// A range of the keys for each query of a core with masks; none for other cores. The last query stands at the last
/// key, so that query i stands at `keys - queries + i`.
///
/// # Errors
/// `--window` and `--lengths` without masks, and lengths that do not fit.
pub fn ranges(
    args: &SimulateArgs,
    masks: bool,
    attention: &Attention,
) -> Result<Option<Vec<Range<usize>>>, Failure> {
    let (queries, keys) = (attention.queries, attention.keys);
    if !masks {
        for (flag, given) in [("--window", args.window.is_some()), ("--lengths", args.lengths.is_some())] {
            if given {
                return Err(Failure::input(format!("{flag}: takes a core with masks; add --masks")));
            }
        }
        return Ok(None);
    }
    let lengths = args.lengths.as_deref().unwrap_or_default();
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
    let range = |i: usize| {
        let position = (keys + i).saturating_sub(queries);
        let length = match lengths {
            [] => keys,
            [all] => *all,
            each => each[i],
        };
        let to = if args.causal { length.min(position + 1) } else { length };
        let from = args.window.map_or(0, |w| (position + 1).saturating_sub(w));
        from.min(to)..to
    };
    Ok(Some((0..queries).map(range).collect()))
}

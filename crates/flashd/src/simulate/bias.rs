//! What is added to scores, from `--key-bias` and `--alibi`, and sinks, from `--sink`.

use crate::cli::SimulateArgs;
use crate::output::Failure;
use flashd_simulator::Scenario;
use flashd_workload::{Attention, Bias, Size};
use std::ops::Range;

/// What the flags ask for; nothing without them.
///
/// # Errors
/// A core that adds nothing, and a file that cannot be read or is not of the head's size.
pub fn bias(args: &SimulateArgs, has_bias: bool, attention: &Attention) -> Result<Bias, Failure> {
    let all = [
        ("--key-bias", args.key_bias.is_some()),
        ("--alibi", args.alibi.is_some()),
        ("--sink", args.sink.is_some()),
    ];
    for (flag, given) in all {
        if given && !has_bias {
            return Err(Failure::input(format!("{flag}: takes a core that adds a bias; add --bias")));
        }
    }
    // Of a head that is cut, the file has all, and queries keep their positions.
    let Size { queries, keys } = attention.uncut();
    match (&args.key_bias, args.alibi) {
        (Some(path), _) => Bias::from_npy(path, queries, keys).map_err(|e| Failure::input(e.to_string())),
        (None, Some(slope)) => {
            let positions = attention.positions(args.causal_align.unwrap_or_default());
            Ok(Bias::Alibi { slope, positions })
        }
        (None, None) => Ok(Bias::None),
    }
}

/// The sink of a head by its place among so many.
///
/// # Errors
/// Neither one number nor one for each head.
pub fn sink(args: &SimulateArgs, place: usize, heads: usize) -> Result<Option<f32>, Failure> {
    let Some(sinks) = &args.sink else { return Ok(None) };
    match sinks[..] {
        [one] => Ok(Some(one)),
        _ if sinks.len() == heads => Ok(Some(sinks[place])),
        _ => Err(Failure::input(format!(
            "--sink: {} numbers for {heads} heads; give one for all or one for each",
            sinks.len()
        ))),
    }
}

/// The keys that the queries of an array see, with the sink in front where there is one.
///
/// # Errors
/// A window, which leaves the sink out: an array has one range of keys for each query.
pub fn ranges_with_sink(scenario: &Scenario) -> Result<Vec<Range<usize>>, Failure> {
    let ranges = scenario.ranges();
    if scenario.sink.is_none() {
        return Ok(ranges);
    }
    if ranges.iter().any(|range| range.start > 0) {
        return Err(Failure::input(
            "--window: with --sink and --queries, whose queries see one range of keys; leave one of them out",
        ));
    }
    Ok(ranges.into_iter().map(|range| 0..range.end + 1).collect())
}

//! Biases of scores, from `--key-bias` and `--alibi`, and sinks, from `--sink`.

use crate::cli::SimulateArgs;
use crate::output::Failure;
use flashd_simulator::Scenario;
use flashd_spec::config::CoreConfig;
use flashd_workload::{Attention, Bias, Visible};
use std::ops::Range;
use std::path::Path;

/// The bias that the flags select; none without them. Keys that a file hides are hidden in `visible`.
///
/// # Errors
/// A core without a bias, or without masks for hidden keys, and a file that cannot be read or is not of the head's size.
pub fn bias(
    args: &SimulateArgs,
    core: &CoreConfig,
    attention: &Attention,
    visible: &mut Visible,
) -> Result<Bias, Failure> {
    let all = [
        ("--key-bias", args.key_bias.is_some()),
        ("--alibi", args.alibi.is_some()),
        ("--sink", args.sink.is_some()),
    ];
    for (flag, given) in all {
        if given && !core.bias {
            return Err(Failure::input(format!("{flag}: takes a core that adds a bias; add --bias")));
        }
    }
    match (&args.key_bias, args.alibi) {
        (Some(path), _) => {
            let failure = |e: String| Failure::input(format!("--key-bias {e}"));
            let bias = Bias::from_npy(path, attention, visible).map_err(|e| failure(e.to_string()))?;
            match visible.hidden.iter().position(|&hidden| hidden) {
                Some(at) if !core.masks => {
                    let (query, key) = (at / attention.keys, at % attention.keys);
                    Err(failure(format!(
                        "{}: hides key {key} from query {query}, which takes a core with masks; add --masks",
                        path.display()
                    )))
                }
                _ => Ok(bias),
            }
        }
        (None, Some(slope)) => {
            let positions = attention.positions(args.causal_align.unwrap_or_default());
            Ok(Bias::Alibi { slope, positions })
        }
        (None, None) => Ok(Bias::None),
    }
}

/// The sink of head `place` of `heads`.
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

/// The keys that the queries of an array see.
///
/// # Errors
/// Hidden keys between others: an array has one range of keys for each query.
pub fn ranges(args: &SimulateArgs, scenario: &Scenario) -> Result<Vec<Range<usize>>, Failure> {
    scenario.visible.as_ranges(&scenario.attention).map_err(|(query, key)| {
        Failure::input(format!(
            "--key-bias {}: hides key {key} from query {query} between keys that it sees; with --queries or --wrapper a query sees one range \
             of keys; leave these out",
            args.key_bias.as_deref().unwrap_or(Path::new("")).display()
        ))
    })
}

/// The same with the sink in front where there is one.
///
/// # Errors
/// Also a range that begins later, which leaves the sink out.
pub fn ranges_with_sink(args: &SimulateArgs, scenario: &Scenario) -> Result<Vec<Range<usize>>, Failure> {
    let ranges = ranges(args, scenario)?;
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

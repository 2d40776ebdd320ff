//! What is added to scores, from `--key-bias` and `--alibi`.

use crate::cli::SimulateArgs;
use crate::output::Failure;
use flashd_workload::{Attention, Bias, Size};

/// What the flags ask for; nothing without them.
///
/// # Errors
/// A core that adds nothing, and a file that cannot be read or is not of the head's size.
pub fn bias(args: &SimulateArgs, has_bias: bool, attention: &Attention) -> Result<Bias, Failure> {
    for (flag, given) in [("--key-bias", args.key_bias.is_some()), ("--alibi", args.alibi.is_some())] {
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

//! Which keys each query sees, from `--causal`, `--causal-align`, `--window` and `--lengths`.

use crate::cli::SimulateArgs;
use crate::output::Failure;
use flashd_workload::{AskedVisible, Attention, Visible};

/// The keys that the flags select.
///
/// # Errors
/// `--window` and `--lengths` without masks, lengths that do not fit, and an alignment of nothing.
pub fn visible(args: &SimulateArgs, masks: bool, attention: &Attention) -> Result<Visible, Failure> {
    let asked = AskedVisible {
        causal: args.causal,
        align: args.causal_align,
        window: args.window,
        lengths: args.lengths.clone(),
    };
    asked.of(masks, attention.queries, attention.keys).map_err(Failure::input)
}

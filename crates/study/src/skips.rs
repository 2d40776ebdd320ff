//! How many updates a hold rule skips on recorded heads, and what that costs.
//!
//! A skipped update leaves o and the scalar state as they were and reads no value. Its key has been read by then: the
//! score decides. So a rule saves value reads and the update of d lanes, never the dot product or the key.
//!
//! The *added error* of a rule is the distance between the results with and without it, as a fraction of max|v|. In
//! f64 that is the rule's own error. On the bit-exact model of a core both results are rounded to the core's format, so
//! that it is zero or at least one place of the output.

mod cores;
mod measure;
mod rule;
pub mod worst;

pub use measure::{Figures, GroupSkips, HeadSkips, RuleSkips, Tally, group, measure};
pub use rule::{DEFAULT_THRESHOLDS, Decay, Rule, RuleError, default_rules, default_worst_rules};

/// The share of updates that the paper's Table I reports as skipped by its static rule, smallest and largest.
pub const PAPER_SKIPPED: (f64, f64) = (0.005, 0.028);

/// The first of the rules that save most in a group among those whose largest added error in f64 is below `limit`
/// (a fraction of max|v|) and that `eligible` admits.
pub fn best(group: &GroupSkips, limit: f64, eligible: impl Fn(&RuleSkips) -> bool) -> Option<&RuleSkips> {
    let fits = |r: &&RuleSkips| r.exact.max_error < limit && eligible(r);
    // The last of equals is taken.
    group.rules.iter().rev().filter(fits).max_by(|a, b| a.exact.held.total_cmp(&b.exact.held))
}

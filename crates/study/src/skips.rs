//! Share of steps that a rule holds on recorded heads, and its error.
//!
//! A held step leaves o and the scalar state as they were, and the read of its value is skipped. Its key has been read by then: the
//! score decides. So a rule saves value reads and the update of d lanes, never the dot product or the key.
//!
//! The *added error* of a rule is the distance between the results with and without it, as a fraction of max|v|. In
//! f64 that is the rule's own error. On the bit-exact model of a core both results are rounded to the core's format, so
//! that it is zero or at least one place of the output.

mod cores;
mod measure;
mod rule;
mod tally;
pub mod worst;

pub use measure::{Figures, GroupHolds, HeadHolds, RuleHolds, group, measure};
pub use rule::{DEFAULT_THRESHOLDS, Decay, Rule, RuleError, default_rules, default_worst_rules};
pub use tally::RuleTally;

/// The share of steps that the paper's static rule holds, as its Table I reports, smallest and largest.
pub const PAPER_HELD: (f64, f64) = (0.005, 0.028);

/// The rule that saves most in a group, the first of equals, among rules whose largest added error in f64 is below `limit`
/// (a fraction of max|v|) and that `eligible` admits.
pub fn best(group: &GroupHolds, limit: f64, eligible: impl Fn(&RuleHolds) -> bool) -> Option<&RuleHolds> {
    let fits = |r: &&RuleHolds| r.exact.max_error < limit && eligible(r);
    // The last of equals is taken.
    group.rules.iter().rev().filter(fits).max_by(|a, b| a.exact.held.total_cmp(&b.exact.held))
}

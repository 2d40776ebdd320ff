//! Counts of the actions of rules.

use std::ops::AddAssign;

/// Counts of a rule's decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RuleTally {
    /// Pairs of a query and a key that it sees.
    pub steps: u64,
    /// Steps that left the output and read no value.
    pub held: u64,
    /// Steps that set the output to the value, first keys not counted: the static rule's `D >= 11`.
    pub loaded: u64,
    /// Most keys that were held in one query.
    pub most_held: u64,
    /// Output elements compared.
    pub outputs: u64,
    /// Sum of their added errors, fractions of max|v|.
    pub error_sum: f64,
    /// Largest of them.
    pub error_max: f64,
}

impl AddAssign<&RuleTally> for RuleTally {
    fn add_assign(&mut self, other: &RuleTally) {
        self.steps += other.steps;
        self.held += other.held;
        self.loaded += other.loaded;
        self.most_held = self.most_held.max(other.most_held);
        self.outputs += other.outputs;
        self.error_sum += other.error_sum;
        self.error_max = self.error_max.max(other.error_max);
    }
}

impl RuleTally {
    /// Takes in one query: its steps, how many of them held and loaded, and the added errors of its outputs.
    pub(super) fn query(&mut self, steps: u64, held: u64, loaded: u64, errors: impl Iterator<Item = f64>) {
        self.steps += steps;
        self.held += held;
        self.loaded += loaded;
        self.most_held = self.most_held.max(held);
        for error in errors {
            self.outputs += 1;
            self.error_sum += error;
            self.error_max = self.error_max.max(error);
        }
    }
}

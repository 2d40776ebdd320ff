//! Partial results as wires.

use super::scalars::scalar;
use crate::attention::signals::Signals;
use crate::rtl::Wire;

/// What a part of the keys, or both of two, have made.
#[derive(Clone)]
pub struct State {
    /// Its scalars are here; its accumulators come two cycles later, those of a tree's last merge one cycle.
    pub valid: Wire,
    /// There was no key: the rest means nothing.
    pub empty: Wire,
    /// FLASH-D: the log-sum-exp `lse` and, where the hold rule has a budget, what is left of it, `room`. FA2: the maximum
    /// `m` and the sum `l`.
    pub scalars: Signals,
    /// Accumulators, d words.
    pub o: Vec<Wire>,
}

impl State {
    /// Its sum, FA2.
    pub fn sum(&self) -> Option<Wire> {
        scalar(&self.scalars, "l")
    }
}

//! Machines for which no code is made.

use crate::plan::Plan;

/// Code that there never is.
pub(crate) enum Native {}

/// Runs beside each other.
pub(crate) const BESIDE: usize = 8;

impl Native {
    pub(crate) fn is_possible() -> bool {
        false
    }

    pub(crate) fn new(_plan: &Plan, _memory: &mut Vec<u32>) -> Option<Native> {
        None
    }

    pub(crate) fn beside(_plan: &Plan, _memory: &mut Vec<u32>) -> Option<Native> {
        None
    }

    pub(crate) fn settle(&self, _memory: &mut [u32]) {
        match *self {}
    }

    pub(crate) fn capture(&self, _memory: &mut [u32]) {
        match *self {}
    }
}

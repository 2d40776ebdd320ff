//! Machines for which no code is generated.

use crate::memory::Memory;
use crate::plan::Plan;

pub(crate) const LANES: u32 = 1;

pub(crate) fn is_available() -> bool {
    false
}

/// Code that there never is.
pub(crate) enum Native {}

impl Native {
    pub(crate) fn new(_plan: &Plan, _memory: &mut Vec<u32>, _runs: u32) -> Option<Native> {
        None
    }

    pub(crate) fn settle(&self, _memory: &mut Memory) {
        match *self {}
    }

    pub(crate) fn capture(&self, _memory: &mut Memory) {
        match *self {}
    }
}

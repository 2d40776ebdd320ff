//! Machines for which no code is made.

use crate::memory::Memory;
use crate::plan::Plan;

/// Vectors that there never are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {}

impl Vectors {
    pub(crate) fn available() -> Vec<Vectors> {
        Vec::new()
    }

    pub(crate) fn beside(self) -> usize {
        match self {}
    }
}

impl std::fmt::Display for Vectors {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}

/// Code that there never is.
pub(crate) enum Native {}

impl Native {
    pub(crate) fn new(_plan: &Plan, _memory: &mut Vec<u32>, vectors: Vectors) -> Option<Native> {
        match vectors {}
    }

    pub(crate) fn beside(_plan: &Plan, _memory: &mut Vec<u32>, vectors: Vectors) -> Option<Native> {
        match vectors {}
    }

    pub(crate) fn vectors(&self) -> Vectors {
        match *self {}
    }

    pub(crate) fn settle(&self, _memory: &mut Memory) {
        match *self {}
    }

    pub(crate) fn capture(&self, _memory: &mut Memory) {
        match *self {}
    }
}

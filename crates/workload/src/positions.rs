//! Positions of queries among the keys.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The corner of the causal mask to which the queries are aligned, if the numbers of queries and keys differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CausalAlign {
    /// Query i has the position of key i.
    TopLeft,
    /// The last query has the position of the last key, as when a sequence continues after cached keys.
    #[default]
    BottomRight,
}

impl CausalAlign {
    /// All by name.
    pub const NAMED: [(&'static str, CausalAlign); 2] =
        [("top-left", CausalAlign::TopLeft), ("bottom-right", CausalAlign::BottomRight)];
}

/// The position of a query: the index of a key. Negative positions are before the first key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub i64);

impl Position {
    /// The number of the first `keys` keys up to this position.
    fn reached(self, keys: usize) -> usize {
        usize::try_from(self.0.saturating_add(1)).unwrap_or(0).min(keys)
    }

    /// Of the first `keys` keys those up to this position, and none `window` places or more before it.
    pub fn causal(self, keys: usize, window: Option<usize>) -> Range<usize> {
        let to = self.reached(keys);
        self.from(window).min(to)..to
    }

    /// The first key that is less than `window` places before this position.
    pub(crate) fn from(self, window: Option<usize>) -> usize {
        let window = window.map(|w| i64::try_from(w).unwrap_or(i64::MAX));
        window.map_or(0, |w| usize::try_from(self.0.saturating_add(1).saturating_sub(w)).unwrap_or(0))
    }
}

/// The positions of the queries of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positions {
    first: i64,
}

impl Positions {
    /// Of a head of so many queries and keys, as it is before any of them are left out.
    pub fn new(queries: usize, keys: usize, align: CausalAlign) -> Positions {
        // A vector is shorter than 2^63.
        let first = match align {
            CausalAlign::TopLeft => 0,
            CausalAlign::BottomRight => keys as i64 - queries as i64,
        };
        Positions { first }
    }

    /// Of a query.
    pub fn of(self, query: usize) -> Position {
        Position(self.first.saturating_add(query as i64))
    }
}

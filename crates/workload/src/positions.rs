//! Where queries stand among the keys.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Which corner of the causal mask the queries are set against, where there are not as many queries as keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CausalAlign {
    /// Query i stands at key i.
    TopLeft,
    /// The last query stands at the last key, as where a sequence goes on after keys that are there already.
    #[default]
    BottomRight,
}

impl CausalAlign {
    /// All by name.
    pub const NAMED: [(&'static str, CausalAlign); 2] =
        [("top-left", CausalAlign::TopLeft), ("bottom-right", CausalAlign::BottomRight)];
}

/// Where a query stands: at the key of this number. Below 0 it stands before the first key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub i64);

impl Position {
    /// How many of the first `keys` keys are not behind this position.
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

/// Where the queries of a head stand.
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

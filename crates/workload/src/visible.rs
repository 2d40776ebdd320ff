//! Positions of queries among the keys, and the keys that each of them sees: the one definition, from which masks, cores,
//! arrays, model and reference follow.
//!
//! ```text
//!  3 queries, 5 keys        bottom-right        top-left          5 queries, 3 keys   bottom-right   top-left
//!                           k0 k1 k2 k3 k4      k0 k1 k2 k3 k4                        k0 k1 k2       k0 k1 k2
//!                       q0   x  x  x            x                                 q0                 x
//!                       q1   x  x  x  x         x  x                              q1                 x  x
//!                       q2   x  x  x  x  x      x  x  x                           q2  x              x  x  x
//!                                                                                 q3  x  x           x  x  x
//!                                                                                 q4  x  x  x        x  x  x
//! ```

use crate::positions::CausalAlign;
use crate::tensor::Attention;
use std::ops::Range;

/// Which keys the queries of a head see. The default is all keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visible {
    /// Only keys up to the query's position.
    pub causal: bool,
    /// The positions of the queries; they matter if `causal` or with a `window`.
    pub align: CausalAlign,
    /// Only keys at a distance below this before the query's position.
    pub window: Option<usize>,
    /// Only this number of first keys: none given for no limit, one for all queries or one for each.
    pub lengths: Vec<usize>,
    /// Also hidden from queries, `[queries, keys]`: true for a key that its query does not see. Empty: none.
    pub hidden: Vec<bool>,
}

/// What a user asks for of [`Visible`], as flags or arguments by the same names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedVisible {
    /// Only keys up to the query's own position.
    pub causal: bool,
    /// Where the queries stand.
    pub align: Option<CausalAlign>,
    /// Only keys at a distance below this before the query's position.
    pub window: Option<usize>,
    /// Only the first so many keys.
    pub lengths: Option<Vec<usize>>,
}

impl AskedVisible {
    /// What that is for a head of so many queries and keys, and a core with or without masks.
    ///
    /// # Errors
    /// `--window` and `--lengths` without masks, lengths that do not fit, and an alignment of nothing, by the names of the flags.
    pub fn of(&self, masks: bool, queries: usize, keys: usize) -> Result<Visible, String> {
        for (flag, given) in [("--window", self.window.is_some()), ("--lengths", self.lengths.is_some())] {
            if given && !masks {
                return Err(format!("{flag}: takes a core with masks; add --masks"));
            }
        }
        if self.align.is_some() && !self.causal && self.window.is_none() {
            return Err(
                "--causal-align: says where the queries of causal attention or of a window stand; add --causal or --window".into(),
            );
        }
        let lengths = self.lengths.clone().unwrap_or_default();
        if !lengths.is_empty() && lengths.len() != 1 && lengths.len() != queries {
            return Err(format!(
                "--lengths: {} numbers for {queries} queries; give one for all or one for each",
                lengths.len()
            ));
        }
        if let Some(length) = lengths.iter().find(|&&n| n > keys) {
            return Err(format!("--lengths: {length} is more than the {keys} keys that there are"));
        }
        let align = self.align.unwrap_or_default();
        Ok(Visible { causal: self.causal, align, window: self.window, lengths, hidden: Vec::new() })
    }
}

impl Visible {
    /// Whether a key is hidden from a query of a head of so many keys, whatever its range.
    pub fn hides(&self, query: usize, key: usize, keys: usize) -> bool {
        self.hidden.get(query * keys + key).is_some_and(|&hidden| hidden)
    }

    /// All keys, or, `causal`, those up to the query's own position, the last query being at the last key.
    pub fn new(causal: bool) -> Visible {
        Visible { causal, ..Visible::default() }
    }

    /// The keys that each query of a head sees. Of a head that was cut, positions are those from before.
    ///
    /// # Panics
    /// If there is more than one length, but not one for each query.
    pub fn ranges(&self, head: &Attention) -> Vec<Range<usize>> {
        let positions = head.positions(self.align);
        let range = |i: usize| {
            let keys = match self.lengths[..] {
                [] => head.keys,
                [all] => all.min(head.keys),
                _ => self.lengths[i].min(head.keys),
            };
            let position = positions.of(i);
            match self.causal {
                true => position.causal(keys, self.window),
                false => position.from(self.window).min(keys)..keys,
            }
        };
        (0..head.queries).map(range).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::positions::Position;

    fn seen(queries: usize, keys: usize, align: CausalAlign, window: Option<usize>) -> Vec<Range<usize>> {
        let head = Attention::new(1, vec![0.0; queries], vec![0.0; keys], vec![0.0; keys]);
        Visible { causal: true, align, window, ..Visible::default() }.ranges(&head)
    }

    #[test]
    fn the_drawing_above() {
        use CausalAlign::{BottomRight, TopLeft};
        assert_eq!(seen(3, 5, BottomRight, None), [0..3, 0..4, 0..5]);
        assert_eq!(seen(3, 5, TopLeft, None), [0..1, 0..2, 0..3]);
        assert_eq!(seen(5, 3, BottomRight, None), [0..0, 0..0, 0..1, 0..2, 0..3]);
        assert_eq!(seen(5, 3, TopLeft, None), [0..1, 0..2, 0..3, 0..3, 0..3]);
        assert_eq!(seen(5, 3, BottomRight, Some(2)), [0..0, 0..0, 0..1, 0..2, 1..3]);
        // A position behind the last key has a window that ends there.
        assert_eq!(seen(5, 3, TopLeft, Some(2)), [0..1, 0..2, 1..3, 2..3, 3..3]);
    }

    #[test]
    fn a_cut_moves_no_query() {
        let head = Attention::new(1, vec![0.0; 8], vec![0.0; 8], vec![0.0; 8]);
        let causal = Visible::new(true);
        assert_eq!(causal.ranges(&head.truncated(2, 8)), [0..1, 0..2]);
        assert_eq!(causal.ranges(&head.truncated(8, 6).truncated(5, 3)), [0..1, 0..2, 0..3, 0..3, 0..3]);
        assert_eq!(causal.ranges(&head.truncated(3, 3).pad_to(4)), [0..1, 0..2, 0..3]);
    }

    #[test]
    fn positions_at_the_ends_of_their_range() {
        for (position, keys, window) in
            [(i64::MAX, 4, Some(usize::MAX)), (i64::MIN, 4, None), (-1, 4, Some(1))]
        {
            let range = Position(position).causal(keys, window);
            assert_eq!(range, if position < 0 { 0..0 } else { 0..4 });
        }
    }
}

//! Visible keys over all queries of a head, and the head without unseen rows, which may hold anything.

use crate::tensor::{Attention, TensorError};
use crate::visible::Visible;

/// What of a head has a part in its results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// For each query, whether it sees a key.
    pub queries: Vec<bool>,
    /// For each key, whether some query sees it.
    pub keys: Vec<bool>,
}

impl Visible {
    /// The queries that see a key, and the keys that some query sees.
    pub fn seen(&self, head: &Attention) -> Seen {
        let mut seen = Seen { queries: vec![false; head.queries], keys: vec![false; head.keys] };
        // How many more ranges a key is in than the one before.
        let mut more = vec![0i64; head.keys + 1];
        for (query, range) in self.ranges(head).into_iter().enumerate() {
            if self.hidden.is_empty() {
                seen.queries[query] = !range.is_empty();
                more[range.start] += 1;
                more[range.end] -= 1;
            } else {
                for key in range.filter(|&key| !self.hides(query, key, head.keys)) {
                    (seen.queries[query], seen.keys[key]) = (true, true);
                }
            }
        }
        let mut ranges = 0;
        for (seen, more) in seen.keys.iter_mut().zip(more) {
            ranges += more;
            *seen |= ranges > 0;
        }
        seen
    }

    /// A head with zeros in unseen keys and values, and in queries that see no key, so that scales, means and errors ignore them.
    ///
    /// # Errors
    /// Names the tensor and the first element that is seen and not finite.
    pub fn only_seen(&self, head: Attention) -> Result<Attention, TensorError> {
        let Seen { queries, keys } = self.seen(&head);
        head.keep(&queries, &keys)
    }

    /// The visible keys as ranges, for arrays, which have no mask for each key; `Err` names a query and a hidden key inside its range.
    ///
    /// # Errors
    /// The first query whose keys are no range, and the first hidden one between them.
    pub fn as_ranges(&self, head: &Attention) -> Result<Vec<std::ops::Range<usize>>, (usize, usize)> {
        if self.hidden.is_empty() {
            return Ok(self.ranges(head));
        }
        let range = |(query, range): (usize, std::ops::Range<usize>)| {
            let sees = |key: &usize| !self.hides(query, *key, head.keys);
            let Some(first) = range.clone().find(sees) else { return Ok(range.start..range.start) };
            let last = range.rev().find(sees).unwrap_or(first);
            match (first..=last).find(|key| !sees(key)) {
                Some(hidden) => Err((query, hidden)),
                None => Ok(first..last + 1),
            }
        };
        self.ranges(head).into_iter().enumerate().map(range).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::positions::CausalAlign;

    #[test]
    fn a_key_is_seen_if_one_query_sees_it() {
        let head = |queries: usize, keys: usize| {
            Attention::new(1, vec![0.0; queries], vec![0.0; keys], vec![0.0; keys])
        };
        let mut cases = Vec::new();
        for (queries, keys) in [(1, 1), (3, 5), (5, 3), (4, 4)] {
            for align in [CausalAlign::TopLeft, CausalAlign::BottomRight] {
                for window in [None, Some(1), Some(2), Some(9)] {
                    for causal in [false, true] {
                        for lengths in
                            [vec![], vec![1], (0..queries).map(|i| (2 * i + 1) % (keys + 1)).collect()]
                        {
                            for every in [0, 2, 3] {
                                let hidden = (0..if every == 0 { 0 } else { queries * keys })
                                    .map(|i| i % every.max(1) == 0);
                                let visible = Visible {
                                    causal,
                                    align,
                                    window,
                                    lengths: lengths.clone(),
                                    hidden: hidden.collect(),
                                };
                                cases.push((queries, keys, visible));
                            }
                        }
                    }
                }
            }
        }
        for (queries, keys, visible) in cases {
            let head = head(queries, keys);
            let ranges = visible.ranges(&head);
            let sees =
                |query: usize, key: usize| ranges[query].contains(&key) && !visible.hides(query, key, keys);
            let expected = Seen {
                queries: (0..queries).map(|query| (0..keys).any(|key| sees(query, key))).collect(),
                keys: (0..keys).map(|key| (0..queries).any(|query| sees(query, key))).collect(),
            };
            assert_eq!(visible.seen(&head), expected, "{visible:?}");
            if let Ok(ranges) = visible.as_ranges(&head) {
                for (query, range) in ranges.iter().enumerate() {
                    assert!((0..keys).all(|key| range.contains(&key) == sees(query, key)), "{visible:?}");
                }
            }
        }
    }
}

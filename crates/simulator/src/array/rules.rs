//! The protocol of an array in cycle numbers, independent of the hardware's flags.
//!
//! * A query is taken unless the next block has all its queries: B of them, or fewer and `q_last`.
//! * The cores take over a complete block in the cycle of the previous block's last key, or in the first cycle in which
//!   it is complete. Its first key is taken in the cycle after that.
//! * After a block of `n` queries, a last key is taken at least `n` cycles after the block's last key: results leave
//!   one a cycle.

use std::collections::VecDeque;

/// A query by block and place, as the driver numbers them.
pub type QueryId = (usize, usize);

/// Transfers of a cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// A query is taken.
    pub query: bool,
    /// A key begins its turns with these queries. If no queries take turns, it is taken.
    pub key: Option<Vec<QueryId>>,
    /// The turns of a key end: it is taken.
    pub key_taken: bool,
    /// It is their last.
    pub end: bool,
}

/// State of a stream.
#[derive(Clone, Debug)]
pub struct ArrayRules {
    most: usize,
    /// Queries that take turns in a core, and the first cycle of turn 0.
    turns: u64,
    origin: Option<u64>,
    /// The key on the port was there in turn 0.
    going: bool,
    /// The next block so far, and the first cycle in which it is complete.
    loading: VecDeque<QueryId>,
    complete_from: Option<u64>,
    /// The block whose keys come, and the first cycle for one.
    running: Option<(Vec<QueryId>, u64)>,
    /// The round of turns of the last block's last key, and its number of queries.
    ended: Option<(u64, usize)>,
}

impl ArrayRules {
    /// Blocks of at most `most` queries, of which `turns` take turns in a core, after reset.
    pub fn new(most: usize, turns: usize) -> Self {
        ArrayRules {
            most,
            turns: turns as u64,
            origin: None,
            going: false,
            loading: VecDeque::new(),
            complete_from: None,
            running: None,
            ended: None,
        }
    }

    /// The round of turns, and the turn of a cycle; the first one after reset is turn 0.
    fn turn(&mut self, cycle: u64) -> (u64, u64) {
        let since = cycle - *self.origin.get_or_insert(cycle);
        (since / self.turns, since % self.turns)
    }

    /// Whether the array has a block and room for its results.
    fn is_open(&mut self, cycle: u64, k_last: bool) -> bool {
        let (round, _) = self.turn(cycle);
        let key_possible = self.running.as_ref().is_some_and(|(_, from)| cycle >= *from);
        let rounds = |results: usize| (results as u64).div_ceil(self.turns);
        let room_for_results = self.ended.is_none_or(|(end, results)| round - end >= rounds(results));
        key_possible && (room_for_results || !k_last)
    }

    /// `q_ready` and `k_ready` of a cycle in which the key port carries this `k_last`.
    pub fn ready(&mut self, cycle: u64, k_last: bool) -> (bool, bool) {
        let (_, turn) = self.turn(cycle);
        let q_ready = self.complete_from.is_none() && self.loading.len() as u64 % self.turns == turn;
        let last = turn + 1 == self.turns && (self.turns == 1 || self.going);
        (q_ready, last && self.is_open(cycle, k_last))
    }

    /// Computes the transfers of a cycle with these offers: `query` with its `q_last`, and `k_last` of a key.
    pub fn advance(&mut self, cycle: u64, query: Option<(QueryId, bool)>, key: Option<bool>) -> Taken {
        let (q_ready, k_ready) = self.ready(cycle, key == Some(true));
        let open = self.is_open(cycle, key == Some(true));
        let (round, turn) = self.turn(cycle);
        let mut taken = Taken::default();
        // The block had all its queries when the round began.
        let complete = self.complete_from.is_some_and(|from| cycle - turn >= from);
        if let (Some(last), Some((queries, _)), true) = (key, &self.running, open) {
            if turn == 0 {
                taken.key = Some(queries.clone());
                taken.end = last;
            }
            taken.key_taken = k_ready;
            if last && k_ready {
                self.ended = Some((round, queries.len()));
                self.running = None;
            }
        }
        self.going = key.is_some() && (turn == 0 || self.going);
        if complete && self.running.is_none() && turn + 1 == self.turns {
            self.running = Some((self.loading.drain(..).collect(), cycle + 1));
            self.complete_from = None;
        }
        if let (Some((id, last)), true) = (query, q_ready) {
            taken.query = true;
            self.loading.push_back(id);
            if last || self.loading.len() == self.most {
                self.complete_from = Some(cycle + 1);
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashd_spec::config::ArrayConfig;

    /// Cycles between last keys when neither source pauses.
    fn periods(most: usize, blocks: &[(usize, usize)]) -> Vec<u64> {
        let mut rules = ArrayRules::new(most, 1);
        let (mut query, mut key) = ((0, 0), (0, 0));
        let mut ends = Vec::new();
        for cycle in 0..10_000 {
            let offered = blocks.get(query.0).map(|b| (query, query.1 + 1 == b.0));
            let last = blocks.get(key.0).map(|b| key.1 + 1 == b.1);
            let taken = rules.advance(cycle, offered, last);
            if taken.query {
                query = if offered.is_some_and(|o| o.1) { (query.0 + 1, 0) } else { (query.0, query.1 + 1) };
            }
            if taken.key_taken {
                key = if taken.end { (key.0 + 1, 0) } else { (key.0, key.1 + 1) };
            }
            if taken.end {
                ends.push(cycle);
            }
        }
        assert_eq!(ends.len(), blocks.len());
        ends.windows(2).map(|w| w[1] - w[0]).collect()
    }

    #[test]
    fn the_closed_formula_holds() {
        for queries in [1, 2, 3, 8, 64] {
            for keys in [1, 2, 3, 7, 8, 9, 10, 63, 64, 65, 66, 100] {
                let expected = ArrayConfig::cycles_per_block(queries, keys) as u64;
                let measured = periods(queries, &[(queries, keys); 5]);
                assert!(measured.iter().all(|p| *p == expected), "{queries} {keys}: {measured:?}");
                // Fewer queries than cores: the same formula.
                assert_eq!(periods(64, &[(queries, keys); 5]), measured);
            }
        }
    }

    #[test]
    fn a_small_block_waits_for_the_results_of_a_large_one() {
        // The second block could end three cycles after the first: it has been loaded in time.
        // The third was loaded while the second waited.
        assert_eq!(periods(8, &[(8, 30), (1, 3), (1, 1)]), [8, 1]);
        assert_eq!(periods(8, &[(8, 30), (1, 12)]), [12]);
    }
}

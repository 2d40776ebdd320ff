//! Stimulus of a core: queries, and the keys that each sees.

use super::vectors::Vectors;
use flashd_golden::{
    Biases, Head, Masked, Model, Monitor, PartialState, QueryResult, VectorModel, VectorRun, v_exponent,
    values_exponent,
};
use flashd_spec::config::CoreConfig;
use flashd_spec::format::{Format, Words};
use std::ops::Range;

/// One query and the keys it attends to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// d encodings, and the words of their scales.
    pub q: Vec<u64>,
    /// First key; 0 but for tiles of keys.
    pub from: usize,
    /// Keys `from..keys`. A query with neither a key nor a partial result is not sent to a core. Its result is zeros and
    /// [`QueryResult::empty`], as if all its keys were masked.
    pub keys: usize,
    /// The partial result that the query starts from, in a core with partial results.
    pub restore: Option<PartialState>,
    /// Exponent field of max|v| that fixed-point lanes can hold in this query.
    pub v_exponent: u64,
    /// Keys that the query does not see, from the first; it sees those for which nothing is said.
    pub masked: Vec<bool>,
    /// Biases of the scores, from the first key on, encodings of [`BIAS`](flashd_spec::numerics::BIAS); zero where none is given.
    pub biases: Vec<u64>,
}

impl Query {
    /// Steps that the query takes: its partial result, if it starts from one, and its keys.
    pub fn steps(&self) -> usize {
        self.restores() + self.keys - self.from
    }

    /// The key of a step; None for the partial result.
    pub fn key(&self, step: usize) -> Option<usize> {
        Some(self.from + step.checked_sub(self.restores())?)
    }

    /// Whether there is anything to send to a core.
    pub(crate) fn is_sent(&self) -> bool {
        self.steps() > 0
    }

    fn restores(&self) -> usize {
        self.restore.is_some().into()
    }

    /// Whether the query does not see a key.
    pub fn masks(&self, key: usize) -> bool {
        self.masked.get(key).is_some_and(|&masked| masked)
    }

    /// The bias of a key's score.
    pub fn bias(&self, key: usize) -> u64 {
        self.biases.get(key).copied().unwrap_or(0)
    }
}

/// Stimulus of a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Words of a query, a key and a value.
    pub words: Words,
    /// Queries, one after another.
    pub queries: Vec<Query>,
    /// Keys, `[keys, words.k]`.
    pub k: Vectors,
    /// Values, `[keys, words.v]`.
    pub v: Vectors,
}

impl Workload {
    /// Every query against all keys, without scales. The exponent is computed from the values, which are in `format`.
    pub fn new(format: Format, lengths: impl Into<Words>, q: &[u64], k: &[u64], v: &[u64]) -> Self {
        let (k, v_exponent) = (k.to_vec().into(), v_exponent(format, v));
        Workload::with_exponent(lengths.into(), v_exponent, q, k, v.to_vec().into())
    }

    /// Every query against all keys, as on the ports of a core.
    pub fn of_core(config: &CoreConfig, q: &[u64], k: &[u64], v: &[u64]) -> Self {
        Workload::of_vectors(config, q, k.to_vec().into(), v.to_vec().into())
    }

    /// The same with keys and values that may be made on demand.
    pub fn of_vectors(config: &CoreConfig, q: &[u64], k: Vectors, v: Vectors) -> Self {
        let v_exponent = values_exponent(config, &v);
        Workload::with_exponent(config.port_words(), v_exponent, q, k, v)
    }

    fn with_exponent(words: Words, v_exponent: u64, q: &[u64], k: Vectors, v: Vectors) -> Self {
        let keys = k.len() / words.k;
        let query = |q: &[u64]| Query { q: q.to_vec(), keys, v_exponent, ..Query::default() };
        Workload { words, queries: q.chunks_exact(words.q).map(query).collect(), k, v }
    }

    /// The same keys for every query; each sees only a range of them: for cores with masks.
    #[must_use]
    pub fn with_ranges(mut self, ranges: &[Range<usize>]) -> Self {
        for (query, range) in self.queries.iter_mut().zip(ranges) {
            query.masked = (0..query.keys).map(|key| !range.contains(&key)).collect();
        }
        self
    }

    /// The same with more keys that queries do not see, by the numbers of query and key: for cores with masks.
    #[must_use]
    pub fn with_hidden(mut self, hides: impl Fn(usize, usize) -> bool) -> Self {
        for (i, query) in self.queries.iter_mut().enumerate() {
            query.masked = (0..query.keys).map(|key| query.masks(key) || hides(i, key)).collect();
        }
        self
    }

    /// Adds biases, given by the numbers of query and key: for cores with a bias.
    #[must_use]
    pub fn with_biases(mut self, bias: impl Fn(usize, usize) -> u64) -> Self {
        for (i, query) in self.queries.iter_mut().enumerate() {
            query.biases = (0..query.keys).map(|key| bias(i, key)).collect();
        }
        self
    }

    /// The same with a sink in front of all keys: a key and a value of zeros, whose score is this bias, for cores with a bias. It has a
    /// weight, and no value: the state begins with `L = sink` or `m = sink, l = 1`, and `o = 0`.
    #[must_use]
    pub fn with_sink(mut self, bias: u64) -> Self {
        self.k = self.k.after_zeros(self.words.k);
        self.v = self.v.after_zeros(self.words.v);
        for query in &mut self.queries {
            query.keys += 1;
            query.biases.insert(0, bias);
            if !query.masked.is_empty() {
                query.masked.insert(0, false);
            }
        }
        self
    }

    /// Limits each query to its first keys, `lengths` of them: for cores without masks.
    #[must_use]
    pub fn with_lengths(mut self, lengths: impl IntoIterator<Item = usize>) -> Self {
        for (query, length) in self.queries.iter_mut().zip(lengths) {
            query.keys = length;
        }
        self
    }

    /// The first query that is sent to a core, from this one on; their number if none is.
    pub(super) fn sent_from(&self, query: usize) -> usize {
        (query..self.queries.len()).find(|&i| self.queries[i].is_sent()).unwrap_or(self.queries.len())
    }

    /// Steps over all queries.
    pub fn steps(&self) -> usize {
        self.queries.iter().map(Query::steps).sum()
    }

    /// The most keys that a query sees: masked ones do not count.
    pub fn longest(&self) -> usize {
        let seen = |query: &Query| (query.from..query.keys).filter(|&key| !query.masks(key)).count();
        self.queries.iter().map(seen).max().unwrap_or(0)
    }

    /// Keys per query.
    pub fn lengths(&self) -> Vec<usize> {
        self.queries.iter().map(|q| q.keys).collect()
    }

    /// Exponent field per query.
    pub fn v_exponents(&self) -> Vec<u64> {
        self.queries.iter().map(|q| q.v_exponent).collect()
    }

    /// Keys that queries do not see, over all queries.
    pub fn masked(&self) -> usize {
        self.queries.iter().map(|q| (q.from..q.keys).filter(|&key| q.masks(key)).count()).sum()
    }

    /// Whether something is added to scores.
    pub fn is_biased(&self) -> bool {
        self.queries.iter().any(|query| !query.biases.is_empty())
    }

    /// Runs a model on the workload.
    pub fn results(&self, model: &Model, record: bool) -> Vec<QueryResult> {
        self.with_head(|head| model.run(Head { record, ..head }))
    }

    /// Shows a model's run of this workload to a monitor.
    pub fn run_model(&self, model: &VectorModel, monitor: Monitor) -> VectorRun {
        self.with_head(|head| model.run_monitored(head, monitor))
    }

    /// Passes the workload to a model as a head.
    pub(crate) fn with_head<T>(&self, run: impl FnOnce(Head) -> T) -> T {
        self.with_some(0..self.queries.len(), run)
    }

    /// The same with some of the queries.
    pub(crate) fn with_some<T>(&self, some: Range<usize>, run: impl FnOnce(Head) -> T) -> T {
        let queries = &self.queries[some];
        let masked = |query: usize, key: usize| queries[query].masks(key);
        let any = queries.iter().any(|q| q.masked.contains(&true));
        let bias = |query: usize, key: usize| queries[query].bias(key);
        let q: Vec<u64> = queries.iter().flat_map(|q| q.q.iter().copied()).collect();
        let from: Vec<usize> = queries.iter().map(|q| q.from).collect();
        let lengths: Vec<usize> = queries.iter().map(|q| q.keys).collect();
        let exponents: Vec<u64> = queries.iter().map(|q| q.v_exponent).collect();
        let restored: Vec<_> = queries.iter().map(|q| q.restore.clone()).collect();
        run(Head {
            from: &from,
            masked: any.then_some(&masked as Masked),
            biases: self.is_biased().then_some(&bias as Biases),
            restored: &restored,
            ..Head::new(&q, &self.k, &self.v, &lengths).with_exponents(&exponents)
        })
    }

    /// Splits each query's keys into tiles of at most `tile` keys: each tile is a query that starts from the state of the previous tile.
    /// `model` must describe a core with partial results.
    ///
    /// # Panics
    /// If `tile` is 0 or the core has no partial results.
    #[must_use]
    pub fn tiled(&self, model: &Model, tile: usize) -> Workload {
        self.tiled_by(tile, |round| round.results(model, false))
    }

    /// [`Workload::tiled`] with states from whatever gives results: of a tile of each query that has one left.
    ///
    /// # Panics
    /// As there.
    #[must_use]
    pub fn tiled_by(&self, tile: usize, run: impl Fn(&Workload) -> Vec<QueryResult>) -> Workload {
        assert!(tile > 0, "a tile must have keys");
        let tiles = |query: &Query| query.keys.saturating_sub(query.from).div_ceil(tile);
        let most = self.queries.iter().map(tiles).max().unwrap_or(0);
        let mut states: Vec<Option<PartialState>> = self.queries.iter().map(|q| q.restore.clone()).collect();
        let mut queries: Vec<Vec<Query>> = vec![Vec::new(); self.queries.len()];
        let mut round = self.clone();
        for n in 0..most {
            // A long query is not the reason to run the short ones in each of its rounds.
            let has_tile = |(_, query): &(usize, &Query)| query.from + n * tile < query.keys;
            let of_query = |(i, query): (usize, &Query)| {
                let from = query.from + n * tile;
                let keys = (from + tile).min(query.keys);
                (i, Query { from, keys, restore: states[i].take(), ..query.clone() })
            };
            let (places, tiles): (Vec<usize>, Vec<Query>) =
                self.queries.iter().enumerate().filter(has_tile).map(of_query).unzip();
            round.queries = tiles;
            let results = run(&round);
            for ((i, query), result) in places.into_iter().zip(round.queries.drain(..)).zip(results) {
                states[i] = result.state;
                queries[i].push(query);
            }
        }
        Workload { queries: queries.into_iter().flatten().collect(), ..self.clone() }
    }

    /// For each of the queries in whole, its last tile's place among `tiled` ones.
    pub fn last_tiles(&self, tile: usize) -> Vec<usize> {
        let tiles = self.queries.iter().map(|q| (q.keys - q.from).div_ceil(tile));
        tiles
            .scan(0, |end, n| {
                Some({
                    *end += n;
                    *end - 1
                })
            })
            .collect()
    }

    /// All queries, `[queries, d]`.
    pub fn q(&self) -> Vec<u64> {
        self.queries.iter().flat_map(|q| q.q.iter().copied()).collect()
    }
}

//! Directed queries: each detects an off-by-one change of a table's coefficient or of a limit. Other streams detect these by chance.
//!
//! A model with such a change takes nearly the same steps: a weight, an argument or a sum differs only where the change crosses a
//! rounding. Queries of a few keys, with scores over a core's whole range, are tried in turn against models that have all undetected
//! changes at once; a query that detects any is kept. Where a table has more arguments than scores have distances, the search evaluates
//! the table itself for arguments at which a change is visible, and makes queries that reach them.

mod candidates;
mod changes;
mod reach;
mod rows;

use candidates::{at_limits, candidates};
use changes::ChangeKind;
use flashd_golden::{Model, Step};
use flashd_spec::config::CoreConfig;
use flashd_spec::numerics::Numerics;
use rand_chacha::ChaCha8Rng;
use rows::ScoreRows;

/// Keys of a query at most.
pub(super) const MOST_KEYS: usize = 4;
/// Queries of a batch; undetected changes are updated after each.
const BATCH: usize = 1000;

/// Coverage of the search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Coverage {
    /// Changes by one of a coefficient or a limit.
    pub changes: usize,
    /// Changes that a query of the stream detects.
    pub shown: usize,
    /// Queries that were tried.
    pub tried: usize,
}

/// Queries of a search.
pub(super) struct Directed {
    /// The query vector, the same of all.
    pub(super) q: Vec<u64>,
    /// Keys of all queries, one query after another.
    pub(super) k: Vec<u64>,
    /// Keys of each query.
    pub(super) lengths: Vec<usize>,
    pub(super) coverage: Coverage,
}

/// Natural scores of a query's keys.
type Scores = Vec<f64>;

/// Whether two models differ in what of a query can be seen from outside or is compared inside.
fn differ(models: [&Model; 2], steps: [&[Step]; 2]) -> bool {
    let end = |i: usize| steps[i].last().and_then(|step| step.l).map(|l| models[i].reciprocal(l));
    steps[0] != steps[1] || end(0) != end(1)
}

/// Looks for queries of a core.
pub(super) fn directed(config: &CoreConfig, rng: &mut ChaCha8Rng) -> Directed {
    let mut search = DirectedSearch::new(config);
    search.keep(&at_limits(config));
    search.among(&candidates(config, &search.numerics, rng));
    let reaching = reach::queries(&search, rng);
    search.among(&reaching);
    let DirectedSearch { rows, k, lengths, coverage, .. } = search;
    Directed { q: rows.q, k, lengths, coverage }
}

/// A search, as far as it has come.
struct DirectedSearch<'a> {
    config: &'a CoreConfig,
    numerics: Numerics,
    original: Model,
    rows: ScoreRows,
    /// Changes that no query has detected so far.
    kinds: Vec<ChangeKind>,
    k: Vec<u64>,
    lengths: Vec<usize>,
    coverage: Coverage,
}

impl<'a> DirectedSearch<'a> {
    fn new(config: &'a CoreConfig) -> DirectedSearch<'a> {
        let numerics = Numerics::new(config);
        let kinds = ChangeKind::all(&numerics, config);
        let changes = kinds.iter().map(|kind| kind.left.len()).sum();
        DirectedSearch {
            config,
            original: Model::new(config),
            rows: ScoreRows::new(config),
            kinds,
            k: Vec::new(),
            lengths: Vec::new(),
            coverage: Coverage { changes, ..Coverage::default() },
            numerics,
        }
    }

    /// The model with a change of these entries.
    fn changed(&self, kind: &ChangeKind, entries: &[usize]) -> Model {
        Model::new(self.config).with_numerics(kind.changed(&self.numerics, entries))
    }

    /// The keys of a query.
    fn keys(&self, scores: &[f64]) -> Vec<u64> {
        scores.iter().flat_map(|&score| self.rows.key(score)).collect()
    }

    /// Takes queries, whatever they show.
    fn keep(&mut self, queries: &[Scores]) {
        for scores in queries {
            self.k.extend(self.keys(scores));
            self.lengths.push(scores.len());
        }
    }

    /// Tries queries in turn, and keeps each that detects a new change.
    fn among(&mut self, queries: &[Scores]) {
        for batch in queries.chunks(BATCH) {
            self.kinds.retain(|kind| !kind.left.is_empty());
            if self.kinds.is_empty() {
                break;
            }
            let kept = self.try_batch(batch);
            for (scores, kept) in batch.iter().zip(kept) {
                if kept {
                    self.keep(std::slice::from_ref(scores));
                }
            }
        }
    }

    /// Which of some queries are to be taken.
    fn try_batch(&mut self, batch: &[Scores]) -> Vec<bool> {
        self.coverage.tried += batch.len();
        let keys: Vec<u64> = batch.iter().flat_map(|scores| self.keys(scores)).collect();
        let dots = self.original.dots(&self.rows.q, &keys);
        let mut rest = dots.as_slice();
        let mut queries: Vec<&[f64]> = Vec::with_capacity(batch.len());
        for scores in batch {
            let (query, behind) = rest.split_at(scores.len());
            queries.push(query);
            rest = behind;
        }
        let good = self.original.scalar_steps(&queries);
        // Which of some queries a model with changes takes in another way.
        let differing = |model: &Model, among: Vec<usize>| -> Vec<usize> {
            let chosen: Vec<&[f64]> = among.iter().map(|&i| queries[i]).collect();
            let bad = model.scalar_steps(&chosen);
            let different = |&(n, i): &(usize, usize)| differ([&self.original, model], [&good[i], &bad[n]]);
            among.into_iter().enumerate().filter(different).map(|(_, i)| i).collect()
        };
        let mut kept = vec![false; queries.len()];
        let mut still_left = Vec::with_capacity(self.kinds.len());
        for kind in &self.kinds {
            let by_any = differing(&self.changed(kind, &kind.left), (0..queries.len()).collect());
            let mut left = Vec::new();
            for &entry in &kind.left {
                let by_this = differing(&self.changed(kind, &[entry]), by_any.clone());
                // One that is kept already serves, too.
                match by_this.iter().copied().find(|&i| kept[i]).or(by_this.first().copied()) {
                    Some(i) => kept[i] = true,
                    None => left.push(entry),
                }
            }
            self.coverage.shown += kind.left.len() - left.len();
            still_left.push(left);
        }
        for (kind, left) in self.kinds.iter_mut().zip(still_left) {
            kind.left = left;
        }
        kept
    }
}

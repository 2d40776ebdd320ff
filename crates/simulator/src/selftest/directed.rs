//! Queries that are looked for: each shows a change by one of a table's coefficient, or of a limit, which other streams meet by chance.
//!
//! The model with such a change takes the same steps but in few places: a weight, a score's argument or a sum has another bit only where
//! the change crosses a rounding. Queries of a few keys, with scores over all that a core tells apart, are tried in turn against
//! models that have all the changes at once which no query has shown so far; a query that shows any is kept.

use flashd_golden::{Model, Step};
use flashd_hwmodel::config::{CoreConfig, Design, Dot, WeightUnit};
use flashd_hwmodel::numerics::Numerics;
use flashd_hwmodel::pwl::Table;
use flashd_workload::quantise::{round_to, round_value};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::f64::consts::LN_2;
use std::sync::Arc;

/// Keys of a query: the first sets the state, the second is one of a table's arguments, and the third shows what that made of the
/// state.
pub(super) const KEYS: usize = 3;
/// Queries that are tried at most.
const TRIED: usize = 48_000;
/// Queries between two looks at what is left.
const BATCH: usize = 1000;
/// Octaves beyond the last one of a table: there its own entries serve.
const BEYOND: u32 = 2;
/// Axes that a score is spread over, and how much finer the last one is, where there is one to spare.
const AXES: usize = 4;
const FINER: f64 = 1.0 / 128.0;

/// What was looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Coverage {
    /// Changes by one of a coefficient or a limit.
    pub changes: usize,
    /// Those that a query of the stream shows.
    pub shown: usize,
    /// Queries that were tried.
    pub tried: usize,
}

/// Queries of a search, of [`KEYS`] keys each.
pub(super) struct Directed {
    /// The query vector, the same of all.
    pub(super) q: Vec<u64>,
    /// Keys of all queries, one query after another.
    pub(super) k: Vec<u64>,
    pub(super) coverage: Coverage,
}

/// A table of the numerics.
#[derive(Clone, Copy)]
enum Place {
    Exp,
    Sigmoid,
    Log2p1,
    Ln,
    PaperSigmoid,
    Reciprocal,
}

impl Place {
    /// The tables that a core has.
    fn of_core(config: &CoreConfig) -> &'static [Place] {
        match (config.design, config.weight) {
            (Design::FlashD, WeightUnit::Lse) => &[Place::Sigmoid, Place::Log2p1],
            (Design::FlashD, WeightUnit::Paper) => &[Place::PaperSigmoid, Place::Ln],
            (Design::Fa2, _) => &[Place::Exp, Place::Reciprocal],
        }
    }

    fn of(self, n: &mut Numerics) -> &mut Arc<Table> {
        match self {
            Place::Exp => &mut n.exp.exp,
            Place::Sigmoid => &mut n.exp.sigmoid,
            Place::Log2p1 => &mut n.exp.log2p1,
            Place::Ln => &mut n.exp.ln,
            Place::PaperSigmoid => &mut n.exp.paper_sigmoid,
            Place::Reciprocal => &mut n.reciprocal.table,
        }
    }
}

/// A kind of change: everything of it that is left is made at once.
struct Kind {
    what: What,
    /// Entries that no query has shown so far; of a limit there is one.
    left: Vec<usize>,
}

#[derive(Clone, Copy)]
enum What {
    /// A table, its offsets (0) or slopes (1), up or down.
    Coefficients(Place, usize, i64),
    /// The hold threshold, up or down.
    Threshold(i64),
}

impl Kind {
    /// All changes of what a core has.
    fn all(numerics: &Numerics, config: &CoreConfig) -> Vec<Kind> {
        let mut kinds = Vec::new();
        for &place in Place::of_core(config) {
            for (which, change) in [(0, 1), (0, -1), (1, 1), (1, -1)] {
                let table = place.of(&mut numerics.clone()).clone();
                let coefficients = if which == 0 { &table.c0 } else { &table.c1 };
                let left = (0..coefficients.len()).filter(|&i| possible(&table, which, i, change)).collect();
                kinds.push(Kind { what: What::Coefficients(place, which, change), left });
            }
        }
        if numerics.hold_threshold.is_some() {
            kinds.extend([1, -1].map(|change| Kind { what: What::Threshold(change), left: vec![0] }));
        }
        kinds
    }

    /// The numerics with the change in these entries.
    fn changed(&self, numerics: &Numerics, entries: &[usize]) -> Numerics {
        let mut n = numerics.clone();
        match self.what {
            What::Coefficients(place, which, change) => {
                let table = Arc::make_mut(place.of(&mut n));
                let coefficients = if which == 0 { &mut table.c0 } else { &mut table.c1 };
                for &i in entries {
                    coefficients[i] = coefficients[i].wrapping_add_signed(change);
                }
            }
            What::Threshold(change) => {
                n.hold_threshold = n.hold_threshold.map(|t| t.saturating_add_signed(change));
            }
        }
        n
    }
}

/// Whether a table can have a coefficient one more or less: none leaves its width, and values stay what hardware expects.
fn possible(table: &Table, which: usize, i: usize, change: i64) -> bool {
    let coefficients = if which == 0 { &table.c0 } else { &table.c1 };
    let bits = if which == 0 { table.c0_bits() } else { table.c1_bits() };
    let changed = coefficients[i].checked_add_signed(change);
    let one = (table.function.largest() * (table.value_fraction as f64).exp2()) as u64;
    changed.is_some_and(|x| x >> bits == 0 && (which == 1 || x <= one || coefficients[i] > one))
        // A value of 0 has no significand.
        && (which == 1 || change > 0 || coefficients[i] > 1)
}

/// Whether two models differ in what of a query can be seen from outside or is compared inside.
fn differ(models: [&Model; 2], steps: [&[Step]; 2]) -> bool {
    let end = |i: usize| steps[i].last().and_then(|step| step.l).map(|l| models[i].reciprocal(l));
    steps[0] != steps[1] || end(0) != end(1)
}

/// Looks for queries of a core.
pub(super) fn directed(config: &CoreConfig, rng: &mut ChaCha8Rng) -> Directed {
    let original = Model::new(config);
    let numerics = Numerics::new(config);
    let rows = Rows::new(config);
    let mut kinds = Kind::all(&numerics, config);
    let mut coverage =
        Coverage { changes: kinds.iter().map(|kind| kind.left.len()).sum(), ..Coverage::default() };
    let mut k = Vec::new();
    for scores in candidates(config, &numerics, rng).chunks(BATCH) {
        kinds.retain(|kind| !kind.left.is_empty());
        if kinds.is_empty() {
            break;
        }
        coverage.tried += scores.len();
        let keys: Vec<u64> = scores.iter().flatten().flat_map(|&score| rows.key(score)).collect();
        let dots = original.dots(&rows.q, &keys);
        let queries: Vec<&[f64]> = dots.chunks(KEYS).collect();
        let good = original.scalar_steps(&queries);
        let mut kept = vec![false; queries.len()];
        for kind in &mut kinds {
            let model =
                |entries: &[usize]| Model::new(config).with_numerics(kind.changed(&numerics, entries));
            // Which of some queries a model with changes takes in another way.
            let differing = |model: &Model, among: Vec<usize>| -> Vec<usize> {
                let chosen: Vec<&[f64]> = among.iter().map(|&i| queries[i]).collect();
                let bad = model.scalar_steps(&chosen);
                let different = |&(n, i): &(usize, usize)| differ([&original, model], [&good[i], &bad[n]]);
                among.into_iter().enumerate().filter(different).map(|(_, i)| i).collect()
            };
            let by_any = differing(&model(&kind.left), (0..queries.len()).collect());
            let mut left = Vec::new();
            for &entry in &kind.left {
                let by_this = differing(&model(&[entry]), by_any.clone());
                // One that is kept already serves, too.
                match by_this.iter().copied().find(|&i| kept[i]).or(by_this.first().copied()) {
                    Some(i) => kept[i] = true,
                    None => left.push(entry),
                }
            }
            coverage.shown += kind.left.len() - left.len();
            kind.left = left;
        }
        for (i, keys) in keys.chunks(KEYS * config.d).enumerate() {
            if kept[i] {
                k.extend_from_slice(keys);
            }
        }
    }
    Directed { q: rows.q, k, coverage }
}

/// Vectors whose dot product is a score.
struct Rows {
    config: CoreConfig,
    q: Vec<u64>,
    /// What a one of the key brings to the natural score, by axis.
    axes: Vec<f64>,
}

impl Rows {
    fn new(config: &CoreConfig) -> Rows {
        let count = config.d.min(AXES);
        let mut axes = vec![1.0; count];
        // Sums of a fused dot product keep what the format cannot hold in one number.
        if config.dot() == Dot::Fused && count > 1 {
            axes[count - 1] = FINER;
        }
        let one = f64::from(-config.score_shift()).exp2();
        let mut q = vec![0; config.d];
        for (q, axis) in q.iter_mut().zip(&axes) {
            *q = round_to(config.format, one * axis);
        }
        Rows { config: config.clone(), q, axes }
    }

    /// A key of this natural score, as near as the format can bring it.
    fn key(&self, score: f64) -> Vec<u64> {
        let mut k = vec![0; self.config.d];
        let mut rest = score;
        for (k, axis) in k.iter_mut().zip(&self.axes) {
            *k = round_to(self.config.format, rest / axis);
            rest -= round_value(self.config.format, rest / axis) * axis;
        }
        k
    }
}

/// Natural scores of the queries to try, in no order.
fn candidates(config: &CoreConfig, n: &Numerics, rng: &mut ChaCha8Rng) -> Vec<[f64; KEYS]> {
    let mut all = match config.follows_the_paper() {
        true => of_encodings(config, rng),
        false => of_distances(config, n, rng),
    };
    all.shuffle(rng);
    all.truncate(TRIED);
    all
}

/// A first score of zero, and then every number of the format around the active range.
fn of_encodings(config: &CoreConfig, rng: &mut ChaCha8Rng) -> Vec<[f64; KEYS]> {
    let format = config.format;
    let near = |x: &f64| x.abs() < 20.0 && x.abs() > 1e-4;
    let numbers: Vec<f64> =
        (0..format.max_finite()).map(|bits| format.value(bits)).filter(near).flat_map(|x| [x, -x]).collect();
    let repeats = TRIED.div_ceil(numbers.len());
    let again = |_| numbers.iter().map(|&x| [0.0, x, x + rng.random_range(-8.0..12.0)]).collect::<Vec<_>>();
    (0..repeats).flat_map(again).collect()
}

/// A second score at every distance from the first one that scores can have, to the last octave of the tables and beyond, or at as
/// many of them as are tried.
fn of_distances(config: &CoreConfig, n: &Numerics, rng: &mut ChaCha8Rng) -> Vec<[f64; KEYS]> {
    let unit = LN_2 * f64::from(n.score_fraction).exp2().recip();
    let octaves = match config.design {
        Design::FlashD => n.exp.sigmoid.octaves + BEYOND,
        Design::Fa2 => BEYOND * BEYOND,
    };
    let most = i64::from(octaves) << n.score_fraction;
    let mut distances: Vec<i64> = match usize::try_from(2 * most) {
        Ok(all) if all <= TRIED => (-most..=most).collect(),
        _ => (0..TRIED).map(|_| rng.random_range(-most..=most)).collect(),
    };
    // Around the limit at which keys are held, some more often than others: rounding may move them by one.
    if let Some(threshold) = n.hold_threshold {
        let edge = -(threshold as i64);
        distances.extend((0..8).flat_map(|_| edge - 3..=edge + 3));
    }
    let query = |distance: i64| {
        let x = distance as f64 * unit;
        // Both on the grid of scores, and neither far from zero.
        let first = ((rng.random_range(-1.0..1.0) - x / 2.0) / unit).round() * unit;
        let third = first.max(first + x) + rng.random_range(-6.0..2.0);
        [first, first + x, third]
    };
    distances.into_iter().map(query).collect()
}

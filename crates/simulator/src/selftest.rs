//! Seeded streams that look for faults in a core, an array or split keys: stimulus of emitted testbenches and of co-simulation.
//!
//! A stream is a sequence of rounds, each from reset. Rounds differ in their data (`data.rs`): as in trained models, raw encodings
//! with Inf, NaN and the ends of the format, operands from both ends of the format, and values of a single bit. Scores jump,
//! saturate, are equal, fall far below a largest one, walk by every power of two or keep to the hold threshold. Half of the rounds
//! have gaps in the key stream and noise on idle ports. Queries are short and long and follow each other; some have an exponent that
//! is too small for their values. Cores with masks have masked keys, and cores with partial results get their keys in tiles. Some
//! rounds break off in the middle of a query, so that the next reset has state to clear.

mod biases;
mod data;
mod directed;
mod scaled;
mod scores;
mod values;
mod vectors;

pub use directed::Coverage;

use crate::array::{self, ArrayWorkload, Disturbance, QueryBlock};
use crate::bench::RunError;
use crate::core::run::{predict, run};
use crate::core::workload::{Query, Workload};
use crate::gaps::Gaps;
use crate::record::VectorWriter;
use crate::running::{Drive, RtlEngine};
use crate::split;
pub(crate) use biases::biases;
use data::RoundOperands;
use directed::Directed;
use flashd_golden::{Model, values_exponent};
use flashd_spec::config::{ArrayConfig, ConfigError, CoreConfig, SplitConfig};
use flashd_spec::machine::Machine;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scores::RoundScores;
use std::io::Write;
use std::ops::Add;
use values::values;

/// Parameters of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorStream {
    /// The same seed gives the same stream.
    pub seed: u64,
    /// Keys at least, all rounds together.
    pub keys: u64,
    /// Keys of a round, about.
    pub round: usize,
    /// Keys at most of queries that are looked for, which come first: each shows a change by one of a table's coefficient or of a
    /// limit. Arrays have none: their queries share keys.
    pub directed: u64,
}

impl VectorStream {
    /// A stream short enough for an interpreting simulator: fewer keys where the vectors are longer.
    pub fn short(seed: u64, d: usize) -> VectorStream {
        let keys = (SHORT_ELEMENTS / d).clamp(LEAST_KEYS, MOST_KEYS) as u64;
        let directed = (DIRECTED_ELEMENTS / d) as u64;
        VectorStream { directed, ..VectorStream::of(seed, keys) }
    }

    /// A stream of a given number of keys: sixteen rounds or more.
    pub fn of(seed: u64, keys: u64) -> VectorStream {
        VectorStream { seed, keys, round: (keys / ROUNDS).clamp(8, LONGEST_ROUND) as usize, directed: 0 }
    }
}

/// Keys times vector length of a short stream, and its limits.
const SHORT_ELEMENTS: usize = 32_768;
const LEAST_KEYS: usize = 96;
const MOST_KEYS: usize = 3000;
/// The same of queries that are looked for: they are all there up to d = 64.
const DIRECTED_ELEMENTS: usize = 98_304;
/// Rounds of a stream, unless they would be too long.
const ROUNDS: u64 = 24;
const LONGEST_ROUND: u64 = 20_000;

/// Counts of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Streamed {
    /// Cycles, including those of reset.
    pub cycles: u64,
    /// Keys accepted.
    pub keys: u64,
    /// Results.
    pub results: u64,
    /// Coverage of directed queries.
    #[serde(skip_serializing_if = "is_nothing")]
    pub coverage: Coverage,
}

fn is_nothing(coverage: &Coverage) -> bool {
    *coverage == Coverage::default()
}

impl Add for Streamed {
    type Output = Streamed;

    /// Coverage is taken from the first one.
    fn add(self, other: Streamed) -> Streamed {
        Streamed {
            cycles: self.cycles + other.cycles,
            keys: self.keys + other.keys,
            results: self.results + other.results,
            coverage: self.coverage,
        }
    }
}

/// Which engines give the expected outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// This engine, compared with the bit-exact model in every cycle.
    Lockstep(RtlEngine),
    /// The bit-exact model and the latencies alone, which is much faster.
    Model,
}

impl Expected {
    /// The engine; the default one for the model, which only cores have alone.
    fn engine(self) -> RtlEngine {
        match self {
            Expected::Lockstep(engine) => engine,
            Expected::Model => RtlEngine::default(),
        }
    }
}

/// Kinds of rounds, which follow each other.
pub(crate) const ROUND_KINDS: usize = RoundScores::ALL.len();

/// Queries, keys and values of a round, as many of each, row-major.
pub(crate) fn operands(
    config: &CoreConfig,
    round: usize,
    rows: usize,
    rng: &mut ChaCha8Rng,
) -> [Vec<u64>; 3] {
    let RoundOperands { q, k, v } = RoundOperands::new(config, round, rows, rng);
    [q, k, v]
}

/// Calls `one` for round after round, until there are keys enough and a result, and `progress` after every round. `one` returns keys
/// and results; the number of vectors gives the cycles.
fn rounds<W: Write>(
    stream: &VectorStream,
    out: &mut VectorWriter<W>,
    progress: &mut dyn FnMut(&Streamed),
    mut one: impl FnMut(usize, &mut ChaCha8Rng, &mut VectorWriter<W>) -> Result<Streamed, RunError>,
) -> Result<Streamed, RunError> {
    let mut total = Streamed::default();
    let mut rng = ChaCha8Rng::seed_from_u64(stream.seed);
    for round in 0.. {
        if total.keys >= stream.keys && total.results > 0 {
            break;
        }
        let before = out.lines();
        let streamed = one(round, &mut rng, out)?;
        total = total + Streamed { cycles: out.lines() - before, ..streamed };
        progress(&total);
    }
    Ok(total)
}

/// The first round breaks off, and later ones now and then, of all kinds.
fn breaks_off(round: usize) -> bool {
    round.is_multiple_of(7)
}

/// Cuts a round off after `cut` cycles, if given. The count of keys leaves out the rest: there is at most one a cycle.
fn cut_off<W: Write>(
    cut: Option<u64>,
    out: &mut VectorWriter<W>,
    one: impl FnOnce(&mut VectorWriter<W>) -> Result<Streamed, RunError>,
) -> Result<Streamed, RunError> {
    let Some(cut) = cut else { return one(out) };
    let before = out.lines();
    out.stop_after(cut);
    let whole = one(out)?;
    out.resume();
    Ok(Streamed { keys: whole.keys.min(out.lines() - before) / 2, results: 0, ..whole })
}

/// Writes the vectors of a core, an array or split keys; `progress` is told of every round. Those of a core may come from the model
/// alone; others are always in lock-step.
///
/// # Errors
/// If hardware and model differ, the configuration is not valid or writing fails.
pub fn stream<W: Write>(
    machine: &Machine,
    stream: &VectorStream,
    expected: Expected,
    out: &mut VectorWriter<W>,
    progress: &mut dyn FnMut(&Streamed),
) -> Result<Streamed, RunError> {
    match machine {
        Machine::Core(config) => core(config, stream, expected, out, progress),
        Machine::Array(config) => array(config, stream, expected.engine(), out, progress),
        Machine::Split(config) => split_keys(config, stream, expected.engine(), out, progress),
        Machine::Wrapper(_) | Machine::Unit(_) => {
            let problem = "packets drive a wrapper, not vectors of its ports".into();
            Err(ConfigError { field: "wrapper", problem }.into())
        }
    }
}

/// Writes the vectors of a core; `progress` is called after every round.
///
/// # Errors
/// If core and model differ, the configuration is not valid or writing fails.
fn core<W: Write>(
    config: &CoreConfig,
    stream: &VectorStream,
    expected: Expected,
    out: &mut VectorWriter<W>,
    progress: &mut dyn FnMut(&Streamed),
) -> Result<Streamed, RunError> {
    config.validate()?;
    let mut directed = Streamed::default();
    if let Some((coverage, w)) = directed_workload(config, stream) {
        let streamed = one_round(config, &w, Gaps::None, expected, out)?;
        directed = Streamed { coverage, cycles: out.lines(), ..streamed };
    }
    let total = rounds(stream, out, &mut |streamed| progress(&(directed + *streamed)), |round, rng, out| {
        let w = workload(config, round, stream.round, rng);
        let gaps = gaps(round, rng);
        let cut = breaks_off(round).then(|| 3 + rng.random_range(w.steps() / 2..=w.steps()) as u64);
        cut_off(cut, out, |out| one_round(config, &w, gaps, expected, out))
    })?;
    Ok(directed + total)
}

/// A core's vectors of a workload.
fn one_round<W: Write>(
    config: &CoreConfig,
    w: &Workload,
    gaps: Gaps,
    expected: Expected,
    out: &mut VectorWriter<W>,
) -> Result<Streamed, RunError> {
    match expected {
        Expected::Lockstep(engine) => {
            let counters = run(config, w, Drive { gaps, engine }, &mut [out])?.counters;
            Ok(Streamed { keys: counters.keys, results: counters.queries, ..Streamed::default() })
        }
        Expected::Model => {
            let counters = predict(config, w, gaps, &mut [out])?;
            Ok(Streamed { keys: counters.keys, results: counters.queries, ..Streamed::default() })
        }
    }
}

fn gaps(round: usize, rng: &mut ChaCha8Rng) -> Gaps {
    // Every kind of round with and without.
    if round / RoundScores::ALL.len() % 2 == 1 { Gaps::Random(rng.random()) } else { Gaps::None }
}

/// Writes the vectors of an array, always in lock-step with the model; `progress` is called after every round.
///
/// # Errors
/// As [`core()`].
fn array<W: Write>(
    config: &ArrayConfig,
    stream: &VectorStream,
    engine: RtlEngine,
    out: &mut VectorWriter<W>,
    progress: &mut dyn FnMut(&Streamed),
) -> Result<Streamed, RunError> {
    config.validate()?;
    rounds(stream, out, progress, |round, rng, out| {
        let w = array_workload(config, round, stream.round, rng);
        let middle = rng.random_range(w.keys() / 3..=w.keys()) as u64;
        let resets = if breaks_off(round) { vec![3 + middle] } else { Vec::new() };
        let disturbance =
            Disturbance { resets, ..Disturbance::gaps(Drive { gaps: gaps(round, rng), engine }) };
        let counters = array::run(config, &w, &disturbance, &mut [out])?.counters;
        Ok(Streamed { keys: counters.keys.max(1), results: counters.queries, ..Streamed::default() })
    })
}

/// Writes the vectors of split keys, always in lock-step with the model; `progress` is called after every round.
///
/// # Errors
/// As [`core()`].
fn split_keys<W: Write>(
    config: &SplitConfig,
    stream: &VectorStream,
    engine: RtlEngine,
    out: &mut VectorWriter<W>,
    progress: &mut dyn FnMut(&Streamed),
) -> Result<Streamed, RunError> {
    config.validate()?;
    // Queries begin with a key: the parts, not the queries, have partial results.
    let core = CoreConfig { partial: false, ..config.core.clone() };
    rounds(stream, out, progress, |round, rng, out| {
        let w = workload(&core, round, stream.round, rng);
        let gaps = gaps(round, rng);
        let keys = w.queries.iter().map(|query| query.keys - query.from).sum::<usize>() as u64;
        let cut = breaks_off(round).then(|| 3 + keys / config.parts as u64);
        cut_off(cut, out, |out| {
            let counters = split::run(config, &w, Drive { gaps, engine }, &mut [out])?.counters;
            Ok(Streamed { keys, results: counters.queries, ..Streamed::default() })
        })
    })
}

/// The directed queries that fit the stream, and their coverage.
fn directed_workload(config: &CoreConfig, stream: &VectorStream) -> Option<(Coverage, Workload)> {
    if stream.directed < directed::MOST_KEYS as u64 {
        return None;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(stream.seed);
    let Directed { q, mut k, mut lengths, coverage } = directed::directed(config, &mut rng);
    // Only whole queries: the coverage of a part of them is unknown.
    let (all, mut keys) = (lengths.len(), 0);
    lengths.retain(|&n| {
        keys += n;
        keys as u64 <= stream.directed
    });
    let coverage = if lengths.len() == all { coverage } else { Coverage::default() };
    let keys = lengths.iter().sum();
    if keys == 0 {
        return None;
    }
    let words = config.port_words();
    k.truncate(keys * words.k);
    let v = values(config, RoundScores::Trained, keys, &[], &mut rng);
    let mut from = 0;
    let query = |n: &usize| {
        let keys = from + n;
        let v_exponent = values_exponent(config, &v[from * words.v..keys * words.v]);
        let query = Query { q: q.clone(), from, keys, v_exponent, ..Query::default() };
        from = keys;
        query
    };
    let queries: Vec<Query> = lengths.iter().map(query).collect();
    Some((coverage, Workload { words, queries, k: k.into(), v: v.into() }))
}

/// A round for a core.
pub(crate) fn workload(config: &CoreConfig, round: usize, keys: usize, rng: &mut ChaCha8Rng) -> Workload {
    let pool = RoundScores::of(round).pool(keys, config.d);
    let RoundOperands { q, k, v } = RoundOperands::new(config, round, pool, rng);
    let words = config.port_words();
    let row = |x: &[u64], i: usize| x[i * words.q..(i + 1) * words.q].to_vec();
    let mut w = Workload { words, queries: Vec::new(), k: k.into(), v: v.into() };
    let mut left = keys as i64;
    while left > 0 {
        // A fault shows at a query's end: most of them are short.
        let most = match rng.random_range(0..64) {
            0..36 => 3,
            36..56 => 8,
            56..63 => 24,
            _ => pool,
        };
        let lengths = RoundScores::of(round).long(pool, rng).unwrap_or(1..=most.min(pool));
        let n = rng.random_range(lengths);
        let from = rng.random_range(0..=pool - n);
        let masked = match config.masks {
            true => {
                let share = [0.0, 0.3, 0.9, 1.0][rng.random_range(0..4)];
                (0..from + n).map(|_| rng.random_bool(share)).collect()
            }
            false => Vec::new(),
        };
        let mut exponent = values_exponent(config, &w.v.words()[from * words.v..(from + n) * words.v]);
        if rng.random_ratio(1, 6) {
            exponent = exponent.saturating_sub(rng.random_range(1..4));
        } else if rng.random_ratio(1, 6) {
            exponent = (exponent + rng.random_range(1..20)).min(config.products().v.exponent_mask());
        }
        let biases = biases(config, from + n, &masked, rng);
        // The row of the first key: in some rounds rows of Q and K belong together.
        let q = row(&q, from);
        w.queries.push(Query {
            q,
            from,
            keys: from + n,
            restore: None,
            v_exponent: exponent,
            masked,
            biases,
        });
        left -= n as i64;
    }
    match config.partial {
        true => w.tiled(&Model::new(config), [1, 2, 5, 9][rng.random_range(0..4)]),
        false => w,
    }
}

/// A round for an array.
pub(crate) fn array_workload(
    config: &ArrayConfig,
    round: usize,
    keys: usize,
    rng: &mut ChaCha8Rng,
) -> ArrayWorkload {
    let core = &config.core;
    let pool = keys.clamp(4, 64);
    let RoundOperands { q, k, v } = RoundOperands::new(core, round, pool, rng);
    let exponent = values_exponent(core, &v);
    let words = core.port_words();
    let mut blocks = Vec::new();
    let mut left = keys as i64;
    while left > 0 {
        let n = if rng.random() { config.queries } else { rng.random_range(1..=config.queries) };
        let most = if rng.random() { 4 } else { pool };
        let keys = rng.random_range(1..=most.min(pool));
        let query = |rng: &mut ChaCha8Rng| {
            let i = rng.random_range(0..pool);
            let low = if rng.random_ratio(1, 6) { rng.random_range(1..4) } else { 0 };
            (q[i * words.q..(i + 1) * words.q].to_vec(), exponent.saturating_sub(low))
        };
        let mut block = QueryBlock::new((0..n).map(|_| query(rng)).collect(), keys);
        if core.masks {
            block.first_key = rng.random_range(0..=pool - keys);
            block.ranges = (0..n).map(|_| rng.random_range(0..=keys)..rng.random_range(0..=keys)).collect();
        }
        if core.bias {
            block.biases = (0..n).map(|_| biases(core, keys, &[], rng)).collect();
        }
        blocks.push(block);
        left -= keys as i64;
    }
    let padding = if core.masks { (0..pool).map(|_| rng.random_ratio(1, 8)).collect() } else { Vec::new() };
    let w = ArrayWorkload { words, blocks, k: k.into(), v: v.into(), padding };
    match core.partial {
        true => {
            let model = Model::new(core);
            w.tiled_by([1, 2, 5, 9][rng.random_range(0..4)], |round| round.results(&model, false)).0
        }
        false => w,
    }
}

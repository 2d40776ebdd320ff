//! The RTL in both of its engines, model and vector engine on the same streams.

use super::unread::Unread;
use super::{unit, wrapper};
use crate::array::{self, ArrayCounters, ArrayWorkload, Disturbance};
use crate::core::protocol::Counters;
use crate::core::run::{run, run_model};
use crate::core::workload::Workload;
use crate::gaps::Gaps;
use crate::running::{Drive, RtlEngine};
use crate::selftest::{ROUND_KINDS, array_workload, workload};
use crate::split::{self, SplitCounters, SplitWorkload};
use crate::unit::UnitDrive;
use flashd_golden::{Model, Monitor, QueryResult};
use flashd_spec::config::{ArrayConfig, CoreConfig, SplitConfig, WrapperConfig};
use flashd_spec::machine::Machine;
use flashd_spec::unit::UnitConfig;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::ops::AddAssign;

/// Counts of comparisons over all streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineCounts {
    /// Streams run, each by every engine.
    pub streams: u64,
    /// Cycles of the RTL.
    pub cycles: u64,
    /// Steps: keys, each counted for every query that meets it.
    pub steps: u64,
    /// Held steps. Split keys and wrappers count masked steps with them.
    pub held: u64,
    /// Values read.
    pub values_read: u64,
    /// Keys with Inf or NaN that were masked for every query that met them.
    pub special_keys: u64,
    /// Values with Inf or NaN that no query read.
    pub special_values: u64,
    /// Single comparisons of hardware and model.
    pub comparisons: u64,
}

impl AddAssign for EngineCounts {
    fn add_assign(&mut self, other: EngineCounts) {
        self.streams += other.streams;
        self.cycles += other.cycles;
        self.steps += other.steps;
        self.held += other.held;
        self.values_read += other.values_read;
        self.special_keys += other.special_keys;
        self.special_values += other.special_values;
        self.comparisons += other.comparisons;
    }
}

/// Streams of every kind, with gaps and without, of about `keys` keys in all. The RTL runs in lock-step with the model; the
/// vector engine must give the same bits, cycles, held steps and values read. In half of the streams keys and values that no
/// query sees are Inf or NaN, and the result must not change.
///
/// # Errors
/// The first difference, with the stream in which it is.
pub fn compare(drawn: &Machine, seed: u64, keys: usize) -> Result<EngineCounts, String> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut all = EngineCounts::default();
    // Every kind of stream with gaps and without.
    let rounds = 2 * ROUND_KINDS;
    for round in 0..rounds {
        let gaps = if round < ROUND_KINDS { Gaps::None } else { Gaps::Random(rng.random()) };
        // One stream without gaps and one with them by the reference; the other engine is faster.
        let engine = if round % ROUND_KINDS == 0 { RtlEngine::Reference } else { RtlEngine::Compiled };
        let drive = Drive { gaps, engine };
        let stream = DrawnStream { round, keys: keys.div_ceil(rounds).max(4), drive, poisoned: rng.random() };
        let one = match drawn {
            Machine::Core(config) => core(config, &stream, &mut rng),
            Machine::Array(config) => array(config, &stream, &mut rng),
            Machine::Split(config) => split_keys(config, &stream, &mut rng),
            Machine::Wrapper(config) => streams(config, &stream, &mut rng),
            Machine::Unit(config) => jobs(config, &stream, &mut rng),
        };
        all += one.map_err(|e| format!("{stream:?}: {e}"))?;
        all.streams += 1;
    }
    Ok(all)
}

/// A stream.
#[derive(Clone, Copy, Debug)]
struct DrawnStream {
    round: usize,
    keys: usize,
    drive: Drive,
    /// Unread keys and values are Inf or NaN.
    poisoned: bool,
}

impl DrawnStream {
    /// Puts Inf and NaN where nobody looks, if that is what this stream is for.
    fn poison(
        &self,
        config: &CoreConfig,
        unread: &Unread,
        k: &mut [u64],
        v: &mut [u64],
        rng: &mut ChaCha8Rng,
    ) -> EngineCounts {
        if !self.poisoned {
            return EngineCounts::default();
        }
        unread.fill(config, k, v, rng);
        EngineCounts {
            special_keys: unread.keys.len() as u64,
            special_values: unread.values.len() as u64,
            ..EngineCounts::default()
        }
    }
}

/// Whether two runs agree, and if not, in what.
fn same<T: PartialEq + Debug>(what: &str, expected: &T, actual: &T) -> Result<(), String> {
    if expected == actual { Ok(()) } else { Err(format!("{what}: expected {expected:?}, got {actual:?}")) }
}

/// Compares results without their steps, which not all engines record.
fn same_results(what: &str, expected: &[QueryResult], actual: &[QueryResult]) -> Result<(), String> {
    same(&format!("{what}: number of results"), &expected.len(), &actual.len())?;
    for (n, (expected, actual)) in expected.iter().zip(actual).enumerate() {
        let without = |result: &QueryResult| QueryResult { steps: Vec::new(), ..result.clone() };
        same(&format!("{what}: result {n}"), &without(expected), &without(actual))?;
    }
    Ok(())
}

const ENGINE: &str = "vector engine against RTL";
const UNREAD: &str = "Inf and NaN that no query sees against finite numbers";

fn core(config: &CoreConfig, stream: &DrawnStream, rng: &mut ChaCha8Rng) -> Result<EngineCounts, String> {
    let mut w = workload(config, stream.round, stream.keys, rng);
    let plain = w.results(&Model::new(config), true);
    let unread = Unread::in_workload(&w, &plain);
    let specials = stream.poison(config, &unread, w.k.words_mut(), w.v.words_mut(), rng);
    let cycle = run(config, &w, stream.drive, &mut []).map_err(|e| e.to_string())?;
    same_results(UNREAD, &plain, &cycle.results)?;
    let model = run_model(config, &w, stream.drive.gaps, Monitor::default()).map_err(|e| e.to_string())?;
    same_results(ENGINE, &cycle.results, &model.results)?;
    let c = cycle.counters;
    same(ENGINE, &Counters { comparisons: 0, ..c }, &model.counters)?;
    Ok(EngineCounts {
        cycles: c.cycles,
        steps: c.keys + c.restored,
        held: c.held,
        values_read: c.v_reads,
        comparisons: c.comparisons,
        ..specials
    })
}

fn array(config: &ArrayConfig, stream: &DrawnStream, rng: &mut ChaCha8Rng) -> Result<EngineCounts, String> {
    let mut w = array_workload(config, stream.round, stream.keys, rng);
    let results = |w: &ArrayWorkload| {
        let alone = array::run::workload_alone(config, w);
        let results = alone.results(&Model::new(&config.core), true);
        (alone, results)
    };
    let (alone, plain) = results(&w);
    let unread = Unread::in_workload(&alone, &plain);
    let specials = stream.poison(&config.core, &unread, w.k.words_mut(), w.v.words_mut(), rng);
    let cycle =
        array::run(config, &w, &Disturbance::gaps(stream.drive), &mut []).map_err(|e| e.to_string())?;
    same_results(UNREAD, &plain, &cycle.results)?;
    let model =
        array::run_model(config, &w, stream.drive.gaps, Monitor::default()).map_err(|e| e.to_string())?;
    same_results(ENGINE, &cycle.results, &model.results)?;
    let c = cycle.counters;
    same(ENGINE, &ArrayCounters { comparisons: 0, ..c }, &model.counters)?;
    same(ENGINE, &cycle.periods, &model.periods)?;
    Ok(EngineCounts {
        cycles: c.cycles,
        steps: c.steps,
        held: c.steps - c.masked - c.v_reads_alone,
        values_read: c.v_reads,
        comparisons: c.comparisons,
        ..specials
    })
}

fn split_keys(
    config: &SplitConfig,
    stream: &DrawnStream,
    rng: &mut ChaCha8Rng,
) -> Result<EngineCounts, String> {
    // Queries begin with a key: the parts, not the queries, have partial results.
    let core = CoreConfig { partial: false, ..config.core.clone() };
    let mut w = workload(&core, stream.round, stream.keys, rng);
    let results = |w: &Workload| {
        let parts = SplitWorkload::new(w, config.parts);
        let partial = parts.partial_results(&Model::new(&config.core), true);
        let unread = Unread::in_workload(parts.workload(), &partial.concat());
        (parts.results(config, &partial), unread)
    };
    let (plain, unread) = results(&w);
    let specials = stream.poison(&core, &unread, w.k.words_mut(), w.v.words_mut(), rng);
    let cycle = split::run(config, &w, stream.drive, &mut []).map_err(|e| e.to_string())?;
    same_results(UNREAD, &plain, &cycle.results)?;
    let model =
        split::run_model(config, &w, stream.drive.gaps, Monitor::default()).map_err(|e| e.to_string())?;
    same_results(ENGINE, &cycle.results, &model.results)?;
    let c = cycle.counters;
    same(ENGINE, &SplitCounters { comparisons: 0, ..c }, &model.counters)?;
    let keys = w.queries.iter().map(|query| query.keys - query.from).sum::<usize>() as u64;
    Ok(EngineCounts {
        cycles: c.cycles,
        steps: keys,
        held: keys.saturating_sub(w.masked() as u64 + c.v_reads),
        values_read: c.v_reads,
        comparisons: c.comparisons,
        ..specials
    })
}

/// A wrapper at its ports. The vector engine runs its array.
fn streams(
    config: &WrapperConfig,
    stream: &DrawnStream,
    rng: &mut ChaCha8Rng,
) -> Result<EngineCounts, String> {
    let mut all = array(&config.array, stream, rng)?;
    let mut w = wrapper::streams(config, stream.round, stream.keys, rng);
    let plain = w.expected(config);
    let words = config.array.core.port_words();
    for (block, expected) in w.blocks.iter_mut().zip(&plain) {
        let unread = Unread::in_array(block.k.len() / words.k, &expected.results);
        all += stream.poison(&config.array.core, &unread, &mut block.k, &mut block.v, rng);
    }
    let paces = match stream.drive.gaps {
        Gaps::None => crate::wrapper::Paces::free(rng.random_range(0..4)),
        Gaps::Random(seed) => crate::wrapper::Paces::random(seed),
    };
    let run = crate::wrapper::run_against(config, &w, &paces, rng.random(), &plain)?;
    all += EngineCounts { cycles: run.cycles, comparisons: run.comparisons, ..EngineCounts::default() };
    Ok(all)
}

/// A unit with its memory. The vector engine runs its array.
fn jobs(config: &UnitConfig, stream: &DrawnStream, rng: &mut ChaCha8Rng) -> Result<EngineCounts, String> {
    let mut all = array(&config.array, stream, rng)?;
    let jobs = unit::jobs(config, stream.keys, rng);
    let drive = match stream.drive.gaps {
        Gaps::None => UnitDrive::fixed(rng.random_range(1..20), 1),
        Gaps::Random(seed) => UnitDrive::random(seed),
    };
    let drive = UnitDrive { engine: stream.drive.engine, ..drive };
    let run = crate::unit::run(config, &jobs, &drive, &mut []).map_err(|e| e.to_string())?;
    all += EngineCounts { cycles: run.cycles, comparisons: run.comparisons, ..EngineCounts::default() };
    Ok(all)
}

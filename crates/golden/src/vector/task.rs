//! A run of a core: blocks of queries on the threads of the pool, tile after tile.

use super::TILE;
use super::block::{AnyBlockCore, AnyValues, BlockValueSource, TileWork};
use super::dot::{Dots, Unit};
use super::layout::VectorLayout;
use super::operands::Survey;
use super::watch::{Monitor, RESTORE, StepCounts, TileSteps, TileTally};
use crate::bias::{EncodedBias, KeyBiases};
use crate::block::BLOCK;
use crate::head::Head;
use crate::parallel::{self, piece};
use crate::result::QueryResult;
use crate::rows::tail_words;
use flashd_spec::isa::Isa;
use flashd_spec::numerics::Numerics;
use std::collections::BTreeMap;
use std::ops::Range;

/// With at most this many blocks, each block converts keys and values for itself, tile by tile: it would take longer to
/// write all converted numbers to memory.
const FEW_BLOCKS: usize = 3;

/// Elements that one thread surveys and converts in less time than it takes to wake another thread.
pub(super) const SMALL: usize = 1 << 14;

/// Runs both and returns both results: one after the other if `small`, otherwise in parallel.
pub(super) fn both<A: Send, B: Send>(
    small: bool,
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    if small { (a(), b()) } else { parallel::join(a, b) }
}

/// Results and counts of a run, query by query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VectorRun {
    /// Results without steps.
    pub results: Vec<QueryResult>,
    /// Counts of steps by action.
    pub counts: Vec<StepCounts>,
}

/// The values of a run, for one `v_exponent`.
struct RunValues<'a> {
    operands: Box<dyn AnyValues + 'a>,
    overflow: Vec<bool>,
    any_overflow: bool,
    layout: VectorLayout,
}

/// A run of a core that is chosen later.
pub(crate) struct RunTask<'a> {
    pub(crate) isa: Isa,
    pub(crate) numerics: &'a Numerics,
    pub(crate) dk: usize,
    pub(crate) dv: usize,
    /// Results include the state.
    pub(crate) partial: bool,
    pub(crate) head: Head<'a>,
    pub(crate) monitor: Monitor<'a>,
    /// Surveys of queries, keys and values.
    pub(crate) surveys: [Survey; 3],
}

impl RunTask<'_> {
    /// Runs all queries.
    pub(crate) fn run(&self, core: &dyn AnyBlockCore) -> VectorRun {
        let Head { q, k, v, lengths, v_exponents, .. } = self.head;
        let [q_survey, k_survey, v_survey] = &self.surveys;
        let extents = [q_survey.extent, k_survey.extent];
        // The queries of a block share their values, and so their exponent.
        let mut groups = BTreeMap::<u64, Vec<usize>>::new();
        for (query, &exponent) in v_exponents.iter().enumerate() {
            groups.entry(exponent).or_default().push(query);
        }
        // A single query would use one lane of 16, so its elements are side by side instead. With two or more queries,
        // a block is no slower.
        let alone = lengths.len() == 1
            && tail_words(self.numerics) == 0
            && self.dk.is_multiple_of(BLOCK)
            && self.dv.is_multiple_of(BLOCK)
            && core.takes_elements();
        let layout = if alone { VectorLayout::Elements } else { VectorLayout::Queries };
        let blocks: usize = groups.values().map(|queries| queries.len().div_ceil(BLOCK)).sum();
        let (isa, d, by_tile) = (self.isa, self.dv, blocks <= FEW_BLOCKS);
        let prepare = |exponent: u64| {
            let overflow = core.overflow(v, v_survey, exponent);
            let operands = core.values(BlockValueSource { isa, v, d, exponent, by_tile, layout });
            RunValues { operands, any_overflow: overflow.contains(&true), overflow, layout }
        };
        // Both in one decision: for small tensors, waking threads costs more than the work.
        let (unit, mut first) = both(
            q.len() + k.len() + v.len() <= SMALL,
            || Unit::new(isa, self.numerics, self.dk - tail_words(self.numerics), (q, k), extents, by_tile),
            || groups.keys().next().map(|&exponent| prepare(exponent)),
        );
        let mut run = VectorRun { results: vec![QueryResult::default(); lengths.len()], counts: Vec::new() };
        run.counts.resize(lengths.len(), StepCounts::default());
        for (exponent, mut queries) in groups {
            // A block goes through all keys from the first to the last of any of its queries.
            queries.sort_by_key(|&query| self.head.keys(query).start);
            let values = first.take().unwrap_or_else(|| prepare(exponent));
            let block = |number| self.block(&unit, &values, piece(&queries, BLOCK, number));
            let blocks = parallel::collect(queries.len().div_ceil(BLOCK), &block);
            for (query, (result, counts)) in queries.iter().zip(blocks.into_iter().flatten()) {
                run.results[*query] = result;
                run.counts[*query] = counts;
            }
        }
        run
    }

    /// Writes the biases of a tile for the queries of a block, and flags results of which a bias has the flag.
    fn add_biases(
        &self,
        biases: &KeyBiases,
        queries: &[usize],
        keys: &Range<usize>,
        work: &mut TileWork,
        results: &mut [(QueryResult, StepCounts)],
    ) {
        work.dots.biased = true;
        for (place, key) in keys.clone().enumerate() {
            for (i, &query) in queries.iter().enumerate() {
                // A caller need not have a bias for keys that a query does not see.
                let seen = work.seen[place][i] != 0;
                let bias = if seen { biases.of(query, key) } else { EncodedBias::default() };
                work.dots.biases[place][i] = bias.score;
                results[i].0.invalid |= bias.special;
                results[i].0.score_saturated |= bias.saturated;
            }
        }
    }

    /// Shows the restore of a query to the monitor.
    fn show_restore(&self, query: usize) {
        if let Some(watch) = self.monitor.watch {
            watch(query, 0, &[RESTORE]);
        }
        if let Some(progress) = self.monitor.progress {
            progress(1);
        }
    }

    /// Notes which queries see which keys of a tile. True if every query sees every key, as in most tiles.
    fn see(
        &self,
        queries: &[usize],
        ranges: &[Range<usize>],
        keys: &Range<usize>,
        work: &mut TileWork,
    ) -> bool {
        let masked = self.head.masked;
        let whole =
            masked.is_none() && ranges.iter().all(|range| range.start <= keys.start && keys.end <= range.end);
        if whole {
            let mut everyone = [0; BLOCK];
            everyone[..queries.len()].fill(-1);
            work.seen[..keys.len()].fill(everyone);
            return true;
        }
        for (seen, key) in work.seen.iter_mut().zip(keys.clone()) {
            *seen = [0; BLOCK];
            for ((seen, &query), range) in seen.iter_mut().zip(queries).zip(ranges) {
                let meets = range.contains(&key);
                *seen = -i32::from(meets && !masked.is_some_and(|hides| hides(query, key)));
            }
        }
        false
    }

    /// Flags of Inf, NaN and values above the exponent among the keys of a tile that queries saw, and the values that they read.
    fn flag_operands(
        &self,
        values: &RunValues,
        keys: Range<usize>,
        work: &TileWork,
        results: &mut [(QueryResult, StepCounts)],
    ) {
        let [_, k_survey, v_survey] = &self.surveys;
        for (place, key) in keys.enumerate() {
            let (k, v, over) = (k_survey.special[key], v_survey.special[key], values.overflow[key]);
            for (i, (result, _)) in results.iter_mut().enumerate() {
                let (seen, read) = (work.seen[place][i] != 0, work.read[place][i] != 0);
                result.invalid |= (k && seen) || (v && read);
                result.overflow |= over && read;
            }
        }
    }

    /// Counts the steps of a tile, flags results, and shows the steps to the monitor. `whole`: every query sees every key.
    fn count(
        &self,
        (queries, ranges): (&[usize], &[Range<usize>]),
        keys: &Range<usize>,
        whole: bool,
        work: &TileWork,
        results: &mut [(QueryResult, StepCounts)],
    ) {
        let mut steps = 0;
        for (i, (&query, (result, counts))) in queries.iter().zip(results).enumerate() {
            let from = ranges[i].start.clamp(keys.start, keys.end);
            let met = ranges[i].end.clamp(from, keys.end) - from;
            let place = from - keys.start;
            let seen = match whole {
                true => met,
                false => work.seen[place..place + met].iter().filter(|seen| seen[i] != 0).count(),
            };
            counts.keys += met as u64;
            counts.masked += (met - seen) as u64;
            counts.held += work.tally.held[i] as u64;
            counts.loads += work.tally.loads[i] as u64;
            result.empty &= seen == 0;
            result.invalid |= seen > 0 && self.surveys[0].special[query];
            result.score_saturated |= work.saturated[i] != 0;
            result.overflow |= work.overflow[i] != 0;
            steps += met as u64;
            if let Some(watch) = self.monitor.watch.filter(|_| met > 0) {
                let step = counts.restored as usize + from - ranges[i].start;
                watch(query, step, work.watched.of(i, place..place + met));
            }
        }
        if let Some(progress) = self.monitor.progress {
            progress(steps);
        }
    }

    /// Runs the queries of one block.
    fn block(&self, unit: &Unit, values: &RunValues, queries: &[usize]) -> Vec<(QueryResult, StepCounts)> {
        let q = self.head.q;
        let [q_survey, k_survey, v_survey] = &self.surveys;
        let operands: Vec<u64> =
            queries.iter().flat_map(|&i| &q[i * self.dk..(i + 1) * self.dk]).copied().collect();
        let mut dots = unit.block(&operands, values.layout);
        let mut block = values.operands.start();
        let mut work = TileWork {
            dots: Dots::new(),
            seen: [[0; BLOCK]; TILE],
            read: [[0; BLOCK]; TILE],
            overflow: [0; BLOCK],
            saturated: [0; BLOCK],
            tally: TileTally::default(),
            watched: TileSteps::new(),
        };
        let empty = QueryResult { empty: true, ..QueryResult::default() };
        let mut results = vec![(empty, StepCounts::default()); queries.len()];
        for (i, (&query, (result, counts))) in queries.iter().zip(&mut results).enumerate() {
            if let Some(partial) = self.head.restored(query) {
                block.restore(i, partial);
                result.empty = false;
                result.invalid = q_survey.special[query];
                counts.restored = 1;
                self.show_restore(query);
            }
        }
        let ranges: Vec<Range<usize>> = queries.iter().map(|&query| self.head.keys(query)).collect();
        let biases = KeyBiases::new(self.numerics, self.head.biases);
        let first = ranges.iter().map(|keys| keys.start).min().unwrap_or(0);
        let longest = ranges.iter().map(|keys| keys.end).max().unwrap_or(0);
        for start in (first..longest).step_by(TILE) {
            let keys = start..(start + TILE).min(longest);
            let whole = self.see(queries, &ranges, &keys, &mut work);
            work.tally = TileTally::default();
            work.saturated = [0; BLOCK];
            dots.tile(self.isa, keys.clone(), &mut work.dots);
            if biases.any() {
                self.add_biases(&biases, queries, &keys, &mut work, &mut results);
            }
            block.tile(keys.clone(), self.monitor.watch.is_some(), &mut work);
            self.count((queries, &ranges), &keys, whole, &work, &mut results);
            if k_survey.any_special || v_survey.any_special || values.any_overflow {
                self.flag_operands(values, keys, &work, &mut results);
            }
        }
        for (i, (result, _)) in results.iter_mut().enumerate() {
            match result.empty {
                true => result.o = vec![0; self.dv],
                false => {
                    block.finish(i, result);
                    result.state = self.partial.then(|| block.save(i));
                }
            }
        }
        results
    }
}

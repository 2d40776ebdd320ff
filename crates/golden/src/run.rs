//! One run of a model. Blocks of queries go through dot product, recurrence and lanes, key by key; all keys at once, or a piece at a time.

use crate::bias::KeyBiases;
use crate::block::BLOCK;
use crate::carrier::Carriers;
use crate::dot::dot_unit;
use crate::head::Head;
use crate::lanes::Lanes;
use crate::parallel;
use crate::recurrence::{KeyScore, Recurrence};
use crate::result::{Action, PartialState, QueryResult, Step, Take};
use crate::round::encode;
use crate::rows::{Special, any_special, tail_words};
use flashd_spec::config::CoreConfig;
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use std::collections::BTreeMap;
use std::ops::Range;

/// Keys of a piece whose steps are handed over together.
const TAKEN: usize = 256;

/// The values of a piece as operands of the lanes, for one exponent.
struct PieceValues<V> {
    operands: Vec<V>,
    /// For each key, whether an element of its value is too large for the exponent.
    overflow: Vec<bool>,
}

/// The units of a core, and the operands of a run.
pub(crate) struct RunUnits<'a, R, L> {
    pub(crate) config: &'a CoreConfig,
    pub(crate) numerics: &'a Numerics,
    /// Record FA2's sum in every step.
    pub(crate) sums: bool,
    pub(crate) carriers: Carriers,
    pub(crate) recurrence: &'a R,
    pub(crate) lanes: &'a L,
    /// The operands, with an exponent for each query.
    pub(crate) head: Head<'a>,
    /// For queries, keys and values: the vectors that make a query invalid.
    pub(crate) special: [Special; 3],
}

/// A query in progress.
struct RunningQuery<R: Recurrence, L: Lanes> {
    state: Option<R::State>,
    o: Vec<L::Output>,
    /// An element of q is Inf or NaN.
    special: bool,
    keys: Range<usize>,
    v_exponent: u64,
    result: QueryResult,
}

impl<R, L> RunUnits<'_, R, L>
where
    R: Recurrence<Op = L::Op, Ending = L::Ending>,
    L: Lanes,
{
    /// The results of all queries. With `take` the keys come in pieces, and `take` gets the steps of each; `None` if it ends the run.
    pub(crate) fn results(&self, mut take: Option<Take>) -> Option<Vec<QueryResult>> {
        let Head { q, lengths, v_exponents, .. } = self.head;
        let dk = self.config.d + tail_words(self.numerics);
        let own = || q.chunks(dk).map(|row| any_special(self.numerics.formats.q, row)).collect();
        let q_special: Vec<bool> = self.special[0].clone().unwrap_or_else(own);
        let query = |number: usize| {
            let mut query = self.query(self.head.keys(number), v_exponents[number], q_special[number]);
            if let Some(partial) = self.head.restored(number) {
                self.restore(&mut query, partial);
            }
            query
        };
        let mut queries: Vec<RunningQuery<R, L>> = (0..lengths.len()).map(query).collect();
        let first = queries.iter().map(|query| query.keys.start).min().unwrap_or(0);
        let longest = queries.iter().map(|query| query.keys.end).max().unwrap_or(0);
        let step = if take.is_some() { TAKEN } else { (longest - first).max(1) };
        let mut words = Default::default();
        for start in (first..longest).step_by(step) {
            self.piece(start..(start + step).min(longest), &mut words, &mut queries);
            if let Some(take) = &mut take {
                let steps = queries.iter_mut().map(|query| std::mem::take(&mut query.result.steps)).collect();
                if !take(steps) {
                    return None;
                }
            }
        }
        // Queries that only restore have steps, too.
        if let Some(take) = take.filter(|_| first == longest) {
            let steps = queries.iter_mut().map(|query| std::mem::take(&mut query.result.steps)).collect();
            if !take(steps) {
                return None;
            }
        }
        Some(queries.into_iter().map(|query| self.finish(query)).collect())
    }

    /// Some keys of all queries; `words` has the memory for keys and values that are made.
    fn piece(&self, keys: Range<usize>, words: &mut [Vec<u64>; 2], queries: &mut [RunningQuery<R, L>]) {
        let Head { q, k, v, masked, .. } = self.head;
        let (dk, dv, formats) =
            (self.config.d + tail_words(self.numerics), self.config.dv(), self.numerics.formats);
        let [of_k, of_v] = words;
        let (k, v) = (k.rows(dk, keys.clone(), of_k), v.rows(dv, keys.clone(), of_v));
        let special = |known: &Special, format: Format, d: usize, x: &[u64]| -> Vec<bool> {
            let own = || x.chunks(d).map(|row| any_special(format, row)).collect();
            known.as_ref().map_or_else(own, |known| known[keys.clone()].to_vec())
        };
        let k_special = special(&self.special[1], formats.k, dk, k);
        let v_special = special(&self.special[2], formats.v, dv, v);
        let biases = KeyBiases::new(self.numerics, self.head.biases);
        let mut values = BTreeMap::new();
        for query in &*queries {
            values.entry(query.v_exponent).or_insert_with(|| self.values(v, query.v_exponent));
        }
        let dot = dot_unit(self.numerics, self.config.d, q, k, self.carriers);
        let block = |number: usize, queries: &mut [RunningQuery<R, L>]| {
            let numbers = number * BLOCK..number * BLOCK + queries.len();
            let values: Vec<&PieceValues<L::Value>> =
                queries.iter().map(|query| &values[&query.v_exponent]).collect();
            let mut dots = dot.block(parallel::piece(q, BLOCK * dk, number));
            for (place, key) in keys.clone().enumerate() {
                let dots = dots.dots(place);
                for (((query, number), dot), values) in
                    queries.iter_mut().zip(numbers.clone()).zip(dots).zip(&values)
                {
                    if !query.keys.contains(&key) {
                        continue;
                    }
                    if masked.is_some_and(|masked| masked(number, key)) {
                        self.pass(query);
                        continue;
                    }
                    let bias = biases.of(number, key);
                    query.result.invalid |= query.special || k_special[place] || bias.special;
                    let score = KeyScore { dot, bias: bias.score };
                    query.result.score_saturated |= bias.saturated || self.recurrence.saturates(score);
                    if self.step(query, values, place, score) {
                        query.result.invalid |= v_special[place];
                    }
                }
            }
        };
        match queries.len() <= BLOCK {
            true => block(0, queries),
            false => parallel::fill(queries, BLOCK, &block),
        }
    }

    fn values(&self, v: &[u64], exponent: u64) -> PieceValues<L::Value> {
        let mut operands = Vec::with_capacity(v.len());
        let overflow = v.chunks(self.config.dv()).map(|row| {
            let mut any = false;
            operands.extend(row.iter().map(|&bits| {
                let (operand, over) = self.lanes.value(bits, exponent);
                any |= over;
                operand
            }));
            any
        });
        let overflow = overflow.collect();
        PieceValues { operands, overflow }
    }

    fn query(&self, keys: Range<usize>, v_exponent: u64, special: bool) -> RunningQuery<R, L> {
        let steps = Vec::with_capacity(if self.head.record { keys.len().min(TAKEN) } else { 0 });
        let result = QueryResult { empty: true, steps, ..QueryResult::default() };
        RunningQuery {
            state: None,
            o: vec![L::Output::default(); self.config.dv()],
            special,
            keys,
            v_exponent,
            result,
        }
    }

    /// Starts a query from a partial result.
    fn restore(&self, query: &mut RunningQuery<R, L>, partial: &PartialState) {
        query.state = self.recurrence.restore(partial.scalars);
        query.o = partial.o.iter().map(|&bits| self.lanes.accumulator(bits)).collect();
        query.result.empty = false;
        // A restore is a step, and every step reads q.
        query.result.invalid |= query.special;
        if self.head.record {
            query.result.steps.push(Step {
                s: 0,
                x: 0,
                w: 0,
                upper: false,
                action: Action::Restore,
                l: None,
            });
        }
    }

    /// A masked key.
    fn pass(&self, query: &mut RunningQuery<R, L>) {
        if self.head.record {
            let step = Step { s: 0, x: 0, w: 0, upper: false, action: Action::Masked, l: None };
            query.result.steps.push(step);
        }
    }

    /// One key of one query, by its place among `values`. Returns whether its value was read.
    #[inline]
    fn step(
        &self,
        query: &mut RunningQuery<R, L>,
        values: &PieceValues<L::Value>,
        key: usize,
        score: KeyScore,
    ) -> bool {
        let (state, decision) = self.recurrence.step(query.state, score);
        query.state = Some(state);
        let result = &mut query.result;
        result.empty = false;
        if let Some(op) = decision.op {
            let d = self.config.dv();
            result.overflow |= values.overflow[key];
            result.saturated += self.lanes.step(op, &mut query.o, &values.operands[key * d..][..d]);
        }
        if self.head.record {
            let (s, x, w) = (decision.s, decision.x, decision.w);
            let l = if self.sums { self.recurrence.sum(state) } else { None };
            result.steps.push(Step { s, x, w, upper: decision.upper, action: decision.action, l });
        }
        decision.op.is_some()
    }

    /// Ends a query after its last key: saves its state, and divides (FA2) and rounds the output.
    fn finish(&self, query: RunningQuery<R, L>) -> QueryResult {
        let RunningQuery { state, o, v_exponent, mut result, .. } = query;
        if result.empty {
            result.o = vec![0; o.len()];
            return result;
        }
        if let (true, Some(state)) = (self.config.partial, state) {
            let o = o.iter().map(|&o| self.lanes.bits(o)).collect();
            result.state = Some(PartialState { scalars: self.recurrence.save(state), o });
        }
        let ending = self.recurrence.ending(state);
        let format = self.config.formats().o;
        for o in o {
            let (rounded, over) = self.lanes.result(ending, o, v_exponent);
            result.saturated += u64::from(over);
            result.o.push(encode(format, rounded));
        }
        result
    }
}

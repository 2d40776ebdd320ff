//! One run of a model. Blocks of queries go through dot product, recurrence and lanes, key by key.

use crate::bias::KeyBiases;
use crate::block::{BLOCK, DotUnit};
use crate::head::Head;
use crate::lanes::Lanes;
use crate::parallel::{self, piece};
use crate::recurrence::{KeyScore, Recurrence};
use crate::result::{Action, PartialState, QueryResult, Step};
use crate::round::encode;
use crate::rows::{Special, any_special, tail_words};
use flashd_spec::config::CoreConfig;
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use std::collections::BTreeMap;
use std::ops::Range;

/// The values as operands of the lanes, for one exponent.
struct Values<V> {
    operands: Vec<V>,
    /// For each key, whether an element of its value is too large for the exponent.
    overflow: Vec<bool>,
}

/// The units of a core, and the operands of a run.
pub(crate) struct Run<'a, R, L> {
    pub(crate) config: &'a CoreConfig,
    pub(crate) numerics: &'a Numerics,
    /// Record FA2's sum in every step.
    pub(crate) sums: bool,
    pub(crate) dot: &'a dyn DotUnit,
    pub(crate) recurrence: &'a R,
    pub(crate) lanes: &'a L,
    /// The operands, with an exponent for each query.
    pub(crate) head: Head<'a>,
    /// For queries, keys and values: the vectors that make a query invalid.
    pub(crate) special: [Special; 3],
}

/// A query in progress.
struct Query<'v, R: Recurrence, L: Lanes> {
    state: Option<R::State>,
    o: Vec<L::Output>,
    values: &'v Values<L::Value>,
    keys: Range<usize>,
    v_exponent: u64,
    result: QueryResult,
}

impl<R, L> Run<'_, R, L>
where
    R: Recurrence<Op = L::Op, Ending = L::Ending>,
    L: Lanes,
{
    /// The results of all queries.
    pub(crate) fn results(&self) -> Vec<QueryResult> {
        let Head { q, k, v, lengths, v_exponents, masked, .. } = self.head;
        let dk = self.config.d + tail_words(self.numerics);
        let formats = self.numerics.formats;
        let special = |known: &Special, format: Format, d: usize, x: &[u64]| -> Vec<bool> {
            let own = || x.chunks(d).map(|row| any_special(format, row)).collect();
            known.clone().unwrap_or_else(own)
        };
        let [of_q, of_k, of_v] = &self.special;
        let q_special = special(of_q, formats.q, dk, q);
        let k_special = special(of_k, formats.k, dk, k);
        let v_special = special(of_v, formats.v, self.config.dv(), v);
        let biases = KeyBiases::new(self.numerics, self.head.biases);
        let mut values = BTreeMap::new();
        for &exponent in v_exponents {
            values.entry(exponent).or_insert_with(|| self.values(v, exponent));
        }
        let block = |number| {
            let numbers = number * BLOCK..lengths.len().min((number + 1) * BLOCK);
            let q_special = &q_special[numbers.clone()];
            let mut queries: Vec<Query<R, L>> = numbers
                .clone()
                .zip(q_special)
                .map(|(number, &special)| {
                    let exponent = v_exponents[number];
                    let mut query = self.query(self.head.keys(number), exponent, &values[&exponent]);
                    if let Some(partial) = self.head.restored(number) {
                        self.restore(&mut query, partial);
                        // A restore is a step, and every step reads q.
                        query.result.invalid |= special;
                    }
                    query
                })
                .collect();
            let first = queries.iter().map(|query| query.keys.start).min().unwrap_or(0);
            let longest = queries.iter().map(|query| query.keys.end).max().unwrap_or(0);
            let mut dots = self.dot.block(piece(q, BLOCK * dk, number));
            for key in first..longest {
                let dots = dots.dots(key);
                for (i, ((query, number), dot)) in
                    queries.iter_mut().zip(numbers.clone()).zip(dots).enumerate()
                {
                    if !query.keys.contains(&key) {
                        continue;
                    }
                    if masked.is_some_and(|masked| masked(number, key)) {
                        self.pass(query);
                        continue;
                    }
                    let bias = biases.of(number, key);
                    query.result.invalid |= q_special[i] || k_special[key] || bias.special;
                    if self.step(query, key, KeyScore { dot, bias: bias.score }) {
                        query.result.invalid |= v_special[key];
                    }
                }
            }
            queries.into_iter().map(|query| self.finish(query)).collect::<Vec<_>>()
        };
        parallel::collect(q.len().div_ceil(BLOCK * dk), &block).into_iter().flatten().collect()
    }

    fn values(&self, v: &[u64], exponent: u64) -> Values<L::Value> {
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
        Values { operands, overflow }
    }

    fn query<'v>(
        &self,
        keys: Range<usize>,
        v_exponent: u64,
        values: &'v Values<L::Value>,
    ) -> Query<'v, R, L> {
        let steps = Vec::with_capacity(if self.head.record { keys.len() } else { 0 });
        let result = QueryResult { empty: true, steps, ..QueryResult::default() };
        Query {
            state: None,
            o: vec![L::Output::default(); self.config.dv()],
            values,
            keys,
            v_exponent,
            result,
        }
    }

    /// Starts a query from a partial result.
    fn restore(&self, query: &mut Query<R, L>, partial: &PartialState) {
        query.state = self.recurrence.restore(partial.scalars);
        query.o = partial.o.iter().map(|&bits| self.lanes.accumulator(bits)).collect();
        query.result.empty = false;
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
    fn pass(&self, query: &mut Query<R, L>) {
        if self.head.record {
            let step = Step { s: 0, x: 0, w: 0, upper: false, action: Action::Masked, l: None };
            query.result.steps.push(step);
        }
    }

    /// One key of one query. Returns whether its value was read.
    #[inline]
    fn step(&self, query: &mut Query<R, L>, key: usize, score: KeyScore) -> bool {
        let (state, decision) = self.recurrence.step(query.state, score);
        query.state = Some(state);
        let result = &mut query.result;
        result.empty = false;
        result.overflow |= decision.overflow;
        if let Some(op) = decision.op {
            let d = self.config.dv();
            result.overflow |= query.values.overflow[key];
            result.saturated += self.lanes.step(op, &mut query.o, &query.values.operands[key * d..][..d]);
        }
        if self.head.record {
            let (s, x, w) = (decision.s, decision.x, decision.w);
            let l = if self.sums { self.recurrence.sum(state) } else { None };
            result.steps.push(Step { s, x, w, upper: decision.upper, action: decision.action, l });
        }
        decision.op.is_some()
    }

    /// Ends a query after its last key: saves its state, and divides (FA2) and rounds the output.
    fn finish(&self, query: Query<R, L>) -> QueryResult {
        let Query { state, o, v_exponent, mut result, .. } = query;
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

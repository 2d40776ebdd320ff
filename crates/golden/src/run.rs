//! One run of a model: blocks of queries, key after key, through dot product, recurrence and lanes.

use crate::dot::{BLOCK, DotUnit};
use crate::lanes::Lanes;
use crate::model::{Action, PartialState, QueryResult, Step};
use crate::recurrence::Recurrence;
use crate::round::encode;
use flashd_spec::format::Format;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The operands of a run, see [`crate::Model::run_scaled`].
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) d: usize,
    pub(crate) q: &'a [u64],
    pub(crate) k: &'a [u64],
    pub(crate) v: &'a [u64],
    pub(crate) lengths: &'a [usize],
    pub(crate) v_exponents: &'a [u64],
    pub(crate) masked: Masked<'a>,
    /// For each query what it starts from; none at all when empty.
    pub(crate) starts: &'a [Option<PartialState>],
    /// States are handed out.
    pub(crate) partial: bool,
    pub(crate) record: bool,
    /// Steps with FA2's sum.
    pub(crate) sums: bool,
}

/// Whether a query, by its index, does not see a key, by its index.
pub type Masked<'a> = &'a (dyn Fn(usize, usize) -> bool + Sync);

impl Input<'_> {
    /// # Panics
    /// If the operands do not fit each other.
    pub(crate) fn check(&self, format: Format) {
        let Input { d, q, k, v, lengths, v_exponents, starts, .. } = self;
        assert_eq!(q.len(), lengths.len() * d, "q must hold one query for each length");
        assert_eq!(k.len(), v.len(), "k and v must hold the same number of vectors");
        assert_eq!(k.len() % d, 0, "k must hold whole vectors");
        assert_eq!(lengths.len(), v_exponents.len(), "there must be one v_exponent for each query");
        let keys = k.len() / d;
        assert!(lengths.iter().all(|&n| n <= keys), "a query has more keys than there are");
        assert!(starts.is_empty() || starts.len() == lengths.len(), "there must be one start for each query");
        assert!(starts.iter().flatten().all(|start| start.o.len() == *d), "a start must have d accumulators");
        let field = format.exponent_mask();
        assert!(v_exponents.iter().all(|&x| x <= field), "a v_exponent is beyond {format}'s field");
    }
}

/// Keys and exponents of the queries of a block, and the queries.
type BlockOperands<'a> = ((&'a [usize], &'a [u64]), &'a [u64]);

/// The values as operands of the lanes, scaled to one exponent.
struct Values<V> {
    operands: Vec<V>,
    /// Keys with a value that is too large for the exponent.
    overflow: Vec<bool>,
}

/// The units of a core with the operands of a run.
pub(crate) struct Run<'a, R, L> {
    pub(crate) format: Format,
    pub(crate) dot: &'a dyn DotUnit,
    pub(crate) recurrence: &'a R,
    pub(crate) lanes: &'a L,
    pub(crate) input: Input<'a>,
}

/// A query in progress.
struct Query<'v, R: Recurrence, L: Lanes> {
    state: Option<R::State>,
    o: Vec<L::Output>,
    values: &'v Values<L::Value>,
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
        let Input { d, q, k, v, lengths, v_exponents, masked, starts, .. } = self.input;
        let special = |x: &[u64]| -> Vec<bool> {
            x.chunks(d).map(|x| x.iter().any(|&b| self.format.is_special(b))).collect()
        };
        let (k_special, v_special) = (special(k), special(v));
        let mut values = BTreeMap::new();
        for &exponent in v_exponents {
            values.entry(exponent).or_insert_with(|| self.values(v, exponent));
        }
        let block = |(number, ((lengths, exponents), q)): (usize, BlockOperands)| {
            let first = number * BLOCK;
            let q_special = special(q);
            let queries = lengths.iter().zip(exponents);
            let mut queries: Vec<Query<R, L>> = queries
                .map(|(&length, &v_exponent)| self.query(length, v_exponent, &values[&v_exponent]))
                .collect();
            for ((query, start), &special) in
                queries.iter_mut().zip(starts.iter().skip(first)).zip(&q_special)
            {
                if let Some(start) = start {
                    self.restore(query, start);
                    // The state is a step, and a step looks at q.
                    query.result.invalid |= special;
                }
            }
            let mut dots = self.dot.block(q);
            for key in 0..lengths.iter().copied().max().unwrap_or(0) {
                let dots = dots.dots(key);
                for (i, ((query, &length), dot)) in queries.iter_mut().zip(lengths).zip(dots).enumerate() {
                    if key >= length {
                        continue;
                    }
                    if masked(first + i, key) {
                        self.pass(query);
                        continue;
                    }
                    query.result.invalid |= q_special[i] || k_special[key];
                    if self.step(query, key, dot) {
                        query.result.invalid |= v_special[key];
                    }
                }
            }
            queries.into_iter().map(|query| self.finish(query)).collect::<Vec<_>>()
        };
        let blocks = lengths.par_chunks(BLOCK).zip(v_exponents.par_chunks(BLOCK));
        let blocks: Vec<_> = blocks.zip(q.par_chunks(BLOCK * d)).enumerate().map(block).collect();
        blocks.into_iter().flatten().collect()
    }

    fn values(&self, v: &[u64], exponent: u64) -> Values<L::Value> {
        let mut operands = Vec::with_capacity(v.len());
        let overflow = v.chunks(self.input.d).map(|row| {
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

    fn query<'v>(&self, length: usize, v_exponent: u64, values: &'v Values<L::Value>) -> Query<'v, R, L> {
        let steps = Vec::with_capacity(if self.input.record { length } else { 0 });
        let result = QueryResult { empty: true, steps, ..QueryResult::default() };
        Query { state: None, o: vec![L::Output::default(); self.input.d], values, v_exponent, result }
    }

    /// A query goes on where a partial result ended.
    fn restore(&self, query: &mut Query<R, L>, start: &PartialState) {
        query.state = self.recurrence.restore(start.scalars);
        query.o = start.o.iter().map(|&bits| self.lanes.accumulator(bits)).collect();
        query.result.empty = false;
        if self.input.record {
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

    /// A key that a query does not see.
    fn pass(&self, query: &mut Query<R, L>) {
        if self.input.record {
            let step = Step { s: 0, x: 0, w: 0, upper: false, action: Action::Masked, l: None };
            query.result.steps.push(step);
        }
    }

    /// One key of one query. Whether its value was read.
    #[inline]
    fn step(&self, query: &mut Query<R, L>, key: usize, dot: f64) -> bool {
        let (state, decision) = self.recurrence.step(query.state, dot);
        query.state = Some(state);
        let result = &mut query.result;
        result.empty = false;
        result.overflow |= decision.overflow;
        if let Some(op) = decision.op {
            let d = self.input.d;
            result.overflow |= query.values.overflow[key];
            result.saturated += self.lanes.step(op, &mut query.o, &query.values.operands[key * d..][..d]);
        }
        if self.input.record {
            let (s, x, w) = (decision.s, decision.x, decision.w);
            let l = if self.input.sums { self.recurrence.sum(state) } else { None };
            result.steps.push(Step { s, x, w, upper: decision.upper, action: decision.action, l });
        }
        decision.op.is_some()
    }

    /// What follows the last key, and the rounding to the output's format.
    fn finish(&self, query: Query<R, L>) -> QueryResult {
        let Query { state, o, v_exponent, mut result, .. } = query;
        if result.empty {
            result.o = vec![0; o.len()];
            return result;
        }
        if let (true, Some(state)) = (self.input.partial, state) {
            let o = o.iter().map(|&o| self.lanes.bits(o)).collect();
            result.state = Some(PartialState { scalars: self.recurrence.save(state), o });
        }
        let ending = self.recurrence.ending(state);
        for o in o {
            let (rounded, over) = self.lanes.result(ending, o, v_exponent);
            result.saturated += u64::from(over);
            result.o.push(encode(self.format, rounded));
        }
        result
    }
}

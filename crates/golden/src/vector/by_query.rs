//! Cores without kernels: the model's recurrence and lanes, query by query, a tile of keys at a time.

use super::block::{BlockCore, TileWork};
use super::layout::VectorLayout;
use super::operands::Survey;
use super::task::{RunTask, VectorRun};
use crate::block::BLOCK;
use crate::lanes::Lanes;
use crate::model::{Model, Visit};
use crate::operand::OperandVectors;
use crate::recurrence::Recurrence;
use crate::result::{Action, PartialState, QueryResult, Step};
use crate::round::encode;
use flashd_spec::format::Format;
use flashd_spec::isa::{Isa, Kernel};

/// A run that takes recurrence and lanes from [`Model`].
pub(crate) struct ByQuery<'a>(pub(crate) RunTask<'a>);

impl Visit for ByQuery<'_> {
    type Output = VectorRun;

    fn v(&self) -> OperandVectors<'_> {
        self.0.head.v
    }

    fn restored(&self) -> &[Option<PartialState>] {
        self.0.head.restored
    }

    fn visit<R, L>(self, _: &Model, recurrence: &R, lanes: &L, _: crate::carrier::Carriers) -> VectorRun
    where
        R: Recurrence<Op = L::Op, Ending = L::Ending>,
        L: Lanes,
    {
        let (format, d) = (self.0.numerics.formats.o, self.0.dv);
        self.0.run(&QueryCore { format, d, recurrence, lanes })
    }
}

struct QueryCore<'a, R, L> {
    /// Format of the results.
    format: Format,
    d: usize,
    recurrence: &'a R,
    lanes: &'a L,
}

/// State of a block of queries.
struct BlockState<R: Recurrence, L: Lanes> {
    states: [Option<R::State>; BLOCK],
    /// Accumulators, `[queries, d]`.
    o: Vec<L::Output>,
    saturated: [u64; BLOCK],
}

impl<R, L> BlockCore for QueryCore<'_, R, L>
where
    R: Recurrence<Op = L::Op, Ending = L::Ending>,
    L: Lanes,
{
    type State = BlockState<R, L>;
    type Value = L::Value;

    fn convert(&self, _: Isa, v: &[u64], exponent: u64, values: &mut [L::Value]) {
        values.iter_mut().zip(v).for_each(|(value, &bits)| *value = self.lanes.value(bits, exponent).0);
    }

    fn overflow(&self, v: OperandVectors, _: &Survey, exponent: u64) -> Vec<bool> {
        let over = |&bits: &u64| self.lanes.value(bits, exponent).1;
        let mut all = Vec::with_capacity(v.len() / self.d);
        v.pieces(|v| all.extend(v.chunks(self.d).map(|row| row.iter().any(over))));
        all
    }

    fn start(&self, _: VectorLayout) -> BlockState<R, L> {
        BlockState {
            states: [None; BLOCK],
            o: vec![L::Output::default(); BLOCK * self.d],
            saturated: [0; BLOCK],
        }
    }

    fn restore(&self, state: &mut BlockState<R, L>, query: usize, partial: &PartialState) {
        state.states[query] = self.recurrence.restore(partial.scalars);
        let o = &mut state.o[query * self.d..(query + 1) * self.d];
        o.iter_mut().zip(&partial.o).for_each(|(o, &bits)| *o = self.lanes.accumulator(bits));
    }

    fn save(&self, state: &BlockState<R, L>, query: usize) -> PartialState {
        let o = &state.o[query * self.d..(query + 1) * self.d];
        PartialState {
            scalars: state.states[query].map_or([0; 2], |state| self.recurrence.save(state)),
            o: o.iter().map(|&o| self.lanes.bits(o)).collect(),
        }
    }

    fn tile(
        &self,
        isa: Isa,
        state: &mut BlockState<R, L>,
        values: &[L::Value],
        _: usize,
        watch: bool,
        work: &mut TileWork,
    ) {
        isa.run(QueryTile::<R, L> { core: self, state, values, watch, work });
    }

    fn finish(&self, state: &BlockState<R, L>, query: usize, exponent: u64, result: &mut QueryResult) {
        let ending = self.recurrence.ending(state.states[query]);
        result.saturated += state.saturated[query];
        for &o in &state.o[query * self.d..(query + 1) * self.d] {
            let (rounded, over) = self.lanes.result(ending, o, exponent);
            result.saturated += u64::from(over);
            result.o.push(encode(self.format, rounded));
        }
    }
}

struct QueryTile<'a, R: Recurrence, L: Lanes> {
    core: &'a QueryCore<'a, R, L>,
    state: &'a mut BlockState<R, L>,
    values: &'a [L::Value],
    watch: bool,
    work: &'a mut TileWork,
}

impl<R, L> Kernel for QueryTile<'_, R, L>
where
    R: Recurrence<Op = L::Op, Ending = L::Ending>,
    L: Lanes,
{
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let QueryTile { core, state, values, watch, work } = self;
        let d = core.d;
        for query in 0..BLOCK {
            let o = &mut state.o[query * d..(query + 1) * d];
            let mut own = state.states[query];
            for (key, v) in values.chunks_exact(d).enumerate() {
                work.read[key][query] = 0;
                if work.seen[key][query] == 0 {
                    if watch {
                        let step = Step { s: 0, x: 0, w: 0, upper: false, action: Action::Masked, l: None };
                        work.watched.set(key, query, step);
                    }
                    continue;
                }
                let score = work.dots.score(key, query);
                let (next, decision) = core.recurrence.step(own, score);
                work.saturated[query] |= -i32::from(core.recurrence.saturates(score));
                own = Some(next);
                work.tally.held[query] += i32::from(decision.action == Action::Hold);
                work.tally.loads[query] += i32::from(decision.action == Action::Load);
                if let Some(op) = decision.op {
                    work.read[key][query] = -1;
                    state.saturated[query] += core.lanes.step(op, o, v);
                }
                if watch {
                    let (s, x, w, upper) = (decision.s, decision.x, decision.w, decision.upper);
                    work.watched.set(key, query, Step { s, x, w, upper, action: decision.action, l: None });
                }
            }
            state.states[query] = own;
        }
    }
}

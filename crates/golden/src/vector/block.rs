//! The steps of a core on blocks of queries: with its types ([`BlockCore`]), and without them ([`AnyCore`]), so that a
//! run is compiled once for all cores.

use super::TILE;
use super::dot::Dots;
use super::layout::VectorLayout;
use super::operands::Survey;
use super::watch::{TileSteps, TileTally};
use crate::block::Block;
use crate::operand::{OperandVectors, rows_of_piece};
use crate::parallel;
use crate::result::{PartialState, QueryResult};
use flashd_spec::isa::Isa;
use std::ops::Range;

/// The values of a run, as its blocks read them.
#[derive(Clone, Copy)]
pub(crate) struct BlockValueSource<'a> {
    pub(crate) isa: Isa,
    /// Encodings, `[keys, d]`.
    pub(crate) v: OperandVectors<'a>,
    pub(crate) d: usize,
    /// Exponent field that the values of fixed-point lanes are relative to.
    pub(crate) exponent: u64,
    /// Each block converts the values of a tile for itself. If false, all are converted before the first block.
    pub(crate) by_tile: bool,
    pub(crate) layout: VectorLayout,
}

/// The steps of a core on a block of queries.
pub(crate) trait BlockCore: Sync {
    /// State of a block of queries.
    type State;
    /// A value as the lanes take it.
    type Value: Copy + Default + Send + Sync;

    /// Whether it has kernels for [`VectorLayout::Elements`].
    fn takes_elements(&self) -> bool {
        false
    }

    /// Converts encodings to values relative to the exponent field `exponent`.
    fn convert(&self, isa: Isa, v: &[u64], exponent: u64, values: &mut [Self::Value]);

    /// For each key, whether one of its values is too large for the exponent.
    fn overflow(&self, v: OperandVectors, survey: &Survey, exponent: u64) -> Vec<bool>;

    /// The state of a block before its first key.
    fn start(&self, layout: VectorLayout) -> Self::State;

    /// Restores a query from a partial result, before its first key.
    fn restore(&self, state: &mut Self::State, query: usize, partial: &PartialState);

    /// The partial result of a query that has seen a key.
    fn save(&self, state: &Self::State, query: usize) -> PartialState;

    /// Takes the steps of a tile of keys. Writes `read`, `overflow` and `tally` of `work`; with `watch`, records the
    /// steps.
    fn tile(
        &self,
        isa: Isa,
        state: &mut Self::State,
        values: &[Self::Value],
        keys: usize,
        watch: bool,
        work: &mut TileWork,
    );

    /// The result of a query that has seen a key.
    fn finish(&self, state: &Self::State, query: usize, exponent: u64, result: &mut QueryResult);
}

/// Inputs and outputs of a core's work on a tile. Masks are 0 or -1 for each query.
pub(crate) struct TileWork {
    pub(crate) dots: Box<Dots>,
    /// Which queries see each key.
    pub(crate) seen: [Block<i32>; TILE],
    /// Which queries read its value; written by the core.
    pub(crate) read: [Block<i32>; TILE],
    /// Queries whose sum has left its range in this tile or before; written by the core.
    pub(crate) overflow: Block<i32>,
    /// Queries that see a key in this tile whose score saturates, its bias apart; written by the core.
    pub(crate) saturated: Block<i32>,
    pub(crate) tally: TileTally,
    pub(crate) watched: TileSteps,
}

/// A [`BlockCore`] without its types.
pub(crate) trait AnyBlockCore: Sync {
    /// See [`BlockCore::takes_elements`].
    fn takes_elements(&self) -> bool;

    /// See [`BlockCore::overflow`].
    fn overflow(&self, v: OperandVectors, survey: &Survey, exponent: u64) -> Vec<bool>;

    /// The core with the values of a run. Unless blocks convert them, it converts them here, on the threads of the
    /// current pool.
    fn values<'a>(&'a self, source: BlockValueSource<'a>) -> Box<dyn AnyValues + 'a>;
}

/// A core with the values of a run.
pub(crate) trait AnyValues: Send + Sync {
    /// A block before its first key.
    fn start(&self) -> Box<dyn AnyBlock + '_>;
}

/// A block of queries with its state; it has the methods of [`BlockCore`].
pub(crate) trait AnyBlock {
    fn restore(&mut self, query: usize, partial: &PartialState);

    fn save(&self, query: usize) -> PartialState;

    fn tile(&mut self, keys: Range<usize>, watch: bool, work: &mut TileWork);

    fn finish(&self, query: usize, result: &mut QueryResult);
}

impl<C: BlockCore> AnyBlockCore for C {
    fn takes_elements(&self) -> bool {
        BlockCore::takes_elements(self)
    }

    fn overflow(&self, v: OperandVectors, survey: &Survey, exponent: u64) -> Vec<bool> {
        BlockCore::overflow(self, v, survey, exponent)
    }

    fn values<'a>(&'a self, source: BlockValueSource<'a>) -> Box<dyn AnyValues + 'a> {
        let BlockValueSource { isa, v, d, exponent, by_tile, .. } = source;
        let mut all = Vec::new();
        if !by_tile {
            all = vec![C::Value::default(); v.len()];
            let together = rows_of_piece(d);
            parallel::fill(&mut all, together * d, &|number, values| {
                let rows = number * together..number * together + values.len() / d;
                self.convert(isa, v.rows(d, rows, &mut Vec::new()), exponent, values);
            });
        }
        Box::new(CoreValues { core: self, source, all })
    }
}

struct CoreValues<'a, C: BlockCore> {
    core: &'a C,
    source: BlockValueSource<'a>,
    /// All converted values; empty if blocks convert them.
    all: Vec<C::Value>,
}

impl<C: BlockCore> AnyValues for CoreValues<'_, C> {
    fn start(&self) -> Box<dyn AnyBlock + '_> {
        let state = self.core.start(self.source.layout);
        let tile =
            if self.source.by_tile { vec![C::Value::default(); TILE * self.source.d] } else { Vec::new() };
        Box::new(RunningBlock { values: self, state, tile, words: Vec::new() })
    }
}

struct RunningBlock<'a, C: BlockCore> {
    values: &'a CoreValues<'a, C>,
    state: C::State,
    /// The converted values of a tile; empty if all are converted before.
    tile: Vec<C::Value>,
    /// The encodings of a tile, if they are made on demand.
    words: Vec<u64>,
}

impl<C: BlockCore> AnyBlock for RunningBlock<'_, C> {
    fn restore(&mut self, query: usize, partial: &PartialState) {
        self.values.core.restore(&mut self.state, query, partial);
    }

    fn save(&self, query: usize) -> PartialState {
        self.values.core.save(&self.state, query)
    }

    fn tile(&mut self, keys: Range<usize>, watch: bool, work: &mut TileWork) {
        let CoreValues { core, source: BlockValueSource { isa, v, d, exponent, by_tile, .. }, all } =
            self.values;
        let elements = keys.start * d..keys.end * d;
        let values = if *by_tile {
            let values = &mut self.tile[..elements.len()];
            core.convert(*isa, v.rows(*d, keys.clone(), &mut self.words), *exponent, values);
            &*values
        } else {
            &all[elements]
        };
        core.tile(*isa, &mut self.state, values, keys.len(), watch, work);
    }

    fn finish(&self, query: usize, result: &mut QueryResult) {
        let BlockValueSource { d, exponent, .. } = self.values.source;
        result.o.reserve_exact(d);
        self.values.core.finish(&self.state, query, exponent, result);
    }
}

/// One number for each accumulator of a block: the accumulator, or its exponent.
pub(crate) struct Outputs<T> {
    pub(crate) vectors: Vec<Block<T>>,
    pub(crate) layout: VectorLayout,
}

impl<T: Copy + Default> Outputs<T> {
    /// Zeros for d elements of each query. With [`VectorLayout::Elements`] there is one query, and d is a multiple of 16.
    pub(crate) fn new(d: usize, layout: VectorLayout) -> Self {
        let vectors = match layout {
            VectorLayout::Queries => d,
            VectorLayout::Elements => d / crate::block::BLOCK,
        };
        Outputs { vectors: vec![Block::default(); vectors], layout }
    }

    /// The d numbers of a query.
    pub(crate) fn of(&self, query: usize) -> impl Iterator<Item = T> {
        let (lanes, first) = match self.layout {
            VectorLayout::Queries => (1, query),
            VectorLayout::Elements => (crate::block::BLOCK, 0),
        };
        self.vectors.iter().flat_map(move |vector| vector[first..first + lanes].iter().copied())
    }

    /// [`Outputs::of`], mutable.
    pub(crate) fn of_mut(&mut self, query: usize) -> impl Iterator<Item = &mut T> {
        let (lanes, first) = match self.layout {
            VectorLayout::Queries => (1, query),
            VectorLayout::Elements => (crate::block::BLOCK, 0),
        };
        self.vectors.iter_mut().flat_map(move |vector| vector[first..first + lanes].iter_mut())
    }
}

/// Index of lane i's query in the vectors of a step: with elements side by side, all lanes belong to query 0.
#[inline(always)]
pub(crate) fn lane<const ELEMENTS: bool>(i: usize) -> usize {
    if ELEMENTS { 0 } else { i }
}

/// The values in a key's row that belong to N vectors of accumulators, from vector `start` on.
#[inline(always)]
pub(crate) fn row<T, const N: usize, const ELEMENTS: bool>(row: &[T], start: usize) -> &[T] {
    let width = if ELEMENTS { crate::block::BLOCK } else { 1 };
    &row[start * width..(start + N) * width]
}

/// The value for lane i of the n-th vector, from a result of [`row`].
#[inline(always)]
pub(crate) fn value<T: Copy, const ELEMENTS: bool>(row: &[T], n: usize, i: usize) -> T {
    if ELEMENTS { row[n * crate::block::BLOCK + i] } else { row[n] }
}

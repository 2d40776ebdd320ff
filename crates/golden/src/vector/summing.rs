//! FA2 `ranged`: the kernels of a tile put together.

use super::TILE;
use super::block::{BlockCore, Outputs, TileWork};
use super::layout::VectorLayout;
use super::octaves::{Addition, OctaveLanes, OctaveState};
use super::operands::{Survey, convert};
use super::ranged::{RangeOperands, RangeValue};
use super::ranged_sum::{RangedSums, SumStep};
use super::score::ScoreLanes;
use crate::block::Block;
use crate::lanes::{Lanes, Ranged, RangedSumLanes};
use crate::model::Model;
use crate::operand::OperandVectors;
use crate::result::{PartialState, QueryResult};
use crate::round::encode;
use flashd_spec::config::{Arithmetic, Design};
use flashd_spec::format::Format;
use flashd_spec::isa::{Isa, Kernel};

/// FA2 `ranged`, in vectors of 32-bit numbers.
pub(crate) struct Summing {
    /// Format of the results.
    format: Format,
    d: usize,
    score: ScoreLanes,
    octaves: OctaveLanes,
    lanes: RangedSums,
    operands: RangeOperands,
    reference: RangedSumLanes,
}

impl Summing {
    /// The core of a model; `None` if its lanes are not of this kind or its numbers do not fit 32 bits.
    pub(crate) fn new(model: &Model) -> Option<Summing> {
        let (config, n) = (model.config(), model.numerics());
        if (config.design(), config.kind().arithmetic) != (Design::Fa2, Arithmetic::Ranged) {
            return None;
        }
        let o = config.lane_bits().o;
        let bits = o + config.sum_guard_bits();
        Some(Summing {
            format: n.formats.o,
            d: config.dv(),
            score: ScoreLanes::new(n)?,
            octaves: OctaveLanes::new(n)?,
            lanes: RangedSums::new(n.formats.v, bits, o - 1, n.factor_significand)?,
            operands: RangeOperands::exact(n.formats.v)?,
            reference: RangedSumLanes::of(config, n),
        })
    }
}

/// State of a block of queries.
pub(crate) struct SumState {
    state: OctaveState,
    o: Outputs<i32>,
    exponents: Outputs<i32>,
    scores: [Block<i32>; TILE],
    additions: [Addition; TILE],
    steps: [SumStep; TILE],
    /// Keys that a query reads, in order: `steps[i]` is that of key `read[i]`.
    read: Vec<usize>,
}

impl SumState {
    /// The accumulators of a query.
    fn outputs(&self, query: usize) -> impl Iterator<Item = Ranged> {
        let both = self.o.of(query).zip(self.exponents.of(query));
        both.map(|(o, exponent)| Ranged { o: o.into(), exponent: exponent as u64 })
    }
}

impl BlockCore for Summing {
    type State = Box<SumState>;
    type Value = RangeValue;

    fn takes_elements(&self) -> bool {
        true
    }

    fn convert(&self, isa: Isa, v: &[u64], _: u64, values: &mut [RangeValue]) {
        convert(isa, v, &self.operands, values);
    }

    fn overflow(&self, v: OperandVectors, _: &Survey, _: u64) -> Vec<bool> {
        vec![false; v.len() / self.d]
    }

    fn start(&self, layout: VectorLayout) -> Box<SumState> {
        Box::new(SumState {
            state: self.octaves.start(),
            o: Outputs::new(self.d, layout),
            exponents: Outputs::new(self.d, layout),
            scores: [[0; crate::block::BLOCK]; TILE],
            additions: [Addition::NOTHING; TILE],
            steps: [SumStep::NOTHING; TILE],
            read: Vec::with_capacity(TILE),
        })
    }

    fn restore(&self, state: &mut Box<SumState>, query: usize, partial: &PartialState) {
        self.octaves.restore(&mut state.state, query, partial);
        let SumState { o, exponents, .. } = &mut **state;
        for ((o, e), &bits) in o.of_mut(query).zip(exponents.of_mut(query)).zip(&partial.o) {
            let restored = self.reference.accumulator(bits);
            (*o, *e) = (restored.o as i32, restored.exponent as i32);
        }
    }

    fn save(&self, state: &Box<SumState>, query: usize) -> PartialState {
        PartialState {
            scalars: self.octaves.save(&state.state, query),
            o: state.outputs(query).map(|o| self.reference.bits(o)).collect(),
        }
    }

    fn tile(
        &self,
        isa: Isa,
        state: &mut Box<SumState>,
        values: &[RangeValue],
        keys: usize,
        watch: bool,
        work: &mut TileWork,
    ) {
        if watch {
            isa.run(SumTile::<true> { core: self, state, keys, work });
        } else {
            isa.run(SumTile::<false> { core: self, state, keys, work });
        }
        match state.o.layout {
            VectorLayout::Queries => isa.run(SumValues::<false> { core: self, state, values }),
            VectorLayout::Elements => isa.run(SumValues::<true> { core: self, state, values }),
        }
    }

    fn finish(&self, state: &Box<SumState>, query: usize, exponent: u64, result: &mut QueryResult) {
        let ending = self.octaves.ending(&state.state, query);
        for o in state.outputs(query) {
            let (rounded, over) = self.reference.result(ending, o, exponent);
            result.saturated += u64::from(over);
            result.o.push(encode(self.format, rounded));
        }
    }
}

/// Computes scores, exponentials and steps of a tile.
struct SumTile<'a, const WATCH: bool> {
    core: &'a Summing,
    state: &'a mut SumState,
    keys: usize,
    work: &'a mut TileWork,
}

impl<const WATCH: bool> Kernel for SumTile<'_, WATCH> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let SumTile { core, state, keys, work } = self;
        let SumState { state, scores, additions, steps, read, .. } = state;
        let (scores, additions) = (&mut scores[..keys], &mut additions[..keys]);
        core.score.of(work, scores);
        core.octaves.tile::<WATCH>(state, scores, additions, work);
        // Keys that no query reads have no step.
        read.clear();
        for (key, addition) in additions.iter().enumerate() {
            if work.read[key].iter().fold(0, |any, &read| any | read) != 0 {
                core.lanes.prepare(addition, &work.read[key], &mut steps[read.len()]);
                read.push(key);
            }
        }
    }
}

/// Updates accumulators and exponents with the steps of a tile.
struct SumValues<'a, const ELEMENTS: bool> {
    core: &'a Summing,
    state: &'a mut SumState,
    values: &'a [RangeValue],
}

impl<const ELEMENTS: bool> Kernel for SumValues<'_, ELEMENTS> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let SumValues { core, state: SumState { o, exponents, steps, read, .. }, values } = self;
        let mut rows = [&values[..0]; TILE];
        for (row, key) in rows.iter_mut().zip(&*read) {
            *row = &values[key * core.d..(key + 1) * core.d];
        }
        let (steps, rows) = (&steps[..read.len()], &rows[..read.len()]);
        core.lanes.apply::<ELEMENTS>(steps, rows, &mut o.vectors, &mut exponents.vectors);
    }
}

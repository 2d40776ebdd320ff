//! FA2 with float lanes: the kernels of a tile put together.

use super::TILE;
use super::block::{BlockCore, Outputs, TileWork};
use super::fa2::{Fa2State, Rescale, SoftmaxLanes};
use super::float::{FloatStep, Reach, ScalingLanes};
use super::layout::VectorLayout;
use super::operands::{Convert, Decoder, Extent, Survey, convert};
use super::score::ScoreLanes;
use crate::block::{BLOCK, Block};
use crate::lanes::Lanes;
use crate::model::{Model, fits_f32};
use crate::operand::OperandVectors;
use crate::recurrence::{Fa2, Recurrence};
use crate::result::{PartialState, QueryResult};
use crate::round::{decode, encode};
use flashd_spec::config::{Arithmetic, Design};
use flashd_spec::format::{Format, Subnormals};
use flashd_spec::isa::{Isa, Kernel};

/// FA2 with float lanes, in vectors of f32. `FLUSH`: the accumulator flushes subnormals.
pub(crate) struct ScalingCore<const FLUSH: bool> {
    format: Format,
    d: usize,
    score: ScoreLanes,
    softmax: SoftmaxLanes,
    lanes: ScalingLanes<FLUSH>,
    reference: Fa2,
    decoder: Decoder,
    /// All nonzero values are large enough for products that do not underflow.
    safe_values: bool,
}

impl<const FLUSH: bool> ScalingCore<FLUSH> {
    /// The core of a model; `None` if its lanes are not of this kind, or if the lanes do not hold its numbers with
    /// these values and partial results.
    pub(crate) fn new(
        model: &Model,
        values: Extent,
        restored: &[Option<PartialState>],
    ) -> Option<ScalingCore<FLUSH>> {
        let (config, n) = (model.config(), model.numerics());
        let kind = config.kind();
        if kind.design != Design::Fa2 || kind.arithmetic != Arithmetic::Float {
            return None;
        }
        let shared = kind.scales_in_lane;
        let reference = Fa2::new(n, shared);
        // The bits that a carrier must hold, as the model computes them.
        let longest = reference.factor_bits() + n.accumulator.precision();
        let longest = longest.max(n.product.precision().max(n.accumulator.precision()) + 2);
        let flushes = n.accumulator.subnormals == Subnormals::Flushed;
        if flushes != FLUSH || !fits_f32(n.formats.v, n.accumulator, longest, || values.largest, restored) {
            return None;
        }
        let lanes = ScalingLanes::new(n.formats, n.accumulator, n.product, shared);
        let safe_values = values.largest == 0 || lanes.has_safe_values(decode(n.formats.v, values.smallest));
        Some(ScalingCore {
            format: n.formats.o,
            d: config.dv(),
            score: ScoreLanes::new(n)?,
            softmax: SoftmaxLanes::new(n, shared)?,
            lanes,
            reference,
            decoder: Decoder::new(n.formats.v)?,
            safe_values,
        })
    }
}

/// State of a block of queries.
pub(crate) struct ScaleState {
    state: Fa2State,
    o: Outputs<f32>,
    saturated: Block<u64>,
    scores: [Block<i32>; TILE],
    scales: [Rescale; TILE],
    steps: [FloatStep; TILE],
    /// Keys that a query reads, in order: `steps[i]` is that of key `read[i]`.
    read: Vec<usize>,
    reach: Reach,
}

/// Converts a value to the operand of [`crate::lanes::FloatLanes`], its number.
struct FloatValue(Decoder);

impl Convert for FloatValue {
    type Number = f32;

    #[inline(always)]
    fn of(&self, bits: u64) -> f32 {
        self.0.of(bits)
    }
}

impl<const FLUSH: bool> BlockCore for ScalingCore<FLUSH> {
    type State = Box<ScaleState>;
    type Value = f32;

    fn takes_elements(&self) -> bool {
        true
    }

    fn convert(&self, isa: Isa, v: &[u64], _: u64, values: &mut [f32]) {
        convert(isa, v, &FloatValue(self.decoder), values);
    }

    fn overflow(&self, v: OperandVectors, _: &Survey, _: u64) -> Vec<bool> {
        vec![false; v.len() / self.d]
    }

    fn start(&self, layout: VectorLayout) -> Box<ScaleState> {
        Box::new(ScaleState {
            state: self.softmax.start(),
            o: Outputs::new(self.d, layout),
            saturated: [0; BLOCK],
            scores: [[0; BLOCK]; TILE],
            scales: [Rescale::NOTHING; TILE],
            steps: [FloatStep::NOTHING; TILE],
            read: Vec::with_capacity(TILE),
            reach: Reach::NOTHING,
        })
    }

    fn restore(&self, state: &mut Box<ScaleState>, query: usize, partial: &PartialState) {
        if let Some(sum) = self.reference.restore(partial.scalars) {
            SoftmaxLanes::restore(&mut state.state, query, sum);
        }
        for (o, &bits) in state.o.of_mut(query).zip(&partial.o) {
            *o = self.lanes.reference.accumulator(bits);
        }
    }

    fn save(&self, state: &Box<ScaleState>, query: usize) -> PartialState {
        PartialState {
            scalars: self.reference.save(SoftmaxLanes::state(&state.state, query)),
            o: state.o.of(query).map(|o| self.lanes.reference.bits(o)).collect(),
        }
    }

    fn tile(
        &self,
        isa: Isa,
        state: &mut Box<ScaleState>,
        values: &[f32],
        keys: usize,
        watch: bool,
        work: &mut TileWork,
    ) {
        if watch {
            isa.run(ScaleTile::<FLUSH, true> { core: self, state, keys, work });
        } else {
            isa.run(ScaleTile::<FLUSH, false> { core: self, state, keys, work });
        }
        match state.o.layout {
            VectorLayout::Queries => isa.run(ScaleValues::<FLUSH, false> { core: self, state, values }),
            VectorLayout::Elements => isa.run(ScaleValues::<FLUSH, true> { core: self, state, values }),
        }
    }

    fn finish(&self, state: &Box<ScaleState>, query: usize, exponent: u64, result: &mut QueryResult) {
        let ending = self.reference.ending(Some(SoftmaxLanes::state(&state.state, query)));
        result.saturated += state.saturated[query];
        for o in state.o.of(query) {
            let (rounded, over) = self.lanes.reference.result(ending, o, exponent);
            result.saturated += u64::from(over);
            result.o.push(encode(self.format, rounded));
        }
    }
}

/// Computes scores, exponentials and steps of a tile.
struct ScaleTile<'a, const FLUSH: bool, const WATCH: bool> {
    core: &'a ScalingCore<FLUSH>,
    state: &'a mut ScaleState,
    keys: usize,
    work: &'a mut TileWork,
}

impl<const FLUSH: bool, const WATCH: bool> Kernel for ScaleTile<'_, FLUSH, WATCH> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let ScaleTile { core, state, keys, work } = self;
        let ScaleState { state, scores, scales, steps, read, reach, .. } = state;
        let (scores, scales) = (&mut scores[..keys], &mut scales[..keys]);
        core.score.of(work, scores);
        core.softmax.tile::<WATCH>(state, scores, scales, work);
        let idle = state.idle();
        // Keys that no query reads have no step.
        read.clear();
        *reach = Reach::NOTHING;
        for (key, scale) in scales.iter().enumerate() {
            if work.read[key].iter().fold(0, |any, &read| any | read) != 0 {
                steps[read.len()].prepare(scale, &work.read[key], &idle, reach);
                read.push(key);
            }
        }
    }
}

/// Updates the accumulators with the steps of a tile.
struct ScaleValues<'a, const FLUSH: bool, const ELEMENTS: bool> {
    core: &'a ScalingCore<FLUSH>,
    state: &'a mut ScaleState,
    values: &'a [f32],
}

impl<const FLUSH: bool, const ELEMENTS: bool> Kernel for ScaleValues<'_, FLUSH, ELEMENTS> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let ScaleValues { core, state: ScaleState { o, saturated, steps, read, reach, .. }, values } = self;
        let mut rows = [&values[..0]; TILE];
        for (row, key) in rows.iter_mut().zip(&*read) {
            *row = &values[key * core.d..(key + 1) * core.d];
        }
        let (steps, rows) = (&steps[..read.len()], &rows[..read.len()]);
        core.lanes.apply::<ELEMENTS>(steps, rows, reach, core.safe_values, &mut o.vectors, saturated);
    }
}

//! FA2 with float lanes: the kernels of a tile put together.

use super::TILE;
use super::fa2::{Scale, SoftmaxLanes, State};
use super::float::{Reach, Scaling, Step};
use super::isa::{Isa, Kernel};
use super::operands::{Convert, Decoder, Survey, convert};
use super::run::{BlockCore, TileWork};
use super::score::ScoreLanes;
use crate::dot::{BLOCK, Block};
use crate::lanes::Lanes;
use crate::model::{Model, PartialState, QueryResult, fits_f32};
use crate::recurrence::{Fa2, Recurrence};
use crate::round::{decode, encode};
use flashd_hwmodel::config::{Design, Fa2Variant};
use flashd_hwmodel::format::{Format, Subnormals};
use std::ops::Range;

/// The core.
pub(crate) struct ScalingCore<const FLUSH: bool> {
    format: Format,
    d: usize,
    score: ScoreLanes,
    softmax: SoftmaxLanes,
    lanes: Scaling<FLUSH>,
    reference: Fa2,
    decoder: Decoder,
}

impl<const FLUSH: bool> ScalingCore<FLUSH> {
    /// The core, if it is one of these and its numbers fit with these starts and values up to a magnitude, an encoding.
    pub(crate) fn new(
        model: &Model,
        largest: u64,
        starts: &[Option<PartialState>],
    ) -> Option<ScalingCore<FLUSH>> {
        let (config, n) = (model.config(), model.numerics());
        let shared = match (config.design, config.fa2) {
            (Design::Fa2, Fa2Variant::SharedScale) => true,
            (Design::Fa2, Fa2Variant::SeparateScale) => false,
            _ => return None,
        };
        let reference = Fa2::new(n, shared);
        // As the model chooses its carrier.
        let longest = reference.factor_bits() + n.accumulator.precision();
        let longest = longest.max(n.product.precision().max(n.accumulator.precision()) + 2);
        let flushes = n.accumulator.subnormals == Subnormals::Flushed;
        if flushes != FLUSH || !fits_f32(n.format, n.accumulator, longest, || largest, starts) {
            return None;
        }
        Some(ScalingCore {
            format: n.format,
            d: config.d,
            score: ScoreLanes::new(n)?,
            softmax: SoftmaxLanes::new(n, shared)?,
            lanes: Scaling::new(n.format, n.accumulator, n.product, shared),
            reference,
            decoder: Decoder::new(n.format)?,
        })
    }
}

/// A block of queries under way.
pub(crate) struct ScaleState {
    state: State,
    o: Vec<Block<f32>>,
    saturated: Block<u64>,
    scores: [Block<i32>; TILE],
    scales: [Scale; TILE],
    steps: [Step; TILE],
}

/// Values, and whether all but zeros are large enough for products that do not underflow.
pub(crate) struct FloatValues {
    rows: Vec<f32>,
    safe: bool,
}

/// The operand of a value, as [`crate::lanes::FloatLanes`] has it.
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
    type Values = FloatValues;

    fn values(&self, isa: Isa, v: &[u64], survey: &Survey, _: u64) -> (FloatValues, Vec<bool>) {
        let rows = convert(isa, v, &FloatValue(self.decoder));
        let smallest = decode(self.format, survey.extent.smallest);
        let safe = survey.extent.largest == 0 || self.lanes.has_safe_values(smallest);
        (FloatValues { rows, safe }, vec![false; v.len() / self.d])
    }

    fn start(&self) -> Box<ScaleState> {
        Box::new(ScaleState {
            state: self.softmax.start(),
            o: vec![[0.0; BLOCK]; self.d],
            saturated: [0; BLOCK],
            scores: [[0; BLOCK]; TILE],
            scales: [Scale::NOTHING; TILE],
            steps: [Step::NOTHING; TILE],
        })
    }

    fn restore(&self, state: &mut Box<ScaleState>, query: usize, start: &PartialState) {
        if let Some(sum) = self.reference.restore(start.scalars) {
            SoftmaxLanes::restore(&mut state.state, query, sum);
        }
        for (o, &bits) in state.o.iter_mut().zip(&start.o) {
            o[query] = self.lanes.reference.accumulator(bits);
        }
    }

    fn save(&self, state: &Box<ScaleState>, query: usize) -> PartialState {
        PartialState {
            scalars: self.reference.save(SoftmaxLanes::state(&state.state, query)),
            o: state.o.iter().map(|o| self.lanes.reference.bits(o[query])).collect(),
        }
    }

    fn tile<const WATCH: bool>(
        &self,
        isa: Isa,
        state: &mut Box<ScaleState>,
        values: &FloatValues,
        keys: Range<usize>,
        work: &mut TileWork,
    ) {
        let rows = &values.rows[keys.start * self.d..keys.end * self.d];
        let (safe, keys) = (values.safe, keys.len());
        isa.run(ScaleTile::<FLUSH, WATCH> { core: self, state, rows, safe, keys, work });
    }

    fn finish(&self, state: &Box<ScaleState>, query: usize, exponent: u64, result: &mut QueryResult) {
        let ending = self.reference.ending(Some(SoftmaxLanes::state(&state.state, query)));
        result.saturated += state.saturated[query];
        for o in &state.o {
            let (rounded, over) = self.lanes.reference.result(ending, o[query], exponent);
            result.saturated += u64::from(over);
            result.o.push(encode(self.format, rounded));
        }
    }
}

struct ScaleTile<'a, const FLUSH: bool, const WATCH: bool> {
    core: &'a ScalingCore<FLUSH>,
    state: &'a mut ScaleState,
    rows: &'a [f32],
    safe: bool,
    keys: usize,
    work: &'a mut TileWork,
}

impl<const FLUSH: bool, const WATCH: bool> Kernel for ScaleTile<'_, FLUSH, WATCH> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let ScaleTile { core, state, rows, safe, keys, work } = self;
        let ScaleState { state, o, saturated, scores, scales, steps } = state;
        let (scores, scales) = (&mut scores[..keys], &mut scales[..keys]);
        core.score.of(&work.dots, scores);
        core.softmax.tile::<WATCH>(state, scores, scales, work);
        let idle = state.idle();
        // Keys that no query reads are passed over.
        let mut values = [&rows[..0]; TILE];
        let (mut count, mut reach) = (0, Reach::NOTHING);
        for (key, scale) in scales.iter().enumerate() {
            if work.read[key].iter().fold(0, |any, &read| any | read) != 0 {
                steps[count].prepare(scale, &work.read[key], &idle, &mut reach);
                values[count] = &rows[key * core.d..(key + 1) * core.d];
                count += 1;
            }
        }
        core.lanes.apply(&steps[..count], &values[..count], &reach, safe, o, saturated);
    }
}

//! FLASH-D with ranged lanes: the kernels of a tile put together.

use super::TILE;
use super::block::{BlockCore, Outputs, TileWork};
use super::layout::VectorLayout;
use super::operands::{Convert, Survey, convert};
use super::ranged::{RangeLanes, RangeOperands, RangeStep, RangeSurvey, RangeTile, RangeValue};
use super::weights::{WeightState, Weights};
use crate::lanes::{FixedLanes, FloatEnding, Lanes, Ranged, RangedLanes};
use crate::model::Model;
use crate::operand::OperandVectors;
use crate::result::{PartialState, QueryResult};
use crate::round::encode;
use flashd_spec::config::Update;
use flashd_spec::format::Format;
use flashd_spec::isa::{Isa, Kernel};

/// FLASH-D with ranged lanes, in vectors of 32-bit numbers.
pub(crate) struct Ranging {
    /// Format of the results.
    format: Format,
    d: usize,
    weights: Weights,
    lanes: RangeLanes,
    operands: RangeOperands,
    reference: RangedLanes,
}

impl Ranging {
    /// The core of a model; `None` if its lanes are not of this kind or its numbers do not fit 32 bits.
    pub(crate) fn new(model: &Model) -> Option<Ranging> {
        let (config, n) = (model.config(), model.numerics());
        let bits = config.lane_bits();
        // Aligned numbers are as in fixed-point lanes.
        if config.update() != Some(Update::Ranged) || !FixedLanes::<i32>::fits(bits) {
            return None;
        }
        let weights = Weights::new(model)?;
        let (lanes, operands) = RangeLanes::new(weights.lanes, n.formats.v, bits)?;
        let reference = RangedLanes::new(n.formats, bits);
        Some(Ranging { format: n.formats.o, d: config.dv(), weights, lanes, operands, reference })
    }
}

impl Convert for RangeOperands {
    type Number = RangeValue;

    #[inline(always)]
    fn of(&self, bits: u64) -> RangeValue {
        self.of(bits)
    }
}

/// State of a block of queries.
pub(crate) struct RangeState {
    weights: WeightState,
    ranges: [RangeStep; TILE],
    survey: RangeSurvey,
    o: Outputs<i32>,
    exponents: Outputs<i32>,
}

impl RangeState {
    /// The accumulators of a query.
    fn outputs(&self, query: usize) -> impl Iterator<Item = Ranged> {
        let both = self.o.of(query).zip(self.exponents.of(query));
        both.map(|(o, exponent)| Ranged { o: o.into(), exponent: exponent as u64 })
    }
}

impl BlockCore for Ranging {
    type State = Box<RangeState>;
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

    fn start(&self, layout: VectorLayout) -> Box<RangeState> {
        let o = Outputs::new(self.d, layout);
        Box::new(RangeState {
            weights: self.weights.start(),
            ranges: [RangeStep::NOTHING; TILE],
            survey: RangeSurvey::new(self.d, o.vectors.len()),
            o,
            exponents: Outputs::new(self.d, layout),
        })
    }

    fn restore(&self, state: &mut Box<RangeState>, query: usize, partial: &PartialState) {
        self.weights.lse.restore(&mut state.weights.state, query, partial.scalars);
        let RangeState { o, exponents, .. } = &mut **state;
        for ((o, e), &bits) in o.of_mut(query).zip(exponents.of_mut(query)).zip(&partial.o) {
            let restored = self.reference.accumulator(bits);
            (*o, *e) = (restored.o as i32, restored.exponent as i32);
        }
    }

    fn save(&self, state: &Box<RangeState>, query: usize) -> PartialState {
        PartialState {
            scalars: self.weights.lse.save(&state.weights.state, query),
            o: state.outputs(query).map(|o| self.reference.bits(o)).collect(),
        }
    }

    fn tile(
        &self,
        isa: Isa,
        state: &mut Box<RangeState>,
        values: &[RangeValue],
        keys: usize,
        watch: bool,
        work: &mut TileWork,
    ) {
        self.weights.tile(isa, &mut state.weights, keys, watch, work);
        match state.o.layout {
            VectorLayout::Queries => isa.run(RangeValues::<false> { core: self, state, values, work }),
            VectorLayout::Elements => isa.run(RangeValues::<true> { core: self, state, values, work }),
        }
    }

    fn finish(&self, state: &Box<RangeState>, query: usize, exponent: u64, result: &mut QueryResult) {
        for o in state.outputs(query) {
            let (rounded, over) = self.reference.result(FloatEnding::Round, o, exponent);
            result.saturated += u64::from(over);
            result.o.push(encode(self.format, rounded));
        }
    }
}

/// Updates accumulators and exponents with the steps of a tile.
struct RangeValues<'a, const ELEMENTS: bool> {
    core: &'a Ranging,
    state: &'a mut RangeState,
    values: &'a [RangeValue],
    work: &'a TileWork,
}

impl<const ELEMENTS: bool> Kernel for RangeValues<'_, ELEMENTS> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let RangeValues { core, state, values, work } = self;
        let RangeState { weights, ranges, survey, o, exponents } = state;
        let count = weights.read.len();
        for (range, &key) in ranges.iter_mut().zip(&weights.read) {
            range.prepare(&weights.blends[key], &work.read[key]);
        }
        let rows = weights.rows(values, core.d);
        let tile =
            RangeTile { steps: &weights.steps[..count], ranges: &ranges[..count], values: &rows[..count] };
        core.lanes.apply::<ELEMENTS>(tile, survey, &mut o.vectors, &mut exponents.vectors);
    }
}

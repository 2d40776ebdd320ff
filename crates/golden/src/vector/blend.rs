//! FLASH-D with fixed-point lanes: the kernels of a tile put together.

use super::block::{BlockCore, Outputs, TileWork};
use super::fixed::BlendLanes;
use super::layout::VectorLayout;
use super::operands::{Convert, Decoder, Survey, convert};
use super::weights::{WeightState, Weights};
use crate::carrier::{Carrier, Constants};
use crate::lanes::{FixedLanes, FloatEnding, Lanes};
use crate::model::Model;
use crate::operand::OperandVectors;
use crate::result::{PartialState, QueryResult};
use crate::round::{biased_exponent, encode, pow2};
use flashd_spec::config::Update;
use flashd_spec::format::Format;
use flashd_spec::isa::{Isa, Kernel};

/// FLASH-D with fixed-point lanes, in vectors of 32-bit numbers.
pub struct Blending {
    /// Formats of the values and of the results.
    format: Format,
    result: Format,
    d: usize,
    weights: Weights,
    reference: FixedLanes<i32>,
    decoder: Decoder,
    /// Width of a value operand.
    value_bits: u32,
}

impl Blending {
    /// The core of a model; `None` if its lanes are not of this kind or its numbers do not fit 32 bits.
    pub fn new(model: &Model) -> Option<Blending> {
        let (config, n) = (model.config(), model.numerics());
        let fixed = config.update() == Some(Update::Fixed);
        let bits = config.lane_bits();
        if !fixed || !FixedLanes::<i32>::fits(bits) {
            return None;
        }
        Some(Blending {
            format: n.formats.v,
            result: n.formats.o,
            d: config.dv(),
            weights: Weights::new(model)?,
            reference: FixedLanes::new(n.formats, bits),
            decoder: Decoder::new(n.formats.v)?,
            value_bits: bits.v,
        })
    }

    /// Converts values to operands relative to the exponent field `exponent`. An operand is that of
    /// [`crate::fixed_value`], times a power of two.
    pub fn operands(&self, isa: Isa, v: &[u64], exponent: u64, operands: &mut [i32]) {
        let limit = self.value_bits as i32 - 1;
        let by = FixedValue {
            decoder: self.decoder,
            format: self.format,
            exponent,
            scale: pow2(limit - (exponent as i32 - self.format.bias + 1)),
            largest: pow2(limit) - 1.0,
            lanes: self.weights.lanes,
        };
        convert(isa, v, &by, operands);
    }

    /// For each surveyed vector, whether one of its values is too large for the exponent field `exponent`.
    pub fn overflow(&self, survey: &Survey, exponent: u64) -> Vec<bool> {
        survey.overflow(self.format, exponent)
    }
}

/// Computes the operand of a value as [`FixedLanes::value`] converts it, without a branch.
struct FixedValue {
    decoder: Decoder,
    format: Format,
    exponent: u64,
    /// Units of the last place in a value of 1, and the largest operand in those units.
    scale: f64,
    largest: f64,
    lanes: BlendLanes,
}

impl Convert for FixedValue {
    type Number = i32;

    #[inline(always)]
    fn of(&self, bits: u64) -> i32 {
        let x = self.decoder.of(bits);
        let over = biased_exponent(self.format, bits) > self.exponent;
        let units = f64::from(x.abs()) * self.scale;
        let units = if over & (x != 0.0) | (units + 0.5 > self.largest) { self.largest } else { units + 0.5 };
        // The integer is in the low bits of the sum.
        let magnitude = (Carrier::floor(units) + f64::INTEGERS).to_bits() as i32;
        self.lanes.value(if x < 0.0 { -magnitude } else { magnitude })
    }
}

/// State of a block of queries.
pub(crate) struct BlendState {
    weights: WeightState,
    o: Outputs<i32>,
}

impl BlockCore for Blending {
    type State = Box<BlendState>;
    type Value = i32;

    fn takes_elements(&self) -> bool {
        true
    }

    fn convert(&self, isa: Isa, v: &[u64], exponent: u64, values: &mut [i32]) {
        self.operands(isa, v, exponent, values);
    }

    fn overflow(&self, _: OperandVectors, survey: &Survey, exponent: u64) -> Vec<bool> {
        self.overflow(survey, exponent)
    }

    fn start(&self, layout: VectorLayout) -> Box<BlendState> {
        Box::new(BlendState { weights: self.weights.start(), o: Outputs::new(self.d, layout) })
    }

    fn restore(&self, state: &mut Box<BlendState>, query: usize, partial: &PartialState) {
        self.weights.lse.restore(&mut state.weights.state, query, partial.scalars);
        for (o, &bits) in state.o.of_mut(query).zip(&partial.o) {
            *o = self.reference.accumulator(bits);
        }
    }

    fn save(&self, state: &Box<BlendState>, query: usize) -> PartialState {
        PartialState {
            scalars: self.weights.lse.save(&state.weights.state, query),
            o: state.o.of(query).map(|o| self.reference.bits(o)).collect(),
        }
    }

    fn tile(
        &self,
        isa: Isa,
        state: &mut Box<BlendState>,
        values: &[i32],
        keys: usize,
        watch: bool,
        work: &mut TileWork,
    ) {
        self.weights.tile(isa, &mut state.weights, keys, watch, work);
        match state.o.layout {
            VectorLayout::Queries => isa.run(BlendValues::<false> { core: self, state, values }),
            VectorLayout::Elements => isa.run(BlendValues::<true> { core: self, state, values }),
        }
    }

    fn finish(&self, state: &Box<BlendState>, query: usize, exponent: u64, result: &mut QueryResult) {
        for o in state.o.of(query) {
            let (rounded, over) = self.reference.result(FloatEnding::Round, o, exponent);
            result.saturated += u64::from(over);
            result.o.push(encode(self.result, rounded));
        }
    }
}

/// Updates the accumulators with the steps of a tile.
struct BlendValues<'a, const ELEMENTS: bool> {
    core: &'a Blending,
    state: &'a mut BlendState,
    values: &'a [i32],
}

impl<const ELEMENTS: bool> Kernel for BlendValues<'_, ELEMENTS> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let BlendValues { core, state: BlendState { weights, o }, values } = self;
        let count = weights.read.len();
        let rows = weights.rows(values, core.d);
        core.weights.lanes.apply::<ELEMENTS>(&weights.steps[..count], &rows[..count], &mut o.vectors);
    }
}

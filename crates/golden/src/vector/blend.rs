//! FLASH-D with fixed-point lanes: the kernels of a tile put together.

use super::TILE;
use super::fixed::{BlendLanes, Step};
use super::isa::{Isa, Kernel};
use super::lse::{Blend, LseLanes, State};
use super::operands::{Convert, convert};
use super::run::{BlockCore, TileWork};
use super::score::ScoreLanes;
use crate::dot::{BLOCK, Block};
use crate::lanes::{FixedLanes, FloatEnding, Lanes};
use crate::model::{Model, PartialState, QueryResult};
use crate::round::encode;
use flashd_hwmodel::config::{Design, Update, WeightUnit};
use flashd_hwmodel::format::Format;
use std::ops::Range;

/// The core.
pub(crate) struct Blending {
    format: Format,
    d: usize,
    score: ScoreLanes,
    lse: LseLanes,
    lanes: BlendLanes,
    reference: FixedLanes<i32>,
}

impl Blending {
    /// The core, if it is one of these and its numbers fit.
    pub(crate) fn new(model: &Model) -> Option<Blending> {
        let (config, n) = (model.config(), model.numerics());
        let fixed = config.design == Design::FlashD
            && config.weight == WeightUnit::Lse
            && config.update == Update::Fixed;
        let bits = config.lane_bits();
        if !fixed || !FixedLanes::<i32>::fits(bits) {
            return None;
        }
        Some(Blending {
            format: n.format,
            d: config.d,
            score: ScoreLanes::new(n)?,
            lse: LseLanes::new(n, bits.w)?,
            lanes: BlendLanes::new(bits)?,
            reference: FixedLanes::new(n.format, bits),
        })
    }
}

/// The operand of a value, and whether it is too large for the exponent.
struct FixedValue<'a> {
    lanes: &'a FixedLanes<i32>,
    exponent: u64,
}

impl Convert for FixedValue<'_> {
    type Number = (i32, bool);

    #[inline(always)]
    fn of(&self, bits: u64) -> (i32, bool) {
        let (v, over) = self.lanes.value(bits, self.exponent);
        (BlendLanes::value(v), over)
    }
}

/// A block of queries under way.
pub(crate) struct BlendState {
    state: State,
    o: Vec<Block<i32>>,
    scores: [Block<i32>; TILE],
    blends: [Blend; TILE],
    steps: [Step; TILE],
}

impl BlockCore for Blending {
    type State = Box<BlendState>;
    type Values = Vec<i32>;

    fn values(&self, isa: Isa, v: &[u64], exponent: u64) -> (Vec<i32>, Vec<bool>) {
        let values = FixedValue { lanes: &self.reference, exponent };
        let both = convert(isa, self.format, v, &values);
        let overflow = both.chunks(self.d).map(|row| row.iter().any(|&(_, over)| over)).collect();
        (both.into_iter().map(|(v, _)| v).collect(), overflow)
    }

    fn start(&self) -> Box<BlendState> {
        Box::new(BlendState {
            state: self.lse.start(),
            o: vec![[0; BLOCK]; self.d],
            scores: [[0; BLOCK]; TILE],
            blends: [Blend::NOTHING; TILE],
            steps: [Step::NOTHING; TILE],
        })
    }

    fn restore(&self, state: &mut Box<BlendState>, query: usize, start: &PartialState) {
        self.lse.restore(&mut state.state, query, start.scalars);
        for (o, &bits) in state.o.iter_mut().zip(&start.o) {
            o[query] = self.reference.accumulator(bits);
        }
    }

    fn save(&self, state: &Box<BlendState>, query: usize) -> PartialState {
        PartialState {
            scalars: self.lse.save(&state.state, query),
            o: state.o.iter().map(|o| self.reference.bits(o[query])).collect(),
        }
    }

    fn tile<const WATCH: bool>(
        &self,
        isa: Isa,
        state: &mut Box<BlendState>,
        values: &Vec<i32>,
        keys: Range<usize>,
        work: &mut TileWork,
    ) {
        let values = &values[keys.start * self.d..keys.end * self.d];
        isa.run(BlendTile::<WATCH> { core: self, state, values, keys: keys.len(), work });
    }

    fn finish(&self, state: &Box<BlendState>, query: usize, exponent: u64, result: &mut QueryResult) {
        for o in &state.o {
            let (rounded, over) = self.reference.result(FloatEnding::Round, o[query], exponent);
            result.saturated += u64::from(over);
            result.o.push(encode(self.format, rounded));
        }
    }
}

struct BlendTile<'a, const WATCH: bool> {
    core: &'a Blending,
    state: &'a mut BlendState,
    values: &'a [i32],
    keys: usize,
    work: &'a mut TileWork,
}

impl<const WATCH: bool> Kernel for BlendTile<'_, WATCH> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let BlendTile { core, state, values, keys, work } = self;
        let BlendState { state, o, scores, blends, steps } = state;
        let (scores, blends) = (&mut scores[..keys], &mut blends[..keys]);
        core.score.of(&work.dots, scores);
        core.lse.tile::<WATCH>(state, scores, blends, work);
        // Keys that no query reads are passed over.
        let mut rows = [&values[..0]; TILE];
        let mut count = 0;
        for (key, blend) in blends.iter().enumerate() {
            if work.read[key].iter().fold(0, |any, &read| any | read) != 0 {
                core.lanes.prepare(blend, &mut steps[count]);
                rows[count] = &values[key * core.d..(key + 1) * core.d];
                count += 1;
            }
        }
        core.lanes.apply(&steps[..count], &rows[..count], o);
    }
}

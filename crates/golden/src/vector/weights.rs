//! From dot products to the steps of FLASH-D's fixed-point and ranged lanes.

use super::TILE;
use super::block::TileWork;
use super::fixed::{BlendLanes, BlendStep};
use super::lse::{Blend, LseLanes, LseLanesState};
use super::score::ScoreLanes;
use crate::block::{BLOCK, Block};
use crate::model::Model;
use flashd_spec::isa::{Isa, Kernel};

/// The units before the lanes, and the fixed-point part of the lanes.
pub(crate) struct Weights {
    score: ScoreLanes,
    pub(crate) lse: LseLanes,
    pub(crate) lanes: BlendLanes,
}

/// State of a block of queries before the lanes, and the steps of a tile.
pub(crate) struct WeightState {
    pub(crate) state: LseLanesState,
    scores: [Block<i32>; TILE],
    pub(crate) blends: [Blend; TILE],
    pub(crate) steps: [BlendStep; TILE],
    /// Keys that a query reads, in order: `steps[i]` is that of key `read[i]`.
    pub(crate) read: Vec<usize>,
}

impl Weights {
    /// The units of a core; `None` if 32 bits do not hold their numbers.
    pub(crate) fn new(model: &Model) -> Option<Weights> {
        let (n, bits) = (model.numerics(), model.config().lane_bits());
        Some(Weights {
            score: ScoreLanes::new(n)?,
            lse: LseLanes::new(n, bits.w)?,
            lanes: BlendLanes::new(bits)?,
        })
    }

    pub(crate) fn start(&self) -> WeightState {
        WeightState {
            state: self.lse.start(),
            scores: [[0; BLOCK]; TILE],
            blends: [Blend::NOTHING; TILE],
            steps: [BlendStep::NOTHING; TILE],
            read: Vec::with_capacity(TILE),
        }
    }

    /// Computes scores, weights and steps of a tile.
    pub(crate) fn tile(
        &self,
        isa: Isa,
        state: &mut WeightState,
        keys: usize,
        watch: bool,
        work: &mut TileWork,
    ) {
        if watch {
            isa.run(WeightTile::<true> { weights: self, state, keys, work });
        } else {
            isa.run(WeightTile::<false> { weights: self, state, keys, work });
        }
    }
}

impl WeightState {
    /// The row of values of each step in a tile; rows beyond the last step are empty.
    pub(crate) fn rows<'a, V>(&self, values: &'a [V], d: usize) -> [&'a [V]; TILE] {
        let mut rows = [&values[..0]; TILE];
        for (row, key) in rows.iter_mut().zip(&self.read) {
            *row = &values[key * d..(key + 1) * d];
        }
        rows
    }
}

struct WeightTile<'a, const WATCH: bool> {
    weights: &'a Weights,
    state: &'a mut WeightState,
    keys: usize,
    work: &'a mut TileWork,
}

impl<const WATCH: bool> Kernel for WeightTile<'_, WATCH> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let WeightTile { weights, state, keys, work } = self;
        let WeightState { state, scores, blends, steps, read } = state;
        let (scores, blends) = (&mut scores[..keys], &mut blends[..keys]);
        weights.score.of(work, scores);
        weights.lse.tile::<WATCH>(state, scores, blends, work);
        // Keys that no query reads have no step.
        read.clear();
        for (key, blend) in blends.iter().enumerate() {
            if work.read[key].iter().fold(0, |any, &read| any | read) != 0 {
                weights.lanes.prepare(blend, &mut steps[read.len()]);
                read.push(key);
            }
        }
    }
}

//! Scores of a block's queries from its dot products: [`crate::base2::Score`] in 32-bit lanes.

use super::TILE;
use super::block::TileWork;
use super::dot::Dots;
use super::table::ShiftRounding;
use crate::base2::Score;
use crate::block::{BLOCK, Block};
use crate::recurrence::FixedScore;
use crate::softcap::CapUnit;
use flashd_spec::numerics::{LOG2E, Numerics};

/// The unit that makes scores of dot products.
pub(crate) struct ScoreLanes {
    reference: FixedScore,
    natural_limit: i32,
    limit: i32,
    guard: ShiftRounding,
    /// Half of the last place that the product with `log2(e)` keeps, and its right shift.
    half: i64,
    places: u32,
    cap: CapUnit,
}

impl ScoreLanes {
    /// The unit; `None` if 32 bits do not hold all its numbers.
    pub(crate) fn new(n: &Numerics) -> Option<ScoreLanes> {
        let score = Score::new(n);
        let (natural_limit, limit, places) = (score.natural_limit(), score.limit(), score.places());
        // A lane also holds the difference of two scores.
        let fits = limit < 1 << 30 && (1..=32).contains(&places);
        fits.then(|| ScoreLanes {
            reference: FixedScore::new(n),
            // Sums of terms are below 2^31.
            natural_limit: i32::try_from(natural_limit).unwrap_or(i32::MAX),
            limit: limit as i32,
            guard: ShiftRounding::new(n.dot_guard as i32),
            half: 1 << (places - 1),
            places: places as u32,
            cap: CapUnit::new(n),
        })
    }

    /// Computes the scores of a tile, in base 2 with FS fraction bits, and which queries see one that saturates.
    #[inline(always)]
    pub(crate) fn of(&self, work: &mut TileWork, scores: &mut [Block<i32>]) {
        let TileWork { dots, seen, saturated, .. } = work;
        let mut beyond = [[0; BLOCK]; TILE];
        self.without_bias(dots, scores, &mut beyond);
        if dots.biased {
            for ((scores, biases), beyond) in scores.iter_mut().zip(&dots.biases).zip(&mut beyond) {
                for (i, (score, &bias)) in scores.iter_mut().zip(biases).enumerate() {
                    // The sum does not overflow: both have far fewer bits than a lane.
                    let sum = *score + bias as i32;
                    *score = sum.clamp(-self.limit, self.limit);
                    beyond[i] |= sum ^ *score;
                }
            }
        }
        for ((beyond, seen), _) in beyond.iter().zip(seen.iter()).zip(&*scores) {
            for (saturated, (beyond, seen)) in saturated.iter_mut().zip(beyond.iter().zip(seen)) {
                *saturated |= beyond & seen;
            }
        }
    }

    /// The scores before biases are added. `beyond` is not zero where one saturates.
    #[inline(always)]
    fn without_bias(&self, dots: &Dots, scores: &mut [Block<i32>], beyond: &mut [Block<i32>; TILE]) {
        if !dots.integers {
            for ((scores, dots), beyond) in scores.iter_mut().zip(&dots.values).zip(beyond) {
                for ((score, &dot), beyond) in scores.iter_mut().zip(dots).zip(beyond) {
                    let (s, saturates) = self.reference.without_bias(dot);
                    (*score, *beyond) = (s as i32, -i32::from(saturates));
                }
            }
            return;
        }
        for ((scores, sums), beyond) in scores.iter_mut().zip(&dots.sums).zip(beyond) {
            let sums = *sums;
            let (mut all, mut changed) = ([0; BLOCK], [0; BLOCK]);
            for i in 0..BLOCK {
                let sum = self.guard.of(sums[i]);
                let natural = sum.clamp(-self.natural_limit, self.natural_limit);
                let product = i64::from(natural) * LOG2E as i64 + self.half;
                // The lower 32 bits of the shifted product are the same with zeros shifted in, which AVX2 can do.
                let score = (product as u64 >> (self.places & 63)) as i32;
                all[i] = score.clamp(-self.limit, self.limit);
                changed[i] = (sum ^ natural) | (score ^ all[i]);
            }
            (*scores, *beyond) = (all, changed);
        }
        if self.cap.caps() {
            scores.iter_mut().flatten().for_each(|score| *score = self.cap.of((*score).into()) as i32);
        }
    }
}

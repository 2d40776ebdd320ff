//! Scores of a block's queries from its dot products: [`crate::base2::Score`] in 32-bit lanes.

use super::dot::Dots;
use super::table::Rounding;
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
    guard: Rounding,
    /// Half of the product's last place, for the lower part, and the right shift of the whole after [`LOWER`] places.
    low_half: i32,
    places: i32,
    cap: CapUnit,
}

/// Bits of the lower part of a natural score. Each part is multiplied by `log2(e)` separately, so that 32 bits hold the
/// products.
const LOWER: i32 = 8;

impl ScoreLanes {
    /// The unit; `None` if 32 bits do not hold all its numbers.
    pub(crate) fn new(n: &Numerics) -> Option<ScoreLanes> {
        let score = Score::new(n);
        let (natural_limit, limit, places) = (score.natural_limit(), score.limit(), score.places());
        let fits =
            (natural_limit >> LOWER) + 1 < (1 << 30) / LOG2E as i64 && (LOWER + 1..=30).contains(&places);
        fits.then(|| ScoreLanes {
            reference: FixedScore::new(n),
            natural_limit: natural_limit as i32,
            limit: limit as i32,
            guard: Rounding::new(n.dot_guard as i32),
            low_half: 1 << (places - 1),
            places: places - LOWER,
            cap: CapUnit::new(n),
        })
    }

    /// Computes the scores of a tile, in base 2 with FS fraction bits.
    #[inline(always)]
    pub(crate) fn of(&self, dots: &Dots, scores: &mut [Block<i32>]) {
        self.without_bias(dots, scores);
        if dots.biased {
            for (scores, biases) in scores.iter_mut().zip(&dots.biases) {
                for (score, &bias) in scores.iter_mut().zip(biases) {
                    // The sum does not overflow: both have far fewer bits than a lane.
                    *score = (*score + bias as i32).clamp(-self.limit, self.limit);
                }
            }
        }
    }

    #[inline(always)]
    fn without_bias(&self, dots: &Dots, scores: &mut [Block<i32>]) {
        if !dots.integers {
            for (scores, dots) in scores.iter_mut().zip(&dots.values) {
                *scores = dots.map(|dot| self.reference.without_bias(dot) as i32);
            }
            return;
        }
        for (scores, sums) in scores.iter_mut().zip(&dots.sums) {
            let sums = *sums;
            let mut all = [0; BLOCK];
            for i in 0..BLOCK {
                let natural = self.guard.of(sums[i]).clamp(-self.natural_limit, self.natural_limit);
                let (high, low) = (natural >> LOWER, natural & ((1 << LOWER) - 1));
                let low = (low * LOG2E as i32 + self.low_half) >> LOWER;
                let score = (high * LOG2E as i32 + low) >> (self.places & 31);
                all[i] = score.clamp(-self.limit, self.limit);
            }
            *scores = all;
        }
        if self.cap.caps() {
            scores.iter_mut().flatten().for_each(|score| *score = self.cap.of((*score).into()) as i32);
        }
    }
}

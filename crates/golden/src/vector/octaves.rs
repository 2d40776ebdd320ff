//! The recurrence of FA2 `ranged` for all queries of a block: [`crate::recurrence::LogReference`] in 32-bit lanes.

use super::block::TileWork;
use super::table::{FactorTable, Lookup, ShiftRounding};
use super::watch::Masks;
use crate::base2::{Base2, Factor};
use crate::block::{BLOCK, Block};
use crate::recurrence::{LogReference, Octaves, Recurrence};
use crate::result::{Action, PartialState, Step};
use flashd_spec::numerics::Numerics;

/// Longest shift of an addend to l, which has fewer bits.
const FARTHEST: i32 = 30;

/// From scores to the reference, the sum and the exponentials of the lanes.
pub(crate) struct OctaveLanes {
    reference: LogReference,
    exp: Lookup,
    factors: FactorTable,
    /// From the fraction bits of a score to the table's.
    reduce: ShiftRounding,
    value_fraction: u32,
    offset_mask: i32,
    largest: i32,
    /// A distance in places of the score whose octaves are the largest; a further one is no other.
    farthest: i32,
    score_fraction: u32,
    state_fraction: i32,
    /// A step with x up to this holds.
    hold: i32,
    /// Bits of a factor's significand.
    bits: i32,
}

/// Reference and sum of the queries of a block, and which of them have seen a key.
#[derive(Clone, Copy)]
pub(crate) struct OctaveState {
    r: Block<i32>,
    l: Block<i32>,
    begun: Block<i32>,
}

/// The operation of the lanes in a step, for each query of a block: `o 2^-delta + v m 2^-shift`.
#[derive(Clone, Copy)]
pub(crate) struct Addition {
    pub(crate) m: Block<i32>,
    pub(crate) shift: Block<i32>,
    pub(crate) delta: Block<i32>,
}

impl Addition {
    pub(crate) const NOTHING: Addition = Addition { m: [0; BLOCK], shift: [0; BLOCK], delta: [0; BLOCK] };
}

impl OctaveLanes {
    /// The unit of a core; `None` if 32 bits do not hold all its numbers.
    pub(crate) fn new(n: &Numerics) -> Option<OctaveLanes> {
        let base2 = Base2::new(n);
        let (b, bits) = (n.exp.value_fraction, n.factor_significand);
        // The distance of a score and a reference has a bit more than both.
        let fits = n.fine_reference_bits() + 1 < 31
            && n.octave_argument_bits() < 31
            && n.log_sum_bits() + 1 < 31
            && b + 1 < 20
            && bits <= 16;
        if !fits {
            return None;
        }
        let largest = (1 << n.octave_argument_bits()) - 1;
        Some(OctaveLanes {
            reference: LogReference::new(n),
            exp: Lookup::new(&n.exp.exp)?,
            factors: FactorTable::new(&base2, bits),
            reduce: ShiftRounding::new(n.score_fraction as i32 - b as i32),
            value_fraction: b,
            offset_mask: (1 << b) - 1,
            farthest: (largest >> b.saturating_sub(n.score_fraction)) + 1,
            largest,
            score_fraction: n.score_fraction,
            state_fraction: n.state_fraction as i32,
            hold: n.hold_threshold.map_or(Some(i32::MIN), |t| i32::try_from(t).ok().map(|t| -t))?,
            bits: bits as i32,
        })
    }

    pub(crate) fn start(&self) -> OctaveState {
        OctaveState { r: [0; BLOCK], l: [0; BLOCK], begun: [0; BLOCK] }
    }

    fn octaves(state: &OctaveState, query: usize) -> Octaves {
        Octaves { reference: state.r[query].into(), l: state.l[query] as u64 }
    }

    pub(crate) fn restore(&self, state: &mut OctaveState, query: usize, partial: &PartialState) {
        if let Some(Octaves { reference, l }) = self.reference.restore(partial.scalars) {
            (state.r[query], state.l[query], state.begun[query]) = (reference as i32, l as i32, -1);
        }
    }

    pub(crate) fn save(&self, state: &OctaveState, query: usize) -> [u64; 2] {
        self.reference.save(Self::octaves(state, query))
    }

    /// The division that ends a query that has seen a key.
    pub(crate) fn ending(&self, state: &OctaveState, query: usize) -> <LogReference as Recurrence>::Ending {
        self.reference.ending(Some(Self::octaves(state, query)))
    }

    /// Takes the steps of a tile of keys. The scores have FS fraction bits.
    #[inline(always)]
    pub(crate) fn tile<const WATCH: bool>(
        &self,
        state: &mut OctaveState,
        scores: &[Block<i32>],
        additions: &mut [Addition],
        work: &mut TileWork,
    ) {
        let mut own = *state;
        for (key, (scores, addition)) in scores.iter().zip(additions).enumerate() {
            // Copies, so that the compiler knows that nothing overlaps.
            let (scores, seen) = (*scores, work.seen[key]);
            let (mut next, mut tally, mut step, mut read) = (own, work.tally, Addition::NOTHING, [0; BLOCK]);
            for i in 0..BLOCK {
                let begun = own.begun[i];
                // To a first key the reference is its score.
                let old = if begun != 0 { own.r[i] } else { scores[i] };
                let l = own.l[i] & begun;
                let x = scores[i] - old;
                let held = -i32::from(x <= self.hold) & begun & seen[i];
                let update = seen[i] & !held;

                let above = x.max(0) + (1 << (self.score_fraction & 31)) - 1;
                let jump = above >> (self.score_fraction & 31);
                let below = (jump << (self.score_fraction & 31)) - x;
                let t = self.reduce.of(below.min(self.farthest)).min(self.largest);
                let (k, f) = (t >> (self.value_fraction & 31), t & self.offset_mask);
                let (m, right) = self.factors.of(self.exp.at(0, f), k);
                let places = right + self.bits - 1 - self.state_fraction;
                let (left, down) = ((-places).max(0), places.clamp(0, FARTHEST));
                let addend = ((m << (left & 31)) + ((1 << (down & 31)) >> 1)) >> (down & 31);
                let sum = (l >> jump.min(31)) + addend;
                let carry = i32::from(sum >> ((self.state_fraction + 1) & 31) != 0);

                (step.m[i], step.shift[i]) = (m, right + carry + self.bits - 1);
                step.delta[i] = (jump + carry).min(31);
                read[i] = update;
                let risen = old + ((jump + carry) << (self.score_fraction & 31));
                next.r[i] = if update != 0 { risen } else { own.r[i] };
                next.l[i] = if update != 0 { sum >> (carry & 31) } else { own.l[i] };
                next.begun[i] = begun | seen[i];
                tally.held[i] -= held;
                tally.loads[i] -= seen[i] & !begun;
            }
            if WATCH {
                for i in 0..BLOCK {
                    let begun = own.begun[i];
                    let held = work.tally.held[i] - tally.held[i];
                    let (bits, right) = (self.bits as u32, (step.shift[i] + 1 - self.bits) as u32);
                    let w = Factor { m: step.m[i] as u64, bits, right }.record();
                    let x = i64::from(scores[i]) - i64::from(own.r[i]);
                    let upper = step.delta[i] > 0;
                    let watched = Step { s: scores[i].into(), x, w, upper, action: Action::Update, l: None };
                    let masks = Masks { seen: seen[i], first: seen[i] & !begun, held };
                    work.watched.record(key, i, watched, masks, Factor::one(bits).record());
                }
            }
            (own, work.tally, *addition, work.read[key]) = (next, tally, step, read);
        }
        *state = own;
    }
}

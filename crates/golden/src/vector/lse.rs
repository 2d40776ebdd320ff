//! FLASH-D's recurrence on the log-sum-exp for all queries of a block: [`crate::recurrence::Lse`] in 32-bit lanes.

use super::block::TileWork;
use super::table::{FactorTable, Lookup};
use super::watch::Masks;
use crate::base2::Base2;
use crate::block::{BLOCK, Block};
use crate::result::{Action, Step};
use flashd_spec::bits::{ones, signed};
use flashd_spec::numerics::{BudgetNumerics, Numerics};

/// The hold rule, as in [`crate::recurrence::Lse`].
#[derive(Clone, Copy)]
enum LaneHoldRule {
    Never,
    Below(i32),
    Budget(BudgetNumerics),
}

/// Magnitude at which `x = s - L` saturates in a lane.
const REACH: i64 = 1 << 30;

/// FLASH-D's weight unit `lse`: from scores to the log-sum-exp and the factors of the lanes.
pub(crate) struct LseLanes {
    sigmoid: Lookup,
    growth: Lookup,
    factors: FactorTable,
    value_fraction: u32,
    offset_mask: i32,
    state_fraction: u32,
    state_bits: u32,
    /// Left shift from the fraction bits of `s` to the state's.
    align: u32,
    /// Right shift from the fraction bits of the state to the tables'.
    cut: u32,
    /// Left shift from the fraction bits of the tables to one more than the state has.
    growth_left: u32,
    largest: i32,
    rule: LaneHoldRule,
    /// Bits of a factor's significand.
    bits: u32,
}

/// Log-sum-exp and spent budget of the queries of a block, and which of them have seen a key.
#[derive(Clone, Copy)]
pub(crate) struct LseLanesState {
    l: Block<i64>,
    spent: Block<i32>,
    begun: Block<i32>,
}

/// A step in fixed-point lanes, for each query of a block. The factor is `u = m 2^-shift`.
#[derive(Clone, Copy)]
pub(crate) struct Blend {
    pub(crate) m: Block<i32>,
    /// At least `bits - 1`; a zero factor may have any shift.
    pub(crate) shift: Block<i32>,
    /// -1: `o = v + u (o - v)`. 0: `o = o + u (v - o)`.
    pub(crate) upper: Block<i32>,
    /// Its low bits round the difference.
    pub(crate) dither: Block<i32>,
}

impl Blend {
    pub(crate) const NOTHING: Blend =
        Blend { m: [0; BLOCK], shift: [0; BLOCK], upper: [0; BLOCK], dither: [0; BLOCK] };
}

impl LseLanes {
    /// The unit with factors of `bits` significand bits; `None` if 32 bits do not hold all its numbers.
    pub(crate) fn new(n: &Numerics, bits: u32) -> Option<LseLanes> {
        let base2 = Base2::new(n);
        let b = n.exp.value_fraction;
        let align = n.state_fraction - n.score_fraction;
        let growth = n.exp.log2p1.c0_bits() + (n.state_fraction + 1).saturating_sub(b);
        let rule = match (n.hold_threshold, n.budget) {
            (Some(t), _) => LaneHoldRule::Below(-i32::try_from(t << align).ok()?),
            (None, Some(budget)) => LaneHoldRule::Budget(budget),
            (None, None) => LaneHoldRule::Never,
        };
        // Beyond REACH the tables' argument saturates, and every hold rule holds or keeps.
        let holds = match rule {
            LaneHoldRule::Below(limit) => limit > -REACH as i32,
            LaneHoldRule::Never | LaneHoldRule::Budget(_) => true,
        };
        let fits = holds
            && n.state_fraction >= b
            && n.octave_bits + n.state_fraction < REACH.ilog2()
            && growth < 31
            && b + 1 < 24;
        Some(LseLanes {
            sigmoid: Lookup::new(&n.exp.sigmoid)?,
            growth: Lookup::new(&n.exp.log2p1)?,
            factors: FactorTable::new(&base2, bits),
            value_fraction: b,
            offset_mask: (1 << b) - 1,
            state_fraction: n.state_fraction,
            state_bits: n.state_bits(),
            align,
            cut: n.state_fraction.saturating_sub(b),
            growth_left: (n.state_fraction + 1).saturating_sub(b),
            largest: (1 << n.octave_argument_bits()) - 1,
            rule,
            bits,
        })
        .filter(|_| fits)
    }

    pub(crate) fn start(&self) -> LseLanesState {
        LseLanesState { l: [0; BLOCK], spent: [0; BLOCK], begun: [0; BLOCK] }
    }

    /// Restores a query, as [`crate::recurrence::Recurrence::restore`] does.
    pub(crate) fn restore(&self, state: &mut LseLanesState, query: usize, [l, room]: [u64; 2]) {
        state.l[query] = signed(l, self.state_bits);
        state.spent[query] = match self.rule {
            LaneHoldRule::Budget(budget) => (1u64 << budget.register).saturating_sub(room) as i32,
            _ => 0,
        };
        state.begun[query] = -1;
    }

    /// The state of a query that has seen a key, as [`crate::recurrence::Recurrence::save`] encodes it.
    pub(crate) fn save(&self, state: &LseLanesState, query: usize) -> [u64; 2] {
        let room = match self.rule {
            LaneHoldRule::Budget(budget) => (1u64 << budget.register) - state.spent[query] as u64,
            _ => 0,
        };
        [state.l[query] as u64 & ones(self.state_bits), room]
    }

    /// Takes the steps of a tile of keys. The scores have FS fraction bits.
    #[inline(always)]
    pub(crate) fn tile<const WATCH: bool>(
        &self,
        state: &mut LseLanesState,
        scores: &[Block<i32>],
        blends: &mut [Blend],
        work: &mut TileWork,
    ) {
        match self.rule {
            LaneHoldRule::Never => self.keys::<WATCH>(state, scores, blends, work, |_, spent| (0, spent)),
            LaneHoldRule::Below(limit) => {
                self.keys::<WATCH>(state, scores, blends, work, |x, spent| (lane(x <= limit), spent));
            }
            LaneHoldRule::Budget(budget) => {
                let fraction = self.state_fraction;
                self.keys::<WATCH>(state, scores, blends, work, |x, spent| {
                    within(budget, x >> (fraction & 31), spent)
                });
            }
        }
    }

    #[inline(always)]
    fn keys<const WATCH: bool>(
        &self,
        state: &mut LseLanesState,
        scores: &[Block<i32>],
        blends: &mut [Blend],
        work: &mut TileWork,
        hold: impl Fn(i32, i32) -> (i32, i32) + Copy,
    ) {
        let mut own = *state;
        for (key, (scores, blend)) in scores.iter().zip(blends).enumerate() {
            // Copies, so that the compiler knows that nothing overlaps.
            let (scores, seen) = (*scores, work.seen[key]);
            let (mut next, mut tally, mut step, mut read) = (own, work.tally, Blend::NOTHING, [0; BLOCK]);
            let (mut arguments, mut factors) = ([0i64; BLOCK], [0; BLOCK]);
            for i in 0..BLOCK {
                let (begun, l, spent) = (own.begun[i], own.l[i], own.spent[i]);
                let score = i64::from(scores[i]) << (self.align & 31);
                let distance = score - l;
                let x = distance.clamp(-REACH, REACH) as i32;
                let (holds, after) = hold(x, spent);
                // The first key is never held.
                let held = holds & begun & seen[i];
                let update = seen[i] & !held;
                let first = seen[i] & !begun;
                let moves = update & begun;

                // The argument is cut to the tables' fraction bits; a negative x is inverted, as in the hardware.
                let sign = x >> 31;
                let t = ((x ^ sign) >> (self.cut & 31)).min(self.largest);
                let (k, f) = (t >> (self.value_fraction & 31), t & self.offset_mask);
                let (m, right) = self.factors.of(self.sigmoid.at(k, f), k);
                let growth = (self.growth.at(k, f) << (self.growth_left & 31)) >> k.min(31);

                (step.m[i], step.shift[i]) = (m & moves, right + self.bits as i32 - 1);
                // A first key loads `o = v`: `upper` with a factor of zero.
                step.upper[i] = update & (!sign | first);
                step.dither[i] = distance as i32;
                read[i] = update;
                let kept = if moves != 0 { score.max(l) + i64::from((growth + 1) >> 1) } else { l };
                next.l[i] = if first != 0 { score } else { kept };
                next.spent[i] = choose(first, 0, choose(seen[i], after, spent));
                next.begun[i] = begun | seen[i];
                tally.held[i] -= held;
                tally.loads[i] -= first;
                if WATCH {
                    (arguments[i], factors[i]) = (distance, right << self.bits | m);
                }
            }
            if WATCH {
                for i in 0..BLOCK {
                    let (s, x, w) = (scores[i].into(), arguments[i], factors[i] as u64);
                    let (begun, held) = (own.begun[i], work.tally.held[i] - tally.held[i]);
                    let step = Step { s, x, w, upper: x >= 0, action: Action::Update, l: None };
                    let masks = Masks { seen: seen[i], first: seen[i] & !begun, held };
                    work.watched.record(key, i, step, masks, 0);
                }
            }
            (own, work.tally, *blend, work.read[key]) = (next, tally, step, read);
        }
        *state = own;
    }
}

/// -1 for true, 0 for false.
#[inline(always)]
fn lane(condition: bool) -> i32 {
    -i32::from(condition)
}

/// `a` where the mask is -1, `b` where it is 0.
#[inline(always)]
fn choose(mask: i32, a: i32, b: i32) -> i32 {
    if mask != 0 { a } else { b }
}

/// The hold rule with a budget, for `floor = floor(x)`: -1 if it holds the key, and the budget spent after the step.
#[inline(always)]
fn within(budget: BudgetNumerics, floor: i32, spent: i32) -> (i32, i32) {
    let BudgetNumerics { exponent, register, reserve } = budget;
    let power = (floor + 1 + (exponent + register) as i32).max(0);
    let charge = 1 << power.min(register as i32 + 1);
    let held = spent + (charge << reserve) <= 1 << register;
    // The register has far fewer bits than a lane.
    let below = spent - (spent >> (1 - floor).clamp(0, 31));
    let places = floor.clamp(1, 24);
    let above = (spent + (1 << places) - 1) >> places;
    let kept = if floor < 0 { below } else { above };
    (lane(held), if held { spent + charge } else { kept })
}

//! FlashAttention-2's recurrence for all queries of a block: [`crate::recurrence::Fa2`] in 32- and 64-bit lanes.

use super::block::TileWork;
use super::table::{FactorTable, Lookup, ShiftRounding};
use super::watch::{Masks, Step as Watched};
use crate::base2::{Base2, Factor};
use crate::block::{BLOCK, Block};
use crate::recurrence::Sum;
use crate::result::Action;
use crate::round::{encode, pow2};
use flashd_spec::format::{Format, Subnormals};
use flashd_spec::numerics::Numerics;

/// Longest right shift of a product. A product that is shifted further is zero.
const FARTHEST: i32 = 61;

/// Rounds an exponential to a format.
#[derive(Clone, Copy)]
struct RoundedExp {
    format: Format,
    precision: i32,
    least: i32,
    flushes: bool,
    fraction: i32,
}

impl RoundedExp {
    /// `value 2^-(B + k)` rounded to nearest, ties to even, as `(m, shift)` for `m 2^-shift`.
    #[inline(always)]
    fn of(&self, value: i32, k: i32) -> (i32, i32) {
        let log = ((value as f32).to_bits() >> 23) as i32 - 127;
        let place = self.fraction + k;
        let exponent = log - place;
        let floor = if self.flushes { exponent } else { exponent.max(self.least) };
        let drop = floor - (self.precision - 1) + place;
        let right = drop.clamp(0, 30);
        let shifted = value << (-drop).clamp(0, 30);
        let half = (1 << right) >> 1;
        let odd = (shifted >> right) & 1;
        let m = (shifted + half - i32::from(right > 0) + (odd & i32::from(right > 0))) >> right;
        let carry = m >> self.precision;
        let (m, shift) = (m >> carry, place - drop - carry);
        let vanishes = self.flushes && exponent + carry < self.least;
        (if vanishes { 0 } else { m }, shift)
    }
}

/// The form of the exponential that enters the lanes.
#[derive(Clone, Copy)]
enum ExpForm {
    Factor { factors: FactorTable, bits: i32 },
    Rounded(RoundedExp),
}

/// FA2's scalar path: from scores to maximum, sum and the exponentials that scale output or value.
pub(crate) struct SoftmaxLanes {
    exp: Lookup,
    form: ExpForm,
    reduce: ShiftRounding,
    /// Distances from here on saturate the tables' argument; shifted to the tables' fraction, they still fit a lane.
    most: i32,
    value_fraction: u32,
    offset_mask: i32,
    state_fraction: u32,
    largest: i32,
    largest_sum: i64,
    /// A step with x up to this holds.
    hold: i32,
    first: u64,
}

/// Maximum and sum of the queries of a block, and which of them have seen a key.
#[derive(Clone, Copy)]
pub(crate) struct Fa2State {
    m: Block<i32>,
    l: Block<i64>,
    begun: Block<i32>,
}

impl Fa2State {
    /// The queries that have not met a key.
    #[inline(always)]
    pub(crate) fn idle(&self) -> Block<i32> {
        self.begun.map(|begun| !begun)
    }
}

/// A step in the lanes, for each query of a block. The exponential is `m 2^-shift`.
#[derive(Clone, Copy)]
pub(crate) struct Rescale {
    pub(crate) m: Block<i32>,
    pub(crate) shift: Block<i32>,
    /// -1: the maximum moved, and the exponential scales the output. 0: it scales the value.
    pub(crate) moved: Block<i32>,
    pub(crate) first: Block<i32>,
}

impl Rescale {
    pub(crate) const NOTHING: Rescale =
        Rescale { m: [0; BLOCK], shift: [0; BLOCK], moved: [0; BLOCK], first: [0; BLOCK] };
}

impl SoftmaxLanes {
    /// The unit of a core; `None` if the lanes cannot hold all its numbers. `shared`: the exponential is a factor, and
    /// rounds to the factor's significand instead of the weight's format.
    pub(crate) fn new(n: &Numerics, shared: bool) -> Option<SoftmaxLanes> {
        let base2 = Base2::new(n);
        let b = n.exp.value_fraction;
        let places = n.score_fraction as i32 - b as i32;
        let bits = if shared { n.factor_significand } else { n.weight.precision() };
        // The largest argument of the tables, in units of the score or of the tables, whichever is finer.
        let fits = n.octave_argument_bits() + places.max(0) as u32 <= 29
            && n.sum_bits() + bits < FARTHEST as u32
            && b + 1 < 20
            && bits <= 16;
        Some(SoftmaxLanes {
            exp: Lookup::new(&n.exp.exp)?,
            form: match shared {
                true => ExpForm::Factor { factors: FactorTable::new(&base2, bits), bits: bits as i32 },
                false => ExpForm::Rounded(RoundedExp {
                    format: n.weight,
                    precision: n.weight.precision() as i32,
                    least: n.weight.min_exponent(),
                    flushes: n.weight.subnormals == Subnormals::Flushed,
                    fraction: b as i32,
                }),
            },
            reduce: ShiftRounding::new(places),
            most: (1 << 30) >> (-places).max(0),
            value_fraction: b,
            offset_mask: (1 << b) - 1,
            state_fraction: n.state_fraction,
            largest: (1 << n.octave_argument_bits()) - 1,
            largest_sum: (1 << n.sum_bits()) - 1,
            hold: n.hold_threshold.map_or(Some(i32::MIN), |t| i32::try_from(t).ok().map(|t| -t))?,
            first: match shared {
                true => Factor::one(bits).record(),
                false => n.weight.one(),
            },
        })
        .filter(|_| fits)
    }

    pub(crate) fn start(&self) -> Fa2State {
        Fa2State { m: [0; BLOCK], l: [0; BLOCK], begun: [0; BLOCK] }
    }

    /// A query's state as [`crate::recurrence::Fa2`] keeps it.
    pub(crate) fn state(state: &Fa2State, query: usize) -> Sum {
        Sum { m: state.m[query].into(), l: state.l[query] as u64 }
    }

    /// Restores a query from a state of [`crate::recurrence::Fa2`].
    pub(crate) fn restore(state: &mut Fa2State, query: usize, sum: Sum) {
        (state.m[query], state.l[query], state.begun[query]) = (sum.m as i32, sum.l as i64, -1);
    }

    /// Takes the steps of a tile of keys. The scores have FS fraction bits.
    #[inline(always)]
    pub(crate) fn tile<const WATCH: bool>(
        &self,
        state: &mut Fa2State,
        scores: &[Block<i32>],
        scales: &mut [Rescale],
        work: &mut TileWork,
    ) {
        match self.form {
            ExpForm::Factor { factors, bits } => {
                self.keys::<WATCH>(state, scores, scales, work, |value, k| {
                    let (m, right) = factors.of(value, k);
                    (m, right + bits - 1)
                });
            }
            ExpForm::Rounded(rounded) => {
                self.keys::<WATCH>(state, scores, scales, work, |value, k| rounded.of(value, k));
            }
        }
    }

    #[inline(always)]
    fn keys<const WATCH: bool>(
        &self,
        state: &mut Fa2State,
        scores: &[Block<i32>],
        scales: &mut [Rescale],
        work: &mut TileWork,
        exponential: impl Fn(i32, i32) -> (i32, i32) + Copy,
    ) {
        let one = 1i64 << self.state_fraction;
        let mut own = *state;
        for (key, (scores, scale)) in scores.iter().zip(scales).enumerate() {
            // Copies, so that the compiler knows that nothing overlaps.
            let (scores, seen) = (*scores, work.seen[key]);
            let (mut next, mut tally, mut step, mut read) = (own, work.tally, Rescale::NOTHING, [0; BLOCK]);
            for i in 0..BLOCK {
                let (begun, old) = (own.begun[i], own.m[i]);
                let x = scores[i] - old;
                let held = -i32::from(x <= self.hold) & begun & seen[i];
                let update = seen[i] & !held;
                let first = seen[i] & !begun;
                let moved = -i32::from(x > 0) & update & begun;

                let t = self.reduce.of(x.abs().min(self.most)).min(self.largest);
                let (k, f) = (t >> (self.value_fraction & 31), t & self.offset_mask);
                let (m, shift) = exponential(self.exp.at(0, f), k);
                (step.m[i], step.shift[i]) = (m, shift);
                step.moved[i] = moved;
                step.first[i] = first;
                read[i] = update;
                let top = if first | moved != 0 { scores[i] } else { old };
                next.m[i] = top;
                next.begun[i] = begun | seen[i];
                tally.held[i] -= held;
                tally.loads[i] -= first;
            }
            for (i, next) in next.l.iter_mut().enumerate() {
                let (m, shift) = (i64::from(step.m[i]), step.shift[i].min(FARTHEST));
                let half = (1i64 << (shift & 63)) >> 1;
                let l = own.l[i];
                let (scaled, added) = if step.moved[i] != 0 { (l, one) } else { (one, l) };
                let grown = ((scaled * m + half) >> (shift & 63)) + added;
                let grown = if read[i] != 0 { grown.min(self.largest_sum) } else { l };
                *next = if step.first[i] != 0 { one } else { grown };
            }
            if WATCH {
                for i in 0..BLOCK {
                    let held = work.tally.held[i] - tally.held[i];
                    let masks = Masks { seen: seen[i], first: step.first[i], held };
                    let (s, x) = (scores[i].into(), i64::from(scores[i]) - i64::from(own.m[i]));
                    let w = self.record(step.m[i], step.shift[i]);
                    let watched =
                        Watched { s, x, w, upper: step.moved[i] != 0, action: Action::Update, l: None };
                    work.watched.record(key, i, watched, masks, self.first);
                }
            }
            (own, work.tally, *scale, work.read[key]) = (next, tally, step, read);
        }
        *state = own;
    }

    /// The exponential as [`Watched::w`] records it.
    fn record(&self, m: i32, shift: i32) -> u64 {
        match self.form {
            ExpForm::Factor { bits, .. } => {
                Factor { m: m as u64, bits: bits as u32, right: (shift + 1 - bits) as u32 }.record()
            }
            ExpForm::Rounded(rounded) => encode(rounded.format, f64::from(m) * pow2(-shift)),
        }
    }
}

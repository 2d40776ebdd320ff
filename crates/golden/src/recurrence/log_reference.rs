//! FlashAttention-2 with fixed-point sums relative to a power of two that follows the exponent of l, so that a shift rescales.

use super::fa2::divide;
use super::{Decision, FixedScore, KeyScore, Recurrence};
use crate::base2::{Base2, Factor, round_half_up};
use crate::lanes::{Division, SumOp};
use flashd_spec::bits::{ones, signed};
use flashd_spec::numerics::{Numerics, ReciprocalNumerics};

/// Bits of the accumulator above the values': l stays in [1, 2), and exponentials are below 2.
pub(crate) const LOG_REFERENCE_GUARD_BITS: u32 = 2;

/// Octaves of an exponential above its recorded factor: it is relative to twice the reference.
pub(crate) const EXPONENTIAL_OCTAVES: u32 = 1;

/// State of a query: the reference's exponent, an integer, and the sum (FL fraction bits).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scaled {
    reference: i64,
    l: i64,
}

/// The variant `log-reference`.
#[derive(Clone)]
pub(crate) struct LogReference {
    score: FixedScore,
    base2: Base2,
    reciprocal: ReciprocalNumerics,
    score_fraction: u32,
    state_fraction: u32,
    hold: Option<i64>,
    /// Significand bits of the exponential.
    factor_bits: u32,
    /// Width of the reference in bits.
    reference_bits: u32,
}

/// A step's new state, the shift of the old sums, and the exponential for the lanes.
struct Change {
    state: Scaled,
    delta: i64,
    e: Factor,
}

impl LogReference {
    pub(crate) fn new(n: &Numerics) -> Self {
        LogReference {
            score: FixedScore::new(n),
            base2: Base2::new(n),
            reciprocal: n.reciprocal.clone(),
            score_fraction: n.score_fraction,
            state_fraction: n.state_fraction,
            hold: n.hold_threshold.map(|t| -(t as i64)),
            factor_bits: n.factor_significand,
            // An integer from -2^IS to 2^IS, plus the octaves of l above that.
            reference_bits: n.score_integer + 2,
        }
    }

    /// `2^-tau` for tau with FS fraction bits, and twice that as an addend to l, rounded half up.
    fn exponential(&self, tau: i64) -> (Factor, i64) {
        let r = self.base2.reduce(tau as u64, self.score_fraction);
        let e = self.base2.exp_factor(r, self.factor_bits);
        let places = e.shift() as i32 - EXPONENTIAL_OCTAVES as i32 - self.state_fraction as i32;
        (e, round_half_up(e.m as i64, places))
    }

    fn change(&self, state: Option<Scaled>, s: i64) -> Change {
        let floor = s >> self.score_fraction;
        let before = state.unwrap_or(Scaled { reference: floor, l: 0 });
        let jump = (floor - before.reference).max(0);
        let raised = before.reference + jump;
        let (e, addend) = self.exponential(((raised + 1) << self.score_fraction) - s);
        let sum = shifted(before.l, jump) + addend;
        let carry = sum >> (self.state_fraction + 1) != 0;
        Change {
            state: Scaled { reference: raised + i64::from(carry), l: sum >> u32::from(carry) },
            delta: jump + i64::from(carry),
            e: Factor { right: e.right + u32::from(carry), ..e },
        }
    }
}

/// `l 2^-delta`, rounded down.
fn shifted(l: i64, delta: i64) -> i64 {
    l >> delta.min(63)
}

impl Recurrence for LogReference {
    type State = Scaled;
    type Op = SumOp;
    type Ending = Division;

    fn saturates(&self, key: KeyScore) -> bool {
        self.score.saturates(key)
    }

    fn step(&self, state: Option<Scaled>, key: KeyScore) -> (Scaled, Decision<SumOp>) {
        let s = self.score.of(key);
        let distance = |reference: i64| s - (reference << self.score_fraction);
        if let Some(state) = state {
            let x = distance(state.reference);
            if self.hold.is_some_and(|limit| x <= limit) {
                return (state, Decision::hold(s, x));
            }
        }
        let change = self.change(state, s);
        let op = SumOp { delta: change.delta.min(63) as u32, e: change.e, up: EXPONENTIAL_OCTAVES };
        let w = change.e.record();
        let decision = match state {
            None => Decision::load(s, w, op),
            Some(old) => Decision::update(s, distance(old.reference), w, change.delta > 0, op),
        };
        (change.state, decision)
    }

    fn sum(&self, state: Scaled) -> Option<u64> {
        Some(state.l as u64)
    }

    fn save(&self, Scaled { reference, l }: Scaled) -> [u64; 2] {
        [reference as u64 & ones(self.reference_bits), l as u64]
    }

    fn restore(&self, [reference, l]: [u64; 2]) -> Option<Scaled> {
        Some(Scaled { reference: signed(reference, self.reference_bits), l: l as i64 })
    }

    fn ending(&self, state: Option<Scaled>) -> Division {
        state.map(|state| divide(&self.reciprocal, state.l as u64, self.state_fraction))
    }
}

//! FlashAttention-2 with fixed-point sums relative to a power of two, so that a shift rescales.

use super::fa2::divide;
use super::{Decision, FixedScore, KeyScore, Recurrence};
use crate::base2::{Base2, Factor, round_half_up};
use crate::lanes::{Division, SumOp};
use flashd_spec::bits::{ones, signed};
use flashd_spec::numerics::{Numerics, ReciprocalNumerics};

/// The power of two to which the sums are relative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// The smallest power of two not below the largest exponential. l and o grow with the number of keys.
    Maximum,
    /// The power of two that keeps l in [1, 2).
    Sum,
}

/// Bits of the accumulator above the values' if the sum stays below 2.
pub(crate) const LOG_REFERENCE_GUARD_BITS: u32 = 2;

impl Reference {
    /// Bits of the accumulator above the values'.
    pub(crate) fn guard_bits(self, key_bits: u32) -> u32 {
        match self {
            Reference::Maximum => key_bits,
            Reference::Sum => LOG_REFERENCE_GUARD_BITS,
        }
    }

    /// 1 if exponentials are relative to twice the reference, else 0. Those relative to the reference reach up to 2.
    pub(crate) fn up(self) -> u32 {
        u32::from(self == Reference::Sum)
    }
}

/// State of a query: the reference's exponent, an integer, and the sum (FL fraction bits).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scaled {
    reference: i64,
    l: i64,
}

/// The variants `fixed` and `logref`.
#[derive(Clone)]
pub(crate) struct Fa2Fixed {
    kind: Reference,
    score: FixedScore,
    base2: Base2,
    reciprocal: ReciprocalNumerics,
    score_fraction: u32,
    state_fraction: u32,
    key_bits: u32,
    largest_sum: i64,
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

impl Fa2Fixed {
    pub(crate) fn new(n: &Numerics, kind: Reference, factor_bits: u32) -> Self {
        Fa2Fixed {
            kind,
            score: FixedScore::new(n),
            base2: Base2::new(n),
            reciprocal: n.reciprocal.clone(),
            score_fraction: n.score_fraction,
            state_fraction: n.state_fraction,
            key_bits: n.key_bits,
            largest_sum: (1 << n.sum_bits()) - 1,
            hold: n.hold_threshold.map(|t| -(t as i64)),
            factor_bits,
            // An integer from -2^IS to 2^IS, plus the octaves of l above that.
            reference_bits: n.score_integer + 2,
        }
    }

    /// `2^-tau` for tau with FS fraction bits, and its addend to l, rounded half up.
    fn exponential(&self, tau: i64) -> (Factor, i64) {
        let r = self.base2.reduce(tau as u64, self.score_fraction);
        let e = self.base2.exp_factor(r, self.factor_bits);
        let places = e.shift() as i32 - self.kind.up() as i32 - self.state_fraction as i32;
        (e, round_half_up(e.m as i64, places))
    }

    fn below_maximum(&self, state: Option<Scaled>, s: i64) -> Change {
        let ceiling = (s + (1 << self.score_fraction) - 1) >> self.score_fraction;
        let before = state.unwrap_or(Scaled { reference: ceiling, l: 0 });
        let reference = before.reference.max(ceiling);
        let delta = reference - before.reference;
        let (e, addend) = self.exponential((reference << self.score_fraction) - s);
        let l = (shifted(before.l, delta) + addend).min(self.largest_sum);
        Change { state: Scaled { reference, l }, delta, e }
    }

    fn around_sum(&self, state: Option<Scaled>, s: i64) -> Change {
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

impl Recurrence for Fa2Fixed {
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
        let change = match self.kind {
            Reference::Maximum => self.below_maximum(state, s),
            Reference::Sum => self.around_sum(state, s),
        };
        let op = SumOp { delta: change.delta.min(63) as u32, e: change.e, up: self.kind.up() };
        let w = change.e.record();
        let decision = match (state, self.kind) {
            (None, _) => Decision::load(s, w, op),
            (Some(_), Reference::Maximum) => {
                Decision::update(s, distance(change.state.reference), w, change.delta > 0, op)
            }
            (Some(old), Reference::Sum) => {
                Decision::update(s, distance(old.reference), w, change.delta > 0, op)
            }
        };
        let overflow = change.state.l > 1 << (self.key_bits + self.state_fraction);
        (change.state, Decision { overflow, ..decision })
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

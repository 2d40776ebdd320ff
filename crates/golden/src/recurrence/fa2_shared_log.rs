//! FlashAttention-2 with fixed-point sums relative to the exponent of l, in lanes that do not multiply a first key.

use super::fa2::divide;
use super::{Decision, FixedScore, KeyScore, Recurrence};
use crate::base2::{Base2, Factor, round_half_up};
use crate::lanes::{Division, SumOp};
use flashd_spec::bits::{ones, signed};
use flashd_spec::numerics::{Numerics, ReciprocalNumerics};

/// State of a query: the reference, which is the first score plus whole octaves (FS fraction bits), and the sum in [1/2, 2) (FL
/// fraction bits).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Octaves {
    pub(crate) reference: i64,
    pub(crate) l: u64,
}

/// The variants `shared-log-reference` and `ranged`.
#[derive(Clone)]
pub(crate) struct SharedLog {
    score: FixedScore,
    base2: Base2,
    reciprocal: ReciprocalNumerics,
    score_fraction: u32,
    state_fraction: u32,
    hold: Option<i64>,
    /// Significand bits of the lanes' factors.
    factor_bits: u32,
    /// Width of the reference in bits.
    reference_bits: u32,
}

impl SharedLog {
    pub(crate) fn new(n: &Numerics) -> Self {
        SharedLog {
            score: FixedScore::new(n),
            base2: Base2::new(n),
            reciprocal: n.reciprocal.clone(),
            score_fraction: n.score_fraction,
            state_fraction: n.state_fraction,
            hold: n.hold_threshold.map(|t| -(t as i64)),
            factor_bits: n.factor_significand,
            // A score, plus the octaves of l above it.
            reference_bits: n.score_bits() + 1,
        }
    }

    /// `2^x` for `x <= 0`, and its addend to l, rounded half up.
    fn exponential(&self, x: i64) -> (Factor, u64) {
        let reduced = self.base2.reduce(x.unsigned_abs(), self.score_fraction);
        let factor = self.base2.exp_factor(reduced, self.factor_bits);
        let places = factor.shift() as i32 - self.state_fraction as i32;
        (factor, round_half_up(factor.m as i64, places) as u64)
    }
}

impl Recurrence for SharedLog {
    type State = Octaves;
    type Op = SumOp;
    type Ending = Division;

    fn saturates(&self, key: KeyScore) -> bool {
        self.score.saturates(key)
    }

    fn step(&self, state: Option<Octaves>, key: KeyScore) -> (Octaves, Decision<SumOp>) {
        let s = self.score.of(key);
        let Some(Octaves { reference, l }) = state else {
            let (_, l) = self.exponential(0);
            let e = Factor::one(self.factor_bits);
            let op = SumOp { delta: 0, e, up: 0 };
            return (Octaves { reference: s, l }, Decision::load(s, e.record(), op));
        };
        let x = s - reference;
        if self.hold.is_some_and(|limit| x <= limit) {
            return (Octaves { reference, l }, Decision::hold(s, x));
        }
        // The whole octaves that reach the score, `ceil(x)`.
        let octave = 1 << self.score_fraction;
        let jump = if x > 0 { (x + octave - 1) / octave } else { 0 };
        let (e, addend) = self.exponential(x - jump * octave);
        let sum = l.checked_shr(jump as u32).unwrap_or(0) + addend;
        // If the sum reaches 2, halve it and the new exponential.
        let carry = u32::from(sum >= 2 << self.state_fraction);
        let delta = jump + i64::from(carry);
        let state = Octaves { reference: reference + delta * octave, l: sum >> carry };
        let e = Factor { right: e.right + carry, ..e };
        let op = SumOp { delta: delta.min(63) as u32, e, up: 0 };
        (state, Decision::update(s, x, e.record(), delta > 0, op))
    }

    fn sum(&self, state: Octaves) -> Option<u64> {
        Some(state.l)
    }

    fn save(&self, Octaves { reference, l }: Octaves) -> [u64; 2] {
        [reference as u64 & ones(self.reference_bits), l]
    }

    fn restore(&self, [reference, l]: [u64; 2]) -> Option<Octaves> {
        Some(Octaves { reference: signed(reference, self.reference_bits), l })
    }

    fn ending(&self, state: Option<Octaves>) -> Division {
        state.map(|Octaves { l, .. }| {
            let (r, exponent) = divide(&self.reciprocal, l, self.state_fraction);
            let fraction = self.reciprocal.table.value_fraction;
            // In the lane's multiplier the reciprocal has the form of an exponential.
            let factor = Factor::new(r, fraction, 0, self.factor_bits);
            (factor.m, exponent + fraction as i32 - factor.shift() as i32)
        })
    }
}

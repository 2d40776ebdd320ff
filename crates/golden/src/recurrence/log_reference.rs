//! FlashAttention-2 with fixed-point sums relative to a power of two that follows the exponent of l, so that a shift rescales.

use super::fa2::divide;
use super::{Decision, FixedScore, KeyScore, Recurrence};
use crate::base2::{Base2, Factor, round_half_up};
use crate::lanes::{Division, SumOp};
use flashd_spec::bits::{ones, signed};
use flashd_spec::numerics::{Numerics, ReciprocalNumerics};

/// State of a query: the reference (FS fraction bits) and the sum in [1/2, 2) (FL fraction bits). The reference of `log-reference` is whole octaves, and the
/// sum is at least 1; in the other variants the reference is the first score plus whole octaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Octaves {
    pub(crate) reference: i64,
    pub(crate) l: u64,
}

/// The variants `log-reference`, `shared-log-reference` and `ranged`.
#[derive(Clone)]
pub(crate) struct LogReference {
    score: FixedScore,
    base2: Base2,
    reciprocal: ReciprocalNumerics,
    score_fraction: u32,
    state_fraction: u32,
    hold: Option<i64>,
    /// Significand bits of the lanes' factors.
    factor_bits: u32,
    /// The lanes' multiplier also applies the final scale: it does not multiply a first key, whose reference is the score.
    shared: bool,
    /// Octaves of an exponential above its recorded factor.
    up: u32,
    /// Bits of a saved reference, and its fraction bits.
    saved: (u32, u32),
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
            shared: n.scales_in_lane,
            up: n.exponential_octaves(),
            saved: match n.scales_in_lane {
                true => (n.fine_reference_bits(), n.score_fraction),
                false => (n.reference_bits(), 0),
            },
        }
    }

    /// `2^-tau` for tau with FS fraction bits, and `2^(up - tau)` as an addend to l, rounded half up.
    fn exponential(&self, tau: i64) -> (Factor, u64) {
        let reduced = self.base2.reduce(tau as u64, self.score_fraction);
        let e = self.base2.exp_factor(reduced, self.factor_bits);
        let places = e.shift() as i32 - self.up as i32 - self.state_fraction as i32;
        (e, round_half_up(e.m as i64, places) as u64)
    }
}

impl Recurrence for LogReference {
    type State = Octaves;
    type Op = SumOp;
    type Ending = Division;

    fn saturates(&self, key: KeyScore) -> bool {
        self.score.saturates(key)
    }

    fn step(&self, state: Option<Octaves>, key: KeyScore) -> (Octaves, Decision<SumOp>) {
        let s = self.score.of(key);
        let octave = 1 << self.score_fraction;
        let first = Octaves { reference: if self.shared { s } else { s & -octave }, l: 0 };
        let Octaves { reference, l } = state.unwrap_or(first);
        let x = s - reference;
        if state.is_some() && self.hold.is_some_and(|limit| x <= limit) {
            return (Octaves { reference, l }, Decision::hold(s, x));
        }
        // The whole octaves that reach the score, `ceil(x)`, or with exponentials of up to `2^up` one less.
        let reached = if self.shared { x + octave - 1 } else { x };
        let jump = (reached >> self.score_fraction).max(0);
        let (e, addend) = self.exponential((jump + i64::from(self.up)) * octave - x);
        let sum = l.checked_shr(jump as u32).unwrap_or(0) + addend;
        // If the sum reaches 2, halve it and the new exponential.
        let carry = u32::from(sum >= 2 << self.state_fraction);
        let delta = jump + i64::from(carry);
        let next = Octaves { reference: reference + delta * octave, l: sum >> carry };
        let e = match state {
            None if self.shared => Factor::one(self.factor_bits),
            _ => Factor { right: e.right + carry, ..e },
        };
        let op = SumOp { delta: delta.min(63) as u32, e, up: self.up };
        let decision = match state {
            None => Decision::load(s, e.record(), op),
            Some(_) => Decision::update(s, x, e.record(), delta > 0, op),
        };
        (next, decision)
    }

    fn sum(&self, state: Octaves) -> Option<u64> {
        Some(state.l)
    }

    fn save(&self, Octaves { reference, l }: Octaves) -> [u64; 2] {
        let (bits, fraction) = self.saved;
        [(reference >> (self.score_fraction - fraction)) as u64 & ones(bits), l]
    }

    fn restore(&self, [reference, l]: [u64; 2]) -> Option<Octaves> {
        let (bits, fraction) = self.saved;
        Some(Octaves { reference: signed(reference, bits) << (self.score_fraction - fraction), l })
    }

    fn ending(&self, state: Option<Octaves>) -> Division {
        state.map(|Octaves { l, .. }| {
            let (r, exponent) = divide(&self.reciprocal, l, self.state_fraction);
            if !self.shared {
                return (r, exponent);
            }
            let fraction = self.reciprocal.table.value_fraction;
            // In the lane's multiplier the reciprocal has the form of an exponential.
            let factor = Factor::new(r, fraction, 0, self.factor_bits);
            (factor.m, exponent + fraction as i32 - factor.shift() as i32)
        })
    }
}

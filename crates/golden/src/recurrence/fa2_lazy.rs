//! FlashAttention-2 with a reference that moves rarely and by whole octaves, so that a shift rescales.

use super::fa2::{Sum, divide};
use super::{Decision, FixedScore, KeyScore, Recurrence};
use crate::base2::{Base2, Factor, round_half_up};
use crate::lanes::{FloatEnding, FloatOp};
use crate::round::pow2;
use flashd_spec::bits::{ones, signed};
use flashd_spec::numerics::{Numerics, ReciprocalNumerics};

/// The variant `lazy-reference`. [`Sum`]'s `m` is the reference: the first score plus whole octaves, with FS fraction bits.
#[derive(Clone)]
pub(crate) struct Lazy {
    score: FixedScore,
    base2: Base2,
    reciprocal: ReciprocalNumerics,
    score_fraction: u32,
    state_fraction: u32,
    largest_sum: u64,
    hold: Option<i64>,
    /// Octaves by which a score may exceed the reference.
    slack: u32,
    /// Significand bits of the lanes' factors.
    pub(crate) factor_bits: u32,
    score_bits: u32,
}

impl Lazy {
    pub(crate) fn new(n: &Numerics) -> Self {
        Lazy {
            score: FixedScore::new(n),
            base2: Base2::new(n),
            reciprocal: n.reciprocal.clone(),
            score_fraction: n.score_fraction,
            state_fraction: n.state_fraction,
            largest_sum: (1 << n.sum_bits()) - 1,
            hold: n.hold_threshold.map(|t| -(t as i64)),
            slack: n.slack,
            factor_bits: n.factor_significand,
            score_bits: n.score_bits(),
        }
    }

    /// Octaves by which the reference moves for a score `x` above it.
    fn octaves(&self, x: i64) -> u32 {
        let moves = x > i64::from(self.slack) << self.score_fraction;
        if moves { (x >> self.score_fraction) as u32 } else { 0 }
    }

    /// `2^(x - slack)` for `x <= slack`, and `2^x` as an addend to l, rounded half up.
    fn exponential(&self, x: i64) -> (Factor, u64) {
        let tau = (i64::from(self.slack) << self.score_fraction) - x;
        let factor =
            self.base2.exp_factor(self.base2.reduce(tau as u64, self.score_fraction), self.factor_bits);
        let places = factor.shift() as i32 - (self.slack + self.state_fraction) as i32;
        (factor, round_half_up(factor.m as i64, places) as u64)
    }
}

impl Recurrence for Lazy {
    type State = Sum;
    type Op = FloatOp;
    type Ending = FloatEnding;

    fn saturates(&self, key: KeyScore) -> bool {
        self.score.saturates(key)
    }

    fn step(&self, state: Option<Sum>, key: KeyScore) -> (Sum, Decision<FloatOp>) {
        let s = self.score.of(key);
        let Some(Sum { m, l }) = state else {
            let (e, l) = self.exponential(0);
            return (Sum { m: s, l }, Decision::load(s, e.record(), FloatOp::Load));
        };
        let x = s - m;
        if self.hold.is_some_and(|limit| x <= limit) {
            return (Sum { m, l }, Decision::hold(s, x));
        }
        let delta = self.octaves(x);
        let moved = i64::from(delta) << self.score_fraction;
        let (e, addend) = self.exponential(x - moved);
        let l = (l.checked_shr(delta).unwrap_or(0) + addend).min(self.largest_sum);
        let value = e.value() * pow2(self.slack as i32);
        let op = match delta {
            0 => FloatOp::ScaleValue(value),
            _ => FloatOp::ShiftOutput(delta, value),
        };
        (Sum { m: m + moved, l }, Decision::update(s, x, e.record(), delta > 0, op))
    }

    fn sum(&self, state: Sum) -> Option<u64> {
        Some(state.l)
    }

    fn save(&self, Sum { m, l }: Sum) -> [u64; 2] {
        [m as u64 & ones(self.score_bits), l]
    }

    fn restore(&self, [m, l]: [u64; 2]) -> Option<Sum> {
        Some(Sum { m: signed(m, self.score_bits), l })
    }

    fn ending(&self, state: Option<Sum>) -> FloatEnding {
        let Some(Sum { l, .. }) = state else {
            return FloatEnding::Round;
        };
        let (r, exponent) = divide(&self.reciprocal, l, self.state_fraction);
        let fraction = self.reciprocal.table.value_fraction;
        let scale = Factor::new(r, fraction, 0, self.factor_bits);
        FloatEnding::ScaleInLane(scale.value() * pow2(exponent + fraction as i32))
    }
}

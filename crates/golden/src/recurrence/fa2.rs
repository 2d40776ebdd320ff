//! FlashAttention-2 with one exponential per step, since one of its two factors is always 1. Its sum is that of Alg. 1 and Alg. 2.

use super::{Decision, FixedScore, KeyScore, Recurrence};
use crate::base2::{Base2, Factor};
use crate::lanes::{FloatEnding, FloatOp};
use crate::round::{encode, parts, pow2};
use crate::scalar::{ReducedArgument, Scalar, reciprocal};
use flashd_spec::bits::{ones, signed};
use flashd_spec::numerics::{Numerics, ReciprocalNumerics};

/// `1/l = r 2^exponent` for l with `fraction` fraction bits. r is an integer with the fraction bits of the divider's table, which
/// the exponent includes.
pub(crate) fn divide(numerics: &ReciprocalNumerics, l: u64, fraction: u32) -> (u64, i32) {
    let bits = numerics.table.value_fraction;
    let top = l.ilog2();
    let m = if top <= bits { l << (bits - top) } else { l >> (top - bits) };
    let r = reciprocal(numerics, m - (1 << bits));
    (r, fraction as i32 - (bits + top) as i32)
}

/// An exponential, at most 1.
pub(crate) struct Exponential {
    pub(crate) value: f64,
    /// `significand 2^-shift` is the value.
    significand: u64,
    shift: u32,
    record: u64,
}

/// `2^-t` as a factor of `bits` significand bits.
pub(crate) fn exponential_factor(base2: &Base2, r: ReducedArgument, bits: u32) -> Exponential {
    let factor = base2.exp_factor(r, bits);
    Exponential {
        value: factor.value(),
        significand: factor.m,
        shift: factor.shift(),
        record: factor.record(),
    }
}

/// `l e` in ulps of l, rounded half up.
pub(crate) fn scaled(l: u64, e: &Exponential) -> u64 {
    // The product of sum and significand has fewer than 100 bits.
    match e.shift {
        0 => l * e.significand,
        1..=100 => {
            let product = u128::from(l) * u128::from(e.significand);
            ((product + (1 << (e.shift - 1))) >> e.shift) as u64
        }
        _ => 0,
    }
}

/// `1/l` for the last multiplication.
pub(crate) fn reciprocal_of_sum(n: &Numerics, l: u64) -> f64 {
    let (r, exponent) = divide(&n.reciprocal, l, n.state_fraction);
    r as f64 * pow2(exponent)
}

/// State of a query: the maximum (FS fraction bits) and the sum (FL fraction bits).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum {
    pub(crate) m: i64,
    pub(crate) l: u64,
}

/// The variant with a separate scale, and the one whose lanes' multipliers also do the last multiplication.
#[derive(Clone)]
pub(crate) struct Fa2 {
    score: FixedScore,
    base2: Base2,
    scalar: Scalar,
    reciprocal: ReciprocalNumerics,
    score_fraction: u32,
    score_bits: u32,
    state_fraction: u32,
    largest_sum: u64,
    hold: Option<i64>,
    /// Significand bits of the factors with a shared scale, where they are not rounded to the format.
    shared: Option<u32>,
}

impl Fa2 {
    pub(crate) fn new(n: &Numerics, shared: bool) -> Self {
        Fa2 {
            score: FixedScore::new(n),
            base2: Base2::new(n),
            scalar: Scalar::new(n.weight, n.exp.clone()),
            reciprocal: n.reciprocal.clone(),
            score_fraction: n.score_fraction,
            score_bits: n.score_bits(),
            state_fraction: n.state_fraction,
            largest_sum: (1 << n.sum_bits()) - 1,
            hold: n.hold_threshold.map(|t| -(t as i64)),
            shared: shared.then_some(n.factor_significand),
        }
    }

    /// Significand bits of the lanes' factors.
    pub(crate) fn factor_bits(&self) -> u32 {
        self.shared.unwrap_or(self.scalar.format.precision())
    }

    fn exponential(&self, r: ReducedArgument) -> Exponential {
        if let Some(bits) = self.shared {
            return exponential_factor(&self.base2, r, bits);
        }
        let format = self.scalar.format;
        let value = self.scalar.round_integer(self.base2.exp(r), -((self.base2.fraction() + r.k) as i32));
        // The value is at most 1, so the exponent of its last significand bit is not positive.
        let (significand, exponent) = parts(format, value);
        Exponential { value, significand, shift: -exponent as u32, record: encode(format, value) }
    }
}

impl Recurrence for Fa2 {
    type State = Sum;
    type Op = FloatOp;
    type Ending = FloatEnding;

    fn saturates(&self, key: KeyScore) -> bool {
        self.score.saturates(key)
    }

    fn step(&self, state: Option<Sum>, key: KeyScore) -> (Sum, Decision<FloatOp>) {
        let s = self.score.of(key);
        let one = 1u64 << self.state_fraction;
        let Some(Sum { m, l }) = state else {
            // With a shared scale, the multiplier is busy with the query before, and the lanes copy v. The others add v to zero.
            let (w, op) = match self.shared {
                Some(bits) => (Factor::one(bits).record(), FloatOp::Load),
                None => (self.scalar.format.one(), FloatOp::First),
            };
            return (Sum { m: s, l: one }, Decision::load(s, w, op));
        };
        let x = s - m;
        if self.hold.is_some_and(|limit| x <= limit) {
            return (Sum { m, l }, Decision::hold(s, x));
        }
        let moved = s > m;
        let e = self.exponential(self.base2.reduce(x.unsigned_abs(), self.score_fraction));
        let grown = if moved { scaled(l, &e) + one } else { l + scaled(one, &e) };
        let op = if moved { FloatOp::ScaleOutput(e.value) } else { FloatOp::ScaleValue(e.value) };
        let state = Sum { m: m.max(s), l: grown.min(self.largest_sum) };
        (state, Decision::update(s, x, e.record, moved, op))
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
        match self.shared {
            None => FloatEnding::Scale(r as f64 * pow2(exponent)),
            Some(bits) => {
                let fraction = self.reciprocal.table.value_fraction;
                let factor = Factor::new(r, fraction, 0, bits);
                FloatEnding::ScaleInLane(factor.value() * pow2(exponent + fraction as i32))
            }
        }
    }
}

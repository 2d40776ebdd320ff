//! FLASH-D with the log-sum-exp as its state, all in base 2.

use super::{Decision, FixedScore, Recurrence};
use crate::base2::{Base2, Factor};
use crate::lanes::{BlendOp, FloatEnding, FloatOp};
use crate::round::encode;
use crate::scalar::{Reduced, Scalar};
use flashd_hwmodel::numerics::Numerics;

/// How the lanes get `u = sigmoid(-|x|)`, at most 1/2: the weight `sigmoid(x)` for a negative x, one minus the
/// weight otherwise.
pub(crate) trait WeightForm: Sync {
    /// A step of the lanes.
    type Op;

    /// The first key: a weight of one.
    fn first(&self) -> Self::Op;

    /// Later keys: the factor as recorded, and the step.
    fn update(&self, base2: &Base2, argument: Reduced, upper: bool) -> (u64, Self::Op);
}

/// A factor rounded to the format, for float lanes.
pub(crate) struct RoundedWeight(pub(crate) Scalar);

impl WeightForm for RoundedWeight {
    type Op = FloatOp;

    fn first(&self) -> FloatOp {
        FloatOp::First
    }

    fn update(&self, base2: &Base2, r: Reduced, upper: bool) -> (u64, FloatOp) {
        let RoundedWeight(scalar) = self;
        let u = scalar.round_integer(base2.sigmoid(r), -((base2.fraction() + r.k) as i32));
        let op = if upper { FloatOp::Complement(u) } else { FloatOp::Weight(u) };
        (encode(scalar.format, u), op)
    }
}

/// A factor with this many significand bits, for lanes of integers.
pub(crate) struct FactorWeight(pub(crate) u32);

impl WeightForm for FactorWeight {
    type Op = BlendOp;

    fn first(&self) -> BlendOp {
        BlendOp { u: Factor::zero(self.0), upper: true }
    }

    fn update(&self, base2: &Base2, r: Reduced, upper: bool) -> (u64, BlendOp) {
        let u = base2.sigmoid_factor(r, self.0);
        (u.record(), BlendOp { u, upper })
    }
}

/// `x = s - L`, `L <- L + log2(1 + 2^x) = max(s, L) + log2(1 + 2^-|x|)`. The state is L with FL fraction bits.
pub(crate) struct Lse<F> {
    score: FixedScore,
    base2: Base2,
    state_fraction: u32,
    /// From `s` to the state's fraction bits.
    align: u32,
    /// Largest x that holds, with FL fraction bits.
    hold: Option<i64>,
    form: F,
}

impl<F: WeightForm> Lse<F> {
    pub(crate) fn new(n: &Numerics, form: F) -> Self {
        let align = n.state_fraction - n.score_fraction;
        Lse {
            score: FixedScore::new(n),
            base2: Base2::new(n),
            state_fraction: n.state_fraction,
            align,
            hold: n.hold_threshold.map(|t| -((t << align) as i64)),
            form,
        }
    }
}

impl<F: WeightForm> Recurrence for Lse<F> {
    type State = i64;
    type Op = F::Op;
    type Ending = FloatEnding;

    fn step(&self, state: Option<i64>, dot: f64) -> (i64, Decision<F::Op>) {
        let s = self.score.of(dot);
        let score = s << self.align;
        let Some(l) = state else {
            return (score, Decision::load(s, 0, self.form.first()));
        };
        let x = score - l;
        if self.hold.is_some_and(|limit| x <= limit) {
            return (l, Decision::hold(s, x));
        }
        let argument = self.base2.reduce_cut(x, self.state_fraction);
        let upper = x >= 0;
        let (w, op) = self.form.update(&self.base2, argument, upper);
        let grown = score.max(l) + self.base2.growth(argument, self.state_fraction);
        (grown, Decision::update(s, x, w, upper, op))
    }

    fn ending(&self, _: Option<i64>) -> FloatEnding {
        FloatEnding::Round
    }
}

//! The recurrences that round every operation to the format: the paper's Alg. 3, (11), and FlashAttention-2 as drawn, its Alg. 2.

use super::{Decision, KeyScore, Recurrence};
use crate::lanes::{FloatEnding, FloatOp};
use crate::round::{decode, encode, pow2};
use crate::scalar::Scalar;
use crate::units::reciprocal_value;
use flashd_spec::format::Format;
use flashd_spec::numerics::{Numerics, ReciprocalNumerics, static_limits};

/// The natural score, rounded to the format.
fn score(n: &Scalar, shift: i32, dot: f64) -> f64 {
    n.round(dot * pow2(shift))
}

/// The paper's Alg. 3 in the format, with the sign of its eq. (11) and its static rule. The state is the previous
/// score and weight.
#[derive(Clone)]
pub(crate) struct Paper {
    scalar: Scalar,
    score_shift: i32,
    /// The static rule's limits: score differences up to the first are held, those from the second on load v.
    static_range: Option<(f64, f64)>,
}

impl Paper {
    pub(crate) fn new(n: &Numerics) -> Self {
        let (low, high) = static_limits(n.formats.q);
        Paper {
            scalar: Scalar::new(n.formats.q, n.exp.clone()),
            score_shift: n.score_shift,
            static_range: n.static_hold.then(|| (decode(n.formats.q, low), decode(n.formats.q, high))),
        }
    }
}

impl Recurrence for Paper {
    type State = (f64, f64);
    type Op = FloatOp;
    type Ending = FloatEnding;

    fn step(&self, state: Option<(f64, f64)>, key: KeyScore) -> ((f64, f64), Decision<FloatOp>) {
        let u = &self.scalar;
        let bits = |x| encode(u.format, x);
        let s = score(u, self.score_shift, key.dot);
        let s_bits = bits(s) as i64;
        let Some((s_prev, w_prev)) = state else {
            return ((s, 1.0), Decision::load(s_bits, bits(1.0), FloatOp::Load));
        };
        let difference = u.sub(s, s_prev);
        match self.static_range {
            Some((low, _)) if difference <= low => {
                let w = u.paper_sigmoid_at(0);
                ((s, w), Decision { w: bits(w), ..Decision::hold(s_bits, 0) })
            }
            Some((_, high)) if difference >= high => {
                let w = u.paper_sigmoid_at(u.paper_z_max());
                ((s, w), Decision::load(s_bits, bits(w), FloatOp::Load))
            }
            _ => {
                let x = u.add(difference, u.ln_unit(w_prev));
                let w = u.paper_sigmoid_unit(x);
                let op = FloatOp::Weight(w);
                ((s, w), Decision::update(s_bits, bits(x) as i64, bits(w), false, op))
            }
        }
    }

    fn ending(&self, _: Option<(f64, f64)>) -> FloatEnding {
        FloatEnding::Round
    }
}

/// FlashAttention-2 as drawn: two exponentials, everything in the format. The state is the maximum and the sum.
#[derive(Clone)]
pub(crate) struct Literal {
    scalar: Scalar,
    format: Format,
    reciprocal: ReciprocalNumerics,
    score_shift: i32,
}

impl Literal {
    pub(crate) fn new(n: &Numerics) -> Self {
        Literal {
            scalar: Scalar::new(n.formats.q, n.exp.clone()),
            format: n.formats.q,
            reciprocal: n.reciprocal.clone(),
            score_shift: n.score_shift,
        }
    }
}

impl Recurrence for Literal {
    type State = (f64, f64);
    type Op = FloatOp;
    type Ending = FloatEnding;

    fn step(&self, state: Option<(f64, f64)>, key: KeyScore) -> ((f64, f64), Decision<FloatOp>) {
        let u = &self.scalar;
        let bits = |x| encode(self.format, x);
        let s = score(u, self.score_shift, key.dot);
        let s_bits = bits(s) as i64;
        let Some((m, l)) = state else {
            return ((s, 1.0), Decision::load(s_bits, bits(1.0), FloatOp::Load));
        };
        let top = if s > m { s } else { m };
        let x = u.sub(s, top);
        let (c, e) = (u.exp_unit(u.sub(m, top)), u.exp_unit(x));
        let l = u.add(u.mul(l, c), e);
        let op = FloatOp::ScaleBoth(c, e);
        ((top, l), Decision::update(s_bits, bits(x) as i64, bits(e), false, op))
    }

    fn sum(&self, (_, l): (f64, f64)) -> Option<u64> {
        Some(encode(self.format, l))
    }

    fn ending(&self, state: Option<(f64, f64)>) -> FloatEnding {
        state.map_or(FloatEnding::Round, |(_, l)| {
            FloatEnding::Scale(reciprocal_value(self.format, &self.reciprocal, l))
        })
    }
}

//! The scalar recurrences of the four cores: from a dot product to a weight and an action.

use crate::lanes::LaneOp;
use crate::round::{decode, encode, parts, pow2};
use crate::scalar::{Scalar, fixed, reciprocal};
use crate::units::reciprocal_value;
use flashd_hwmodel::config::{CoreConfig, Design, Fa2Variant, WeightUnit};
use flashd_hwmodel::format::Format;
use flashd_hwmodel::numerics::{Numerics, static_limits};

/// What a core remembers of a query besides its output lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum State {
    /// Log-sum-exp, FL fraction bits.
    Lse(i64),
    /// Previous score and weight, values of the format.
    Paper { s: f64, w: f64 },
    /// Maximum (FS fraction bits) and sum (FL fraction bits).
    Fa2 { m: i64, l: u64 },
    /// Maximum and sum, values of the format.
    Literal { m: f64, l: f64 },
}

/// Outcome of one step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decision {
    /// Score: fixed point, or an encoding where everything is in the format.
    pub(crate) s: i64,
    /// Argument of the weight function, in the same way.
    pub(crate) x: i64,
    /// The lanes' factor, a value of the format: see [`crate::Step::w`].
    pub(crate) w: f64,
    /// What the output lanes do.
    pub(crate) op: LaneOp,
}

/// The scalar unit of one core.
#[derive(Clone, Debug)]
pub(crate) struct Recurrence {
    kind: Kind,
    numerics: Numerics,
    scalar: Scalar,
    /// Limits of the paper's static rule, as values.
    static_range: (f64, f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Lse,
    Paper,
    Fa2,
    Literal,
}

impl Recurrence {
    pub(crate) fn new(config: &CoreConfig, numerics: &Numerics) -> Self {
        let format = config.format;
        let (low, high) = static_limits(format);
        Recurrence {
            kind: match (config.design, config.weight, config.fa2) {
                (Design::FlashD, WeightUnit::Lse, _) => Kind::Lse,
                (Design::FlashD, WeightUnit::Paper, _) => Kind::Paper,
                (Design::Fa2, _, Fa2Variant::Default) => Kind::Fa2,
                (Design::Fa2, _, Fa2Variant::Literal) => Kind::Literal,
            },
            numerics: numerics.clone(),
            scalar: Scalar::new(format, numerics.exp.clone()),
            static_range: (decode(format, low), decode(format, high)),
        }
    }

    /// Format of the lanes' differences and products.
    pub(crate) fn intermediate(&self) -> Format {
        match self.kind {
            Kind::Lse => self.numerics.difference,
            Kind::Fa2 => self.numerics.product,
            Kind::Paper | Kind::Literal => self.numerics.accumulator,
        }
    }

    /// RN of a value to the core's format, and whether it saturated.
    pub(crate) fn round_output(&self, x: f64) -> (f64, bool) {
        self.scalar.round_flag(x)
    }

    /// One key. `state` is `None` for a query's first key.
    pub(crate) fn step(&self, state: Option<State>, dot: f64) -> (State, Decision) {
        match (self.kind, state) {
            (Kind::Lse, None) => {
                let s = self.fixed_score(dot);
                (State::Lse(self.aligned(s)), self.first(s))
            }
            (Kind::Fa2, None) => {
                let s = self.fixed_score(dot);
                (State::Fa2 { m: s, l: 1 << self.numerics.state_fraction }, self.first(s))
            }
            (Kind::Paper, None) => {
                let s = self.format_score(dot);
                (State::Paper { s, w: 1.0 }, self.first(self.bits(s)))
            }
            (Kind::Literal, None) => {
                let s = self.format_score(dot);
                (State::Literal { m: s, l: 1.0 }, self.first(self.bits(s)))
            }
            (_, Some(State::Lse(l))) => self.lse(l, self.fixed_score(dot)),
            (_, Some(State::Fa2 { m, l })) => self.fa2(m, l, self.fixed_score(dot)),
            (_, Some(State::Paper { s, w })) => self.paper(s, w, self.format_score(dot)),
            (_, Some(State::Literal { m, l })) => self.literal(m, l, self.format_score(dot)),
        }
    }

    /// The factor of the final multiplication, where there is one.
    pub(crate) fn scale(&self, state: State) -> Option<f64> {
        let n = &self.numerics;
        match state {
            State::Lse(_) | State::Paper { .. } => None,
            State::Literal { l, .. } => Some(reciprocal_value(n.format, &n.reciprocal, l)),
            State::Fa2 { l, .. } => {
                let bits = n.reciprocal.table.value_fraction;
                let top = l.ilog2();
                let m = if top <= bits { l << (bits - top) } else { l >> (top - bits) };
                let r = reciprocal(&n.reciprocal, m - (1 << bits)) as f64;
                Some(r * pow2(n.state_fraction as i32 - (bits + top) as i32))
            }
        }
    }

    fn bits(&self, x: f64) -> i64 {
        encode(self.numerics.format, x) as i64
    }

    /// Score with FS fraction bits, saturated at `+-(2^(IS+FS) - 1)`.
    fn fixed_score(&self, dot: f64) -> i64 {
        let n = &self.numerics;
        let limit = (1 << (n.score_integer + n.score_fraction)) - 1;
        fixed(dot, n.score_shift + n.score_fraction as i32, limit)
    }

    /// Score in the format.
    fn format_score(&self, dot: f64) -> f64 {
        self.scalar.round(dot * pow2(self.numerics.score_shift))
    }

    /// A score with the state's fraction bits.
    fn aligned(&self, s: i64) -> i64 {
        s << (self.numerics.state_fraction - self.numerics.score_fraction)
    }

    fn first(&self, s: i64) -> Decision {
        Decision {
            s,
            x: 0,
            w: match self.kind {
                Kind::Lse => 0.0,
                _ => 1.0,
            },
            op: match self.kind {
                Kind::Lse | Kind::Fa2 => LaneOp::First,
                Kind::Paper | Kind::Literal => LaneOp::Load,
            },
        }
    }

    /// `x = s - L`, `L <- L + softplus(x) = max(s, L) + softplus(-|x|)`. The lanes' factor is `sigmoid(-|x|)`, at
    /// most 1/2: the weight `sigmoid(x)` for a negative x, one minus the weight otherwise.
    fn lse(&self, l: i64, s: i64) -> (State, Decision) {
        let n = &self.numerics;
        let score = self.aligned(s);
        let x = score - l;
        if n.hold_threshold.is_some_and(|t| x <= -(t as i64)) {
            return (State::Lse(l), Decision { s, x, w: 0.0, op: LaneOp::Hold });
        }
        let t = self.scalar.t_from_fixed(x.unsigned_abs(), n.state_fraction);
        let reduced = self.scalar.reduce(t);
        let grown = score.max(l) + self.scalar.softplus_fixed(reduced, n.state_fraction);
        let w = self.scalar.sigmoid_of(true, reduced);
        let op = if x < 0 { LaneOp::Weight(w) } else { LaneOp::Complement(w) };
        (State::Lse(grown), Decision { s, x, w, op })
    }

    /// The paper's Alg. 3 in the format, with the sign of its eq. (11) and its static rule.
    fn paper(&self, s_prev: f64, w_prev: f64, s: f64) -> (State, Decision) {
        let u = &self.scalar;
        let difference = u.sub(s, s_prev);
        let (low, high) = self.static_range;
        let skip = self.numerics.static_skip;
        let (x, w, op) = if skip && difference <= low {
            (0.0, u.paper_sigmoid_at(0), LaneOp::Hold)
        } else if skip && difference >= high {
            (0.0, u.paper_sigmoid_at(u.paper_z_max()), LaneOp::Load)
        } else {
            let x = u.add(difference, u.ln_unit(w_prev));
            let w = u.paper_sigmoid_unit(x);
            (x, w, LaneOp::Weight(w))
        };
        (State::Paper { s, w }, Decision { s: self.bits(s), x: self.bits(x), w, op })
    }

    /// FlashAttention-2 with one exponential: of the two factors one is always 1.
    fn fa2(&self, m: i64, l: u64, s: i64) -> (State, Decision) {
        let n = &self.numerics;
        let moved = s > m;
        let t = self.scalar.t_from_fixed(s.abs_diff(m), n.score_fraction);
        let e = self.scalar.exp_of(t);
        let (c, exponent) = parts(n.format, e);
        // e <= 1, so its last significand bit never lies above the integers; x and c together have less than
        // 100 bits.
        let times_e = |x: u128| {
            if -exponent > 100 { 0 } else { ((x * c as u128 + (1 << (-exponent - 1))) >> -exponent) as u64 }
        };
        let one = 1u64 << n.state_fraction;
        let grown = if moved { times_e(l.into()) + one } else { l + times_e(one.into()) };
        let l = grown.min((1 << n.sum_bits()) - 1);
        let op = if moved { LaneOp::ScaleOutput(e) } else { LaneOp::ScaleValue(e) };
        (State::Fa2 { m: m.max(s), l }, Decision { s, x: s - m, w: e, op })
    }

    /// FlashAttention-2 as drawn: two exponentials, everything in the format.
    fn literal(&self, m: f64, l: f64, s: f64) -> (State, Decision) {
        let u = &self.scalar;
        let top = if s > m { s } else { m };
        let x = u.sub(s, top);
        let (c, e) = (u.exp_unit(u.sub(m, top)), u.exp_unit(x));
        let l = u.add(u.mul(l, c), e);
        let op = LaneOp::ScaleBoth(c, e);
        (State::Literal { m: top, l }, Decision { s: self.bits(s), x: self.bits(x), w: e, op })
    }
}

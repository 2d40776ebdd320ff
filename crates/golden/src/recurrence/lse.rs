//! FLASH-D, (11), with the log-sum-exp as its state, in base 2.

use super::{Decision, FixedScore, KeyScore, Recurrence};
use crate::base2::{Base2, Factor};
use crate::lanes::{BlendOp, FloatEnding, FloatOp};
use crate::round::encode;
use crate::scalar::{ReducedArgument, Scalar};
use flashd_spec::bits::{ones, signed};
use flashd_spec::numerics::{BudgetNumerics, Numerics};

/// The form in which the lanes get `u = sigmoid(-|x|) <= 1/2`. For a negative x this is the weight, else one minus
/// the weight.
pub(crate) trait WeightForm: Clone + Send + Sync + 'static {
    /// An operation of the lanes.
    type Op: Send;

    /// The operation of a first key, whose weight is one.
    fn first(&self) -> Self::Op;

    /// For a later key with this x: the factor as a step records it, and the operation. `argument` is x as the tables take it.
    fn update(&self, base2: &Base2, x: i64, argument: ReducedArgument) -> (u64, Self::Op);
}

/// A factor rounded to the weight's format, for float lanes.
#[derive(Clone)]
pub(crate) struct RoundedWeight(pub(crate) Scalar);

impl WeightForm for RoundedWeight {
    type Op = FloatOp;

    fn first(&self) -> FloatOp {
        FloatOp::First
    }

    fn update(&self, base2: &Base2, x: i64, r: ReducedArgument) -> (u64, FloatOp) {
        let RoundedWeight(scalar) = self;
        let u = scalar.round_integer(base2.sigmoid(r), -((base2.fraction() + r.k) as i32));
        let op = if x >= 0 { FloatOp::Complement(u) } else { FloatOp::Weight(u) };
        (encode(scalar.format, u), op)
    }
}

/// A factor with this many significand bits, for fixed-point and ranged lanes.
#[derive(Clone)]
pub(crate) struct FactorWeight(pub(crate) u32);

impl WeightForm for FactorWeight {
    type Op = BlendOp;

    fn first(&self) -> BlendOp {
        BlendOp { u: Factor::zero(self.0), upper: true, dither: 0 }
    }

    fn update(&self, base2: &Base2, x: i64, r: ReducedArgument) -> (u64, BlendOp) {
        let u = base2.sigmoid_factor(r, self.0);
        (u.record(), BlendOp { u, upper: x >= 0, dither: x as u64 })
    }
}

/// The hold rule.
#[derive(Clone)]
enum LseHoldRule {
    Never,
    /// Holds keys whose x, with FL fraction bits, is at most this.
    Below(i64),
    Budget(BudgetNumerics),
}

/// The units of the budget spent after holding a key with `floor(x) = floor`; `None` if the key must be kept.
fn spent_on(budget: &BudgetNumerics, spent: u64, floor: i64) -> Option<u64> {
    let BudgetNumerics { exponent, register, reserve } = *budget;
    let power = (floor + 1 + i64::from(exponent + register)).max(0);
    // A larger charge exceeds the budget anyway.
    let charge = 1u64 << power.min(i64::from(register) + 1);
    (spent + (charge << reserve) <= 1 << register).then_some(spent + charge)
}

/// The units of a budget still spent after keeping a key with `floor(x) = floor`, of `spent` before. They are never less than the
/// mass of the held keys relative to the new L.
pub fn spent_after(spent: u64, floor: i64) -> u64 {
    match floor {
        ..0 => spent - (spent >> (1 - floor).min(63)),
        _ => spent.div_ceil(1 << floor.clamp(1, 63)),
    }
}

/// The log-sum-exp L with FL fraction bits, and the units spent of the budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LseState {
    l: i64,
    spent: u64,
}

/// `x = s - L`, `L <- L + log2(1 + 2^x) = max(s, L) + log2(1 + 2^-|x|)`. The state is L, and the units that the hold rule has spent.
#[derive(Clone)]
pub(crate) struct Lse<F> {
    score: FixedScore,
    base2: Base2,
    state_fraction: u32,
    state_bits: u32,
    /// Left shift from FS to FL fraction bits.
    align: u32,
    hold: LseHoldRule,
    form: F,
}

impl<F: WeightForm> Lse<F> {
    pub(crate) fn new(n: &Numerics, form: F) -> Self {
        let align = n.state_fraction - n.score_fraction;
        Lse {
            score: FixedScore::new(n),
            base2: Base2::new(n),
            state_fraction: n.state_fraction,
            state_bits: n.state_bits(),
            align,
            hold: match (n.hold_threshold, n.budget) {
                (Some(t), _) => LseHoldRule::Below(-((t << align) as i64)),
                (None, Some(budget)) => LseHoldRule::Budget(budget),
                (None, None) => LseHoldRule::Never,
            },
            form,
        }
    }
}

impl<F: WeightForm> Recurrence for Lse<F> {
    type State = LseState;
    type Op = F::Op;
    type Ending = FloatEnding;

    fn saturates(&self, key: KeyScore) -> bool {
        self.score.saturates(key)
    }

    fn step(&self, state: Option<LseState>, key: KeyScore) -> (LseState, Decision<F::Op>) {
        let s = self.score.of(key);
        let score = s << self.align;
        let Some(LseState { l, mut spent }) = state else {
            return (LseState { l: score, spent: 0 }, Decision::load(s, 0, self.form.first()));
        };
        let x = score - l;
        match &self.hold {
            LseHoldRule::Below(limit) if x <= *limit => return (LseState { l, spent }, Decision::hold(s, x)),
            LseHoldRule::Budget(budget) => {
                let floor = x >> self.state_fraction;
                if let Some(spent) = spent_on(budget, spent, floor) {
                    return (LseState { l, spent }, Decision::hold(s, x));
                }
                spent = spent_after(spent, floor);
            }
            _ => {}
        }
        let argument = self.base2.reduce_cut(x, self.state_fraction);
        let upper = x >= 0;
        let (w, op) = self.form.update(&self.base2, x, argument);
        let grown = score.max(l) + self.base2.growth(argument, self.state_fraction);
        (LseState { l: grown, spent }, Decision::update(s, x, w, upper, op))
    }

    fn at(&self, x: i64) -> Option<(u64, i64)> {
        let argument = self.base2.reduce_cut(x, self.state_fraction);
        let (w, _) = self.form.update(&self.base2, x, argument);
        Some((w, self.base2.growth(argument, self.state_fraction)))
    }

    fn save(&self, state: LseState) -> [u64; 2] {
        let room = match &self.hold {
            LseHoldRule::Budget(budget) => (1 << budget.register) - state.spent,
            _ => 0,
        };
        [state.l as u64 & ones(self.state_bits), room]
    }

    fn restore(&self, [l, room]: [u64; 2]) -> Option<LseState> {
        let spent = match &self.hold {
            LseHoldRule::Budget(budget) => (1u64 << budget.register).saturating_sub(room),
            _ => 0,
        };
        Some(LseState { l: signed(l, self.state_bits), spent })
    }

    fn ending(&self, _: Option<LseState>) -> FloatEnding {
        FloatEnding::Round
    }
}

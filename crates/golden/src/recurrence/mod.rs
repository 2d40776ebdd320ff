//! The scalar recurrences: each turns a dot product into a weight and an action.

mod fa2;
mod log_reference;
mod lse;
mod paper;

pub(crate) use fa2::{Fa2, Sum, divide, exponential_factor, reciprocal_of_sum, scaled};
pub(crate) use log_reference::{LogReference, Octaves};
pub use lse::spent_after;
pub(crate) use lse::{FactorWeight, Lse, RoundedWeight, WeightForm};
pub(crate) use paper::{Literal, Paper};

use crate::base2::{Score, round_half_up, saturated};
use crate::result::Action;
use crate::softcap::CapUnit;
use flashd_spec::numerics::Numerics;

/// The scalar unit of one kind of core.
pub(crate) trait Recurrence: Clone + Send + Sync + 'static {
    /// The state of a query, without its output lanes.
    type State: Copy + Send;
    /// The lanes' operation in a step.
    type Op: Send;
    /// The lanes' operation after the last key.
    type Ending;

    /// One key. `state` is `None` for a query's first key.
    fn step(&self, state: Option<Self::State>, key: KeyScore) -> (Self::State, Decision<Self::Op>);

    /// Whether a key's score saturates, its bias apart.
    fn saturates(&self, _key: KeyScore) -> bool {
        false
    }

    /// The scalars of a [`crate::PartialState`]; zeros if the recurrence has no partial results.
    fn save(&self, _state: Self::State) -> [u64; 2] {
        [0; 2]
    }

    /// FA2's sum as [`crate::Step::l`] has it; `None` in recurrences without one.
    fn sum(&self, _state: Self::State) -> Option<u64> {
        None
    }

    /// For a key that is kept at `x = s - L`: the lanes' factor as a step records it, and the growth of L. `None` in recurrences other
    /// than [`Lse`].
    fn at(&self, _x: i64) -> Option<(u64, i64)> {
        None
    }

    /// The inverse of [`Recurrence::save`].
    fn restore(&self, _scalars: [u64; 2]) -> Option<Self::State> {
        None
    }

    /// The lanes' last operation; `state` is `None` for a query without keys.
    fn ending(&self, state: Option<Self::State>) -> Self::Ending;
}

/// The parts of a key's score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KeyScore {
    /// Output of the dot product unit.
    pub(crate) dot: f64,
    /// The bias, in base 2 with FS fraction bits.
    pub(crate) bias: i64,
}

/// Without a bias.
impl From<f64> for KeyScore {
    fn from(dot: f64) -> Self {
        KeyScore { dot, bias: 0 }
    }
}

/// Outcome of one step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decision<Op> {
    /// As in [`crate::Step`], like `x`, `w`, `upper` and `action`.
    pub(crate) s: i64,
    pub(crate) x: i64,
    pub(crate) w: u64,
    pub(crate) upper: bool,
    pub(crate) action: Action,
    /// The lanes' operation; `None` if the step holds.
    pub(crate) op: Option<Op>,
}

impl<Op> Decision<Op> {
    /// A step that holds.
    fn hold(s: i64, x: i64) -> Self {
        Decision { s, x, w: 0, upper: false, action: Action::Hold, op: None }
    }

    /// A first key.
    fn load(s: i64, w: u64, op: Op) -> Self {
        Decision { s, x: 0, w, upper: false, action: Action::Load, op: Some(op) }
    }

    /// A step that updates the output.
    fn update(s: i64, x: i64, w: u64, upper: bool, op: Op) -> Self {
        Decision { s, x, w, upper, action: Action::Update, op: Some(op) }
    }
}

/// The fixed-point score unit of a core, in base 2.
#[derive(Clone, Debug)]
pub(crate) struct FixedScore {
    /// The dot product unit already returns the score.
    is_score: bool,
    /// Guard bits of a sum below the natural score.
    guard: i32,
    score: Score,
    cap: CapUnit,
}

impl FixedScore {
    pub(crate) fn new(n: &Numerics) -> Self {
        FixedScore {
            is_score: n.is_exact() || n.has_significands(),
            guard: n.dot_guard as i32,
            score: Score::new(n),
            cap: CapUnit::new(n),
        }
    }

    /// The score with FS fraction bits, saturated.
    pub(crate) fn of(&self, key: KeyScore) -> i64 {
        self.with_flag(key).0
    }

    /// Whether the score saturates, its bias apart.
    pub(crate) fn saturates(&self, key: KeyScore) -> bool {
        self.with_flag(key).1
    }

    fn with_flag(&self, KeyScore { dot, bias }: KeyScore) -> (i64, bool) {
        let (score, beyond) = self.without_bias(dot);
        let (score, also) = saturated(score + bias, self.score.limit());
        (score, beyond || also)
    }

    /// The capped score of a dot product before the bias is added, and whether it saturated before it was capped.
    pub(crate) fn without_bias(&self, dot: f64) -> (i64, bool) {
        let (score, beyond) = self.without_cap(dot);
        (self.cap.of(score), beyond)
    }

    fn without_cap(&self, dot: f64) -> (i64, bool) {
        if self.is_score {
            return saturated(dot as i64, self.score.limit());
        }
        self.score.of(round_half_up(dot as i64, self.guard))
    }
}

//! The scalar recurrences: from a dot product to a weight and an action.

mod fa2;
mod fa2_fixed;
mod fa2_lazy;
mod fa2_shared_log;
mod lse;
mod paper;

pub(crate) use fa2::{Fa2, Sum, divide, exponential_factor, reciprocal_of_sum, scaled};
pub(crate) use fa2_fixed::{Fa2Fixed, LOG_REFERENCE_GUARD_BITS, Reference};
pub(crate) use fa2_lazy::Lazy;
pub(crate) use fa2_shared_log::SharedLog;
pub use lse::spent_after;
pub(crate) use lse::{FactorWeight, Lse, RoundedWeight, WeightForm};
pub(crate) use paper::{Literal, Paper};

use crate::base2::{Score, round_half_up};
use crate::result::Action;
use crate::scalar::fixed;
use crate::softcap::CapUnit;
use flashd_spec::config::Dot;
use flashd_spec::numerics::Numerics;

/// The scalar unit of one kind of core.
pub(crate) trait Recurrence: Clone + Send + Sync + 'static {
    /// What the core remembers of a query besides its output lanes.
    type State: Copy + Send;
    /// What it has the lanes do.
    type Op: Send;
    /// What it has them do after the last key.
    type Ending;

    /// One key. `state` is `None` for a query's first key.
    fn step(&self, state: Option<Self::State>, key: KeyScore) -> (Self::State, Decision<Self::Op>);

    /// The scalars of a partial result, raw, see [`crate::PartialState`]. Zeros of recurrences that have none.
    fn save(&self, _state: Self::State) -> [u64; 2] {
        [0; 2]
    }

    /// FA2's sum, raw; None of recurrences that have none.
    fn sum(&self, _state: Self::State) -> Option<u64> {
        None
    }

    /// What a key that is kept at this argument makes: the lanes' factor as recorded, and what the log-sum-exp grows by. None of
    /// recurrences whose tables have other arguments.
    fn at(&self, _x: i64) -> Option<(u64, i64)> {
        None
    }

    /// The inverse of [`Recurrence::save`].
    fn restore(&self, _scalars: [u64; 2]) -> Option<Self::State> {
        None
    }

    /// After the last key; `state` is `None` for a query without keys.
    fn ending(&self, state: Option<Self::State>) -> Self::Ending;
}

/// What a key's score is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KeyScore {
    /// What the dot product unit gives.
    pub(crate) dot: f64,
    /// What is added, in base 2 with FS fraction bits.
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
    /// As in [`crate::Step`], from here on.
    pub(crate) s: i64,
    pub(crate) x: i64,
    pub(crate) w: u64,
    pub(crate) upper: bool,
    pub(crate) action: Action,
    /// What the lanes do; nothing where the step holds.
    pub(crate) op: Option<Op>,
    /// The sum left its range.
    pub(crate) overflow: bool,
}

impl<Op> Decision<Op> {
    /// A step that keeps everything.
    fn hold(s: i64, x: i64) -> Self {
        Decision { s, x, w: 0, upper: false, action: Action::Hold, op: None, overflow: false }
    }

    /// A first key.
    fn load(s: i64, w: u64, op: Op) -> Self {
        Decision { s, x: 0, w, upper: false, action: Action::Load, op: Some(op), overflow: false }
    }

    /// A step that updates the output.
    fn update(s: i64, x: i64, w: u64, upper: bool, op: Op) -> Self {
        Decision { s, x, w, upper, action: Action::Update, op: Some(op), overflow: false }
    }
}

/// The fixed-point score of a core, in base 2.
#[derive(Clone, Debug)]
pub(crate) struct FixedScore {
    dot: Dot,
    /// What comes is the score.
    is_score: bool,
    /// Power of two from a tree's dot product to the natural score.
    tree_shift: i32,
    /// Bits of a fused sum below the natural score.
    guard: i32,
    score: Score,
    cap: CapUnit,
}

impl FixedScore {
    pub(crate) fn new(n: &Numerics) -> Self {
        FixedScore {
            dot: n.dot,
            is_score: n.is_exact() || n.has_significands(),
            tree_shift: n.score_shift + n.natural_fraction() as i32,
            guard: n.dot_guard as i32,
            score: Score::new(n),
            cap: CapUnit::new(n),
        }
    }

    /// The score with FS fraction bits.
    pub(crate) fn of(&self, KeyScore { dot, bias }: KeyScore) -> i64 {
        let limit = self.score.limit();
        (self.without_bias(dot) + bias).clamp(-limit, limit)
    }

    /// The score before its bias is added, from what the dot product unit gives.
    pub(crate) fn without_bias(&self, dot: f64) -> i64 {
        self.cap.of(self.without_cap(dot))
    }

    fn without_cap(&self, dot: f64) -> i64 {
        if self.is_score {
            return dot as i64;
        }
        self.score.of(match self.dot {
            Dot::Tree => fixed(dot, self.tree_shift, self.score.natural_limit()),
            Dot::Fused => round_half_up(dot as i64, self.guard),
        })
    }
}

//! The interface of a scalar path, which turns the score of a step into the scalars that the lanes need.

use crate::rtl::{Module, Wire};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// Builds a scalar path, with scalars of one kind of lanes.
pub type ScalarPath<S> = fn(&mut Module, &Arc<Numerics>, &ScalarInputs) -> ScalarOutputs<S>;

/// The inputs of a scalar path, at the score stage but for `finish`.
pub struct ScalarInputs<'a> {
    /// The score.
    pub score: Wire,
    /// A step is present and not masked.
    pub valid: Wire,
    /// It is the first step of its query.
    pub first: Wire,
    /// With partial results: the step is a restore.
    pub state: Option<Wire>,
    /// The scalars of the restored state, in the order of
    /// [`CoreConfig::state_scalars`](flashd_spec::config::CoreConfig::state_scalars).
    pub state_scalars: &'a [Wire],
    /// FA2: the step [`SCORE_TO_VALUE`](super::schedule::SCORE_TO_VALUE) stages after the score is the last of its
    /// query.
    pub finish: Option<Wire>,
}

impl ScalarInputs<'_> {
    /// Declares the clock and the reset of a scalar path, and its inputs `score`, `valid` and `first`.
    pub fn step_ports(&self, m: &mut Module) -> [Wire; 3] {
        m.clock();
        m.reset();
        m.input_each([("score", self.score), ("valid", self.valid), ("first", self.first)])
    }
}

/// The outputs of a scalar path.
pub struct ScalarOutputs<S> {
    /// A step has come to the point where its value is read.
    pub step: Wire,
    /// That step reads its value: it is not held.
    pub reads: Wire,
    /// The scalars for the lanes.
    pub lanes: S,
    /// With partial results: the scalars of the state after a step, in the order of the inputs.
    pub state_scalars: Vec<Wire>,
}

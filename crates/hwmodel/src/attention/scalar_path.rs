//! The scalar path of a core: from a step's score to what its lanes need.

use super::signals::Signals;
use crate::rtl::{Module, Wire};

/// What a scalar path gets, at the score stage.
pub struct ScalarInputs<'a> {
    /// The score.
    pub score: Wire,
    /// A step that is not masked is there.
    pub valid: Wire,
    /// It is its query's first.
    pub first: Wire,
    /// With partial results: the step is one, in place of a first key.
    pub state: Option<Wire>,
    /// Its scalars, in the order of [`CoreConfig::state_scalars`](flashd_spec::config::CoreConfig::state_scalars).
    pub state_scalars: &'a [Wire],
    /// FA2: the step at the value stage is its query's last.
    pub finish: Option<Wire>,
}

impl ScalarInputs<'_> {
    /// Clock and reset of a scalar path, and of a step score, valid and first.
    pub fn step_ports(&self, m: &mut Module) -> [Wire; 3] {
        m.clock();
        m.reset();
        m.input_each([("score", self.score), ("valid", self.valid), ("first", self.first)])
    }
}

/// What it hands out.
pub struct ScalarOutputs {
    /// A step asks for its value.
    pub step: Wire,
    /// That step needs it.
    pub reads: Wire,
    /// What the lanes get.
    pub lanes: Signals,
    /// With partial results: the scalars of the state after a step, in the same order.
    pub state_scalars: Vec<Wire>,
    /// The sum is too large, where that is possible.
    pub overflow: Option<Wire>,
}

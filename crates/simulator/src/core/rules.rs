//! When what a step causes is due at the ports of a core.

use super::engine::Outputs;
use flashd_golden::{Action, QueryResult};
use flashd_hwmodel::catalogue::Stages;
use flashd_spec::config::CoreConfig;
use flashd_spec::numerics::Numerics;
use std::collections::VecDeque;

/// A step by query and place.
pub(crate) type StepId = (usize, usize);

/// Steps on their way to a stage, each with the cycle of its acceptance.
#[derive(Clone, Debug)]
pub(crate) struct Pending<T>(VecDeque<(u64, T)>);

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Pending(VecDeque::new())
    }
}

impl<T> Pending<T> {
    pub(crate) fn push(&mut self, cycle: u64, step: T) {
        self.0.push_back((cycle, step));
    }

    /// The step that was accepted `latency` cycles ago, if any.
    pub(crate) fn due(&mut self, cycle: u64, latency: u64) -> Option<T> {
        self.0.front().filter(|(at, _)| at + latency == cycle)?;
        self.0.pop_front().map(|(_, step)| step)
    }
}

/// Steps of a cycle at the ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    /// Scalars of a partial result are asked for.
    pub restore: bool,
    /// The action of the step at the value stage.
    pub value: Option<Action>,
    /// The query whose result is there.
    pub result: Option<usize>,
}

impl Due {
    /// Whether the step at the value stage reads a value or accumulators.
    pub(crate) fn reads(&self) -> bool {
        self.value.is_some_and(|action| !matches!(action, Action::Hold | Action::Masked))
    }

    /// Whether it reads accumulators.
    pub(crate) fn restores(&self) -> bool {
        self.value == Some(Action::Restore)
    }
}

/// Every output port of a core, predicted from the model's results and the cycles in which steps are accepted.
pub(crate) struct CoreRules {
    stages: Stages,
    latency: u64,
    partial: bool,
    restores: Pending<()>,
    values: Pending<Action>,
    ends: Pending<usize>,
}

impl CoreRules {
    /// Nothing accepted yet.
    pub(crate) fn new(config: &CoreConfig) -> Self {
        CoreRules {
            stages: Stages::of(config),
            latency: Numerics::new(config).latency().into(),
            partial: config.partial,
            restores: Pending::default(),
            values: Pending::default(),
            ends: Pending::default(),
        }
    }

    /// Cycles from a last step to the result.
    pub(crate) fn latency(&self) -> u64 {
        self.latency
    }

    /// A query's step is accepted, which did this.
    pub(crate) fn accept(&mut self, cycle: u64, query: usize, action: Action, last: bool) {
        if action == Action::Restore {
            self.restores.push(cycle, ());
        }
        self.values.push(cycle, action);
        if last {
            self.ends.push(cycle, query);
        }
    }

    /// What the cycle brings; to be asked for every cycle once.
    pub(crate) fn due(&mut self, cycle: u64) -> Due {
        Due {
            restore: self.restores.due(cycle, u64::from(self.stages.score).saturating_sub(1)).is_some(),
            value: self.values.due(cycle, self.stages.value.into()),
            result: self.ends.due(cycle, self.latency),
        }
    }

    /// The output ports; `result` is the model's result of the query that ends.
    pub(crate) fn outputs(&self, due: &Due, result: Option<&QueryResult>, outputs: &mut Outputs) {
        outputs.state_ren = due.restore;
        outputs.v_step = due.value.is_some();
        outputs.v_ren = due.reads();
        outputs.v_state = due.restores();
        outputs.o_valid = due.result.is_some();
        let Some(result) = result else {
            return;
        };
        outputs.o.clone_from(&result.o);
        outputs.o_invalid = result.invalid;
        outputs.o_saturated = result.score_saturated;
        outputs.o_overflow = result.overflow;
        outputs.o_empty = result.empty;
        if let (true, Some(state)) = (self.partial, &result.state) {
            outputs.o_scalars.clear();
            outputs.o_scalars.extend(state.scalars);
            outputs.o_state.clone_from(&state.o);
        }
    }
}

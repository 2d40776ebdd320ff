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
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending(VecDeque<(u64, StepId)>);

impl Pending {
    pub(crate) fn push(&mut self, cycle: u64, step: StepId) {
        self.0.push_back((cycle, step));
    }

    /// The step that was accepted `latency` cycles ago, if any.
    pub(crate) fn due(&mut self, cycle: u64, latency: u64) -> Option<StepId> {
        let &(_, step) = self.0.front().filter(|(at, _)| at + latency == cycle)?;
        self.0.pop_front();
        Some(step)
    }
}

/// Steps of a cycle at the ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    /// The step whose partial result's scalars are asked for.
    pub restore: Option<StepId>,
    /// The step at the value stage.
    pub value: Option<StepId>,
    /// The last step of the query whose result is there.
    pub result: Option<StepId>,
}

/// Every output port of a core, predicted from the model's results and the cycles in which steps are accepted.
pub(crate) struct CoreRules<'a> {
    results: &'a [QueryResult],
    stages: Stages,
    latency: u64,
    partial: bool,
    restores: Pending,
    values: Pending,
    ends: Pending,
}

impl<'a> CoreRules<'a> {
    /// Nothing accepted yet. `results` have their steps.
    pub(crate) fn new(config: &CoreConfig, results: &'a [QueryResult]) -> Self {
        CoreRules {
            results,
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

    /// What a step did.
    pub(crate) fn action(&self, (query, step): StepId) -> Action {
        self.results[query].steps[step].action
    }

    /// A step is accepted.
    pub(crate) fn accept(&mut self, cycle: u64, step: StepId, last: bool) {
        if self.action(step) == Action::Restore {
            self.restores.push(cycle, step);
        }
        self.values.push(cycle, step);
        if last {
            self.ends.push(cycle, step);
        }
    }

    /// What the cycle brings; to be asked for every cycle once.
    pub(crate) fn due(&mut self, cycle: u64) -> Due {
        Due {
            restore: self.restores.due(cycle, u64::from(self.stages.score).saturating_sub(1)),
            value: self.values.due(cycle, self.stages.value.into()),
            result: self.ends.due(cycle, self.latency),
        }
    }

    /// Whether the step at the value stage reads a value or accumulators.
    pub(crate) fn reads(&self, due: &Due) -> bool {
        due.value.is_some_and(|step| !matches!(self.action(step), Action::Hold | Action::Masked))
    }

    /// Whether it reads accumulators.
    pub(crate) fn restores(&self, due: &Due) -> bool {
        due.value.is_some_and(|step| self.action(step) == Action::Restore)
    }

    /// The output ports.
    pub(crate) fn outputs(&self, due: &Due, outputs: &mut Outputs) {
        outputs.state_ren = due.restore.is_some();
        outputs.v_step = due.value.is_some();
        outputs.v_ren = self.reads(due);
        outputs.v_state = self.restores(due);
        outputs.o_valid = due.result.is_some();
        let Some((query, _)) = due.result else {
            return;
        };
        let result = &self.results[query];
        outputs.o.clone_from(&result.o);
        outputs.o_invalid = result.invalid;
        outputs.o_overflow = result.overflow;
        outputs.o_empty = result.empty;
        if let (true, Some(state)) = (self.partial, &result.state) {
            outputs.o_scalars.clear();
            outputs.o_scalars.extend(state.scalars);
            outputs.o_state.clone_from(&state.o);
        }
    }
}

//! When what a step of a split causes is due at its ports, told by cycle numbers.

use crate::core::rules::Pending;
use flashd_hwmodel::catalogue::v_step_latency;
use flashd_spec::config::SplitConfig;

/// Steps on their way to the value stage, and queries on their way to the result.
pub(super) struct SplitRules {
    values: Pending<Vec<Option<usize>>>,
    ends: Pending<usize>,
    value_stage: u64,
    latency: u64,
}

impl SplitRules {
    /// Nothing accepted yet.
    pub(super) fn new(config: &SplitConfig) -> Self {
        SplitRules {
            values: Pending::default(),
            ends: Pending::default(),
            value_stage: v_step_latency(&config.core).into(),
            latency: config.latency().into(),
        }
    }

    /// Cycles from the last keys to the result.
    pub(super) fn latency(&self) -> u64 {
        self.latency
    }

    /// The keys of a query's step are accepted; `read` are those whose values the parts will ask for.
    pub(super) fn accept(&mut self, cycle: u64, query: usize, read: Vec<Option<usize>>, last: bool) {
        self.values.push(cycle, read);
        if last {
            self.ends.push(cycle, query);
        }
    }

    /// The keys whose values are asked for by the step at the value stage, by part; to be asked for every cycle once.
    pub(super) fn value(&mut self, cycle: u64) -> Option<Vec<Option<usize>>> {
        self.values.due(cycle, self.value_stage)
    }

    /// The query whose result is there; to be asked for every cycle once.
    pub(super) fn result(&mut self, cycle: u64) -> Option<usize> {
        self.ends.due(cycle, self.latency)
    }
}

//! The steps of a run, as tables over queries and keys.

use flashd_golden::{Action, Step, StepUnits};
use flashd_spec::config::CoreConfig;
use std::sync::Mutex;

/// One entry for every query and key, `[queries, keys]`; where a query does not meet a key, NaN and [`StepTable::NOT_MET`].
#[derive(Clone, Debug, PartialEq)]
pub struct StepTable {
    /// Scores in base 2, but natural for `paper` and `literal`.
    pub scores: Vec<f32>,
    /// The lanes' factors: the smaller one of `w` and `1 - w` for the log-sum-exp, the exponential for FA2; 0 where a step holds.
    pub factors: Vec<f32>,
    /// Action of each step: 0 load, 1 update, 2 hold, 3 masked.
    pub actions: Vec<u8>,
}

impl StepTable {
    /// The action of a key that the query does not meet.
    pub const NOT_MET: u8 = 4;
}

/// The number of an action in tables and in the C library.
pub fn action_number(action: Action) -> u8 {
    match action {
        Action::Load => 0,
        Action::Update => 1,
        Action::Hold => 2,
        Action::Masked => 3,
        Action::Restore => 5,
    }
}

/// Collects steps from many threads.
pub(crate) struct StepCollector {
    units: StepUnits,
    keys: usize,
    table: Mutex<StepTable>,
}

impl StepCollector {
    /// An empty table for a head of `queries` and `keys` on a core.
    pub(crate) fn new(config: &CoreConfig, queries: usize, keys: usize) -> StepCollector {
        let elements = queries * keys;
        let table = StepTable {
            scores: vec![f32::NAN; elements],
            factors: vec![f32::NAN; elements],
            actions: vec![StepTable::NOT_MET; elements],
        };
        StepCollector { units: StepUnits::new(config), keys, table: Mutex::new(table) }
    }

    /// Steps of a query from the key `first` on.
    pub(crate) fn add(&self, query: usize, first: usize, steps: &[Step]) {
        let mut table = self.table.lock().unwrap_or_else(|e| e.into_inner());
        let from = query * self.keys + first;
        for (place, step) in (from..).zip(steps) {
            table.actions[place] = action_number(step.action);
            if step.action != Action::Masked {
                table.scores[place] = self.units.score(step) as f32;
                let held = step.action == Action::Hold;
                table.factors[place] = if held { 0.0 } else { self.units.factor(step) as f32 };
            }
        }
    }

    /// All of them.
    pub(crate) fn table(self) -> StepTable {
        self.table.into_inner().unwrap_or_else(|e| e.into_inner())
    }
}

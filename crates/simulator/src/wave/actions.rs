//! The action of a step in a stage, as an enumeration next to the bit of an update.

use super::layout::Group;
use super::signals::Signal;
use super::sink::Names;
use flashd_hwmodel::rtl::Role;
use std::collections::HashMap;

/// The name of the variable, in the scope of the bit.
pub(super) const NAME: &str = "action";

/// Actions of steps. A masked key is no step of the weight unit, and a partial result counts as a first key.
pub(super) const ACTIONS: Names = Names { table: "action", names: &["idle", "load", "update", "hold"] };

/// The nets that encode an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flags {
    valid: u32,
    first: u32,
    update: u32,
}

impl Flags {
    /// The same flags by something else than their nets.
    pub(super) fn map(self, mut of: impl FnMut(u32) -> u32) -> Flags {
        Flags { valid: of(self.valid), first: of(self.first), update: of(self.update) }
    }

    /// The place of the action among the names.
    pub(super) fn action(self, values: &impl Fn(u32) -> u64) -> u64 {
        let high = |net: u32| values(net) & 1 != 0;
        match (high(self.valid), high(self.first), high(self.update)) {
            (false, ..) => 0,
            (true, true, _) => 1,
            (true, false, true) => 2,
            (true, false, false) => 3,
        }
    }
}

/// For each update bit, by its place among the signals, the flags of its stage.
pub(super) fn actions(signals: &[Signal], layout: &[Group]) -> HashMap<usize, Flags> {
    let places: HashMap<&str, usize> = signals.iter().enumerate().map(|(i, s)| (s.below_top(), i)).collect();
    let mut actions = HashMap::new();
    for group in layout {
        let place = |role| {
            let row = group.rows.iter().find(|row| row.role == Some(role))?;
            places.get(row.path.as_str()).copied()
        };
        if let [Some(valid), Some(first), Some(update)] = [Role::Valid, Role::First, Role::Update].map(place)
        {
            let net = |place: usize| signals[place].net;
            actions.insert(update, Flags { valid: net(valid), first: net(first), update: net(update) });
        }
    }
    actions
}

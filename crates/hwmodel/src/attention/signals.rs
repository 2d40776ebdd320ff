//! Wires, each under the name of the port that it drives: scalars for the lanes, and the port of a host.

use crate::rtl::{Module, Wire, Wires};
use std::ops::Index;

/// Wires by name. The name of a wire is given once, at its source; groups and lanes have a port of the same name.
#[derive(Clone, Debug, Default)]
pub struct Signals(Vec<(&'static str, Wire)>);

impl Signals {
    /// Declares these outputs of `m`, in this order. Returns their wires in the module around.
    pub fn hand_out(m: &mut Module, scalars: impl IntoIterator<Item = (&'static str, Wire)>) -> Signals {
        scalars.into_iter().map(|(name, wire)| (name, m.output(name, wire))).collect()
    }

    /// Adds a wire. The first of a name counts.
    pub fn set(&mut self, name: &'static str, wire: Wire) {
        self.0.push((name, wire));
    }

    /// Appends `others`.
    #[must_use]
    pub fn and(mut self, others: Signals) -> Signals {
        self.0.extend(others.0);
        self
    }

    /// The wire with this name, if there is one.
    pub fn get(&self, name: &str) -> Option<Wire> {
        self.iter().find(|(own, _)| *own == name).map(|(_, wire)| wire)
    }

    /// All names and wires, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Wire)> + '_ {
        self.0.iter().copied()
    }
}

impl Wires for Signals {
    fn map(&self, to: &mut dyn FnMut(Wire) -> Wire) -> Signals {
        self.iter().map(|(name, wire)| (name, to(wire))).collect()
    }
}

impl<const N: usize> From<[(&'static str, Wire); N]> for Signals {
    fn from(signals: [(&'static str, Wire); N]) -> Signals {
        Signals(signals.to_vec())
    }
}

impl FromIterator<(&'static str, Wire)> for Signals {
    fn from_iter<T: IntoIterator<Item = (&'static str, Wire)>>(signals: T) -> Signals {
        Signals(signals.into_iter().collect())
    }
}

impl Index<&str> for Signals {
    type Output = Wire;

    /// The wire with this name.
    ///
    /// # Panics
    /// If there is none. Lanes ask only for what their scalar path hands out, and every build of a core checks that.
    fn index(&self, name: &str) -> &Wire {
        match self.0.iter().find(|(own, _)| *own == name) {
            Some((_, wire)) => wire,
            None => panic!("there is no wire {name}"),
        }
    }
}

//! What is read in the text before it is known: outputs that stand between inputs, and state.

use crate::rtl::{Module, Name, Wire};

/// An output whose driver comes after inputs that stand behind it: the wire to drive, and the output for the module around.
pub fn announce(m: &mut Module, name: &str, width: u32) -> (Wire, Wire) {
    let inside = m.later(width);
    (inside, m.output(name, inside))
}

/// Drives announced wires, one by one.
///
/// # Panics
/// If there are not as many drivers.
pub fn drive_all(m: &mut Module, later: &[Wire], from: &[Wire]) {
    assert_eq!(later.len(), from.len(), "as many drivers as wires");
    later.iter().zip(from).for_each(|(&later, &from)| m.drive(later, from));
}

/// The register that holds a state which logic before it reads; zero after reset.
pub fn hold(m: &mut Module, name: impl Into<Name>, state: Wire, next: Wire) {
    let q = m.register_reset(name, 0, next);
    m.drive(state, q);
}

/// Keeps the places of registers that stand before the logic that they take their values from.
pub fn reserve(m: &mut Module, names: &[&str]) {
    names.iter().for_each(|name| m.reserve(name));
}

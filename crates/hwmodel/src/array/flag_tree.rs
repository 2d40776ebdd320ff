//! The or of a flag of all cores.

use crate::attention::group::FlagOrFunction;
use crate::rtl::{Module, Wire};

/// The or of `flags`, at least one, as a balanced tree of two-input gates.
///
/// Gate i reads entries 2i and 2i + 1 of a list that has the flags first and then the gates. One flag needs no gate.
pub fn flag_tree(m: &mut Module, name: &str, flags: &[Wire]) -> Wire {
    let mut list = flags.to_vec();
    for i in 0..flags.len() - 1 {
        let [y] = m.call((name, i), FlagOrFunction {}, [list[2 * i], list[2 * i + 1]]);
        list.push(y);
    }
    list[list.len() - 1]
}

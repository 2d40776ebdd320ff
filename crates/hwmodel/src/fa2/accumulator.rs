//! The accumulator of lanes that can take a partial result over.

use crate::attention::partial::restored;
use crate::rtl::{Module, Wire};

/// An accumulator's register and what feeds it.
pub(super) struct Accumulator {
    /// What it holds, announced [before](Module::later).
    pub o: Wire,
    /// What it takes.
    pub next: Wire,
    /// When.
    pub update: Wire,
    /// It is final.
    pub done: Wire,
}

impl Accumulator {
    /// The register `o_q`; with partial results the ports by which it takes one over (a flag and the accumulator) and hands one out,
    /// which is kept from the end of a query on. The accumulator of a result, then.
    pub(super) fn build(self, m: &mut Module, restore: Option<(Wire, Wire)>) -> Option<Wire> {
        let Accumulator { o, next, update, done } = self;
        let restore = restore
            .map(|(restore, state)| (m.inputs("restore", &[restore])[0], m.inputs("state_o", &[state])[0]));
        let next = restored(m, next, restore);
        let o_q = m.register_if("o_q", update, next);
        m.drive(o, o_q);
        restore.map(|_| {
            let state = m.register_if(("state_q", 0), done, o_q);
            m.outputs("o_state", &[state])[0]
        })
    }
}

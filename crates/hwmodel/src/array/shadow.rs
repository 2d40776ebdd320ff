//! The shadow registers: queries that wait for their block to start.

use crate::rtl::{Module, Name, Tag, Wire, wires};

/// A query with the words that are loaded with it.
#[derive(Clone)]
pub struct Query {
    /// The query: d elements, then its scales.
    pub q: Vec<Wire>,
    /// With fixed-point lanes under one exponent: exponent field of `max|v|`.
    pub exponent: Option<Wire>,
    /// With masks: `q_from` and `q_to`; it sees keys `q_from <= j < q_to` of its block.
    pub limits: Vec<Wire>,
}

wires!(Query { q, exponent, limits });

/// The shadow register of a core. It loads `query` while `load` is high; returns the query that it holds.
pub fn query_shadow(around: &mut Module, name: Name, load: Wire, query: &Query) -> Query {
    let (d, width) = (query.q.len(), query.q[0].width());
    let text =
        |letter: char, wire: Option<&Wire>| wire.map_or(String::new(), |w| format!("_{letter}{}", w.width()));
    let suffix = text('e', query.exponent.as_ref()) + &text('k', query.limits.first());
    let tag = Tag::module(format!("query_shadow_{d}x{width}{suffix}"), "A query of the next block.");
    around.part(name, tag, |m| {
        m.clock();
        let load = m.input("load", load);
        let q = m.inputs("q", &query.q);
        let exponent = m.inputs("exponent", query.exponent.as_slice());
        let limits = m.inputs("limit", &query.limits);
        let q = m.registers_if("q_q", load, &q);
        let exponent = m.registers_if("exponent_q", load, &exponent);
        let limits = m.registers_if("limit_q", load, &limits);
        Query {
            q: m.outputs("waiting", &q),
            exponent: m.outputs("waiting_exponent", &exponent).pop(),
            limits: m.outputs("waiting_limit", &limits),
        }
    })
}

//! Results that are made at the port of an array.
//!
//! Results of an array leave one a cycle, so that one converter for each element of the port serves all cores. The lanes then hand out
//! accumulators, in the words of a partial result. Words that wait for the port are wider; a converter is saved in each core.

use crate::rtl::{Module, Wire, wires};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// How the results of a kind of lane are made at the port of an array.
pub struct PortResult {
    /// Whether the lanes of a configuration have this form.
    pub applies: fn(&Numerics) -> bool,
    /// Name of the module of the lanes, which hand out accumulators.
    pub lanes: fn(&Numerics) -> String,
    /// Makes an element of a result.
    pub convert: fn(&mut Module, &Arc<Numerics>, &Accumulated) -> Wire,
}

/// The operands of an element of a result.
pub struct Accumulated {
    /// The accumulator, as in a partial result.
    pub word: Wire,
    /// FA2: a quarter of the final scale.
    pub scale: Option<Wire>,
    /// A result is due. Otherwise the converter is at rest.
    pub done: Wire,
}

wires!(Accumulated { word, scale, done });

/// The final scale of an FA2 core whose results are made at the port.
#[derive(Clone, Copy)]
pub struct Scaling {
    /// High for one cycle, the cycle before `o_valid`: the query has ended, and its accumulators are on the port of the core.
    pub done: Wire,
    /// A quarter of the final scale, until the next query ends.
    pub scale: Wire,
}

wires!(Scaling { done, scale });

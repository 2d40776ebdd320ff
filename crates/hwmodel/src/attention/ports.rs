//! The ports of a core as wires of the module around it.

use crate::rtl::Wire;

/// What a core gets. The names are those of the contract.
pub struct CoreInputs<'a> {
    /// Query, d words.
    pub q: &'a [Wire],
    /// The query register loads.
    pub q_valid: Wire,
    /// Of fixed-point lanes: exponent field of the largest |v|, loaded with the query.
    pub v_exponent: Option<Wire>,
    /// Key, d words.
    pub k: &'a [Wire],
    /// A key is accepted.
    pub k_valid: Wire,
    /// It is its query's last.
    pub k_last: Wire,
    /// With masks: the query does not see it.
    pub k_mask: Option<Wire>,
    /// With partial results: it is one.
    pub k_state: Option<Wire>,
    /// With partial results: scalars of one.
    pub state_scalars: &'a [Wire],
    /// With partial results: the accumulators of one, d words, when a value would come.
    pub state_o: &'a [Wire],
    /// Value, d words.
    pub v: &'a [Wire],
}

/// What a core hands out.
pub struct CoreOutputs {
    /// With partial results: the scalars of one are wanted in the next cycle.
    pub state_ren: Option<Wire>,
    /// With partial results, beside `v_ren`: what is wanted are the accumulators of one.
    pub v_state: Option<Wire>,
    /// One step reaches the value stage.
    pub v_step: Wire,
    /// That step needs its value.
    pub v_ren: Wire,
    /// Result, d words.
    pub o: Vec<Wire>,
    /// The result is valid.
    pub o_valid: Wire,
    /// An operand was Inf or NaN.
    pub o_invalid: Wire,
    /// With masks: the query has seen no key, and the result is zero.
    pub o_empty: Option<Wire>,
    /// Of fixed-point lanes: a value was outside the range that `v_exponent` gives, or the sum too large.
    pub o_overflow: Option<Wire>,
    /// With partial results: scalars of the result's state.
    pub state_scalars: Vec<Wire>,
    /// With partial results: the result's accumulators, d words.
    pub o_state: Vec<Wire>,
}

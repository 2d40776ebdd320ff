//! The ports of an array of cores as wires of the module around it.

use crate::block::BlockConfig;
use crate::rtl::{Module, Name, Wire};

/// What an array gets. The names are those of the contract.
pub struct ArrayInputs<'a> {
    /// Query, d words.
    pub q: &'a [Wire],
    /// A query is offered.
    pub q_valid: Wire,
    /// It is its block's last.
    pub q_last: Wire,
    /// With masks: the first key that the query sees.
    pub q_from: Option<Wire>,
    /// With masks: the first one that it sees no more.
    pub q_to: Option<Wire>,
    /// Of fixed-point lanes: exponent field of the largest |v|, loaded with the query.
    pub v_exponent: Option<Wire>,
    /// Key, d words.
    pub k: &'a [Wire],
    /// A key is offered.
    pub k_valid: Wire,
    /// It is its block's last.
    pub k_last: Wire,
    /// With masks: no query sees the key.
    pub k_mask: Option<Wire>,
    /// Value, d words, one cycle after `v_ren`.
    pub v: &'a [Wire],
}

/// What an array hands out.
pub struct ArrayOutputs {
    /// A query is taken if offered.
    pub q_ready: Wire,
    /// A key is taken if offered.
    pub k_ready: Wire,
    /// One step reaches the value stage.
    pub v_step: Wire,
    /// Some query of the block needs its value.
    pub v_ren: Wire,
    /// Result, d words.
    pub o: Vec<Wire>,
    /// The result is valid.
    pub o_valid: Wire,
    /// Its query's place in the block.
    pub o_index: Wire,
    /// It is its block's last.
    pub o_last: Wire,
    /// An operand was Inf or NaN.
    pub o_invalid: Wire,
    /// With masks: the query has seen no key, and the result is zero.
    pub o_empty: Option<Wire>,
    /// Of fixed-point lanes: a value was outside the range that `v_exponent` gives, or the sum too large.
    pub o_overflow: Option<Wire>,
}

/// The array of a (valid) configuration.
pub fn array(
    around: &mut Module,
    name: impl Into<Name>,
    config: &BlockConfig,
    inputs: &ArrayInputs,
) -> ArrayOutputs {
    let _ = (around, name.into(), config, inputs);
    unimplemented!("to come")
}

//! The ports of an array.

use crate::attention::ports::{CoreInputs, CoreOutputs};
use crate::rtl::{Module, Role, Stage, Wire};
use flashd_spec::ports::Port;

/// The inputs of an array, by the names of the contract (`docs/reference/array.md`).
pub struct ArrayInputs {
    /// The inputs that a core has, too. `q_valid` and `k_valid` say that a query and a key are offered, `k_mask` that
    /// no query of the block sees the key. `k_bias` has a word for each query.
    pub core: CoreInputs,
    /// The query is the last of its block.
    pub q_last: Wire,
    /// With masks: the place in the block of the first key that the query sees.
    pub q_from: Option<Wire>,
    /// With masks: the place after the last key that the query sees.
    pub q_to: Option<Wire>,
    /// With partial results: the place in the block of the query that a state belongs to.
    pub k_index: Option<Wire>,
}

/// The outputs of an array.
pub struct ArrayOutputs {
    /// The array takes a query in this cycle if one is offered.
    pub q_ready: Wire,
    /// The array takes a key in this cycle if one is offered.
    pub k_ready: Wire,
    /// The outputs that a core has, too. `v_ren` says that at least one query of the block reads the value; results
    /// come one a cycle, in the order of the queries.
    pub core: CoreOutputs,
    /// The result is the last of its block.
    pub o_last: Wire,
}

/// Rows for control in the order of the protocol, then for the first elements of vectors.
pub(super) fn show_ports(m: &mut Module, masks: bool) {
    use Port::*;
    m.stage(Stage::Ports);
    ["clk", Rst.name()].into_iter().for_each(|name| m.show_port(name, 0));
    [QValid, QLast, QReady].into_iter().for_each(|port| m.show_port(port.name(), 0));
    m.show_role(Role::KeyValid, KValid.name(), KValid.name());
    m.show_port(KLast.name(), 0);
    m.show_role(Role::KeyReady, KReady.name(), KReady.name());
    [VStep, VRen, OValid, OIndex, OLast, OInvalid].into_iter().for_each(|port| m.show_port(port.name(), 0));
    let elements = [KMask].into_iter().filter(|_| masks).chain([Q, K, O]);
    elements.for_each(|port| m.show_port(port.name(), 0));
}

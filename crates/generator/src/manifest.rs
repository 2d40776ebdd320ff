//! The description of an emitted design for programs.

use flashd_hwmodel::rtl::{Boundary, Circuit, DesignPort, boundaries};
use flashd_spec::config::CoreConfig;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A port of the top module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestPort {
    /// Name in the Verilog.
    pub name: String,
    /// `input` or `output`.
    pub direction: String,
    /// Total width in bits.
    pub width: u32,
    /// Elements packed into the bus; element j is bits `[j*w +: w]`, `w = width / elements`.
    pub elements: usize,
    /// Its combinational paths; the clock has none.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<PortPaths>,
}

/// The combinational paths at a port, computed from the design.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortPaths {
    /// Every path at an input ends at a register, or at an output starts at one, without logic in between.
    pub registered: bool,
    /// Otherwise: the units between port and registers, in the order of the data flow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logic: Vec<String>,
    /// The ports that a path without a register connects it to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feedthrough: Vec<String>,
}

impl From<Boundary> for PortPaths {
    fn from(boundary: Boundary) -> PortPaths {
        let registered = boundary.is_registered();
        PortPaths { registered, logic: boundary.logic, feedthrough: boundary.ports }
    }
}

/// The ports of a design without its clock, and their combinational paths.
pub fn port_paths(circuit: &Circuit) -> Vec<(DesignPort, PortPaths)> {
    let design = circuit.design();
    let paths: Vec<PortPaths> = boundaries(&design).into_iter().map(PortPaths::from).collect();
    // A port that this configuration does not have is a vector of no words.
    design.ports.into_iter().zip(paths).filter(|(port, _)| !port.nets.is_empty()).collect()
}

/// A distinct module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleEntry {
    /// Name in the Verilog.
    pub name: String,
    /// Instances in the whole design.
    pub instances: usize,
}

/// The description of an emitted core for programs, or, with an [`ArrayConfig`](flashd_spec::config::ArrayConfig), about an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest<C = CoreConfig> {
    /// Top module and file stem.
    pub name: String,
    /// Version of the generator.
    pub version: String,
    /// Git revision of the generator.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub revision: String,
    /// The command line that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The configuration: the fields of the core that are not left to a default.
    pub configuration: C,
    /// What follows from it for the rest, by the fields of a configuration.
    #[serde(default)]
    pub derived: serde_json::Map<String, serde_json::Value>,
    /// Prefix of the names of its modules: the name of the top, unless another prefix was asked for.
    #[serde(default)]
    pub prefix: String,
    /// The Verilog files, the top module's first.
    pub files: Vec<String>,
    /// SHA-256 of each of them, in the same order.
    #[serde(default)]
    pub sha256: Vec<String>,
    /// Ports of the top module.
    pub ports: Vec<ManifestPort>,
    /// Cycles from an accepted last key to `o_valid`, in an array to the first result's.
    pub latency: u32,
    /// Cycles from an accepted key to its `v_step`.
    pub v_step_latency: u32,
    /// Cycles from `v_ren` to its value.
    pub value_latency: u32,
    /// Cycles between keys.
    pub initiation_interval: u32,
    /// Of arrays: with n queries, a block takes `max(keys, n + transfer_cycles)` cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_cycles: Option<usize>,
    /// Widths of internal quantities in bits.
    pub widths: BTreeMap<String, u32>,
    /// The state, of a core with partial results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StateEntry>,
    /// Distinct modules, the top first.
    pub modules: Vec<ModuleEntry>,
}

/// The state of a core with partial results: base and scalars.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateEntry {
    /// Base of the logarithms L and m: 2.
    pub logarithm_base: u32,
    /// Its scalars, in the order of the ports.
    pub scalars: Vec<ScalarEntry>,
}

/// A scalar of a state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalarEntry {
    /// `lse`, `room`, `m` or `l`.
    pub name: String,
    /// Bits; `lse` and `m` are in two's complement.
    pub width: u32,
    /// Bits of the fraction.
    pub fraction_bits: u32,
    /// Its word in the empty state.
    pub no_key: u64,
}

/// Clock of a stream wrapper, by the name that AXI gives it.
pub(crate) const STREAM_CLOCK: &str = "aclk";

//! Netlists as Yosys writes them with `write_json`.

use super::NetlistError;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

#[derive(Deserialize)]
struct RawFile {
    modules: BTreeMap<String, RawModule>,
}

#[derive(Deserialize)]
struct RawModule {
    #[serde(default)]
    attributes: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    ports: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    cells: BTreeMap<String, RawCell>,
}

#[derive(Deserialize)]
struct RawPort {
    direction: String,
    bits: Vec<RawBit>,
}

#[derive(Deserialize)]
struct RawCell {
    #[serde(rename = "type")]
    kind: String,
    connections: BTreeMap<String, Vec<RawBit>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawBit {
    Net(u64),
    Constant(String),
}

/// Net 0 of a module is constant 0, net 1 constant 1.
pub(super) const CONSTANT_NETS: u32 = 2;

/// A module with its nets numbered from 0.
pub(super) struct YosysModule {
    pub name: String,
    pub ports: Vec<ModulePort>,
    /// Cells and instances by name.
    pub cells: Vec<ModuleCell>,
    pub nets: u32,
}

pub(super) struct ModulePort {
    pub name: String,
    pub is_input: bool,
    pub bits: Vec<u32>,
}

pub(super) struct ModuleCell {
    pub name: String,
    pub kind: String,
    pub connections: BTreeMap<String, Vec<u32>>,
}

/// Modules with contents of one file.
pub(super) fn read(path: &Path) -> Result<Vec<YosysModule>, NetlistError> {
    let problem = |problem: String| NetlistError::File { path: path.to_path_buf(), problem };
    let bytes = std::fs::read(path).map_err(|e| problem(format!("cannot be read: {e}")))?;
    let file: RawFile = serde_json::from_slice(&bytes)
        .map_err(|e| problem(format!("is not a netlist written by write_json of Yosys: {e}")))?;
    let mut modules = Vec::new();
    for (name, raw) in file.modules {
        if raw.attributes.contains_key("blackbox") || raw.attributes.contains_key("whitebox") {
            continue;
        }
        let described = |e: String| problem(format!("module {name}: {e}"));
        modules.push(module(name.clone(), raw).map_err(described)?);
    }
    Ok(modules)
}

fn module(name: String, raw: RawModule) -> Result<YosysModule, String> {
    let mut numbers: HashMap<u64, u32> = HashMap::new();
    let mut number = |bits: Vec<RawBit>| -> Result<Vec<u32>, String> {
        let next = |bit| match bit {
            RawBit::Net(net) => {
                let fresh = CONSTANT_NETS + numbers.len() as u32;
                Ok(*numbers.entry(net).or_insert(fresh))
            }
            // An undefined bit may be anything.
            RawBit::Constant(value) if value == "0" || value == "x" => Ok(0),
            RawBit::Constant(value) if value == "1" => Ok(1),
            RawBit::Constant(value) => Err(format!("a constant {value:?}; only 0, 1 and x can be simulated")),
        };
        bits.into_iter().map(next).collect()
    };
    let mut ports = Vec::new();
    for (name, value) in raw.ports {
        let port: RawPort = serde_json::from_value(value).map_err(|e| format!("port {name}: {e}"))?;
        let is_input = match port.direction.as_str() {
            "input" => true,
            "output" => false,
            other => return Err(format!("port {name} is {other}; only input and output can be simulated")),
        };
        ports.push(ModulePort { name, is_input, bits: number(port.bits)? });
    }
    let mut cells = Vec::new();
    for (name, cell) in raw.cells {
        let mut connections = BTreeMap::new();
        for (pin, bits) in cell.connections {
            connections.insert(pin, number(bits)?);
        }
        cells.push(ModuleCell { name, kind: cell.kind, connections });
    }
    Ok(YosysModule { name, ports, cells, nets: CONSTANT_NETS + numbers.len() as u32 })
}

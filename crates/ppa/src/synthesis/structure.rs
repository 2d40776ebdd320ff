//! A mapped module as Yosys writes it in JSON, and the same as structural Verilog.

use crate::PpaError;
use crate::timing::REGISTER_SUFFIX;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::Path;

/// One bit of a connection: the number of a net, or a constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum JsonBit {
    Net(usize),
    Constant(String),
}

/// A port of a module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct JsonPort {
    pub direction: String,
    pub bits: Vec<JsonBit>,
}

/// A library cell or an instance of a submodule.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct JsonCell {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub parameters: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    pub port_directions: BTreeMap<String, String>,
    pub connections: BTreeMap<String, Vec<JsonBit>>,
}

/// Name of a group of nets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct JsonNet {
    #[serde(default)]
    pub hide_name: u8,
    pub bits: Vec<JsonBit>,
}

/// A module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct JsonModule {
    pub ports: BTreeMap<String, JsonPort>,
    pub cells: BTreeMap<String, JsonCell>,
    #[serde(default)]
    pub netnames: BTreeMap<String, JsonNet>,
}

/// A file of `write_json`.
#[derive(Serialize, Deserialize)]
struct JsonFile {
    modules: BTreeMap<String, JsonModule>,
}

impl JsonModule {
    /// Reads one module of a file.
    pub(super) fn read(path: &Path, name: &str) -> Result<Self, PpaError> {
        let text = std::fs::read_to_string(path).map_err(PpaError::file("read", path))?;
        let unexpected = |detail| PpaError::Unexpected { what: path.display().to_string(), detail };
        let mut file: JsonFile = serde_json::from_str(&text).map_err(|e| unexpected(e.to_string()))?;
        file.modules.remove(name).ok_or_else(|| unexpected(format!("no module {name}")))
    }

    /// Writes a file with this module alone.
    pub(super) fn write(self, path: &Path, name: &str) -> Result<(), PpaError> {
        let file = JsonFile { modules: BTreeMap::from([(name.to_string(), self)]) };
        let text = serde_json::to_string(&file)
            .map_err(|e| PpaError::Unexpected { what: name.to_string(), detail: e.to_string() })?;
        flashd_files::write(path, text.as_bytes()).map_err(PpaError::file("write", path)).map(drop)
    }

    /// A number that no net has, and all above it.
    pub(super) fn first_free_net(&self) -> usize {
        let cells = self.cells.values().flat_map(|c| c.connections.values().flatten());
        let ports = self.ports.values().flat_map(|p| &p.bits);
        let numbers = cells.chain(ports).filter_map(|bit| match bit {
            JsonBit::Net(n) => Some(n + 1),
            JsonBit::Constant(_) => None,
        });
        numbers.max().unwrap_or(0)
    }

    /// Makes names plain and short: flip-flops keep the names of their registers' bits, instances theirs, other
    /// cells are numbered; names of nets that do not come from the source are forgotten.
    pub(super) fn name_cells(&mut self, children: &[String], is_flip_flop: &dyn Fn(&str) -> bool) {
        self.netnames.retain(|_, net| net.hide_name == 0);
        let mut used = BTreeSet::new();
        let cells = std::mem::take(&mut self.cells);
        for (index, (old, cell)) in cells.into_iter().enumerate() {
            let given = !old.starts_with('$');
            let mut name = if children.contains(&cell.kind) {
                old
            } else if is_flip_flop(&cell.kind) {
                // `sum_q[3]_reg` would have to be escaped.
                if given {
                    old.replace('[', "_").replace(']', "")
                } else {
                    format!("_{index}{REGISTER_SUFFIX}")
                }
            } else {
                format!("_g{index}_")
            };
            if !used.insert(name.clone()) {
                name = format!("_{index}_{name}");
                used.insert(name.clone());
            }
            self.cells.insert(name, cell);
        }
    }

    /// Structural Verilog, readable by every tool: no expressions, no constants wider than a bit.
    ///
    /// With `cut`, cells of these types are left out and the nets between them and the rest become ports
    /// `cut_<n>`, so that the rest can be timed alone.
    pub(super) fn verilog(&self, name: &str, cut: &[String]) -> String {
        let mut names: HashMap<usize, String> = HashMap::new();
        let mut declarations = String::new();
        let mut aliases = String::new();
        let mut port_names: Vec<String> = self.ports.keys().cloned().collect();
        // Inputs first: an output that is an input's net must be assigned, not the other way round.
        for direction in ["input", "output"] {
            for (port, p) in self.ports.iter().filter(|(_, p)| p.direction == direction) {
                let range =
                    if p.bits.len() > 1 { format!("[{}:0] ", p.bits.len() - 1) } else { String::new() };
                let _ = writeln!(declarations, "  {direction} {range}{port};");
                for (index, bit) in p.bits.iter().enumerate() {
                    let own = if p.bits.len() > 1 { format!("{port}[{index}]") } else { port.clone() };
                    let other = match bit {
                        JsonBit::Net(n) => match names.get(n) {
                            Some(other) => other.clone(),
                            None => {
                                names.insert(*n, own);
                                continue;
                            }
                        },
                        JsonBit::Constant(value) => format!("1'b{value}"),
                    };
                    let _ = writeln!(aliases, "  assign {own} = {other};");
                }
            }
        }
        for (n, direction) in self.boundary(cut) {
            // Nets that reach a port of the module are already visible.
            if let std::collections::hash_map::Entry::Vacant(entry) = names.entry(n) {
                entry.insert(format!("cut_{n}"));
                port_names.push(format!("cut_{n}"));
                let _ = writeln!(declarations, "  {direction} cut_{n};");
            }
        }
        let (mut body, mut wires) = (String::new(), BTreeSet::new());
        for (cell_name, cell) in self.cells.iter().filter(|(_, cell)| !cut.contains(&cell.kind)) {
            let pins = cell.pins(&names, &mut wires);
            let _ = writeln!(body, "  {} {cell_name} ({});", cell.kind, pins.join(", "));
        }
        let wires: String = wires.iter().map(|n| format!("  wire _n{n}_;\n")).collect();
        format!("module {name} ({});\n{declarations}{wires}{aliases}{body}endmodule\n", port_names.join(", "))
    }

    /// Nets between cells of the types `cut` and the rest, with the direction they have for the rest.
    fn boundary(&self, cut: &[String]) -> BTreeMap<usize, &'static str> {
        let mut nets = BTreeMap::new();
        for cell in self.cells.values().filter(|c| cut.contains(&c.kind)) {
            for (port, bits) in &cell.connections {
                let drives = cell.port_directions.get(port).is_some_and(|d| d == "output");
                for bit in bits {
                    if let JsonBit::Net(n) = bit {
                        let direction = if drives { "input" } else { "output" };
                        // From one submodule to another: not through this module's cells.
                        let entry = nets.entry(*n).or_insert(direction);
                        if drives {
                            *entry = "input";
                        }
                    }
                }
            }
        }
        nets
    }
}

impl JsonCell {
    /// The connections as in Verilog. Nets without a name are added to `wires`.
    fn pins(&self, names: &HashMap<usize, String>, wires: &mut BTreeSet<usize>) -> Vec<String> {
        let mut bit = |bit: &JsonBit| match bit {
            JsonBit::Net(n) => names.get(n).cloned().unwrap_or_else(|| {
                wires.insert(*n);
                format!("_n{n}_")
            }),
            JsonBit::Constant(value) => format!("1'b{}", if value == "1" { "1" } else { "0" }),
        };
        let mut pin = |(port, bits): (&String, &Vec<JsonBit>)| {
            let bits: Vec<String> = bits.iter().rev().map(&mut bit).collect();
            match bits.len() {
                0 => format!(".{port}()"),
                1 => format!(".{port}({})", bits[0]),
                _ => format!(".{port}({{{}}})", bits.join(", ")),
            }
        };
        self.connections.iter().map(&mut pin).collect()
    }

    /// Whether a port of this cell drives its nets.
    pub(super) fn drives(&self, port: &str) -> bool {
        self.port_directions.get(port).is_some_and(|d| d == "output")
    }
}

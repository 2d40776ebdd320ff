//! A core after mapping: one netlist for each distinct module.

use std::path::PathBuf;

/// A core mapped to the cells of a library, hierarchical.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// Name of the top module; it has the ports of the emitted Verilog.
    pub top: String,
    /// Distinct modules, every one before the modules that contain it; the top last.
    pub modules: Vec<MappedModule>,
}

/// One distinct module in library cells. Cells whose type is another module of [`Mapped`] are instances,
/// with ports as in the emitted Verilog; every other cell's type is a cell of the library.
#[derive(Clone, Debug)]
pub struct MappedModule {
    /// Module name, as emitted.
    pub name: String,
    /// Netlist as Verilog: this module only.
    pub verilog: PathBuf,
    /// The same netlist as Yosys writes it with `write_json`: this module only (plus black boxes without
    /// contents). No constants but `0` and `1` on cell inputs.
    pub json: PathBuf,
    /// Area of the module's own cells, without submodules, um2.
    pub area: f64,
    /// Own cells, without submodules.
    pub cells: u64,
    /// Flip-flops among them.
    pub flip_flops: u64,
    /// Area of those flip-flops, um2.
    pub flip_flop_area: f64,
    /// Instances of this module in the whole core.
    pub instances: u64,
    /// Submodule instances of this module: instance name and module name.
    pub children: Vec<(String, String)>,
    /// Which mapping was chosen, in words.
    pub mapping: String,
}

impl Mapped {
    /// Area of the whole core, um2.
    pub fn area(&self) -> f64 {
        self.modules.iter().map(|m| m.area * m.instances as f64).sum()
    }

    /// A module by name.
    pub fn module(&self, name: &str) -> Option<&MappedModule> {
        self.modules.iter().find(|m| m.name == name)
    }
}

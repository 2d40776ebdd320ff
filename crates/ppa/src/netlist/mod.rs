//! A mapped core as one flat netlist, and its simulation.
//!
//! ```text
//!  JSON of each module --yosys--> modules --flatten--> cells on nets --schedule--> runs of equal cells
//!                                                                                     |
//!                       64 machines in the bits of one u64, cycle by cycle <--simulate--+
//! ```
//!
//! Bits of a word are independent machines that run different traces, not cycles of one machine. So every machine
//! runs through consecutive cycles, feedback loops need no special treatment, and the outputs of every machine can
//! be compared with the model.

mod constants;
mod flatten;
pub(crate) mod program;
mod schedule;
mod simulate;
mod yosys;

pub use simulate::Simulation;

use crate::liberty::{Cell, Direction, Library};
use program::Program;
use schedule::EqualCells;
use std::path::{Path, PathBuf};

/// Number of a net of a [`Netlist`]; 0 is constant 0, 1 is constant 1.
pub type Net = u32;

/// Pin without net.
pub const OPEN: Net = Net::MAX;

/// A flat netlist of library cells, ready to be simulated.
#[derive(Clone, Debug)]
pub struct Netlist {
    /// Ports of the top module; nets from bit 0.
    pub ports: Vec<NetlistPort>,
    /// Module instances, the top first, parents before children.
    pub instances: Vec<Submodule>,
    /// Distinct library cells in use.
    pub kinds: Vec<CellKind>,
    /// Cells in the order of evaluation: flip-flops, then logic in topological order.
    pub cells: Vec<CellInstance>,
    /// Nets, constants included.
    pub nets: usize,
    /// The one net on which all flip-flops are clocked, through clock gates or not, if there are any.
    pub clock: Option<Net>,
    /// Names of the cells of each distinct module.
    names: Vec<Vec<String>>,
    pins: Vec<Net>,
    flip_flops: Vec<EqualCells>,
    logic: Vec<EqualCells>,
}

/// A port of the top module.
#[derive(Clone, Debug)]
pub struct NetlistPort {
    /// Name in the Verilog.
    pub name: String,
    /// Whether it is an input; else it is an output.
    pub is_input: bool,
    /// Nets from bit 0.
    pub nets: Vec<Net>,
}

/// An instance of a module.
#[derive(Clone, Debug)]
pub struct Submodule {
    /// Instance that contains it.
    pub parent: Option<u32>,
    /// Name in it; the top's is its module's.
    pub name: String,
    /// Name of its module.
    pub module: String,
    /// Index of the module.
    index: u32,
}

/// A library cell in use.
#[derive(Clone, Debug)]
pub struct CellKind {
    /// The cell.
    pub cell: Cell,
    /// Outputs from inputs, or, in a flip-flop, outputs from state.
    outputs: Program,
    /// In a flip-flop, the next state from inputs and state.
    next: Option<Program>,
}

/// A cell of the netlist.
#[derive(Clone, Copy, Debug)]
pub struct CellInstance {
    /// Index in [`Netlist::kinds`].
    pub kind: u32,
    /// Index in [`Netlist::instances`] of the module instance that contains it.
    pub instance: u32,
    /// Position among the cells of its module.
    leaf: u32,
    first_pin: u32,
}

/// A netlist that cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum NetlistError {
    /// A file is not a netlist.
    #[error("{}: {problem}", path.display())]
    File {
        /// File.
        path: PathBuf,
        /// Problem.
        problem: String,
    },
    /// The modules do not make up a core of library cells.
    #[error("{place}: {problem}")]
    Structure {
        /// Instance path or module.
        place: String,
        /// Problem.
        problem: String,
    },
}

impl NetlistError {
    pub(crate) fn structure(place: impl Into<String>, problem: impl Into<String>) -> Self {
        NetlistError::Structure { place: place.into(), problem: problem.into() }
    }
}

impl Netlist {
    /// Reads the modules in `files` and flattens `top`, whose leaves must be cells of the library.
    ///
    /// # Errors
    /// Files that are not netlists, unknown cells, nets with no driver or several, loops, and flip-flops
    /// that are not all clocked on the rising edge of one input or whose asynchronous set or reset is in use. One that
    /// is tied inactive, by a constant, a tie cell or logic that is constant, is not.
    pub fn read(top: &str, files: &[&Path], library: &Library) -> Result<Self, NetlistError> {
        let mut modules = Vec::new();
        for file in files {
            modules.extend(yosys::read(file)?);
        }
        schedule::schedule(flatten::flatten(top, &modules, library)?)
    }

    /// Nets of a cell's pins, in the order of [`Cell::pins`]; [`OPEN`] where nothing is connected.
    pub fn pins(&self, cell: &CellInstance) -> &[Net] {
        let first = cell.first_pin as usize;
        &self.pins[first..first + self.kinds[cell.kind as usize].cell.pins.len()]
    }

    /// Outputs of clock gates. In a simulation such a net is high if the next edge passes.
    pub(crate) fn gated_clocks(&self) -> impl Iterator<Item = Net> + '_ {
        self.cells.iter().filter_map(|cell| {
            let kind = &self.kinds[cell.kind as usize].cell;
            let output = &kind.clock_gate()?.output;
            kind.pins.iter().zip(self.pins(cell)).find(|(pin, _)| pin.name == *output).map(|(_, &net)| net)
        })
    }

    /// Name of a cell in its module.
    pub fn cell_name(&self, cell: &CellInstance) -> &str {
        let module = self.instances[cell.instance as usize].index as usize;
        &self.names[module][cell.leaf as usize]
    }

    /// The port of a name.
    pub fn port(&self, name: &str) -> Option<&NetlistPort> {
        self.ports.iter().find(|port| port.name == name)
    }

    /// Names from the top's child down to an instance; empty for the top itself.
    pub fn path(&self, instance: usize) -> Vec<&str> {
        path(&self.instances, instance)
    }
}

fn path(instances: &[Submodule], mut instance: usize) -> Vec<&str> {
    let mut names = Vec::new();
    while let Some(parent) = instances[instance].parent {
        names.push(instances[instance].name.as_str());
        instance = parent as usize;
    }
    names.reverse();
    names
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

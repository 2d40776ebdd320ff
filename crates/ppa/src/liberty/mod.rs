//! Cell libraries: the parts of a Liberty file that synthesis, simulation and power need.
//!
//! ```text
//!  text --parse--> groups and attributes --read--> Library: SI units, table axes in one order
//!                                                    |
//!                                                    +--find: cells by Boolean function
//! ```
//!
//! We have our own parser of the syntax (`parse.rs`): `liberty-parser` refuses files that foundries ship (values
//! without quotes such as `1ns`, attributes without a semicolon, bus pins) and `liberty-db` panics at bus pins.

mod expression;
mod find;
mod merge;
mod parse;
mod prepare;
mod read;
mod special;
mod table;
mod values;
mod wire_load;

pub(crate) use find::INPUT_COLUMNS;

pub use expression::{Expression, ExpressionError};
pub use merge::{MergeError, merge};
pub use parse::SyntaxError;
pub use table::LibertyTable;
pub use wire_load::WireLoad;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A cell library. All quantities are in SI units (s, V, F, W, J) except areas, which are as in the file
/// (um2 in every library that we know).
#[derive(Clone, Debug)]
pub struct Library {
    /// Name in the file.
    pub name: String,
    /// Units of the file.
    pub units: Units,
    /// Supply voltage, V.
    pub voltage: f64,
    /// Wire load model that timing tools apply by themselves, if the file names and holds one. Power applies it too.
    pub default_wire_load: Option<WireLoad>,
    /// Cells, in the order of the file.
    pub cells: Vec<Cell>,
    /// Tables that were left out because they depend on something else than input transition and load.
    pub ignored_tables: usize,
    by_name: HashMap<String, usize>,
}

/// Units of a Liberty file, in SI units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Units {
    /// Time, s.
    pub time: f64,
    /// Voltage, V.
    pub voltage: f64,
    /// Capacitive load, F.
    pub capacitance: f64,
    /// Leakage power, W.
    pub leakage: f64,
}

impl Units {
    /// Energy of internal power tables, J: unit of capacitance times square of the unit of voltage.
    pub fn energy(&self) -> f64 {
        self.capacitance * self.voltage * self.voltage
    }
}

/// A cell.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Name.
    pub name: String,
    /// Area as in the file, um2.
    pub area: f64,
    /// Signal pins, in the order of the file; no supply pins.
    pub pins: Vec<CellPin>,
    /// Its kind.
    pub kind: CellFunction,
    /// Leakage power, by state if the file gives it.
    pub leakage: Leakage,
    /// Not to be used: the library or the user says so, it is of a special kind, has a second supply, or no area.
    pub dont_use: bool,
}

/// Kind of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum CellFunction {
    /// Outputs are functions of the inputs.
    Combinational,
    /// One edge-triggered flip-flop.
    FlipFlop(FlipFlop),
    /// A clock gate for flip-flops of the rising edge.
    ClockGate(ClockGate),
    /// Latch, several flip-flops, memory or cell without functions: not used here.
    Other,
}

/// A flip-flop: output functions are written in terms of `state` and `inverse`.
#[derive(Clone, Debug, PartialEq)]
pub struct FlipFlop {
    /// Variable of the stored bit.
    pub state: String,
    /// Variable of its complement.
    pub inverse: String,
    /// Rising edge of this captures.
    pub clocked_on: Expression,
    /// The captured value.
    pub next_state: Expression,
    /// Asynchronous: while true, the state is 0.
    pub clear: Option<Expression>,
    /// Asynchronous: while true, the state is 1.
    pub preset: Option<Expression>,
}

/// A clock gate: its output follows the clock in the cycles that begin with the enable high. A latch keeps the enable while the clock is
/// high, so that the output has whole pulses or none (`clock_gating_integrated_cell` of the kind `latch_posedge`).
#[derive(Clone, Debug, PartialEq)]
pub struct ClockGate {
    /// Pin of the clock.
    pub clock: String,
    /// Pin of the enable.
    pub enable: String,
    /// Pin that lets the clock pass in tests, if there is one.
    pub test: Option<String>,
    /// Pin of the gated clock.
    pub output: String,
}

impl ClockGate {
    /// Whether the next rising edge passes. A netlist's simulation, which has no level of a clock, gives the gated clock this value.
    pub(crate) fn passes(&self) -> Expression {
        let enable = Box::new(Expression::Pin(self.enable.clone()));
        match &self.test {
            Some(test) => Expression::Or(enable, Box::new(Expression::Pin(test.clone()))),
            None => *enable,
        }
    }
}

/// Direction of a pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Into the cell.
    Input,
    /// Out of the cell.
    Output,
    /// Into it and out of it.
    Inout,
    /// Neither: a net inside the cell.
    Internal,
}

/// A signal pin.
#[derive(Clone, Debug)]
pub struct CellPin {
    /// Name.
    pub name: String,
    /// Direction.
    pub direction: Direction,
    /// Input capacitance, F: mean of rise and fall where the file gives them, else the plain one.
    pub capacitance: f64,
    /// Largest load, F.
    pub max_capacitance: Option<f64>,
    /// Output function, of input pins and state variables; of a clock gate's output, whether the next edge passes.
    pub function: Option<Expression>,
    /// The output can be switched off.
    pub three_state: bool,
    /// Declared as a clock.
    pub clock: bool,
    /// Energy tables.
    pub internal_power: Vec<InternalPower>,
    /// Timing arcs of an output with a delay or a transition time.
    pub arcs: Vec<TimingArc>,
}

/// Delay and transition time of an output after an input's edge.
#[derive(Clone, Debug)]
pub struct TimingArc {
    /// Pins from which the arc starts.
    pub related_pins: Vec<String>,
    /// Condition under which it applies; none: always.
    pub when: Option<Expression>,
    /// Which edge of the input causes which of the output.
    pub sense: Sense,
    /// Tables of the output's rising edge.
    pub rise: Edge,
    /// Tables of the output's falling edge.
    pub fall: Edge,
}

/// Tables of one edge of an output.
#[derive(Clone, Debug, Default)]
pub struct Edge {
    /// From the input's edge, s.
    pub delay: Option<LibertyTable>,
    /// How long it takes, s.
    pub transition: Option<LibertyTable>,
}

/// Which edge of an input causes which of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// The same.
    Positive,
    /// The other.
    Negative,
    /// Either causes either.
    Both,
}

/// Energy of transitions of a pin, apart from charging its net.
#[derive(Clone, Debug)]
pub struct InternalPower {
    /// Pins that cause the transition; empty for tables of the pin itself.
    pub related_pins: Vec<String>,
    /// Condition under which the tables apply; none: always.
    pub when: Option<Expression>,
    /// Energy of a rising transition, J.
    pub rise: Option<LibertyTable>,
    /// Energy of a falling transition, J.
    pub fall: Option<LibertyTable>,
}

/// Leakage power of a cell.
#[derive(Clone, Debug, Default)]
pub struct Leakage {
    /// Without condition, W.
    pub unconditional: Option<f64>,
    /// By condition over pins, W.
    pub conditional: Vec<(Expression, f64)>,
}

/// A library that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LibertyError {
    /// The operating system refuses.
    #[error("{}: cannot be read: {error}", path.display())]
    Unreadable {
        /// File.
        path: PathBuf,
        /// Its explanation.
        error: std::io::Error,
    },
    /// The text is not Liberty.
    #[error("{}:{error}", path.display())]
    Syntax {
        /// File.
        path: PathBuf,
        /// Place and problem.
        error: SyntaxError,
    },
    /// The text is Liberty, but something in it is wrong or missing.
    #[error("{}: {problem}", path.display())]
    Content {
        /// File.
        path: PathBuf,
        /// Problem, place and accepted values.
        problem: String,
    },
}

impl Library {
    /// Reads a Liberty file (plain text).
    ///
    /// # Errors
    /// A file that cannot be read, is not Liberty, or lacks units, voltage or cells.
    pub fn read(path: &Path) -> Result<Self, LibertyError> {
        let bytes = flashd_files::read(path)
            .map_err(|error| LibertyError::Unreadable { path: path.to_path_buf(), error })?;
        // Comments may be in any encoding.
        Self::from_text(path, &String::from_utf8_lossy(&bytes))
    }

    /// Reads Liberty text; `path` is only named in errors.
    ///
    /// # Errors
    /// As [`Library::read`].
    pub fn from_text(path: &Path, text: &str) -> Result<Self, LibertyError> {
        let root =
            parse::parse(text).map_err(|error| LibertyError::Syntax { path: path.to_path_buf(), error })?;
        read::library(&root).map_err(|problem| LibertyError::Content { path: path.to_path_buf(), problem })
    }

    /// The library as the tools get it; `text` is its source.
    ///
    /// # Errors
    /// As [`Library::from_text`].
    pub(crate) fn prepared(&self, path: &Path, text: &str) -> Result<String, LibertyError> {
        prepare::prepared(text, self)
            .map_err(|error| LibertyError::Syntax { path: path.to_path_buf(), error })
    }

    /// Excludes the cells whose names match a pattern; returns their number.
    pub(crate) fn leave_out(&mut self, pattern: &glob::Pattern) -> usize {
        let matching = self.cells.iter_mut().filter(|cell| pattern.matches(&cell.name));
        matching.map(|cell| cell.dont_use = true).count()
    }

    /// The cell of a name.
    pub fn cell(&self, name: &str) -> Option<&Cell> {
        self.by_name.get(name).map(|&index| &self.cells[index])
    }
}

impl Cell {
    /// The pin of a name.
    pub fn pin(&self, name: &str) -> Option<&CellPin> {
        self.pins.iter().find(|pin| pin.name == name)
    }

    /// Input pins, in the order of the file.
    pub fn inputs(&self) -> impl Iterator<Item = &CellPin> {
        self.pins.iter().filter(|pin| pin.direction == Direction::Input)
    }

    /// Output pins, in the order of the file.
    pub fn outputs(&self) -> impl Iterator<Item = &CellPin> {
        self.pins.iter().filter(|pin| pin.direction == Direction::Output)
    }

    /// The flip-flop in it.
    pub(crate) fn flip_flop(&self) -> Option<&FlipFlop> {
        match &self.kind {
            CellFunction::FlipFlop(flip_flop) => Some(flip_flop),
            _ => None,
        }
    }

    /// The clock gate that it is.
    pub(crate) fn clock_gate(&self) -> Option<&ClockGate> {
        match &self.kind {
            CellFunction::ClockGate(gate) => Some(gate),
            _ => None,
        }
    }

    /// Conditions of its leakage and energy tables; some come several times.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = &Expression> {
        let energy = self.pins.iter().flat_map(|pin| &pin.internal_power);
        let leakage = self.leakage.conditional.iter().map(|(when, _)| when);
        energy.filter_map(|table| table.when.as_ref()).chain(leakage)
    }

    /// Whether tools may use it.
    pub(crate) fn is_usable(&self) -> bool {
        let plain = |pin: &CellPin| pin.function.is_some() && !pin.three_state;
        match &self.kind {
            CellFunction::Combinational => self.is_logic(),
            CellFunction::FlipFlop(_) => !self.dont_use && self.outputs().all(plain),
            CellFunction::ClockGate(_) => !self.dont_use,
            CellFunction::Other => false,
        }
    }

    /// Whether it is an ordinary logic cell that synthesis may use: every output has a function and is never
    /// switched off.
    pub(crate) fn is_logic(&self) -> bool {
        self.kind == CellFunction::Combinational
            && !self.dont_use
            && self.outputs().count() > 0
            && self.pins.iter().all(|pin| pin.direction != Direction::Inout)
            && self.outputs().all(|pin| pin.function.is_some() && !pin.three_state)
    }
}

#[cfg(test)]
mod manual;
#[cfg(test)]
mod tests;

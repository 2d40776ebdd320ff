//! The interface of wave formats, to which a recording is written.

use std::io::Result;

/// The program that wrote a file.
pub(super) const WRITER: &str = concat!("flashd ", env!("CARGO_PKG_VERSION"));

/// A declared variable, counted by its sink.
pub(super) type Variable = u32;

/// The names of an enumeration's values, from 0 on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Names {
    /// The table's name, which is unique.
    pub table: &'static str,
    pub names: &'static [&'static str],
}

impl Names {
    /// Bits of the encoding.
    pub(super) fn width(&self) -> u32 {
        (self.names.len() - 1).ilog2() + 1
    }
}

/// The type of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A bus, by its number of bits.
    Bits(u32),
    /// A decimal number, an f64.
    Real,
}

/// Cycles that follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cycles {
    pub first: u64,
    pub count: u32,
}

impl Cycles {
    /// The cycle after the last one.
    pub(super) fn end(self) -> u64 {
        self.first + u64::from(self.count)
    }
}

/// The changes of a variable in some cycles: the place of a cycle among them, and the bits of the new value.
#[derive(Debug)]
pub(super) struct Column {
    pub variable: Variable,
    pub kind: Kind,
    pub changes: Vec<(u32, u64)>,
}

/// A wave file under way: first its variables in their scopes, then cycles with what changes in them.
pub(super) trait Sink: Send {
    /// Opens a scope in the current one.
    fn scope(&mut self, name: &str) -> Result<()>;
    /// Closes the current scope.
    fn up(&mut self) -> Result<()>;
    /// Declares a bus of `width` bits in the current scope; with `same` it is that variable under another name.
    fn wire(&mut self, name: &str, width: u32, same: Option<Variable>) -> Result<Variable>;
    /// Declares a decimal number in the current scope; with `same` it is that one under another name.
    fn real(&mut self, name: &str, same: Option<Variable>) -> Result<Variable>;
    /// Declares a bus whose values have names, where the format knows such.
    fn named(&mut self, name: &str, names: &Names) -> Result<Variable>;
    /// Ends the declarations; `clock` is one of the declared variables.
    fn declared(&mut self, clock: Variable) -> Result<()>;
    /// Some cycles after the last ones, with all variables but the clock: it rises when a cycle begins, what differs from the cycle
    /// before changes with it, and it falls half a period later. The first cycle of all has a value for every variable.
    fn cycles(&mut self, cycles: Cycles, columns: &[Column]) -> Result<()>;
    /// Ends the file at a time, in ns.
    fn end(self: Box<Self>, ns: u64) -> Result<()>;
}

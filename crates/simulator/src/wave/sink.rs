//! What a recording is written to: a file format.

use std::io::Result;

/// The program that wrote a file.
pub(super) const WRITER: &str = concat!("flashd ", env!("CARGO_PKG_VERSION"));

/// A declared variable, counted by its sink.
pub(super) type Variable = u32;

/// The names of an enumeration's values, from 0 on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Names {
    /// What the table is called; another one has another name.
    pub table: &'static str,
    pub names: &'static [&'static str],
}

impl Names {
    /// Bits that tell the values apart.
    pub(super) fn width(&self) -> u32 {
        (self.names.len() - 1).ilog2() + 1
    }
}

/// A wave file under way: first its variables in their scopes, then times, and at each what changes.
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
    /// Ends the declarations.
    fn declared(&mut self) -> Result<()>;
    /// What follows happens at this time, in ns; the first time has a value for every variable.
    fn time(&mut self, ns: u64) -> Result<()>;
    /// A bus of `width` bits changes.
    fn bits(&mut self, variable: Variable, width: u32, bits: u64) -> Result<()>;
    /// A decimal number changes.
    fn number(&mut self, variable: Variable, value: f64) -> Result<()>;
    /// Ends the file at a time.
    fn end(self: Box<Self>, ns: u64) -> Result<()>;
}

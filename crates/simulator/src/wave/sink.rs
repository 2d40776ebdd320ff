//! What a recording is written to: a file format.

use super::{fst::Fst, vcd::Vcd};
use std::fs::File;
use std::io::Result;

/// The formats of wave files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaveFormat {
    /// Value change dump: text, which every viewer reads.
    #[default]
    Vcd,
    /// GTKWave's fast signal trace: compressed, about a tenth of the size.
    Fst,
}

impl WaveFormat {
    /// What file names end in.
    pub fn ending(self) -> &'static str {
        match self {
            WaveFormat::Vcd => "vcd",
            WaveFormat::Fst => "fst",
        }
    }

    /// The format as a message names it, with its article.
    pub(super) fn article_and_name(self) -> &'static str {
        match self {
            WaveFormat::Vcd => "a VCD",
            WaveFormat::Fst => "an FST",
        }
    }

    /// An empty file of this format, with `comment` in it.
    pub(super) fn start(self, file: File, comment: &str) -> Result<Box<dyn Sink>> {
        Ok(match self {
            WaveFormat::Vcd => Box::new(Vcd::start(file, comment)?),
            WaveFormat::Fst => Box::new(Fst::start(file, comment)?),
        })
    }
}

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

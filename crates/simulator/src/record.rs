//! Test vectors for simulators that are not ours: every input and expected output of every cycle.
//!
//! A line is a cycle. [`Layout`], which is made from the design's port list, assigns digits to ports and says which
//! values are compared.

use crate::bench::{Cycle, Frame, Observer};
use flashd_files::AtomicFile;
use flashd_hwmodel::vectors::{Layout, Look};
use flashd_spec::config::ConfigError;
use flashd_spec::machine::Machine;
use std::io::{Error, Result, Write};
use std::path::Path;

/// Writes vectors while a run goes on.
pub struct VectorWriter<W: Write> {
    out: W,
    layout: Layout,
    lines: u64,
    line: String,
    /// Most lines that are written; later ones are left out.
    limit: u64,
}

impl<W: Write> VectorWriter<W> {
    /// Vectors of a layout.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(mut out: W, layout: Layout) -> Result<Self> {
        out.write_all(layout.header().as_bytes())?;
        Ok(VectorWriter { out, layout, lines: 0, line: String::new(), limit: u64::MAX })
    }

    /// Writes at most `lines` more lines, so that a run is cut off in the middle.
    pub(crate) fn stop_after(&mut self, lines: u64) {
        self.limit = self.lines.saturating_add(lines);
    }

    /// Writes without a limit again.
    pub fn resume(&mut self) {
        self.limit = u64::MAX;
    }

    /// Lines so far.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Writes the end mark and returns the writer and the number of cycles.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(mut self) -> Result<(W, u64)> {
        self.out.write_all(self.layout.end_mark().as_bytes())?;
        self.out.flush()?;
        Ok((self.out, self.lines))
    }

    fn write(&mut self, frame: &Frame, inside: &[Option<u64>]) -> Result<()> {
        if self.lines >= self.limit {
            return Ok(());
        }
        self.line.clear();
        let mut unknown = None;
        self.layout.line(&mut self.line, inside, |field, elements| match field.known {
            Some(port) => elements.extend_from_slice(&frame[port]),
            None => unknown = Some(field.port.name.clone()),
        });
        if let Some(port) = unknown {
            let text = format!("{}: no vectors for the port {port}", self.layout.name);
            return Err(Error::other(text));
        }
        self.lines += 1;
        self.out.write_all(self.line.as_bytes())
    }
}

impl<W: Write> Observer for VectorWriter<W> {
    fn cycle(&mut self, cycle: &Cycle) -> Result<()> {
        cycle.frame.map_or(Ok(()), |frame| self.write(frame, cycle.inside))
    }
}

/// Vectors in a file; [`VectorFile::finish`] gives it its name.
pub type VectorFile = VectorWriter<AtomicFile>;

/// What keeps vectors from being written.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// The configuration is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] Error),
}

impl VectorFile {
    /// Vectors for a core, an array or split keys, in a temporary file next to `path` until finished.
    ///
    /// # Errors
    /// If the configuration is not valid or no file can be created there.
    pub fn create(path: &Path, machine: impl Into<Machine>) -> std::result::Result<Self, VectorError> {
        Ok(VectorWriter::new(AtomicFile::create(path)?, Layout::of(machine, Look::Inside)?)?)
    }

    /// Completes the file under its name and returns the number of cycles in it.
    ///
    /// # Errors
    /// If writing fails.
    pub fn commit(self) -> Result<u64> {
        let (file, lines) = self.finish()?;
        file.commit()?;
        Ok(lines)
    }
}

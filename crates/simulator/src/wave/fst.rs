//! GTKWave's fast signal trace, by the crate `wavefst`.
//!
//! Of the writers in Rust it serves best. `fst-writer` compresses with LZ4 alone, which finds what repeats and leaves the rest, here
//! numbers that are new in every cycle, as it is; and it keeps all changes in memory until it is told to write. `fstapi` wraps GTKWave's C.

use super::sink::{Sink, Variable, WRITER};
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Error, Result};
use wavefst::{
    ChainCompression, FstWriter, GeomEntry, Header, MiscAttributeType, ScopeType, SignalValue,
    TimeCompression, VarDir, VarType,
};

/// How hard zlib tries, from 1 to 9.
const LEVEL: u32 = 1;
/// Changes that are compressed together: so many that a variable's own reach as far as zlib looks back.
const CHANGES: usize = 4_000_000;

/// An FST under way.
pub(super) struct Fst {
    out: FstWriter<BufWriter<File>>,
    /// The current time, in ns.
    now: u64,
    /// The last change of a single bit.
    bit: Option<(Variable, bool)>,
}

/// Errors of the crate are those of the file, or mistakes of this module.
fn failed(e: wavefst::Error) -> Error {
    match e {
        wavefst::Error::Io(e) => e,
        e => Error::other(e.to_string()),
    }
}

impl Fst {
    pub(super) fn start(file: File, comment: &str) -> Result<Fst> {
        let builder = FstWriter::builder(BufWriter::new(file))
            .chain_compression(ChainCompression::Zlib)
            .time_compression(TimeCompression::Zlib)
            .compression_level(Some(LEVEL))
            .block_change_limit(CHANGES)
            .timescale_exponent(-9);
        let mut out = builder.build().map_err(failed)?;
        out.add_misc_attribute(MiscAttributeType::Comment, comment, 0).map_err(failed)?;
        Ok(Fst { out, now: 0, bit: None })
    }
}

impl Sink for Fst {
    fn scope(&mut self, name: &str) -> Result<()> {
        self.out.begin_scope(ScopeType::VcdModule, name, None).map_err(failed)?;
        Ok(())
    }

    fn up(&mut self) -> Result<()> {
        self.out.end_scope().map_err(failed)
    }

    fn wire(&mut self, name: &str, width: u32, same: Option<Variable>) -> Result<Variable> {
        // A range is part of the name, as GTKWave's own converter has it.
        let name = if width > 1 { format!("{name} [{}:0]", width - 1) } else { name.to_string() };
        let (kind, direction) = (VarType::VcdWire, VarDir::Implicit);
        match same {
            Some(same) => self.out.add_alias(kind, direction, name, same),
            None => self.out.add_variable(kind, direction, name, GeomEntry::Fixed(width)),
        }
        .map_err(failed)
    }

    fn real(&mut self, name: &str) -> Result<Variable> {
        self.out.add_variable(VarType::VcdReal, VarDir::Implicit, name, GeomEntry::Real).map_err(failed)
    }

    fn declared(&mut self) -> Result<()> {
        // Without a date: the same run gives the same file.
        let header = Header { version: WRITER.into(), ..Header::default() };
        self.out.write_header(header).map_err(failed)
    }

    fn time(&mut self, ns: u64) -> Result<()> {
        self.now = ns;
        Ok(())
    }

    fn bits(&mut self, variable: Variable, width: u32, bits: u64) -> Result<()> {
        if width == 1 {
            self.bit = Some((variable, bits != 0));
            return self.out.emit_binary_change(self.now, variable, bits != 0).map_err(failed);
        }
        // As text: what is packed here would be unpacked there.
        let mut text = [0; 64];
        let text = &mut text[..width as usize];
        text.iter_mut().rev().enumerate().for_each(|(i, digit)| *digit = b'0' + (bits >> i & 1) as u8);
        let text = SignalValue::Bytes(Cow::Borrowed(text));
        self.out.emit_change(self.now, variable, text).map_err(failed)
    }

    fn number(&mut self, variable: Variable, value: f64) -> Result<()> {
        self.out.emit_change(self.now, variable, SignalValue::Real(value)).map_err(failed)
    }

    fn end(mut self: Box<Self>, ns: u64) -> Result<()> {
        // A time is there when something has a value.
        if let Some((variable, high)) = self.bit {
            self.out.emit_binary_change(ns, variable, high).map_err(failed)?;
        }
        self.out.finish().map_err(failed)?;
        Ok(())
    }
}

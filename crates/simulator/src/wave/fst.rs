//! GTKWave's fast signal trace.
//!
//! The crate `wavefst` writes head, geometry and hierarchy, and encodes the parts of blocks of changes. The blocks are assembled here: its
//! writer takes one change at a time, copies each value three times, and took 1.5 times the processor time. (`fst-writer` compresses with
//! LZ4 alone.)

mod blocks;
mod pack;

use super::PERIOD_NS;
use super::sink::{Column, Cycles, Kind, Names, Sink, Variable, WRITER};
use blocks::Block;
use pack::Packer;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Error, Result, Seek, SeekFrom, Write};
use wavefst::{FstWriter, GeomEntry, Header, MiscAttributeType, ScopeType, TimeCompression, VarDir, VarType};

/// Where in the file the head says when the first change and the last one are, and how many blocks of changes there are.
const TIMES: u64 = 9;
const BLOCKS: u64 = 65;

/// An FST under way.
pub(super) struct Fst {
    state: State,
    /// Tables of names that are written.
    tables: HashMap<&'static str, u32>,
    kinds: Vec<Kind>,
    clock: Variable,
    /// The first time of all.
    start: Option<u64>,
}

enum State {
    Declares(Box<FstWriter<BufWriter<File>>>),
    Records(Packer, Block),
    /// Between the two, and after an error there.
    Failed,
}

/// The crate reports errors of the file, and mistakes of this module.
fn failed(e: wavefst::Error) -> Error {
    match e {
        wavefst::Error::Io(e) => e,
        e => Error::other(e.to_string()),
    }
}

impl Fst {
    pub(super) fn start(file: File, comment: &str) -> Result<Fst> {
        let builder = FstWriter::builder(BufWriter::new(file))
            .time_compression(TimeCompression::Zlib)
            .timescale_exponent(-9);
        let mut out = builder.build().map_err(failed)?;
        out.add_misc_attribute(MiscAttributeType::Comment, comment, 0).map_err(failed)?;
        let state = State::Declares(Box::new(out));
        Ok(Fst { state, tables: HashMap::new(), kinds: Vec::new(), clock: 0, start: None })
    }

    fn head(&mut self) -> Result<&mut FstWriter<BufWriter<File>>> {
        match &mut self.state {
            State::Declares(out) => Ok(out),
            _ => Err(Error::other("the declarations have ended")),
        }
    }

    fn body(&mut self) -> Result<(&mut Packer, &mut Block)> {
        match &mut self.state {
            State::Records(packer, block) => Ok((packer, block)),
            _ => Err(Error::other("the declarations have not ended")),
        }
    }

    fn variable(
        &mut self,
        (kind, name): (VarType, String),
        what: Kind,
        same: Option<Variable>,
    ) -> Result<Variable> {
        let out = self.head()?;
        let geometry = match what {
            Kind::Bits(width) => GeomEntry::Fixed(width),
            Kind::Real => GeomEntry::Real,
        };
        let variable = match same {
            Some(same) => out.add_alias(kind, VarDir::Implicit, name, same),
            None => out.add_variable(kind, VarDir::Implicit, name, geometry),
        };
        if same.is_none() {
            self.kinds.push(what);
        }
        variable.map_err(failed)
    }
}

/// A range is part of the name, as GTKWave's own converter has it.
fn with_range(name: &str, width: u32) -> String {
    if width > 1 { format!("{name} [{}:0]", width - 1) } else { name.to_string() }
}

impl Sink for Fst {
    fn scope(&mut self, name: &str) -> Result<()> {
        self.head()?.begin_scope(ScopeType::VcdModule, name, None).map_err(failed)?;
        Ok(())
    }

    fn up(&mut self) -> Result<()> {
        self.head()?.end_scope().map_err(failed)
    }

    fn wire(&mut self, name: &str, width: u32, same: Option<Variable>) -> Result<Variable> {
        self.variable((VarType::VcdWire, with_range(name, width)), Kind::Bits(width), same)
    }

    fn real(&mut self, name: &str, same: Option<Variable>) -> Result<Variable> {
        self.variable((VarType::VcdReal, name.to_string()), Kind::Real, same)
    }

    fn named(&mut self, name: &str, names: &Names) -> Result<Variable> {
        let width = names.width();
        let values: Vec<String> =
            (0..names.names.len()).map(|i| format!("{i:0w$b}", w = width as usize)).collect();
        let entries: Vec<(&str, &str)> =
            names.names.iter().zip(&values).map(|(name, value)| (*name, value.as_str())).collect();
        let known = self.tables.get(names.table).copied();
        let out = self.head()?;
        let table = match known {
            Some(table) => table,
            None => out.create_enum_table(names.table, &entries, width as usize).map_err(failed)?,
        };
        // The reference applies to the variable that is declared next.
        out.add_enum_table_ref(table).map_err(failed)?;
        self.tables.insert(names.table, table);
        self.variable((VarType::VcdWire, with_range(name, width)), Kind::Bits(width), None)
    }

    fn declared(&mut self, clock: Variable) -> Result<()> {
        self.clock = clock;
        // Without a date: the same run gives the same file.
        let header = Header { version: WRITER.into(), ..Header::default() };
        self.head()?.write_header(header).map_err(failed)?;
        if let State::Declares(out) = std::mem::replace(&mut self.state, State::Failed) {
            let packer = Packer::start(out.finish().map_err(failed)?)?;
            self.state = State::Records(packer, Block::new(&self.kinds));
        }
        Ok(())
    }

    fn cycles(&mut self, cycles: Cycles, columns: &[Column]) -> Result<()> {
        let clock = self.clock;
        if cycles.count > 0 {
            self.start.get_or_insert(cycles.first * PERIOD_NS);
        }
        let (packer, block) = self.body()?;
        if block.is_full() {
            packer.put(block)?;
        }
        let from = block.times();
        for cycle in cycles.first..cycles.end() {
            for (part, high) in [(0, 1), (PERIOD_NS / 2, 0)] {
                block.time(cycle * PERIOD_NS + part);
                block.change_bit(clock, high);
            }
        }
        columns.iter().for_each(|column| block.changes(column, from));
        Ok(())
    }

    fn end(mut self: Box<Self>, ns: u64) -> Result<()> {
        let clock = self.clock;
        let start = self.start.unwrap_or(ns);
        let (packer, block) = self.body()?;
        // A time is there when something has a value.
        block.time(ns);
        block.change_bit(clock, 0);
        packer.put(block)?;
        let (mut out, blocks) = packer.end()?;
        out.seek(SeekFrom::Start(TIMES))?;
        [start, ns].iter().try_for_each(|time| out.write_all(&time.to_be_bytes()))?;
        out.seek(SeekFrom::Start(BLOCKS))?;
        out.write_all(&blocks.to_be_bytes())?;
        out.flush()
    }
}

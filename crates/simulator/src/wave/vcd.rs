//! The value change dump.

use super::PERIOD_NS;
use super::sink::{Column, Cycles, Kind, Names, Sink, Variable, WRITER};
use std::fs::File;
use std::io::{BufWriter, Result, Write};
use vcd::{IdCode, ReferenceIndex, SimulationCommand, TimescaleUnit, VarType, Writer};

/// A VCD under way.
pub(super) struct Vcd {
    out: Writer<BufWriter<File>>,
    variables: u32,
    clock: Variable,
    /// Times so far.
    times: u64,
    /// End of each cycle's changes in `changes`, whose elements are the place of a column and the new bits.
    ends: Vec<usize>,
    changes: Vec<(usize, u64)>,
}

impl Vcd {
    pub(super) fn start(file: File, comment: &str) -> Result<Vcd> {
        let mut out = Writer::new(BufWriter::new(file));
        out.version(WRITER)?;
        out.comment(comment)?;
        out.timescale(1, TimescaleUnit::NS)?;
        Ok(Vcd { out, variables: 0, clock: 0, times: 0, ends: Vec::new(), changes: Vec::new() })
    }

    fn variable(
        &mut self,
        kind: VarType,
        width: u32,
        name: &str,
        same: Option<Variable>,
        range: Option<ReferenceIndex>,
    ) -> Result<Variable> {
        let variable = same.unwrap_or(self.variables);
        self.variables += u32::from(same.is_none());
        self.out.var_def(kind, width, IdCode::from(variable), name, range)?;
        Ok(variable)
    }

    fn time(&mut self, ns: u64) -> Result<()> {
        self.times += 1;
        if self.times == 2 {
            self.out.end()?;
        }
        self.out.timestamp(ns)?;
        if self.times == 1 {
            self.out.begin(SimulationCommand::Dumpvars)?;
        }
        Ok(())
    }

    /// Straight to the file: the `vcd` crate formats a vector bit by bit.
    fn bits(&mut self, variable: Variable, width: u32, bits: u64) -> Result<()> {
        let id = IdCode::from(variable);
        match width {
            1 => writeln!(self.out.writer(), "{bits}{id}"),
            _ => writeln!(self.out.writer(), "b{bits:b} {id}"),
        }
    }

    /// The shortest text that reads back as the same number, with an exponent where it is short.
    fn number(&mut self, variable: Variable, value: f64) -> Result<()> {
        writeln!(self.out.writer(), "r{value:?} {}", IdCode::from(variable))
    }

    /// Sorts changes by time, as the file needs them, then by column.
    fn sort(&mut self, cycles: Cycles, columns: &[Column]) {
        let Vcd { ends, changes, .. } = self;
        ends.clear();
        ends.resize(cycles.count as usize + 1, 0);
        // First where the changes of each cycle begin, then where they end.
        for (at, _) in columns.iter().flat_map(|column| &column.changes) {
            ends[*at as usize + 1] += 1;
        }
        for at in 1..ends.len() {
            ends[at] += ends[at - 1];
        }
        changes.clear();
        changes.resize(ends[cycles.count as usize], (0, 0));
        for (place, column) in columns.iter().enumerate() {
            for &(at, bits) in &column.changes {
                let end = &mut ends[at as usize];
                changes[*end] = (place, bits);
                *end += 1;
            }
        }
    }
}

impl Sink for Vcd {
    fn scope(&mut self, name: &str) -> Result<()> {
        self.out.add_module(name)
    }

    fn up(&mut self) -> Result<()> {
        self.out.upscope()
    }

    fn wire(&mut self, name: &str, width: u32, same: Option<Variable>) -> Result<Variable> {
        let range = (width > 1).then(|| ReferenceIndex::Range(width as i32 - 1, 0));
        self.variable(VarType::Wire, width, name, same, range)
    }

    fn real(&mut self, name: &str, same: Option<Variable>) -> Result<Variable> {
        self.variable(VarType::Real, 64, name, same, None)
    }

    fn named(&mut self, name: &str, names: &Names) -> Result<Variable> {
        self.wire(name, names.width(), None)
    }

    fn declared(&mut self, clock: Variable) -> Result<()> {
        self.clock = clock;
        self.out.enddefinitions()
    }

    fn cycles(&mut self, cycles: Cycles, columns: &[Column]) -> Result<()> {
        self.sort(cycles, columns);
        let mut from = 0;
        for (cycle, place) in (cycles.first..cycles.end()).zip(0..) {
            let time = cycle * PERIOD_NS;
            self.time(time)?;
            self.bits(self.clock, 1, 1)?;
            let to = self.ends[place];
            for at in from..to {
                let (column, bits) = self.changes[at];
                let Column { variable, kind, .. } = columns[column];
                match kind {
                    Kind::Bits(width) => self.bits(variable, width, bits)?,
                    Kind::Real => self.number(variable, f64::from_bits(bits))?,
                }
            }
            from = to;
            self.time(time + PERIOD_NS / 2)?;
            self.bits(self.clock, 1, 0)?;
        }
        Ok(())
    }

    fn end(mut self: Box<Self>, ns: u64) -> Result<()> {
        self.time(ns)?;
        self.out.flush()
    }
}

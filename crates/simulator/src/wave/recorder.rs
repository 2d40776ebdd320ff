//! The VCD itself: header and changes.

use super::PERIOD_NS;
use super::numbers::{Numbers, Reading};
use super::signals::{Signal, value};
use flashd_hwmodel::rtl::{Block, Probe};
use rust_hdl::core::prelude::Atom;
use std::collections::HashMap;
use std::io::{Error, ErrorKind, Result, Write};
use vcd::{IdCode, TimescaleUnit, VarType, Writer};

/// A recorded bus.
struct Channel {
    /// Where the walk over the design meets it.
    position: usize,
    width: u32,
    id: IdCode,
    number: Option<(IdCode, Reading)>,
    /// Bits written last, and those of the bus before where the number depends on them.
    last: Option<(u64, u64)>,
    /// Most characters of the number so far, as GTKWave shows it.
    longest: usize,
}

/// Writes a VCD of the chosen signals.
pub(super) struct Recorder<W: Write> {
    out: Writer<W>,
    clock: IdCode,
    channels: Vec<Channel>,
    /// Buses in the design.
    positions: usize,
}

impl<W: Write> Recorder<W> {
    /// Writes the header. Every chosen clock is an alias of one variable.
    pub(super) fn new(
        out: W,
        comment: &str,
        signals: &[Signal],
        chosen: &[bool],
        numbers: &Numbers,
    ) -> Result<Recorder<W>> {
        let mut out = Writer::new(out);
        out.version(concat!("flashd ", env!("CARGO_PKG_VERSION")))?;
        out.comment(comment)?;
        out.timescale(1, TimescaleUnit::NS)?;
        let (mut clock, mut channels) = (None, Vec::new());
        let mut open: Vec<&str> = Vec::new();
        for (position, signal) in signals.iter().enumerate().filter(|(i, _)| chosen[*i]) {
            let mut scopes: Vec<&str> = signal.path.split('.').collect();
            let name = scopes.pop().unwrap_or("");
            let common = open.iter().zip(&scopes).take_while(|(a, b)| a == b).count();
            for _ in common..open.len() {
                out.upscope()?;
            }
            for scope in &scopes[common..] {
                out.add_module(scope)?;
            }
            open = scopes;
            if signal.is_clock() {
                match clock {
                    None => clock = Some(out.add_wire(1, name)?),
                    Some(id) => out.var_def(VarType::Wire, 1, id, name, None)?,
                }
                continue;
            }
            let range = (signal.width > 1).then(|| vcd::ReferenceIndex::Range(signal.width as i32 - 1, 0));
            let id = out.add_var(VarType::Wire, signal.width, name, range)?;
            let number = match numbers.beside(signals, position) {
                Some(beside) => Some((out.add_var(VarType::Real, 64, &beside.name, None)?, beside.reading)),
                None => None,
            };
            channels.push(Channel { position, width: signal.width, id, number, last: None, longest: 0 });
        }
        for _ in &open {
            out.upscope()?;
        }
        out.enddefinitions()?;
        let clock = clock.ok_or_else(|| Error::new(ErrorKind::InvalidInput, "the core has no clock"))?;
        Ok(Recorder { out, clock, channels, positions: signals.len() })
    }

    /// One settled cycle: the clock rises, what differs from the cycle before changes with it, the clock
    /// falls half a period later.
    pub(super) fn cycle(&mut self, cycle: u64, first: bool, design: &dyn Block) -> Result<()> {
        let time = cycle * PERIOD_NS;
        self.out.timestamp(time)?;
        if first {
            self.out.begin(vcd::SimulationCommand::Dumpvars)?;
        }
        self.out.change_scalar(self.clock, true)?;
        let mut walk = Walk {
            out: self.out.writer(),
            channels: self.channels.iter_mut(),
            due: usize::MAX,
            current: None,
            position: 0,
            before: 0,
            result: Ok(()),
        };
        walk.advance();
        design.accept("", &mut walk);
        let visited = walk.position;
        walk.result?;
        if visited != self.positions {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "the waves were set up for another configuration than the core that runs",
            ));
        }
        if first {
            self.out.end()?;
        }
        self.out.timestamp(time + PERIOD_NS / 2)?;
        self.out.change_scalar(self.clock, false)
    }

    /// Gives the last cycle its full length; `end` is the cycle after it. Returns the most characters of the decimal values
    /// of each bus, by its position.
    pub(super) fn finish(mut self, end: u64) -> Result<HashMap<usize, usize>> {
        self.out.timestamp(end * PERIOD_NS)?;
        self.out.flush()?;
        Ok(self.channels.iter().map(|channel| (channel.position, channel.longest)).collect())
    }
}

/// Meets every bus in order and looks at the recorded ones only.
struct Walk<'a, W: Write> {
    out: &'a mut W,
    channels: std::slice::IterMut<'a, Channel>,
    current: Option<&'a mut Channel>,
    /// Position of `current`.
    due: usize,
    position: usize,
    /// Bits of the recorded bus before `current`.
    before: u64,
    result: Result<()>,
}

impl<W: Write> Walk<'_, W> {
    fn advance(&mut self) {
        self.current = self.channels.next();
        self.due = self.current.as_ref().map_or(usize::MAX, |channel| channel.position);
    }

    fn sample(&mut self, signal: &dyn Atom) {
        if let Some(channel) = self.current.as_mut() {
            let bits = value(signal) & flashd_spec::bits::ones(channel.width);
            let before = match channel.number {
                Some((_, Reading::Weight(_))) => self.before,
                _ => 0,
            };
            if channel.last != Some((bits, before)) && self.result.is_ok() {
                self.result = write_change(self.out, channel, bits, before);
                channel.last = Some((bits, before));
            }
            self.before = bits;
        }
        self.advance();
    }
}

/// Straight to the file: the `vcd` crate formats a vector bit by bit.
fn write_change(out: &mut impl Write, channel: &mut Channel, bits: u64, before: u64) -> Result<()> {
    if channel.last.is_none_or(|(last, _)| last != bits) {
        match channel.width {
            1 => writeln!(out, "{bits}{}", channel.id)?,
            _ => writeln!(out, "b{bits:b} {}", channel.id)?,
        }
    }
    match channel.number {
        // The shortest text that reads back as the same number, with an exponent where it is short.
        Some((id, reading)) => {
            let text = format!("{:?}", reading.value(bits, before));
            channel.longest = channel.longest.max(shown(&text));
            writeln!(out, "r{text} {id}")
        }
        None => Ok(()),
    }
}

/// Characters in which GTKWave shows a decimal value: 16 digits at most, and two of an exponent at least.
fn shown(text: &str) -> usize {
    const MOST: usize = "-1.234567890123456e-05".len();
    let text = text.strip_suffix(".0").unwrap_or(text);
    (text.len() + usize::from(text.contains('e'))).min(MOST)
}

impl<W: Write> Probe for Walk<'_, W> {
    fn visit_atom(&mut self, _name: &str, signal: &dyn Atom) {
        if signal.bits() == 0 {
            return; // a tag
        }
        if self.position == self.due {
            self.sample(signal);
        }
        self.position += 1;
    }
}

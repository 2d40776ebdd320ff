//! The VCD itself: header and changes.

use super::PERIOD_NS;
use super::numbers::{Numbers, Reading};
use super::signals::Signal;
use flashd_spec::bits::ones;
use std::collections::HashMap;
use std::io::{Error, ErrorKind, Result, Write};
use vcd::{IdCode, TimescaleUnit, VarType, Writer};

/// A recorded bus.
struct Channel {
    /// Its place among the design's signals.
    position: usize,
    net: u32,
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
            channels.push(Channel {
                position,
                net: signal.net,
                width: signal.width,
                id,
                number,
                last: None,
                longest: 0,
            });
        }
        for _ in &open {
            out.upscope()?;
        }
        out.enddefinitions()?;
        let clock = clock.ok_or_else(|| Error::new(ErrorKind::InvalidInput, "the core has no clock"))?;
        Ok(Recorder { out, clock, channels })
    }

    /// One settled cycle, in which nets carry `values`: the clock rises, what differs from the cycle before changes with it, the
    /// clock falls half a period later.
    pub(super) fn cycle(&mut self, cycle: u64, first: bool, values: impl Fn(u32) -> u64) -> Result<()> {
        let time = cycle * PERIOD_NS;
        self.out.timestamp(time)?;
        if first {
            self.out.begin(vcd::SimulationCommand::Dumpvars)?;
        }
        self.out.change_scalar(self.clock, true)?;
        let mut last = 0;
        for channel in &mut self.channels {
            let bits = values(channel.net) & ones(channel.width);
            let before = match channel.number {
                Some((_, Reading::Weight(_))) => last,
                _ => 0,
            };
            if channel.last != Some((bits, before)) {
                write_change(self.out.writer(), channel, bits, before)?;
                channel.last = Some((bits, before));
            }
            last = bits;
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

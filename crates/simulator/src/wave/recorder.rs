//! From the nets of settled cycles to changes, and from changes to the file.
//!
//! What differs from the cycle before is found in the thread of the run; a thread of its own makes decimals of it and writes.

use super::PERIOD_NS;
use super::actions::{ACTIONS, Flags, NAME};
use super::numbers::{Numbers, Reading};
use super::signals::Signal;
use super::sink::{Sink, Variable};
use flashd_spec::bits::ones;
use std::collections::HashMap;
use std::io::{Error, ErrorKind, Result};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Where a recorded value comes from.
enum Source {
    /// Bits of a net.
    Net(u32, u64),
    /// What a step does, by flags of its stage.
    Action(Flags),
}

/// A recorded value as the run looks at it.
struct Channel {
    source: Source,
    /// The channel, before this one, on which its number depends, too.
    before: Option<usize>,
    /// Bits recorded last, and those of the channel before.
    last: Option<(u64, u64)>,
}

/// The same as it is written.
struct Written {
    /// Its places among the design's signals: more than one if they are one net.
    positions: Vec<usize>,
    width: u32,
    id: Variable,
    number: Option<(Variable, Reading)>,
    before: Option<usize>,
    /// Bits written last.
    bits: Option<u64>,
    /// Most characters of the number so far, as GTKWave shows it, and how many more values are looked at for that.
    longest: usize,
    to_look_at: u32,
}

/// Values of a bus that are looked at to see how long its decimals are.
const LOOKED_AT: u32 = 10_000;
/// Changes that go to the other thread together.
const BATCH: usize = 1 << 16;
/// Batches that wait there; then the run waits.
const WAITING: usize = 4;

/// Changes of some cycles.
#[derive(Default)]
struct Batch {
    /// Each cycle, and where its changes end.
    cycles: Vec<(u64, usize)>,
    /// Channel and bits.
    changes: Vec<(u32, u64)>,
}

/// Variables while they are declared.
struct Declared {
    sink: Box<dyn Sink>,
    clock: Option<Variable>,
    channels: Vec<Channel>,
    written: Vec<Written>,
    /// The channel of each net that has one.
    nets: HashMap<u32, usize>,
}

impl Declared {
    fn channel(&mut self, source: Source, before: Option<usize>, written: Written) -> usize {
        self.channels.push(Channel { source, before, last: None });
        self.written.push(Written { before, ..written });
        self.channels.len() - 1
    }

    /// A signal, and beside it its number.
    fn signal(&mut self, signals: &[Signal], position: usize, name: &str, numbers: &Numbers) -> Result<()> {
        let Signal { width, net, .. } = signals[position];
        if signals[position].is_clock() {
            self.clock = Some(self.sink.wire(name, 1, self.clock)?);
            return Ok(());
        }
        let beside = numbers.beside(signals, position);
        let reading = beside.as_ref().map(|beside| beside.reading);
        let known = self.nets.get(&net).copied().filter(|known| self.written[*known].is_also(width, reading));
        let place = match known {
            Some(known) => {
                self.sink.wire(name, width, Some(self.written[known].id))?;
                self.written[known].positions.push(position);
                known
            }
            None => {
                let id = self.sink.wire(name, width, None)?;
                // The bus before it is always recorded with it.
                let before = match reading {
                    Some(Reading::Weight(_)) => {
                        position.checked_sub(1).and_then(|before| self.nets.get(&signals[before].net))
                    }
                    _ => None,
                };
                let written = Written::new(vec![position], width, id);
                let place = self.channel(Source::Net(net, ones(width)), before.copied(), written);
                self.nets.insert(net, place);
                place
            }
        };
        if let Some(beside) = beside {
            let same = self.written[place].number.map(|(number, _)| number);
            let number = self.sink.real(&beside.name, same)?;
            self.written[place].number = Some((number, beside.reading));
        }
        Ok(())
    }
}

/// Records the chosen signals.
pub(super) struct Recorder {
    channels: Vec<Channel>,
    batch: Batch,
    /// Why the other thread has ended.
    failed: Option<Error>,
    sender: Option<SyncSender<Batch>>,
    thread: Option<JoinHandle<Result<Writer>>>,
}

impl Recorder {
    /// Declares the variables. What is one net, as every chosen clock, is one variable under several names. Beside each bit of `actions`,
    /// by its place among the signals, stands what a step does.
    pub(super) fn new(
        sink: Box<dyn Sink>,
        signals: &[Signal],
        chosen: &[bool],
        numbers: &Numbers,
        actions: &HashMap<usize, Flags>,
    ) -> Result<Recorder> {
        let mut all =
            Declared { sink, clock: None, channels: Vec::new(), written: Vec::new(), nets: HashMap::new() };
        let mut open: Vec<&str> = Vec::new();
        for (position, signal) in signals.iter().enumerate().filter(|(i, _)| chosen[*i]) {
            let mut scopes: Vec<&str> = signal.path.split('.').collect();
            let name = scopes.pop().unwrap_or("");
            let common = open.iter().zip(&scopes).take_while(|(a, b)| a == b).count();
            for _ in common..open.len() {
                all.sink.up()?;
            }
            for scope in &scopes[common..] {
                all.sink.scope(scope)?;
            }
            open = scopes;
            all.signal(signals, position, name, numbers)?;
            if let Some(&flags) = actions.get(&position) {
                let id = all.sink.named(NAME, &ACTIONS)?;
                all.channel(Source::Action(flags), None, Written::new(Vec::new(), ACTIONS.width(), id));
            }
        }
        for _ in &open {
            all.sink.up()?;
        }
        all.sink.declared()?;
        let Declared { sink, clock, channels, written, .. } = all;
        let clock = clock.ok_or_else(|| Error::new(ErrorKind::InvalidInput, "the design has no clock"))?;
        let (sender, batches) = sync_channel(WAITING);
        let writer = Writer { sink, clock, channels: written };
        let thread =
            std::thread::Builder::new().name("wave".into()).spawn(move || writer.write_all(&batches))?;
        let batch = Batch::default();
        Ok(Recorder { channels, batch, failed: None, sender: Some(sender), thread: Some(thread) })
    }

    /// One settled cycle, in which nets carry `values`.
    pub(super) fn cycle(&mut self, cycle: u64, values: impl Fn(u32) -> u64) -> Result<()> {
        for place in 0..self.channels.len() {
            let channel = &self.channels[place];
            let bits = match channel.source {
                Source::Net(net, mask) => values(net) & mask,
                Source::Action(flags) => flags.action(&values),
            };
            let before =
                channel.before.and_then(|before| self.channels[before].last).map_or(0, |(bits, _)| bits);
            if channel.last != Some((bits, before)) {
                self.channels[place].last = Some((bits, before));
                self.batch.changes.push((place as u32, bits));
            }
        }
        self.batch.cycles.push((cycle, self.batch.changes.len()));
        match self.batch.changes.len() + self.batch.cycles.len() >= BATCH {
            true => self.send(),
            false => Ok(()),
        }
    }

    /// Hands over what has been recorded since the last time.
    fn send(&mut self) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        match self.sender.as_ref().is_some_and(|sender| sender.send(batch).is_ok()) {
            true => Ok(()),
            false => {
                let error = self.written().err().unwrap_or_else(|| Error::other("the wave has ended"));
                let copy = Error::new(error.kind(), error.to_string());
                self.failed = Some(error);
                Err(copy)
            }
        }
    }

    /// Waits for the other thread, or says how it has ended.
    fn written(&mut self) -> Result<Writer> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.sender = None;
        let thread = self.thread.take().ok_or_else(|| Error::other("the wave has ended"))?;
        thread.join().unwrap_or_else(|_| Err(Error::other("the wave's thread has failed")))
    }

    /// Gives the last cycle its full length; `end` is the cycle after it. Returns the most characters of the decimal values
    /// of each bus, by its position.
    pub(super) fn finish(mut self, end: u64) -> Result<HashMap<usize, usize>> {
        if self.failed.is_none() {
            // How that ends is what `written` tells.
            let _ = self.send();
        }
        let Writer { sink, channels, .. } = self.written()?;
        sink.end(end * PERIOD_NS)?;
        let each =
            |channel: &Written| channel.positions.iter().map(|p| (*p, channel.longest)).collect::<Vec<_>>();
        Ok(channels.iter().flat_map(each).collect())
    }
}

impl Drop for Recorder {
    /// Nothing is written any more when it is gone.
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // Nobody asks any more how it ended.
            let _ = thread.join();
        }
    }
}

/// Writes what is recorded.
struct Writer {
    sink: Box<dyn Sink>,
    clock: Variable,
    channels: Vec<Written>,
}

impl Writer {
    fn write_all(mut self, batches: &Receiver<Batch>) -> Result<Writer> {
        while let Ok(batch) = batches.recv() {
            let mut from = 0;
            for (cycle, to) in batch.cycles {
                self.cycle(cycle, &batch.changes[from..to])?;
                from = to;
            }
        }
        Ok(self)
    }

    /// The clock rises, what differs from the cycle before changes with it, the clock falls half a period later.
    fn cycle(&mut self, cycle: u64, changes: &[(u32, u64)]) -> Result<()> {
        let time = cycle * PERIOD_NS;
        self.sink.time(time)?;
        self.sink.bits(self.clock, 1, 1)?;
        for &(place, bits) in changes {
            let place = place as usize;
            // The channel before has been written before.
            let before =
                self.channels[place].before.and_then(|before| self.channels[before].bits).unwrap_or(0);
            self.channels[place].change(self.sink.as_mut(), bits, before)?;
        }
        self.sink.time(time + PERIOD_NS / 2)?;
        self.sink.bits(self.clock, 1, 0)
    }
}

impl Written {
    fn new(positions: Vec<usize>, width: u32, id: Variable) -> Written {
        let (number, before, bits) = (None, None, None);
        Written { positions, width, id, number, before, bits, longest: 0, to_look_at: LOOKED_AT }
    }

    /// Whether a signal of the same net is the same in the file: bits, and number if both have one. A number that also depends on
    /// another bus is its own.
    fn is_also(&self, width: u32, reading: Option<Reading>) -> bool {
        let own = |reading: Option<Reading>| !matches!(reading, Some(Reading::Weight(_)));
        let known = self.number.map(|(_, reading)| reading);
        self.width == width
            && own(reading)
            && own(known)
            && (reading.is_none() || known.is_none() || reading == known)
    }

    fn change(&mut self, sink: &mut dyn Sink, bits: u64, before: u64) -> Result<()> {
        if self.bits != Some(bits) {
            self.bits = Some(bits);
            sink.bits(self.id, self.width, bits)?;
        }
        let Some((id, reading)) = self.number else { return Ok(()) };
        let value = reading.value(bits, before);
        if self.to_look_at > 0 {
            self.to_look_at -= 1;
            self.longest = self.longest.max(shown(&format!("{value:?}")));
        }
        sink.number(id, value)
    }
}

/// Characters in which GTKWave shows a decimal value: 16 digits at most, and two of an exponent at least.
fn shown(text: &str) -> usize {
    const MOST: usize = "-1.234567890123456e-05".len();
    let text = text.strip_suffix(".0").unwrap_or(text);
    (text.len() + usize::from(text.contains('e'))).min(MOST)
}

//! From the nets of settled cycles to changes, and from changes to the file.
//!
//! What differs from the cycle before is found in the thread of the run; a thread of its own makes decimals of it and writes.

use super::PERIOD_NS;
use super::numbers::{Numbers, Reading};
use super::signals::Signal;
use super::sink::{Sink, Variable};
use flashd_spec::bits::ones;
use std::collections::HashMap;
use std::io::{Error, ErrorKind, Result};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// A recorded bus as the run looks at it.
struct Channel {
    net: u32,
    mask: u64,
    /// Whether its number depends on the bus before, too.
    needs_before: bool,
    /// Bits recorded last, and those of the bus before where the number depends on them.
    last: Option<(u64, u64)>,
}

/// The same bus as it is written.
struct Written {
    /// Its place among the design's signals.
    position: usize,
    width: u32,
    id: Variable,
    number: Option<(Variable, Reading)>,
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
    /// Declares the variables. Every chosen clock is an alias of one variable.
    pub(super) fn new(
        mut sink: Box<dyn Sink>,
        signals: &[Signal],
        chosen: &[bool],
        numbers: &Numbers,
    ) -> Result<Recorder> {
        let (mut clock, mut channels, mut written) = (None, Vec::new(), Vec::new());
        let mut open: Vec<&str> = Vec::new();
        for (position, signal) in signals.iter().enumerate().filter(|(i, _)| chosen[*i]) {
            let mut scopes: Vec<&str> = signal.path.split('.').collect();
            let name = scopes.pop().unwrap_or("");
            let common = open.iter().zip(&scopes).take_while(|(a, b)| a == b).count();
            for _ in common..open.len() {
                sink.up()?;
            }
            for scope in &scopes[common..] {
                sink.scope(scope)?;
            }
            open = scopes;
            if signal.is_clock() {
                clock = Some(sink.wire(name, 1, clock)?);
                continue;
            }
            let id = sink.wire(name, signal.width, None)?;
            let number = match numbers.beside(signals, position) {
                Some(beside) => Some((sink.real(&beside.name)?, beside.reading)),
                None => None,
            };
            let needs_before = matches!(number, Some((_, Reading::Weight(_))));
            channels.push(Channel { net: signal.net, mask: ones(signal.width), needs_before, last: None });
            written.push(Written {
                position,
                width: signal.width,
                id,
                number,
                bits: None,
                longest: 0,
                to_look_at: LOOKED_AT,
            });
        }
        for _ in &open {
            sink.up()?;
        }
        sink.declared()?;
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
        let mut before = 0;
        for (place, channel) in self.channels.iter_mut().enumerate() {
            let bits = values(channel.net) & channel.mask;
            let now = (bits, if channel.needs_before { before } else { 0 });
            if channel.last != Some(now) {
                channel.last = Some(now);
                self.batch.changes.push((place as u32, bits));
            }
            before = bits;
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
        Ok(channels.iter().map(|channel| (channel.position, channel.longest)).collect())
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
            // The bus before has been written before.
            let before = place.checked_sub(1).and_then(|before| self.channels[before].bits).unwrap_or(0);
            self.channels[place].change(self.sink.as_mut(), bits, before)?;
        }
        self.sink.time(time + PERIOD_NS / 2)?;
        self.sink.bits(self.clock, 1, 0)
    }
}

impl Written {
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

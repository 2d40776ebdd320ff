//! From the nets of settled cycles to changes, and from changes to the file.
//!
//! What differs from the cycle before is found in the thread of the run; a thread of its own makes decimals of it and writes.

use super::PERIOD_NS;
use super::actions::{ACTIONS, Flags, NAME};
use super::numbers::{Numbers, Reading};
use super::signals::Signal;
use super::sink::{Column, Cycles, Kind, Sink, Variable};
use flashd_spec::bits::ones;
use std::collections::HashMap;
use std::io::{Error, ErrorKind, Result};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// Where a recorded value comes from. Nets go by their place among those that are read.
enum Source {
    /// Bits of a net.
    Net(u32, u64),
    /// What a step does, by flags of its stage.
    Action(Flags),
    /// A bit of a net, and above it the bits of the net on which its number depends, too.
    BitAnd(u32, u32, u64),
}

/// A recorded value as the run looks at it.
struct Channel {
    source: Source,
    /// What was recorded last.
    last: Option<u64>,
}

/// The same as it is written.
struct Written {
    /// Its places among the design's signals: more than one if they are one net.
    positions: Vec<usize>,
    /// Its bits, by their place among the columns.
    bits: usize,
    /// The decimal beside them, and how they read.
    number: Option<(usize, Reading)>,
    /// Bits written last, where what is recorded has others above them.
    last: Option<u64>,
    /// Most characters of the number so far, as GTKWave shows it, and how many more values are looked at for that.
    longest: usize,
    to_look_at: u32,
}

/// Values of a bus that are looked at to see how long its decimals are.
const LOOKED_AT: u32 = 10_000;
/// Changes that go to the other thread together: so many that each channel has many, and so few that the cache holds them.
const BATCH: usize = 1 << 15;
/// Batches that wait there; then the run waits.
const WAITING: usize = 4;

/// Changes of some cycles.
#[derive(Default)]
struct Batch {
    cycles: Cycles,
    count: usize,
    /// Of each channel, when it changes and to what.
    channels: Vec<Vec<(u32, u64)>>,
}

impl Batch {
    /// Empty, for so many channels; with the memory of one that has been written.
    fn begin(&mut self, channels: usize) {
        (self.cycles, self.count) = (Cycles::default(), 0);
        self.channels.resize_with(channels, Vec::new);
        self.channels.iter_mut().for_each(Vec::clear);
    }
}

/// Variables while they are declared.
struct Declared {
    sink: Box<dyn Sink>,
    clock: Option<Variable>,
    channels: Vec<Channel>,
    written: Vec<Written>,
    columns: Vec<Column>,
    /// The channel of each net that has one.
    nets: HashMap<u32, usize>,
    /// Nets that are read, and the place of each.
    read: Vec<u32>,
    places: HashMap<u32, u32>,
}

impl Declared {
    fn channel(&mut self, source: Source, positions: Vec<usize>, width: u32, id: Variable) -> usize {
        self.channels.push(Channel { source, last: None });
        let bits = self.column(id, Kind::Bits(width));
        self.written.push(Written {
            positions,
            bits,
            number: None,
            last: None,
            longest: 0,
            to_look_at: LOOKED_AT,
        });
        self.channels.len() - 1
    }

    fn column(&mut self, variable: Variable, kind: Kind) -> usize {
        self.columns.push(Column { variable, kind, changes: Vec::new() });
        self.columns.len() - 1
    }

    /// Whether a signal of the same net is the same in the file: bits, and number if both have one. A number that also depends on
    /// another bus is its own.
    fn is_also(&self, known: usize, width: u32, reading: Option<Reading>) -> bool {
        let own = |reading: Option<Reading>| !matches!(reading, Some(Reading::Weight(_)));
        let Written { bits, number, .. } = &self.written[known];
        let known = number.map(|(_, reading)| reading);
        self.columns[*bits].kind == Kind::Bits(width)
            && own(reading)
            && own(known)
            && (reading.is_none() || known.is_none() || reading == known)
    }

    fn read(&mut self, net: u32) -> u32 {
        *self.places.entry(net).or_insert_with(|| {
            self.read.push(net);
            self.read.len() as u32 - 1
        })
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
        let known = self.nets.get(&net).copied().filter(|known| self.is_also(*known, width, reading));
        let place = match known {
            Some(known) => {
                let id = self.columns[self.written[known].bits].variable;
                self.sink.wire(name, width, Some(id))?;
                self.written[known].positions.push(position);
                known
            }
            None => {
                let id = self.sink.wire(name, width, None)?;
                // The bus before it is always recorded with it.
                let before = match reading {
                    Some(Reading::Weight(_)) => position.checked_sub(1).map(|before| &signals[before]),
                    _ => None,
                };
                let source = match before {
                    Some(before) => Source::BitAnd(self.read(net), self.read(before.net), ones(before.width)),
                    None => Source::Net(self.read(net), ones(width)),
                };
                let place = self.channel(source, vec![position], width, id);
                self.nets.insert(net, place);
                place
            }
        };
        if let Some(beside) = beside {
            let known = self.written[place].number.map(|(column, _)| column);
            let number = self.sink.real(&beside.name, known.map(|column| self.columns[column].variable))?;
            let column = known.unwrap_or_else(|| self.column(number, Kind::Real));
            self.written[place].number = Some((column, beside.reading));
        }
        Ok(())
    }
}

/// Records the chosen signals.
pub(super) struct Recorder {
    channels: Vec<Channel>,
    /// Nets that are read in each cycle, and their values.
    nets: Vec<u32>,
    values: Vec<u64>,
    batch: Batch,
    /// Batches that have been written.
    empty: Receiver<Batch>,
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
        let mut all = Declared {
            sink,
            clock: None,
            channels: vec![],
            written: vec![],
            columns: vec![],
            nets: HashMap::new(),
            read: vec![],
            places: HashMap::new(),
        };
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
                let flags = flags.map(|net| all.read(net));
                all.channel(Source::Action(flags), Vec::new(), ACTIONS.width(), id);
            }
        }
        for _ in &open {
            all.sink.up()?;
        }
        let Declared { mut sink, clock, channels, written, columns, read: nets, .. } = all;
        let clock = clock.ok_or_else(|| Error::new(ErrorKind::InvalidInput, "the design has no clock"))?;
        sink.declared(clock)?;
        let (sender, batches) = sync_channel(WAITING);
        let (back, empty) = channel();
        let writer = Writer { sink, channels: written, columns };
        let thread = std::thread::Builder::new()
            .name("wave".into())
            .spawn(move || writer.write_all(&batches, &back))?;
        let mut batch = Batch::default();
        batch.begin(channels.len());
        let values = vec![0; nets.len()];
        Ok(Recorder {
            channels,
            nets,
            values,
            batch,
            empty,
            failed: None,
            sender: Some(sender),
            thread: Some(thread),
        })
    }

    /// One settled cycle. `read` tells what nets carry.
    pub(super) fn cycle(&mut self, cycle: u64, read: impl FnOnce(&[u32], &mut [u64])) -> Result<()> {
        if self.batch.count >= BATCH || self.batch.cycles.end() != cycle {
            self.send()?;
            self.batch.cycles.first = cycle;
        }
        read(&self.nets, &mut self.values);
        let values = |place: u32| self.values[place as usize];
        let at = self.batch.cycles.count;
        let mut count = 1;
        for (channel, changes) in self.channels.iter_mut().zip(&mut self.batch.channels) {
            let bits = match channel.source {
                Source::Net(net, mask) => values(net) & mask,
                Source::Action(flags) => flags.action(&values),
                Source::BitAnd(net, before, mask) => values(net) & 1 | (values(before) & mask) << 1,
            };
            if channel.last != Some(bits) {
                channel.last = Some(bits);
                changes.push((at, bits));
                count += 1;
            }
        }
        self.batch.cycles.count += 1;
        self.batch.count += count;
        Ok(())
    }

    /// Hands over what has been recorded since the last time.
    fn send(&mut self) -> Result<()> {
        let mut next = self.empty.try_recv().unwrap_or_default();
        next.begin(self.channels.len());
        let batch = std::mem::replace(&mut self.batch, next);
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
    channels: Vec<Written>,
    columns: Vec<Column>,
}

impl Writer {
    fn write_all(mut self, batches: &Receiver<Batch>, back: &Sender<Batch>) -> Result<Writer> {
        while let Ok(mut batch) = batches.recv() {
            for (channel, changes) in self.channels.iter_mut().zip(&mut batch.channels) {
                channel.put(changes, &mut self.columns);
            }
            self.sink.cycles(batch.cycles, &self.columns)?;
            // The run may have ended.
            let _ = back.send(batch);
        }
        Ok(self)
    }
}

impl Written {
    /// Makes columns of what a channel has recorded, which gets other memory for it.
    fn put(&mut self, recorded: &mut Vec<(u32, u64)>, columns: &mut [Column]) {
        if let Some((column, reading)) = self.number {
            let values = &mut columns[column].changes;
            values.clear();
            match reading {
                Reading::Own(number) => {
                    values.extend(recorded.iter().map(|&(at, bits)| (at, number.value(bits).to_bits())));
                }
                Reading::Weight(_) => values.extend(
                    recorded.iter().map(|&(at, bits)| (at, reading.value(bits & 1, bits >> 1).to_bits())),
                ),
            }
            for &(_, value) in values.iter().take(self.to_look_at as usize) {
                self.longest = self.longest.max(shown(&format!("{:?}", f64::from_bits(value))));
            }
            self.to_look_at = self.to_look_at.saturating_sub(values.len() as u32);
        }
        let bits = &mut columns[self.bits].changes;
        match self.number {
            Some((_, Reading::Weight(_))) => {
                bits.clear();
                let own = recorded.iter().map(|&(at, bits)| (at, bits & 1));
                bits.extend(own.filter(|&(_, bit)| self.last.replace(bit) != Some(bit)));
            }
            _ => std::mem::swap(bits, recorded),
        }
    }
}

/// Characters in which GTKWave shows a decimal value: 16 digits at most, and two of an exponent at least.
fn shown(text: &str) -> usize {
    const MOST: usize = "-1.234567890123456e-05".len();
    let text = text.strip_suffix(".0").unwrap_or(text);
    (text.len() + usize::from(text.contains('e'))).min(MOST)
}

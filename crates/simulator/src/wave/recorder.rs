//! From the nets of settled cycles to changes, and from changes to the file.
//!
//! The thread of the run stores the values of nets. A second thread compares them with the previous cycle, converts changes to decimals
//! and passes them to the file, variable by variable.

use super::PERIOD_NS;
use super::actions::{ACTIONS, Flags, NAME};
use super::signals::{Reading, Signal};
use super::sink::{Column, Cycles, Kind, Sink, Variable};
use flashd_spec::bits::ones;
use std::collections::HashMap;
use std::io::{Error, ErrorKind, Result};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// The source of a recorded value. Nets are given by their place among the nets read.
enum Source {
    /// Bits of a net.
    Net(u32, u64),
    /// The action of a step, by flags of its stage.
    Action(Flags),
    /// A bit of a net, and above it the bits of the net on which its number depends, too.
    BitAnd(u32, u32, u64),
}

/// A recorded value.
struct Channel {
    source: Source,
    /// Its value in the last cycle.
    last: Option<u64>,
    /// Cycles of a batch in which it changes, and to what.
    changes: Vec<(u32, u64)>,
    /// Its places among the design's signals: more than one if they are one net.
    positions: Vec<usize>,
    /// Its bits, by their place among the columns.
    bits: usize,
    /// The column of the decimal value, and its decoding.
    number: Option<(usize, Reading)>,
    /// The bit written last, where others are recorded with it.
    bit: Option<u64>,
    /// Most characters of the number so far, as GTKWave shows it, and how many more values are looked at for that.
    longest: usize,
    to_look_at: u32,
}

/// Values of a bus that are looked at to see how long its decimals are.
const LOOKED_AT: u32 = 10_000;
/// Values of a batch for the other thread: enough that each channel has many, and few enough for the cache.
const BATCH: usize = 1 << 15;
/// Batches that wait there; then the run waits.
const WAITING: usize = 16;
/// Cycles whose values the first level of the cache holds while the channels are gone through.
const TILE: usize = 16;

/// The values of all nets that are read, in some cycles.
#[derive(Default)]
struct Batch {
    cycles: Cycles,
    values: Vec<u64>,
}

/// Variables while they are declared.
struct Declared {
    sink: Box<dyn Sink>,
    clock: Option<Variable>,
    channels: Vec<Channel>,
    columns: Vec<Column>,
    /// The channel of each net that has one.
    nets: HashMap<u32, usize>,
    /// Nets that are read, and the place of each.
    read: Vec<u32>,
    places: HashMap<u32, u32>,
}

impl Declared {
    fn channel(&mut self, source: Source, positions: Vec<usize>, width: u32, id: Variable) -> usize {
        let bits = self.column(id, Kind::Bits(width));
        self.channels.push(Channel {
            source,
            last: None,
            changes: Vec::new(),
            positions,
            bits,
            number: None,
            bit: None,
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
        let own = |reading: Option<Reading>| !matches!(reading, Some(Reading::Weight(..)));
        let Channel { bits, number, .. } = &self.channels[known];
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

    /// Declares a signal and its number.
    fn signal(&mut self, signals: &[Signal], position: usize, name: &str) -> Result<()> {
        let Signal { width, net, reading, .. } = signals[position];
        if signals[position].is_clock() {
            self.clock = Some(self.sink.wire(name, 1, self.clock)?);
            return Ok(());
        }
        let known = self.nets.get(&net).copied().filter(|known| self.is_also(*known, width, reading));
        let place = match known {
            Some(known) => {
                let id = self.columns[self.channels[known].bits].variable;
                self.sink.wire(name, width, Some(id))?;
                self.channels[known].positions.push(position);
                known
            }
            None => {
                let id = self.sink.wire(name, width, None)?;
                let source = match reading {
                    Some(Reading::Weight(_, width, w)) => {
                        Source::BitAnd(self.read(net), self.read(signals[w].net), ones(width))
                    }
                    _ => Source::Net(self.read(net), ones(width)),
                };
                let place = self.channel(source, vec![position], width, id);
                self.nets.insert(net, place);
                place
            }
        };
        if let (Some(reading), Some(name)) = (reading, signals[position].number_name()) {
            let known = self.channels[place].number.map(|(column, _)| column);
            let number = self.sink.real(&name, known.map(|column| self.columns[column].variable))?;
            let column = known.unwrap_or_else(|| self.column(number, Kind::Real));
            self.channels[place].number = Some((column, reading));
        }
        Ok(())
    }
}

/// Records the chosen signals.
pub(super) struct Recorder {
    /// Nets that are read in each cycle.
    nets: Vec<u32>,
    batch: Batch,
    /// Cycles of a whole batch.
    most: u32,
    /// Batches that have been written.
    empty: Receiver<Batch>,
    /// Why the other thread has ended.
    failed: Option<Error>,
    sender: Option<SyncSender<Batch>>,
    thread: Option<JoinHandle<Result<Writer>>>,
}

impl Recorder {
    /// Declares the variables. Signals of one net, such as the clocks, are one variable under several names. Each bit in `actions`, given
    /// by its place among the signals, gets a variable with the step's action.
    pub(super) fn new(
        sink: Box<dyn Sink>,
        signals: &[Signal],
        chosen: &[bool],
        actions: &HashMap<usize, Flags>,
    ) -> Result<Recorder> {
        let mut all = Declared {
            sink,
            clock: None,
            channels: vec![],
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
            all.signal(signals, position, name)?;
            if let Some(&flags) = actions.get(&position) {
                let id = all.sink.named(NAME, &ACTIONS)?;
                let flags = flags.map(|net| all.read(net));
                all.channel(Source::Action(flags), Vec::new(), ACTIONS.width(), id);
            }
        }
        for _ in &open {
            all.sink.up()?;
        }
        let Declared { mut sink, clock, channels, columns, read: nets, .. } = all;
        let clock = clock.ok_or_else(|| Error::new(ErrorKind::InvalidInput, "the design has no clock"))?;
        sink.declared(clock)?;
        let (sender, batches) = sync_channel(WAITING);
        let (back, empty) = channel();
        let writer = Writer { sink, channels, columns, width: nets.len() };
        let thread = std::thread::Builder::new()
            .name("wave".into())
            .spawn(move || writer.write_all(&batches, &back))?;
        let most = (BATCH / nets.len().max(1)).clamp(1, BATCH) as u32;
        let batch = Batch::default();
        Ok(Recorder { nets, batch, most, empty, failed: None, sender: Some(sender), thread: Some(thread) })
    }

    /// Records a settled cycle. `read` returns the values of nets.
    pub(super) fn cycle(&mut self, cycle: u64, read: impl FnOnce(&[u32], &mut [u64])) -> Result<()> {
        let Batch { cycles, .. } = self.batch;
        if cycles.count >= self.most || cycles.end() != cycle {
            self.send()?;
            self.batch.cycles = Cycles { first: cycle, count: 0 };
        }
        let Batch { cycles, values } = &mut self.batch;
        let (from, count) = (cycles.count as usize * self.nets.len(), self.nets.len());
        if values.len() < from + count {
            // All of a batch, whose memory is used again.
            values.resize(self.most as usize * count, 0);
        }
        read(&self.nets, &mut values[from..from + count]);
        cycles.count += 1;
        Ok(())
    }

    /// Hands the batch over to the other thread.
    fn send(&mut self) -> Result<()> {
        let next = self.empty.try_recv().unwrap_or_default();
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

    /// Gives the last cycle its full length; `end` is the cycle after it. Returns the length of each bus's longest decimal value, by
    /// position.
    pub(super) fn finish(mut self, end: u64) -> Result<HashMap<usize, usize>> {
        if self.failed.is_none() {
            // `written` returns the error, if any.
            let _ = self.send();
        }
        let Writer { sink, channels, .. } = self.written()?;
        sink.end(end * PERIOD_NS)?;
        let each =
            |channel: &Channel| channel.positions.iter().map(|p| (*p, channel.longest)).collect::<Vec<_>>();
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

/// The thread's state: writes recorded values to the file.
struct Writer {
    sink: Box<dyn Sink>,
    channels: Vec<Channel>,
    columns: Vec<Column>,
    /// Nets that are read.
    width: usize,
}

impl Writer {
    fn write_all(mut self, batches: &Receiver<Batch>, back: &Sender<Batch>) -> Result<Writer> {
        while let Ok(batch) = batches.recv() {
            self.channels.iter_mut().for_each(|channel| channel.changes.clear());
            let values = &batch.values[..batch.cycles.count as usize * self.width];
            // Without nets there are no channels.
            let width = self.width.max(1);
            for (tile, values) in values.chunks(TILE * width).enumerate() {
                let from = (tile * TILE) as u32;
                self.channels.iter_mut().for_each(|channel| channel.look(from, values.chunks(width)));
            }
            self.channels.iter_mut().for_each(|channel| channel.put(&mut self.columns));
            self.sink.cycles(batch.cycles, &self.columns)?;
            // The run may have ended.
            let _ = back.send(batch);
        }
        Ok(self)
    }
}

impl Channel {
    /// Finds what changes in cycles from a place of the batch on, each with the values of all nets.
    fn look<'a>(&mut self, from: u32, cycles: impl Iterator<Item = &'a [u64]>) {
        match self.source {
            Source::Net(net, mask) => self.record(from, cycles.map(|values| values[net as usize] & mask)),
            Source::Action(flags) => {
                self.record(from, cycles.map(|values| flags.action(&|net| values[net as usize])));
            }
            Source::BitAnd(net, before, mask) => self.record(
                from,
                cycles.map(|values| values[net as usize] & 1 | (values[before as usize] & mask) << 1),
            ),
        }
    }

    fn record(&mut self, from: u32, values: impl Iterator<Item = u64>) {
        let mut last = self.last;
        for (at, bits) in (from..).zip(values) {
            if last != Some(bits) {
                last = Some(bits);
                self.changes.push((at, bits));
            }
        }
        self.last = last;
    }

    /// Makes columns of the changes.
    fn put(&mut self, columns: &mut [Column]) {
        let recorded = &mut self.changes;
        if let Some((column, reading)) = self.number {
            let values = &mut columns[column].changes;
            values.clear();
            match reading {
                Reading::Own(..) => {
                    values.extend(recorded.iter().map(|&(at, bits)| (at, reading.value(bits, 0).to_bits())));
                }
                Reading::Weight(..) => values.extend(
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
            Some((_, Reading::Weight(..))) => {
                bits.clear();
                let own = recorded.iter().map(|&(at, bits)| (at, bits & 1));
                bits.extend(own.filter(|&(_, bit)| self.bit.replace(bit) != Some(bit)));
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

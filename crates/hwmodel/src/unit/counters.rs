//! The counters: a row each.

use flashd_spec::unit::UnitConfig;

/// Purpose of a read at the memory port. The number is its `arid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ReadKind {
    /// Descriptors and block tables.
    Control,
    /// Queries.
    Queries,
    /// Keys.
    Keys,
    /// Values.
    Values,
    /// States.
    States,
}

/// An event that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A beat is read.
    BeatRead(ReadKind),
    /// Bytes of the job's rows in it.
    BytesRead(ReadKind),
    /// A beat is written.
    BeatWritten,
    /// Bytes of it that are written.
    BytesWritten,
    /// A key has met its queries, of which some needs its value.
    ValueRead,
    /// A key has met its queries, of which none needs its value.
    ValueSkipped,
    /// The array could move but for a key.
    KeyMissing,
    /// The array could move but for a value.
    ValueMissing,
    /// The array could move but for a result that cannot leave.
    ResultBlocked,
    /// The array could move but for the queries of the next block.
    QueryMissing,
}

/// A counter: its event, and its register's name, address and meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The event.
    pub event: Event,
    /// Name of the register.
    pub name: &'static str,
    /// Its address.
    pub offset: u32,
    /// Bits of the number that is added in a cycle.
    pub bits: u32,
    /// Its meaning.
    pub meaning: &'static str,
}

/// The counters by ascending address, which is also the order of the events that they count.
pub fn counters(config: &UnitConfig) -> Vec<Counter> {
    use Event::*;
    use ReadKind::*;
    // A row has at most 4 KiB.
    let bytes = 13;
    let partial = config.array.core.partial;
    let rows = [
        (true, BeatRead(Control), "BEATS_CONTROL", 0xa4, "beats of descriptors and block tables read"),
        (true, BeatRead(Queries), "BEATS_QUERIES", 0xa8, "beats of queries read"),
        (true, BeatRead(Keys), "BEATS_KEYS", 0xac, "beats of keys read"),
        (true, BeatRead(Values), "BEATS_VALUES", 0xb0, "beats of values read"),
        (partial, BeatRead(States), "BEATS_STATES", 0xb4, "beats of states read"),
        (true, BytesRead(Control), "BYTES_CONTROL", 0xb8, "bytes of descriptors and block tables read"),
        (true, BytesRead(Queries), "BYTES_QUERIES", 0xbc, "bytes of queries read"),
        (true, BytesRead(Keys), "BYTES_KEYS", 0xc0, "bytes of keys read"),
        (true, BytesRead(Values), "BYTES_VALUES", 0xc4, "bytes of values read"),
        (partial, BytesRead(States), "BYTES_STATES", 0xc8, "bytes of states read"),
        (true, BeatWritten, "BEATS_WRITTEN", 0xcc, "beats written"),
        (true, BytesWritten, "BYTES_WRITTEN", 0xd0, "bytes written"),
        (true, ValueRead, "VALUES_READ", 0xd4, "keys whose value some query of the block needed"),
        (true, ValueSkipped, "VALUES_SKIPPED", 0xd8, "keys whose value no query needed"),
        (true, KeyMissing, "WAIT_KEYS", 0xdc, "cycles in which the array waited for a key"),
        (true, ValueMissing, "WAIT_VALUES", 0xe0, "cycles in which the array waited for a value"),
        (true, ResultBlocked, "WAIT_RESULTS", 0xe4, "cycles in which the array waited for a result to leave"),
        (
            true,
            QueryMissing,
            "WAIT_QUERIES",
            0xe8,
            "cycles in which the array waited for the queries of a block",
        ),
    ];
    let counter = |(_, event, name, offset, meaning): (bool, Event, _, _, _)| {
        let bits = if matches!(event, BytesRead(_) | BytesWritten) { bytes } else { 1 };
        Counter { event, name, offset, bits, meaning }
    };
    rows.into_iter().filter(|row| row.0).map(counter).collect()
}

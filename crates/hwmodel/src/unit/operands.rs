//! The readers of queries, keys and values.

use super::buffer::row_buffer;
use super::bursts::RowShape;
use super::counters::ReadKind;
use super::fields::Fields;
use super::places::{places, row_address};
use super::ports::Inputs;
use super::requests::KindFunction;
use super::rows::{ReaderShape, Returned, RowReader, row_reader};
use super::segments::{ROW_BITS, Segment};
use super::sequence::SequenceOutputs;
use super::values::value_pointer;
use crate::function;
use crate::rtl::{Module, Wire};
use crate::wrapper::around::Shapes;
use crate::wrapper::beat::Shape;
use crate::wrapper::logic::BothFunction;
use flashd_spec::config::{Carried, Values};
use flashd_spec::unit::UnitConfig;

impl Inputs {
    /// The beats of a kind.
    pub fn returned(&self, m: &mut Module, kind: ReadKind) -> Returned<'_> {
        let name = format!("{kind:?}_beat").to_lowercase();
        let [push] = m.call(name, KindFunction { id: kind as u64 }, [self.rvalid, self.rid]);
        Returned { push, data: &self.rdata, resp: self.rresp }
    }
}

function! {
    /// The queries of a job are requested, one after another.
    pub struct QueryFeedFunction {}
    name(this) = "query_feed";
    doc = "From the begin of a job to its last query, while there is room.";
    inputs { begins: 1, active: 1, room: 1, job_ends: 1 }
    outputs { push: 1, next_active: 1 }
    eval<W> {
        let push = active.and(&room).named("pushes");
        [push.clone(), begins.or(&active.and(&push.and(&job_ends).not()))]
    }
}

function! {
    /// Whether a segment is read from memory.
    pub struct OutsideFunction {}
    name(this) = "segment_outside";
    doc = "A segment that is neither in the buffer nor without rows.";
    inputs { push: 1, stored: 1, absent: 1 }
    outputs { read: 1 }
    eval<W> { [push.and(&stored.or(&absent).not())] }
}

function! {
    /// One row.
    pub struct OneRowFunction {}
    name(this) = "one_row";
    doc = "A segment of one row of the memory.";
    inputs {}
    outputs { rows: ROW_BITS, no: 1, length: 32 }
    eval<W> { [W::constant(ROW_BITS, 1), W::zero(1), W::zero(32)] }
}

/// Inputs of all readers.
pub struct Readers<'a> {
    /// The unit.
    pub config: &'a UnitConfig,
    /// Its ports.
    pub inputs: &'a Inputs,
    /// The shapes of rows in beats of the port.
    pub shapes: &'a Shapes,
    /// The job.
    pub job: &'a Fields,
    /// A count of one row, low, and no length: [`OneRowFunction`].
    pub constants: [Wire; 3],
}

/// The readers of keys and values, each with a wire that a beat comes.
pub struct Operands {
    /// Keys.
    pub k: (RowReader, Wire),
    /// Values.
    pub v: (RowReader, Wire),
    /// Both have room for a segment.
    pub room: Wire,
    /// Where values are asked for.
    pub asking: Option<Asking>,
}

/// Values that are asked for.
pub struct Asking {
    /// The address of the value of the next step.
    pub pointer: Wire,
    /// Open: a value is asked for, and there is room for it.
    pub push: Wire,
    /// Open: its address.
    pub address: Wire,
}

impl Readers<'_> {
    /// The reader of a kind, and whether a beat of it comes.
    fn read(
        &self,
        m: &mut Module,
        name: &str,
        kind: ReadKind,
        (push, segment, stride): (Wire, &Segment, Wire),
        [grant, ready]: [Wire; 2],
    ) -> (RowReader, Wire) {
        let config = self.config;
        let (carried, shape) = match kind {
            ReadKind::Keys => (Carried::Key, &self.shapes.k),
            ReadKind::Values => (Carried::Value, &self.shapes.v),
            ReadKind::States => (Carried::State, self.state_shape()),
            _ => (Carried::Query, &self.shapes.q),
        };
        let (row, room) = (config.row_shape(carried), config.room(carried));
        // Where values are asked for each is a segment.
        let one_by_one = carried == Carried::Value && config.values == Values::Requested;
        let segments = if one_by_one { room / row.beats() } else { 1 };
        let reader = ReaderShape { row, room, segments, word: shape.word_bits() };
        let returned = self.inputs.returned(m, kind);
        let Some(here) = segment.stored else {
            return (
                row_reader(m, name, reader, (push, segment), stride, &returned, [grant, ready]),
                returned.push,
            );
        };
        // Rows in the buffer and absent rows are not read.
        let outside = format!("{name}_outside");
        let [read] = m.call(outside, OutsideFunction {}, [push, here, segment.absent]);
        let take = m.later(1);
        let rows = row_reader(m, name, reader, (read, segment), stride, &returned, [grant, take]);
        let shape = (self.config.kv_buffer.ilog2(), row, shape.word_bits());
        let kept = row_buffer(m, &format!("{name}_buffer"), shape, (push, segment), &rows.stream, ready);
        m.drive(take, kept.take);
        let [room] = m.call(format!("{name}_room"), BothFunction {}, [rows.room, kept.room]);
        (RowReader { room, stream: kept.stream, ..rows }, returned.push)
    }

    /// The shape of states.
    fn state_shape(&self) -> &Shape {
        self.shapes.s.as_ref().unwrap_or_else(|| unreachable!("states of a core without partial results"))
    }

    /// Queries, a segment each. `begin`: a job begins; `controls`: a burst is granted, a beat is taken.
    pub fn queries(&self, m: &mut Module, begin: Wire, controls: [Wire; 2]) -> (RowReader, Wire) {
        self.of_queries(m, ("query", ReadKind::Queries, "Q", "Q"), begin, controls)
    }

    /// States that queries start from. `begin`: a job that has them begins.
    pub fn states(&self, m: &mut Module, begin: Wire, controls: [Wire; 2]) -> (RowReader, Wire) {
        self.of_queries(m, ("state", ReadKind::States, "STATE_IN", "STATE"), begin, controls)
    }

    /// A row for each query, from the field `base` on, with the strides of the fields `strides`.
    fn of_queries(
        &self,
        m: &mut Module,
        (name, kind, base, strides): (&str, ReadKind, &str, &str),
        begin: Wire,
        controls: [Wire; 2],
    ) -> (RowReader, Wire) {
        let (config, job, [one_row, no, _]) = (self.config, self.job, self.constants);
        let push_later = m.later(1);
        let part = |what: &str| format!("{name}_{what}");
        let place = places(m, &part("places"), config.array.queries, job, push_later);
        let fields = [base, &format!("{strides}_ROW"), &format!("{strides}_HEAD")].map(|name| job.get(name));
        let steps = [begin, push_later];
        let address = row_address(m, &part("address"), config.address_bits, fields, &place, steps);
        let row = Segment::plain(push_later, address, one_row, [no, place.block_ends]);
        let read = self.read(m, &part("rows"), kind, (push_later, &row, fields[1]), controls);
        let active = m.state(part("feed_q"), 1);
        let feed = [begin, active, read.0.room, place.job_ends];
        let [push, next_active] = m.call(part("feed"), QueryFeedFunction {}, feed);
        m.drive(push_later, push);
        m.next(active, next_active);
        read
    }

    /// Keys, and values of the same segments or on request. `ready`: beats of keys and of values are taken; `steps`: a key's step
    /// reaches the value stage; the array moves.
    pub fn keys_and_values(
        &self,
        m: &mut Module,
        rows: &SequenceOutputs,
        grants: &[Wire],
        ready: [Wire; 2],
        steps: [Wire; 2],
    ) -> Operands {
        let (job, [one_row, no, _]) = (self.job, self.constants);
        let push_rows = m.later(1);
        let of_keys = (push_rows, &rows.keys, job.get("K_ROW"));
        let k = self.read(m, "key_rows", ReadKind::Keys, of_keys, [grants[0], ready[0]]);
        let stride = job.get("V_ROW");
        let controls = [grants[1], ready[1]];
        let (v, room, asking) = match self.config.values {
            Values::Requested => {
                let of_values = (push_rows, &rows.values);
                let (pointer, room) = value_pointer(m, "value_pointer", of_values, stride, steps);
                let (push, address) = (m.later(1), m.later(self.config.address_bits));
                let asked = Segment::plain(push, address, one_row, [no, no]);
                let v = self.read(m, "value_rows", ReadKind::Values, (push, &asked, stride), controls);
                (v, room, Some(Asking { pointer, push, address }))
            }
            Values::All => {
                let of_values = (push_rows, &rows.values, stride);
                let v = self.read(m, "value_rows", ReadKind::Values, of_values, controls);
                let room = v.0.room;
                (v, room, None)
            }
        };
        let [room] = m.call("segment_room", BothFunction {}, [k.0.room, room]);
        let [pushes] = m.call("segment_push", BothFunction {}, [rows.keys.valid, room]);
        m.drive(push_rows, pushes);
        Operands { k, v, room, asking }
    }
}

/// The rows of a unit, for its readers and its writer.
pub trait Rows {
    /// The rows of a kind.
    fn row_shape(&self, carried: Carried) -> RowShape;
}

impl Rows for UnitConfig {
    fn row_shape(&self, carried: Carried) -> RowShape {
        RowShape {
            bytes: self.row_bytes(carried),
            beat: (self.beat_bits / 8).ilog2(),
            address: self.address_bits,
        }
    }
}

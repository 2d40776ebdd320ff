//! The streams of a unit: rows from the memory to the array, and results back.

use super::bursts::Burst;
use super::counters::{Counter, Event, ReadKind};
use super::descriptors::ControlReader;
use super::fields::{Fields, Flags, low_bits};
use super::operands::{OneRowFunction, Operands, Readers};
use super::ports::Inputs;
use super::rows::{Fault, RowReader};
use super::sequence::SequenceOutputs;
use super::sight::sight;
use super::writer::RowWriter;
use crate::function;
use crate::rtl::{Module, Wire};
use crate::wrapper::around::{AroundEvents, Control, Shapes, Sinks, around_array};
use crate::wrapper::logic::{BothFunction, EitherFunction};
use crate::wrapper::ports::SinkInputs;
use flashd_spec::config::Carried;
use flashd_spec::numerics::Numerics;
use flashd_spec::unit::UnitConfig;
use std::sync::Arc;

function! {
    /// The bytes of a row, when it ends.
    pub struct BytesFunction { bytes: u64 }
    name(this) = format!("bytes_{}", this.bytes);
    doc = "The bytes of a row, with its last beat.";
    inputs { ends: 1 }
    outputs { bytes: 13 }
    eval<W> { [ends.repeat(13).and(&W::constant(13, this.bytes))] }
}

/// The streams.
pub struct Streams {
    /// Bursts that are offered.
    pub bursts: Vec<(ReadKind, Burst)>,
    /// Keys and values have room for a segment.
    pub room: Wire,
    /// Faults of the readers, then of the writer.
    pub faults: Vec<Fault>,
    /// The writer.
    pub writer: RowWriter,
    /// The last row of the job is taken by the memory.
    pub all_written: Wire,
    events: AroundEvents,
    beats: Vec<(ReadKind, Wire, Wire, u32)>,
    written: [Wire; 2],
}

/// The array and its streams. `controls`: a job begins; nothing new may be requested; a job is under way; the reset. `grants`: of
/// queries, keys and values.
pub fn streams(
    m: &mut Module,
    config: &UnitConfig,
    (job, flags): (&Fields, &Flags),
    [begin, stop, busy, reset]: [Wire; 4],
    inputs: &Inputs,
    (rows, grants): (&SequenceOutputs, &[Wire]),
) -> Streams {
    let inner = config.streams();
    let on_bus = Shapes::of_bus(config);
    // Keys and values leave a buffer as whole rows.
    let shapes = match config.kv_buffer {
        0 => on_bus.clone(),
        _ => Shapes { k: on_bus.k.whole(), v: on_bus.v.whole(), ..on_bus.clone() },
    };
    let constants = m.call("one_row", OneRowFunction {}, []);
    let readers = Readers { config, inputs, shapes: &on_bus, job, constants };
    let [q_tready, k_tready, v_tready, o_tready] = [(); 4].map(|()| m.later(1));
    let q = readers.queries(m, begin, [grants[0], q_tready]);
    let states = flags.states.map(|[_, states, _]| {
        let [begin] = m.call("states_begin", BothFunction {}, [begin, states]);
        let s_tready = m.later(1);
        (readers.states(m, begin, [grants[1], s_tready]), s_tready)
    });
    let steps = [(); 2].map(|()| m.later(1));
    let of_keys = &grants[grants.len() - 2..];
    let operands = readers.keys_and_values(m, rows, of_keys, [k_tready, v_tready], steps);
    let Operands { k, v, .. } = &operands;

    let taken = m.later(1);
    let requested = operands.asking.as_ref();
    let sinks = Sinks {
        q: sink(&q.0, true, false),
        k: sink(&k.0, true, config.array.core.masks),
        v: sink(&v.0, requested.is_none(), false),
        s: states.as_ref().map(|((states, _), _)| sink(states, true, false)),
        vreq_tready: requested.map(|_| v.0.room),
        o_tready,
    };
    let request = requested.map(|asking| asking.pointer);
    let control = readers.control(m, flags, (busy, taken), request);
    let n = Arc::new(Numerics::new(&config.array.core));
    let sources = around_array(m, &inner, &n, &shapes, (&sinks, &control), reset);
    m.drive_all(&[q_tready, k_tready, v_tready], &[sources.q_tready, sources.k_tready, sources.v_tready]);
    if let (Some((_, tready)), Some(taken)) = (&states, sources.s_tready) {
        m.drive(*tready, taken);
    }
    m.drive(taken, sources.events.taken);
    m.drive_all(&steps, &[sources.events.steps[0], sources.events.moves]);
    if let (Some(asking), Some([asks, at])) = (requested, sources.vreq) {
        let [asked] = m.call("value_asked", BothFunction {}, [asks, v.0.room]);
        m.drive_all(&[asking.push, asking.address], &[asked, at]);
    }
    let written = readers.results(m, (flags, &n), &shapes, &sources, [begin, stop]);
    m.drive(o_tready, written.take);

    let [fault, resp, at] = written.writer.fault;
    let of_states = states.iter().map(|(states, _)| (ReadKind::States, states));
    let of_keys = [(ReadKind::Keys, k), (ReadKind::Values, v)];
    let beats: Vec<_> = [(ReadKind::Queries, &q)].into_iter().chain(of_states).chain(of_keys).collect();
    Streams {
        bursts: beats.iter().map(|(kind, (rows, _))| (*kind, rows.burst)).collect(),
        room: operands.room,
        faults: beats.iter().map(|(_, (rows, _))| rows.fault).chain([Fault { fault, resp, at }]).collect(),
        beats: beats
            .iter()
            .map(|(kind, (rows, beat))| (*kind, *beat, rows.row_ends, config.row_bytes(carried(*kind))))
            .collect(),
        writer: written.writer,
        all_written: written.all,
        events: sources.events,
        written: [written.beat, written.bytes],
    }
}

impl Readers<'_> {
    /// What decides how blocks run. `taken`: the array takes a query; `request`: the contents of a request for a value.
    fn control(
        &self,
        m: &mut Module,
        flags: &Flags,
        (busy, taken): (Wire, Wire),
        request: Option<Wire>,
    ) -> Control {
        let (array, job) = (&self.config.array, self.job);
        let sees = array.core.masks.then(|| {
            let shape = (array.queries, array.key_index_bits());
            sight(m, "sight", shape, job, [flags.causal, flags.windowed], taken)
        });
        let bits = array.core.products().v.exponent_bits;
        let exponent = array.core.has_value_exponent();
        Control {
            run: busy,
            busy: request.map(|_| busy),
            length: self.constants[2],
            v_exponent: exponent.then(|| low_bits(m, "v_exponent", job.get("V_EXPONENT"), bits)),
            q_scale: self.config.has_scale().then(|| job.get("SCALE")),
            q_from: sees.map(|sees| sees[0]),
            q_to: sees.map(|sees| sees[1]),
            states: flags.states.map(|[_, states, _]| states),
            request,
        }
    }
}

/// The rows of a kind.
fn carried(kind: ReadKind) -> Carried {
    match kind {
        ReadKind::Keys => Carried::Key,
        ReadKind::Values => Carried::Value,
        ReadKind::States => Carried::State,
        _ => Carried::Query,
    }
}

/// A stream of rows as a sink has it.
fn sink(rows: &RowReader, packets: bool, masks: bool) -> SinkInputs {
    let stream = &rows.stream;
    SinkInputs {
        tvalid: stream.valid,
        tdata: stream.data.clone(),
        tlast: packets.then_some(stream.last),
        tuser: masks.then_some(stream.absent),
    }
}

impl Streams {
    /// The event that a counter adds up.
    pub fn event(&self, m: &mut Module, counter: &Counter, control: &ControlReader) -> Wire {
        let [read, skipped, value, result, key, query] = self.events.counted;
        let name = format!("{}_event", counter.name.to_lowercase());
        let of = |kind: ReadKind| self.beats.iter().find(|(of, ..)| *of == kind);
        match counter.event {
            Event::BeatRead(kind) => of(kind).map_or(control.beat, |(_, beat, ..)| *beat),
            Event::BytesRead(kind) => {
                let (ends, bytes) = of(kind).map_or((control.used, 4), |(.., ends, bytes)| (*ends, *bytes));
                m.call(name, BytesFunction { bytes: bytes.into() }, [ends])[0]
            }
            Event::BeatWritten => self.written[0],
            Event::BytesWritten => self.written[1],
            Event::ValueRead => read,
            Event::ValueSkipped => skipped,
            Event::KeyMissing => key,
            Event::ValueMissing => match self.events.request_stall {
                Some(stall) => m.call(name, EitherFunction {}, [value, stall])[0],
                None => value,
            },
            Event::ResultBlocked => result,
            Event::QueryMissing => query,
        }
    }
}

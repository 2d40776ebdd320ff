//! The rows of one kind: from segments to the beats of a stream.

use super::align::ReadAlign;
use super::bursts::{Burst, RowShape, bursts};
use super::fifo::queue;
use super::segments::{ROW_BITS, Segment};
use crate::function;
use crate::rtl::{Module, Tag, VectorLeaf, Wire, bundle};
use crate::word::{index_bits, ones};
use crate::wrapper::logic::{BothFunction, WithoutFunction};

/// Logarithm of the segments that wait for their bursts.
const BURST_QUEUE_BITS: u32 = 1;

/// Logarithm of the segments that wait for their beats, at least.
const BEAT_QUEUE_BITS: u32 = 3;

function! {
    /// The progress of a row's beats.
    pub struct BeatRulesFunction { row: RowShape }
    name(this) = format!("row_beats_{}", this.row.ident());
    doc = "A row that does not begin with a beat needs the beat before the one that comes; its last bytes may need no other.";
    inputs {
        waiting: 1, absent: 1, last: 1, active: 1, primed: 1, address: this.row.address,
        beat: index_bits(this.row.beats() as usize), rows: ROW_BITS, filled: 1, ready: 1
    }
    outputs {
        take: 1, valid: 1, ends: 1, pop: 1, row_ends: 1, next_active: 1, next_primed: 1,
        next_beat: index_bits(this.row.beats() as usize)
    }
    eval<W> {
        let RowShape { bytes, beat: log, .. } = this.row;
        let beats = this.row.beats();
        let offset = address.slice(0, log);
        let aligned = offset.any().not().named("aligned");
        // The bytes of a row's last beat that are not the row's.
        let slack = u64::from((beats << log) - bytes);
        let enough = W::constant(log, slack.min(ones(log))).lt(&offset).not();
        let final_beat = beat.eq(&W::constant(beat.width(), u64::from(beats) - 1)).named("final_beat");
        let left = final_beat.and(&enough).and(&aligned.not()).named("is_left");
        let needs = absent.not().and(&left.not()).named("needs_beat");
        let able = absent.or(&aligned).or(&primed).named("able");
        let valid = active.and(&able).and(&needs.not().or(&filled)).named("offered");
        let sent = valid.and(&ready).named("sent");
        let primes = active.and(&able.not()).and(&filled).named("primes");
        let row_ends = sent.and(&final_beat).named("row_end");
        let last_row = rows.eq(&W::constant(ROW_BITS, 1)).named("last_row");
        let segment_ends = row_ends.and(&last_row).named("segment_end");
        let take = waiting.and(&active.not().or(&segment_ends)).named("takes");
        let following = beat.add(&W::constant(beat.width(), 1)).named("following");
        let counted = final_beat.not().repeat(beat.width()).and(&following);
        [
            take.clone(),
            valid.clone(),
            final_beat.and(&last_row).and(&last),
            primes.or(&sent.and(&needs)),
            row_ends.clone(),
            take.or(&active.and(&segment_ends.not())),
            primes.or(&primed.and(&row_ends.not())),
            sent.select(&counted, &beat),
        ]
    }
}

function! {
    /// Whether an answer of the memory that is used is an error.
    pub struct FaultFunction {}
    name(this) = "memory_fault";
    doc = "An answer is SLVERR or DECERR.";
    inputs { used: 1, resp: 2 }
    outputs { fault: 1 }
    eval<W> { [used.and(&resp.bit(1))] }
}

/// A beat that the memory returns.
pub struct Returned<'a> {
    /// It is of this kind.
    pub push: Wire,
    /// Its words, of 64 bits.
    pub data: &'a [Wire],
    /// Its response.
    pub resp: Wire,
}

/// The beats of a stream.
pub struct RowStream {
    /// A beat is offered.
    pub valid: Wire,
    /// Its words.
    pub data: Vec<Wire>,
    /// It ends its block.
    pub last: Wire,
    /// It is of a row that no memory has.
    pub absent: Wire,
}

/// An error of the memory.
#[derive(Clone, Copy)]
pub struct Fault {
    /// There is one.
    pub fault: Wire,
    /// The response.
    pub resp: Wire,
    /// The address of the row.
    pub at: Wire,
}

bundle!(Fault { fault, resp, at });

/// Outputs of [`row_reader`].
pub struct RowReader {
    /// There is room for a segment.
    pub room: Wire,
    /// The burst that is offered.
    pub burst: Burst,
    /// The rows.
    pub stream: RowStream,
    /// A beat came with an error.
    pub fault: Fault,
    /// The last beat of a row of the memory is handed on.
    pub row_ends: Wire,
}

/// Configuration of a reader.
#[derive(Clone, Copy)]
pub struct ReaderShape {
    /// Its rows.
    pub row: RowShape,
    /// Beats that may be on their way or wait.
    pub room: u32,
    /// Segments that may be on their way, at least.
    pub segments: u32,
    /// Bits of a word of the stream.
    pub word: u32,
}

/// Reads rows. `push`: a segment comes, only if there is room; `stride`: bytes from a row to the next; `grant`: the burst is taken; `ready`: the
/// stream's beat is taken.
pub fn row_reader(
    around: &mut Module,
    name: &str,
    shape: ReaderShape,
    (push, segment): (Wire, &Segment),
    stride: Wire,
    returned: &Returned,
    [grant, ready]: [Wire; 2],
) -> RowReader {
    let ReaderShape { row, room, segments, word } = shape;
    let segment_bits = index_bits(segments as usize).max(BEAT_QUEUE_BITS);
    // Bursts do not depend on the flag of a last segment.
    let deep = if segment_bits > BEAT_QUEUE_BITS { format!("_{}", 1 << segment_bits) } else { String::new() };
    let name_of_module = format!("row_reader_{}_{room}_{word}{deep}", row.ident());
    let tag = Tag::module(name_of_module, "Reads the rows of segments.").open();
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let [push, address, rows] =
            m.input_each([("push", push), ("address", segment.address), ("rows", segment.rows)]);
        let [absent, last, stride] =
            m.input_each([("absent", segment.absent), ("last", segment.last), ("stride", stride)]);
        let [beat_push, resp] = m.input_each([("beat", returned.push), ("resp", returned.resp)]);
        let data = m.inputs("data", returned.data);
        let [grant, ready] = m.input_each([("grant", grant), ("ready", ready)]);

        // Segments wait twice: for their bursts, and for their beats.
        let [take_bursts, take_beats, pop] = [(); 3].map(|()| m.later(1));
        let mut wait = |name: &str, bits, take| {
            let waiting = queue(m, name, bits, push, &[&[address], &[rows], &[absent, last]], take);
            let [address, rows, flags] = [0, 1, 2].map(|group| &waiting.words[group]);
            (Segment::plain(waiting.valid, address[0], rows[0], [flags[0], flags[1]]), waiting.room)
        };
        let (to_request, room_to_request) = wait("to_request", BURST_QUEUE_BITS, take_bursts);
        let (to_receive, room_to_receive) = wait("to_receive", segment_bits, take_beats);
        let (burst, take) = bursts(m, "bursts", (row, room), &to_request, stride, [grant, pop]);
        m.drive(take_bursts, take);

        let bits = index_bits(room as usize);
        let beats = queue(m, "beats", bits, beat_push, &[&data, &[resp]], pop);
        let received = receive(m, row, &to_receive, stride, [beats.valid, ready]);
        m.drive_all(&[take_beats, pop], &[received.take, received.pop]);
        let before = m.registers_if("before_q", received.pop, &beats.words[0]);
        let offset = super::fields::low_bits(m, "offset", received.at, row.beat);
        let leaf = VectorLeaf::new(ReadAlign { beat: row.beat, word });
        let inputs = [&beats.words[0], &before, &[offset, received.absent][..]].concat();
        let aligned = m.leaf("align", leaf, &inputs);
        let resp = beats.words[1][0];
        let [fault] = m.call("fault", FaultFunction {}, [received.pop, resp]);
        let [counted] = m.call("counted", WithoutFunction {}, [received.row_ends, received.absent]);
        let [room] = m.call("room", BothFunction {}, [room_to_request, room_to_receive]);
        RowReader {
            room: m.output("room", room),
            burst: m.hand_out("burst_", &burst),
            stream: RowStream {
                valid: m.output("valid", received.valid),
                data: m.outputs("y", &aligned),
                last: m.output("ends", received.ends),
                absent: m.output("is_absent", received.absent),
            },
            fault: m.hand_out("error_", &Fault { fault, resp, at: received.at }),
            row_ends: m.output("row_ends", counted),
        }
    })
}

/// What becomes of the beats that have come.
struct Received {
    take: Wire,
    valid: Wire,
    ends: Wire,
    pop: Wire,
    row_ends: Wire,
    at: Wire,
    absent: Wire,
}

/// The row that is received, and its beats.
fn receive(
    m: &mut Module,
    row: RowShape,
    segment: &Segment,
    stride: Wire,
    [filled, ready]: [Wire; 2],
) -> Received {
    let (active, primed) = (m.state("active_q", 1), m.state("primed_q", 1));
    let beat = m.state("beat_q", index_bits(row.beats() as usize));
    let (address, rows) = (m.state("address_q", row.address), m.state("rows_q", ROW_BITS));
    let take_later = m.later(1);
    let absent = m.register_if("null_q", take_later, segment.absent);
    let last = m.register_if("last_q", take_later, segment.last);
    let rules = [segment.valid, absent, last, active, primed, address, beat, rows, filled, ready];
    let [take, valid, ends, pop, row_ends, next_active, next_primed, next_beat] =
        m.call("receive_rules", BeatRulesFunction { row }, rules);
    m.drive(take_later, take);
    m.next_all(&[active, primed, beat], &[next_active, next_primed, next_beat]);
    let next = [take, row_ends, segment.address, segment.rows, address, rows, stride];
    let next: [Wire; 2] = m.call("next_received", super::bursts::NextRowFunction { bits: row.address }, next);
    m.next_all(&[address, rows], &next);
    Received { take, valid, ends, pop, row_ends, at: address, absent }
}

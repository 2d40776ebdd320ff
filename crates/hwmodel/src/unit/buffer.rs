//! The buffer of rows: keys or values of the first tokens of a head stay on chip, and later blocks read them from there.
//!
//! Rows leave in the order of segments. A stored segment comes from the buffer, a row a cycle; others come from the memory port, and are
//! written to the buffer on their way if they are to be kept.

use super::align::words_of;
use super::bursts::RowShape;
use super::fifo::queue;
use super::memory::{ReadPort, WritePort, memory};
use super::rows::RowStream;
use super::segments::{ROW_BITS, Segment};
use crate::array::results::SelectFunction;
use crate::function;
use crate::rtl::{Module, Pins, Tag, VectorFunction, VectorLeaf, Wire};
use crate::word::{Word, index_bits};
use crate::wrapper::beat::BeatSelect;
use crate::wrapper::logic::{BothFunction, HighFunction};
use crate::wrapper::packet::{FullFunction, NextBeatFunction, RoomFunction};

/// Logarithm of the segments that wait for their rows.
const SEGMENT_QUEUE_BITS: u32 = 3;
/// Bits of a word of the buffer.
const BUFFER_WORD: u32 = 64;

/// Joins or cuts words.
struct Rewords {
    count: usize,
    from: u32,
    to: u32,
    /// The words are zero while this input is high.
    absent: bool,
}

impl VectorFunction for Rewords {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let Rewords { count, from, to, absent } = *self;
        let suffix = if absent { "_or_zero" } else { "" };
        let tag = Tag::module(
            format!("words_{count}x{from}_to_{to}{suffix}"),
            "The same bits in words of another width.",
        );
        let mut inputs = vec![Pins::vector("x", count, from)];
        inputs.extend(absent.then(|| Pins::word("absent", 1)));
        (tag, inputs, vec![Pins::vector("y", count * from as usize / to as usize, to)])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let words = match self.absent {
            true => {
                let keep = inputs[1][0].not().repeat(self.from);
                words_of(&inputs[0].iter().map(|word| keep.and(word)).collect::<Vec<W>>(), self.to)
            }
            false => words_of(&inputs[0], self.to),
        };
        vec![words]
    }
}

function! {
    /// Whether a beat is stored in the row that comes.
    pub struct GatherFunction {}
    name(this) = "gather_beat";
    doc = "A beat comes while there is room for its row.";
    inputs { valid: 1, room: 1, final_beat: 1 }
    outputs { fill: 1, row: 1 }
    eval<W> {
        let fill = valid.and(&room).named("fills");
        [fill.clone(), fill.and(&final_beat)]
    }
}

function! {
    /// The rows of the segments, from both sources.
    pub struct MergeRulesFunction { bits: u32 }
    name(this) = format!("merge_rows_{}", this.bits);
    doc = "A stored row, or one that is not in memory, is read a cycle before it is offered; another is offered when it has come.";
    inputs {
        waiting: 1, stored: 1, absent: 1, keep: 1, last: 1, active: 1, rows: ROW_BITS, place: this.bits, reading: 1, read_last: 1,
        gathered: 1, ready: 1
    }
    outputs {
        take: 1, fetch: 1, valid: 1, ends: 1, write: 1, pop: 1, moves: 1, next_active: 1, next_reading: 1,
        next_place: this.bits, fetch_last: 1
    }
    eval<W> {
        let here = stored.or(&absent).named("here");
        let sent_read = reading.and(&ready).named("sent_read");
        let fetch = active.and(&here).and(&reading.not().or(&ready)).named("fetches");
        let direct = active.and(&here.not()).and(&gathered).and(&reading.not()).named("direct_row");
        let passes = direct.and(&ready).named("passes");
        let moves = fetch.or(&passes).named("row_moves");
        let last_row = rows.eq(&W::constant(ROW_BITS, 1)).named("last_row");
        let ends = moves.and(&last_row).named("segment_end");
        let take = waiting.and(&active.not().or(&ends)).named("takes");
        let ahead = place.add(&W::constant(this.bits, 1));
        let block_ends = last_row.and(&last).named("block_end");
        [
            take.clone(),
            fetch.clone(),
            reading.or(&direct),
            reading.select(&read_last, &block_ends),
            passes.and(&keep),
            passes,
            moves.clone(),
            take.or(&active.and(&ends.not())),
            fetch.or(&reading.and(&sent_read.not())),
            moves.select(&ahead, &place),
            block_ends,
        ]
    }
}

/// Outputs of [`row_buffer`].
pub struct RowBuffer {
    /// There is room for a segment.
    pub room: Wire,
    /// A beat of the memory port is taken.
    pub take: Wire,
    /// Whole rows.
    pub stream: RowStream,
}

/// Gathers the beats of a row. Returns that a row is there, its words, and that a beat is taken.
fn gather(m: &mut Module, beats: u32, (valid, data): (Wire, &[Wire]), pop: Wire) -> (Wire, Vec<Wire>, Wire) {
    let full = m.state("gathered_q", 1);
    let [room] = m.call("gather_room", RoomFunction {}, [full, pop]);
    let (fill_later, bits) = (m.later(1), index_bits(beats as usize));
    let (count, final_beat) = match beats {
        1 => (None, m.call("whole", HighFunction {}, [])[0]),
        _ => {
            let beat = m.state("gather_beat_q", bits);
            let [final_beat, next] =
                m.call("gather_next", NextBeatFunction { beats, bits }, [fill_later, beat]);
            m.next(beat, next);
            (Some(beat), final_beat)
        }
    };
    let [fill, row] = m.call("gather", GatherFunction {}, [valid, room, final_beat]);
    m.drive(fill_later, fill);
    let enables = match count {
        Some(beat) => {
            m.leaf("gather_select", VectorLeaf::new(BeatSelect { beats: beats as usize }), &[fill, beat])
        }
        None => vec![fill],
    };
    let mut words = Vec::new();
    for enable in enables {
        for &word in data {
            words.push(m.register_if(("row_q", words.len()), enable, word));
        }
    }
    let [next] = m.call("gather_full", FullFunction {}, [row, full, pop]);
    m.next(full, next);
    (full, words, room)
}

/// The words of the row that leaves: of the row that was read from the buffer, or of the gathered one, which are `words`. `ports`: a row is
/// written, a row is read, and where; `from`: the row was read from the buffer, and is not in memory.
fn kept_rows(m: &mut Module, word: u32, words: &[Wire], ports: [Wire; 3], from: [Wire; 2]) -> Vec<Wire> {
    let ([write, read, address], [reading, absent]) = (ports, from);
    let wide = Rewords { count: words.len(), from: word, to: BUFFER_WORD, absent: false };
    let to_write = m.leaf("to_write", VectorLeaf::new(wide), words);
    let to = WritePort { write, address, data: &to_write };
    let stored = memory(m, "rows", &to, &ReadPort { read, address });
    let narrow = Rewords { count: stored.len(), from: BUFFER_WORD, to: word, absent: true };
    let stored = m.leaf("from_buffer", VectorLeaf::new(narrow), &[&stored[..], &[absent]].concat());
    let rows = stored.iter().zip(words).map(|(&stored, &row)| [reading, stored, row]);
    m.call_each("row", SelectFunction { width: word }, rows)
}

/// Rows in the order of segments, from a buffer of `2^bits` rows and from the beats of a reader. `push`: a segment comes, only if there is
/// room; `ready`: the row is taken.
pub fn row_buffer(
    around: &mut Module,
    name: &str,
    (bits, row, word): (u32, RowShape, u32),
    (push, segment): (Wire, &Segment),
    beats: &RowStream,
    ready: Wire,
) -> RowBuffer {
    let tag = Tag::module(
        format!("row_buffer_{}_{}_{word}", 1u32 << bits, row.ident()),
        "The rows of the first tokens of a head, kept on chip.",
    );
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let [push, rows, absent, last] = m.input_each([
            ("push", push),
            ("rows", segment.rows),
            ("absent", segment.absent),
            ("last", segment.last),
        ]);
        let of_buffer = [("stored", segment.stored), ("keep", segment.keep), ("place", segment.place)];
        let [stored, keep, place] =
            of_buffer.map(|(name, wire)| m.input(name, wire.unwrap_or_else(|| unreachable!("a buffer"))));
        let (beat, ready) = (m.input("beat", beats.valid), m.input("ready", ready));
        let data = m.inputs("x", &beats.data);

        let [take_later, pop_later] = [(); 2].map(|()| m.later(1));
        let (gathered, words, beat_taken) = gather(m, row.beats(), (beat, &data), pop_later);
        let flags = [absent, last, stored, keep];
        let waiting =
            queue(m, "segments", SEGMENT_QUEUE_BITS, push, &[&[rows], &flags, &[place]], take_later);
        let held = m.registers_if("flags_q", take_later, &waiting.words[1]);
        let (active, reading) = (m.state("active_q", 1), m.state("reading_q", 1));
        let (left, at) = (m.state("left_q", ROW_BITS), m.state("at_q", bits));
        let (fetch_later, read_last_later) = (m.later(1), m.later(1));
        let read_last = m.register_if("read_last_q", fetch_later, read_last_later);
        let read_null = m.register_if("read_null_q", fetch_later, held[0]);
        let ([absent, last, stored, keep], offered) = ([0, 1, 2, 3].map(|i| held[i]), waiting.valid);
        let rules =
            [offered, stored, absent, keep, last, active, left, at, reading, read_last, gathered, ready];
        let [take, fetch, valid, ends, write, pop, moves, next_active, next_reading, next_at, fetch_last] =
            m.call("rules", MergeRulesFunction { bits }, rules);
        m.drive_all(&[take_later, pop_later, fetch_later, read_last_later], &[take, pop, fetch, fetch_last]);
        m.next_all(&[active, reading], &[next_active, next_reading]);
        let next = PlaceInBufferFunction { bits };
        let [next_left, next_at] =
            m.call("next", next, [take, moves, waiting.words[0][0], waiting.words[2][0], left, next_at]);
        m.next_all(&[left, at], &[next_left, next_at]);

        let y = kept_rows(m, word, &words, [write, fetch, at], [reading, read_null]);
        let [is_null] = m.call("is_null", BothFunction {}, [reading, read_null]);
        RowBuffer {
            room: m.output("room", waiting.room),
            take: m.output("take", beat_taken),
            stream: RowStream {
                valid: m.output("valid", valid),
                data: m.outputs("y", &y),
                last: m.output("ends", ends),
                absent: m.output("is_absent", is_null),
            },
        }
    })
}

function! {
    /// The rows that are left of a segment, and the place of the next one.
    pub struct PlaceInBufferFunction { bits: u32 }
    name(this) = format!("buffer_place_{}", this.bits);
    doc = "Those of the segment that is taken; one less with each row.";
    inputs { take: 1, moves: 1, count: ROW_BITS, first: this.bits, left: ROW_BITS, ahead: this.bits }
    outputs { next_left: ROW_BITS, next_at: this.bits }
    eval<W> {
        let less = left.sub(&W::constant(ROW_BITS, 1)).named("less");
        [take.select(&count, &moves.select(&less, &left)), take.select(&first, &ahead)]
    }
}

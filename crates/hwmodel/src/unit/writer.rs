//! Writes rows: from the beats of a stream to bursts of a memory, whose rows begin at any byte.

use super::align::{BUS_WORD, WriteAlign};
use super::bursts::{BEAT_COUNT_BITS, ROW_BYTES_BITS, next_burst, row_beats};
use super::fifo::queue;
use super::rows::FaultFunction;
use crate::function;
use crate::rtl::{Module, Pins, Tag, VectorFunction, VectorLeaf, Wire, bundle};
use crate::word::{Word, ones};
use crate::wrapper::packet::UpDownFunction;

/// Logarithm of the bursts whose responses may be missing.
const WRITES_BITS: u32 = 3;

/// Width of their number.
const UNANSWERED_BITS: u32 = WRITES_BITS + 2;

function! {
    /// The states of the writer.
    pub struct WriteRulesFunction { beat: u32, address: u32 }
    name(this) = format!("write_rules_{}_{}", 1 << this.beat, this.address);
    doc = "A row: its address when its first beat is there, its beats, and the same again behind a boundary of 4 KiB.\n\
           stop: beats of a burst that has begun follow without strobes, and no other begins; one that is offered stays as it is.";
    inputs {
        address: this.address, bytes: ROW_BYTES_BITS, state: 2, rest: 1, sent: BEAT_COUNT_BITS, left: BEAT_COUNT_BITS, beats: BEAT_COUNT_BITS,
        crosses: 1, stop: 1, waits: 1, offered: 1, room: 1, awready: 1, wready: 1
    }
    outputs {
        begins: 1, aw: 1, w: 1, last: 1, strobes: 1, first: 1, final_beat: 1, tail: 1, take: 1, row_ends: 1,
        next_waits: 1, next_state: 2, next_rest: 1, next_sent: BEAT_COUNT_BITS, next_left: BEAT_COUNT_BITS
    }
    eval<W> {
        let count = |value: u64| W::constant(BEAT_COUNT_BITS, value);
        let is = |number: u64| state.eq(&W::constant(2, number));
        let to = |number: u64| W::constant(2, number);
        let (idle, aw, data) = (is(0), is(1).named("at_address"), is(2).named("at_data"));
        // Output beats of the row, and whether the last one needs no input beat.
        let row_beats = row_beats(this.beat, &address, &bytes);
        let whole = bytes.add(&W::constant(ROW_BYTES_BITS, ones(this.beat)));
        let beats_in = whole.drop_low(this.beat).zext(BEAT_COUNT_BITS).named("beats_in");
        let following = sent.add(&count(1)).named("following");
        let final_beat = following.eq(&row_beats).named("final_beat");
        let needs = sent.lt(&beats_in).named("needs_beat");
        let begins = idle.and(&offered.or(&rest)).and(&room).and(&stop.not()).named("begins");
        let stop = stop.and(&waits.not()).named("stops");
        let tail = stop.or(&needs.not());
        let w = data.and(&stop.or(&needs.not()).or(&offered)).named("beat_offered");
        let moves = w.and(&wready).named("beat_taken");
        let last = left.eq(&count(1)).named("burst_end");
        let ended = moves.and(&last).named("burst_ended");
        let row_ends = moves.and(&final_beat).and(&stop.not()).named("row_end");
        let next_state = begins.select(&to(1), &aw.and(&awready).select(&to(2), &ended.select(&to(0), &state)));
        let next_rest = ended.select(&rest.not().and(&crosses), &rest);
        let counted = moves.select(&row_ends.not().repeat(BEAT_COUNT_BITS).and(&following), &sent);
        let less = left.sub(&count(1)).named("less");
        [
            begins.clone(),
            aw,
            w.clone(),
            last,
            stop.not(),
            sent.any().not(),
            final_beat,
            tail,
            moves.and(&needs).and(&stop.not()),
            row_ends,
            w.and(&wready.not()).and(&stop.not()),
            next_state,
            next_rest,
            counted,
            begins.select(&beats, &moves.select(&less, &left)),
        ]
    }
}

/// The strobes of a beat of `2^beat` bytes.
struct Strobes {
    beat: u32,
}

impl VectorFunction for Strobes {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let lanes = 1usize << self.beat;
        let tag = Tag::module(
            format!("strobes_{lanes}"),
            "The bytes of a beat that are the row's: from its first one on in the first beat, up to its last one in the last.",
        );
        let inputs = vec![
            Pins::word("offset", self.beat),
            Pins::word("bytes", ROW_BYTES_BITS),
            Pins::word("enable", 1),
            Pins::word("first", 1),
            Pins::word("final_beat", 1),
        ];
        (tag, inputs, vec![Pins::vector("strobe", lanes, 1)])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let [offset, bytes, enable, first, last] = [0, 1, 2, 3, 4].map(|i| &inputs[i][0]);
        let bits = self.beat;
        // The last byte's lane.
        let end = offset.add(&bytes.slice(0, bits)).sub(&W::constant(bits, 1)).named("end");
        let lane = |i: u64| {
            let place = W::constant(bits, i);
            let before = first.and(&place.lt(offset));
            let behind = last.and(&end.lt(&place));
            enable.and(&before.or(&behind).not())
        };
        vec![(0..1 << bits).map(lane).collect()]
    }
}

function! {
    /// Beats less one.
    pub struct LenFunction {}
    name(this) = "burst_len";
    doc = "AXI4 counts the beats behind the first.";
    inputs { beats: BEAT_COUNT_BITS }
    outputs { len: 8 }
    eval<W> { [beats.sub(&W::constant(BEAT_COUNT_BITS, 1)).slice(0, 8)] }
}

function! {
    /// Whether something is under way.
    pub struct BusyFunction {}
    name(this) = "under_way";
    doc = "Bursts without an answer, or one that is being offered.";
    inputs { unanswered: 1, state: 2 }
    outputs { busy: 1 }
    eval<W> { [unanswered.or(&state.any())] }
}

/// The signals of the channels of write addresses and data.
pub struct WriteChannels {
    /// An address is offered.
    pub awvalid: Wire,
    /// The address.
    pub awaddr: Wire,
    /// Beats less one.
    pub awlen: Wire,
    /// A beat is offered.
    pub wvalid: Wire,
    /// Its words.
    pub wdata: Vec<Wire>,
    /// A strobe for each byte.
    pub wstrb: Vec<Wire>,
    /// It ends its burst.
    pub wlast: Wire,
}

/// Answers of the memory.
#[derive(Clone, Copy)]
pub struct WriteAnswers {
    /// An address is taken.
    pub awready: Wire,
    /// A beat is taken.
    pub wready: Wire,
    /// A burst is answered.
    pub bvalid: Wire,
    /// How.
    pub bresp: Wire,
}

bundle!(WriteAnswers { awready, wready, bvalid, bresp });

/// Outputs of [`row_writer`].
pub struct RowWriter {
    /// The channels.
    pub channels: WriteChannels,
    /// The stream's beat is taken.
    pub take: Wire,
    /// The last beat of a row is taken by the memory.
    pub row_ends: Wire,
    /// Bursts have begun and not been answered.
    pub busy: Wire,
    /// A burst was answered with an error: there is one, the response, the address.
    pub fault: [Wire; 3],
}

/// The words of a beat: bytes of the stream's beat, and the bytes left over from the last beat.
fn beat_data(
    m: &mut Module,
    (beat, word): (u32, u32),
    data: &[Wire],
    [offset, tail, take]: [Wire; 3],
) -> Vec<Wire> {
    let words = (8 << beat) / BUS_WORD as usize;
    let left_over: Vec<Wire> = (0..words).map(|i| m.state_if(("left_over_q", i), BUS_WORD, take)).collect();
    let inputs = [data, &left_over, &[offset, tail]].concat();
    let mut aligned = m.leaf("align", VectorLeaf::new(WriteAlign { beat, word }), &inputs);
    let round = aligned.split_off(words);
    m.next_all(&left_over, &round);
    aligned
}

function! {
    /// The next burst of a row of some bytes.
    pub struct WriteBurstFunction { beat: u32, address: u32 }
    name(this) = format!("write_burst_{}_{}", 1 << this.beat, this.address);
    doc = "The beats of a row, up to the next boundary of 4 KiB; then the rest.";
    inputs { address: this.address, bytes: ROW_BYTES_BITS, rest: 1 }
    outputs { start: this.address, beats: BEAT_COUNT_BITS, crosses: 1 }
    eval<W> { next_burst(this.beat, &address, &bytes, &rest) }
}

/// The row whose beats are offered.
#[derive(Clone, Copy)]
pub struct WrittenRow {
    /// Its address.
    pub address: Wire,
    /// Its bytes.
    pub bytes: Wire,
}

/// A burst and a beat of it.
struct Progress {
    state: Wire,
    /// A burst begins; its first beat, and its number of beats.
    begins: Wire,
    start: Wire,
    beats: Wire,
    /// The burst is offered.
    aw: Wire,
    /// A beat is offered; it is its burst's last.
    w: Wire,
    last: Wire,
    /// The beat has strobes; it is its row's first; its last; all its bytes are left over from the stream's beat before.
    strobes: Wire,
    first: Wire,
    final_beat: Wire,
    tail: Wire,
    /// The stream's beat is taken.
    take: Wire,
    row_ends: Wire,
    /// The address of the oldest burst without an answer.
    open: Wire,
}

/// The progress of bursts and beats. `controls`: a beat of the stream is offered; no burst may begin.
fn progress(
    m: &mut Module,
    beat: u32,
    row: WrittenRow,
    controls: [Wire; 2],
    answers: &WriteAnswers,
) -> Progress {
    let (WrittenRow { address, bytes }, [offered, stop]) = (row, controls);
    let WriteAnswers { awready, wready, bvalid, .. } = *answers;
    let bits = address.width();
    let (state, rest) = (m.state("state_q", 2), m.state("rest_q", 1));
    let waits = m.state("waits_q", 1);
    let (sent, left) = (m.state("sent_q", BEAT_COUNT_BITS), m.state("left_q", BEAT_COUNT_BITS));
    let burst = WriteBurstFunction { beat, address: bits };
    let [start, beats, crosses] = m.call("burst", burst, [address, bytes, rest]);
    // The addresses of bursts without an answer.
    let begins_later = m.later(1);
    let open = queue(m, "open", WRITES_BITS, begins_later, &[&[start]], bvalid);
    let room = open.room;
    let inputs = [
        address, bytes, state, rest, sent, left, beats, crosses, stop, waits, offered, room, awready, wready,
    ];
    let rules: [Wire; 15] = m.call("rules", WriteRulesFunction { beat, address: bits }, inputs);
    let [begins, aw, w, last, strobes, first, final_beat, tail, take, row_ends, next @ ..] = rules;
    m.drive(begins_later, begins);
    m.next_all(&[waits, state, rest, sent, left], &next);
    let open = open.words[0][0];
    Progress {
        state,
        begins,
        start,
        beats,
        aw,
        w,
        last,
        strobes,
        first,
        final_beat,
        tail,
        take,
        row_ends,
        open,
    }
}

/// Writes rows. `beat`: logarithm of the bytes of a beat, and bits of its words; `stop`: no burst may begin.
pub fn row_writer(
    around: &mut Module,
    name: &str,
    (beat, word): (u32, u32),
    row: WrittenRow,
    (offered, data): (Wire, &[Wire]),
    stop: Wire,
    answers: &WriteAnswers,
) -> RowWriter {
    let bits = row.address.width();
    let tag = Tag::module(format!("row_writer_{}_{bits}_{word}", 1 << beat), "Writes rows.");
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let [address, bytes] = m.input_each([("address", row.address), ("bytes", row.bytes)]);
        let controls = m.input_each([("offered", offered), ("stop", stop)]);
        let data = m.inputs("data", data);
        let answers = m.enter("", answers);
        let at = progress(m, beat, WrittenRow { address, bytes }, controls, &answers);
        let awaddr = m.register_if("awaddr_q", at.begins, at.start);
        let [len] = m.call("len", LenFunction {}, [at.beats]);
        let awlen = m.register_if("awlen_q", at.begins, len);

        let offset = super::fields::low_bits(m, "offset", address, beat);
        let wdata = beat_data(m, (beat, word), &data, [offset, at.tail, at.take]);
        let strobe = [offset, bytes, at.strobes, at.first, at.final_beat];
        let strobe = m.leaf("strobe", VectorLeaf::new(Strobes { beat }), &strobe);

        let [fault] = m.call("fault", FaultFunction {}, [answers.bvalid, answers.bresp]);
        let count = m.state("unanswered_q", UNANSWERED_BITS);
        let counted = UpDownFunction { bits: UNANSWERED_BITS };
        let [next, some] = m.call("unanswered", counted, [count, at.begins, answers.bvalid]);
        m.next(count, next);
        let [busy] = m.call("busy", BusyFunction {}, [some, at.state]);
        let channels = WriteChannels {
            awvalid: m.output("awvalid", at.aw),
            awaddr: m.output("awaddr", awaddr),
            awlen: m.output("awlen", awlen),
            wvalid: m.output("wvalid", at.w),
            wdata: m.outputs("wdata", &wdata),
            wstrb: m.outputs("wstrb", &strobe),
            wlast: m.output("wlast", at.last),
        };
        RowWriter {
            channels,
            take: m.output("take", at.take),
            row_ends: m.output("row_ends", at.row_ends),
            busy: m.output("busy", busy),
            fault: m.output_each([("fault", fault), ("resp", answers.bresp), ("at", at.open)]),
        }
    })
}

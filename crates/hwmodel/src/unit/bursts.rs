//! Bursts that read the rows of segments.
//!
//! A row is a burst, or two where it crosses a boundary of 4 KiB, which a burst of AXI4 must not. Beats are requested only if the
//! queue that receives them has room, so that the memory never waits for the unit.

use super::segments::{ROW_BITS, Segment, ahead};
use crate::function;
use crate::rtl::{Module, Tag, Wire, bundle};
use crate::word::{Word, bits_for, ones};

/// Bits of an address within a page of 4 KiB.
const PAGE_BITS: u32 = 12;

/// Width of a number of beats of a row.
pub const BEAT_COUNT_BITS: u32 = 10;

/// Width of a row's number of bytes: 4,096 at most, and a beat more while sums are formed.
pub const ROW_BYTES_BITS: u32 = PAGE_BITS + 1;

/// The rows of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowShape {
    /// Bytes of a row.
    pub bytes: u32,
    /// Logarithm of the bytes of a beat.
    pub beat: u32,
    /// Bits of an address.
    pub address: u32,
}

impl RowShape {
    /// Beats of a row that begins with a beat.
    pub fn beats(&self) -> u32 {
        self.bytes.div_ceil(1 << self.beat)
    }

    /// Its name within module names.
    pub fn ident(&self) -> String {
        format!("{}_{}_{}", self.bytes, 1 << self.beat, self.address)
    }
}

/// The start and the beats of a row's next burst, and whether the row crosses a boundary of 4 KiB. `bytes`: bytes of the row, 13 bits;
/// `rest`: the first burst has gone.
pub fn next_burst<W: Word>(beat: u32, address: &W, bytes: &W, rest: &W) -> [W; 3] {
    let count = |value: u64| W::constant(BEAT_COUNT_BITS, value);
    let beats = row_beats(beat, address, bytes);
    let place = address.slice(beat, PAGE_BITS - beat).zext(BEAT_COUNT_BITS);
    let to_boundary = count(1 << (PAGE_BITS - beat)).sub(&place).named("to_boundary");
    let crosses = to_boundary.lt(&beats).named("row_crosses");
    let next_page = address.drop_low(PAGE_BITS).add(&W::constant(address.width() - PAGE_BITS, 1));
    let aligned = address.drop_low(beat).append_zeros(beat);
    let start = rest.select(&next_page.append_zeros(PAGE_BITS), &aligned);
    let first = crosses.select(&to_boundary, &beats);
    [start, rest.select(&beats.sub(&to_boundary), &first), crosses]
}

/// The beats that have a byte of a row, which begins at any byte.
pub fn row_beats<W: Word>(beat: u32, address: &W, bytes: &W) -> W {
    let offset = address.slice(0, beat).zext(ROW_BYTES_BITS);
    let end = offset.add(bytes).add(&W::constant(ROW_BYTES_BITS, ones(beat)));
    end.drop_low(beat).zext(BEAT_COUNT_BITS).named("row_beats")
}

function! {
    /// The next burst of a row.
    pub struct BurstFunction { row: RowShape }
    name(this) = format!("burst_{}", this.row.ident());
    doc = "The beats of a row, up to the next boundary of 4 KiB; then the rest.";
    inputs { address: this.row.address, rest: 1 }
    outputs { start: this.row.address, beats: BEAT_COUNT_BITS, crosses: 1 }
    eval<W> { next_burst(this.row.beat, &address, &W::constant(ROW_BYTES_BITS, this.row.bytes.into()), &rest) }
}

/// Width of a number of beats that are on their way or wait, and of that with a burst more.
fn used_bits(room: u32) -> u32 {
    bits_for(u64::from(room)).max(BEAT_COUNT_BITS) + 1
}

function! {
    /// The progress of a segment's bursts.
    pub struct BurstRulesFunction { row: RowShape, room: u32 }
    name(this) = format!("burst_rules_{}_{}", this.row.ident(), this.room);
    doc = format!("A burst is offered if its beats fit into a queue of {} beats beside those that are on their way or wait.", this.room);
    inputs {
        waiting: 1, absent: 1, active: 1, rest: 1, rows: ROW_BITS, used: used_bits(this.room), beats: BEAT_COUNT_BITS, crosses: 1,
        grant: 1, pop: 1
    }
    outputs { take: 1, valid: 1, next_active: 1, next_rest: 1, row_ends: 1, next_used: used_bits(this.room) }
    eval<W> {
        let bits = used_bits(this.room);
        let used_then = used.add(&beats.zext(bits)).named("used_then");
        let fits = W::constant(bits, u64::from(this.room)).lt(&used_then).not();
        let more = crosses.and(&rest.not()).named("more");
        let row_ends = grant.and(&more.not()).named("row_end");
        let ends = row_ends.and(&rows.eq(&W::constant(ROW_BITS, 1))).named("ends");
        let take = waiting.and(&active.not().or(&ends)).named("takes");
        let granted = grant.select(&used_then, &used);
        [
            take.clone(),
            active.and(&fits),
            take.select(&absent.not(), &active.and(&ends.not())),
            grant.select(&more, &rest),
            row_ends.clone(),
            granted.sub(&pop.zext(bits)),
        ]
    }
}

function! {
    /// The next row of a segment.
    pub struct NextRowFunction { bits: u32 }
    name(this) = format!("next_segment_row_{}", this.bits);
    doc = "The segment that is taken, or the next row.";
    inputs { take: 1, row_ends: 1, first: this.bits, count: ROW_BITS, address: this.bits, rows: ROW_BITS, stride: 32 }
    outputs { next_address: this.bits, next_rows: ROW_BITS }
    eval<W> {
        let ahead = ahead(&address, &stride);
        let less = rows.sub(&W::constant(ROW_BITS, 1)).named("less");
        [
            take.select(&first, &row_ends.select(&ahead, &address)),
            take.select(&count, &row_ends.select(&less, &rows)),
        ]
    }
}

/// A burst that is offered.
#[derive(Clone, Copy)]
pub struct Burst {
    /// There is one.
    pub valid: Wire,
    /// The address of its first beat.
    pub address: Wire,
    /// Its beats.
    pub beats: Wire,
}

bundle!(Burst { valid, address, beats });

/// The bursts of segments. Returns also whether the segment is taken.
///
/// `room`: beats that may be on their way or wait; `grant`: the burst is taken; `pop`: a beat leaves the queue.
pub fn bursts(
    around: &mut Module,
    name: &str,
    (row, room): (RowShape, u32),
    segment: &Segment,
    stride: Wire,
    [grant, pop]: [Wire; 2],
) -> (Burst, Wire) {
    let tag = Tag::module(format!("bursts_{}_{room}", row.ident()), "Bursts that read the rows of segments.");
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let [waiting, first] = m.input_each([("valid", segment.valid), ("address", segment.address)]);
        let [count, absent] = m.input_each([("rows", segment.rows), ("absent", segment.absent)]);
        let [stride, grant, pop] = m.input_each([("stride", stride), ("grant", grant), ("pop", pop)]);
        let (active, rest, used) =
            (m.state("active_q", 1), m.state("rest_q", 1), m.state("used_q", used_bits(room)));
        let (address, rows) = (m.state("address_q", row.address), m.state("rows_q", ROW_BITS));
        let [start, beats, crosses] = m.call("burst", BurstFunction { row }, [address, rest]);
        let rules = [waiting, absent, active, rest, rows, used, beats, crosses, grant, pop];
        let [take, valid, next_active, next_rest, row_ends, next_used] =
            m.call("rules", BurstRulesFunction { row, room }, rules);
        m.next_all(&[active, rest, used], &[next_active, next_rest, next_used]);
        let next = [take, row_ends, first, count, address, rows, stride];
        let next: [Wire; 2] = m.call("next_row", NextRowFunction { bits: row.address }, next);
        m.next_all(&[address, rows], &next);
        (m.hand_out("burst_", &Burst { valid, address: start, beats }), m.output("take", take))
    })
}

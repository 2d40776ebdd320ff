//! The rows of keys and values of a job, as segments: rows one stride apart.
//!
//! A block's keys are all that some of its queries sees. Without pages they are one segment; with pages, a segment for
//! each page. A block without keys has one segment of one row, which is not in memory.

use crate::function;
use crate::rtl::{Module, Wire, bundle};
use crate::word::{Word, ones};

/// The address of the row one stride further.
pub fn ahead<W: Word>(address: &W, stride: &W) -> W {
    let bits = address.width();
    address.add(&stride.zext(bits.max(stride.width())).slice(0, bits)).named("ahead")
}

/// Width of a number of rows.
pub const ROW_BITS: u32 = 30;

/// A segment of rows.
#[derive(Clone, Copy)]
pub struct Segment {
    /// There is one.
    pub valid: Wire,
    /// The address of its first row.
    pub address: Wire,
    /// Its rows, at least one.
    pub rows: Wire,
    /// It is one row that no memory has: zeros.
    pub absent: Wire,
    /// It is the last of its block.
    pub last: Wire,
    /// With a buffer of rows: its rows are in the buffer.
    pub stored: Option<Wire>,
    /// With a buffer of rows: its rows are to be kept there.
    pub keep: Option<Wire>,
    /// With a buffer of rows: the place of its first row.
    pub place: Option<Wire>,
}

bundle!(Segment { valid, address, rows, absent, last, stored, keep, place });

impl Segment {
    /// A segment of a unit, or an operand, without a buffer.
    pub fn plain(valid: Wire, address: Wire, rows: Wire, [absent, last]: [Wire; 2]) -> Segment {
        Segment { valid, address, rows, absent, last, stored: None, keep: None, place: None }
    }
}

function! {
    /// The keys that the queries of a block see: from the first one's first to the last one's last.
    pub struct VisibleFunction {}
    name(this) = "visible_keys";
    doc = "A query sees all keys; with causal those up to its own place, with window the last of these.";
    inputs { causal: 1, windowed: 1, position: 32, window: 32, keys: 32, token: 32 }
    outputs { from: 32, to: 32 }
    eval<W> {
        // Two bits more than a token and a place need.
        let place = position.sext(34).add(&token.zext(34)).named("own_place");
        let after = place.add(&W::constant(34, 1)).named("after");
        let clamp = |x: &W, most: &W| {
            let below = x.msb();
            let above = below.not().and(&most.zext(34).lt(x));
            below.not().repeat(32).and(&above.select(most, &x.slice(0, 32)))
        };
        let to = causal.select(&clamp(&after, &keys), &keys).named("until");
        let least = after.sub(&window.zext(34)).named("least");
        let from = causal.and(&windowed).repeat(32).and(&clamp(&least, &to));
        [from, to]
    }
}

function! {
    /// Which part of a page's keys a segment has.
    pub struct SpanFunction {}
    name(this) = "segment_span";
    doc = "From a key to the end of its page, or of the block's keys; without pages, to the end.";
    inputs { paged: 1, page: 8, row: 32, to: 32 }
    outputs { in_page: 32, rows: 30, next_row: 32, empty: 1, last: 1, page_ends: 1 }
    eval<W> {
        let bits = page.slice(0, 5);
        let mask = W::constant(32, ones(32)).shl(&bits).not().named("mask");
        let in_page = paged.select(&row.and(&mask), &row);
        let page_end = row.or(&mask).add(&W::constant(32, 1)).named("page_end");
        // A page that ends at 2^32 ends beyond all keys.
        let ends_before = page_end.lt(&to).and(&page_end.any()).and(&paged).named("ends_before");
        let next_row = ends_before.select(&page_end, &to);
        let empty = row.lt(&to).not();
        let count = empty.select(&W::constant(32, 1), &next_row.sub(&row)).slice(0, 30);
        let page_ends = page_end.eq(&next_row);
        [in_page, count, next_row, empty, ends_before.not(), page_ends]
    }
}

function! {
    /// The part of a segment that is in the buffer of rows, or outside.
    pub struct StoredSpanFunction { bits: u32 }
    name(this) = format!("stored_span_{}", 1u64 << this.bits);
    doc = "The buffer has the first keys of a head, up to those that have been loaded. The next ones are kept as long as there is room.";
    inputs { row: 32, rows: 30, next_row: 32, last: 1, loaded: this.bits + 1, sent: 1, leaves: 1 }
    outputs {
        span: 30, next: 32, ends: 1, cut: 1, stored: 1, keep: 1, place: this.bits, next_loaded: this.bits + 1
    }
    eval<W> {
        let held = loaded.zext(32);
        let stored = row.lt(&held).named("is_stored");
        let room = W::constant(32, 1 << this.bits);
        let keep = row.eq(&held).and(&row.lt(&room)).named("is_kept");
        let limit = stored.select(&held, &room).named("limit");
        let cut = stored.or(&keep).and(&limit.lt(&next_row)).named("is_cut");
        let next = cut.select(&limit, &next_row);
        let span = cut.select(&limit.sub(&row).slice(0, 30), &rows);
        let filled = sent.and(&keep).select(&next.slice(0, this.bits + 1), &loaded);
        [
            span,
            next,
            last.and(&cut.not()),
            cut,
            stored,
            keep,
            row.slice(0, this.bits),
            leaves.not().repeat(this.bits + 1).and(&filled),
        ]
    }
}

function! {
    /// Whether the number of the current page is known.
    pub struct PageKnownFunction {}
    name(this) = "page_known";
    doc = "From the entry of the block table that was taken to the end of the page.";
    inputs { range: 1, taken: 1, sent: 1, page_ends: 1, cut: 1, known: 1 }
    outputs { next: 1 }
    eval<W> {
        let leaves = range.or(&sent.and(&page_ends).and(&cut.not())).named("leaves");
        [taken.or(&known.and(&leaves.not()))]
    }
}

/// The rows of a segment.
#[derive(Clone, Copy)]
pub struct Span {
    /// Its first row.
    pub row: Wire,
    /// Its rows.
    pub rows: Wire,
    /// The first row of the next segment.
    pub next_row: Wire,
    /// It is its block's last.
    pub last: Wire,
}

/// A segment, as far as the buffer of rows goes.
pub struct StoredSpan {
    /// Its rows.
    pub span: Span,
    /// It is shorter for the buffer.
    pub cut: Wire,
    /// Stored, keep, and the place in the buffer.
    pub flags: [Wire; 3],
}

/// Cuts a segment where the buffer of `2^bits` rows begins or ends. `sent`: the segment is sent; `leaves`: it is its head's last.
pub fn stored_span(m: &mut Module, bits: u32, span: &Span, [sent, leaves]: [Wire; 2]) -> StoredSpan {
    let loaded = m.state("loaded_q", bits + 1);
    let inputs = [span.row, span.rows, span.next_row, span.last, loaded, sent, leaves];
    let [rows, next_row, last, cut, stored, keep, place, next_loaded] =
        m.call("stored", StoredSpanFunction { bits }, inputs);
    m.next(loaded, next_loaded);
    StoredSpan { span: Span { row: span.row, rows, next_row, last }, cut, flags: [stored, keep, place] }
}

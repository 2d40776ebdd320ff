//! The query stream.

use super::beat::Shape;
use super::packet::{NextPlace, NextPlaceFunction, Take, TakeFunction};
use super::vector::{High, HighFunction, StreamKind, VectorInput};
use crate::rtl::{Bus, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::word::index_bits;
use crate::{circuit, function, unit};

function! {
    /// A packet's last place.
    pub struct LastPlaceFunction { bits: u32, last: u64 }
    name(this) = format!("last_place_{}", this.last);
    doc = "Whether no more may follow.";
    inputs { place: this.bits }
    outputs { stop: 1 }
    eval<W> { [place.eq(&W::constant(this.bits, this.last))] }
}
unit! {
    /// A packet's last place.
    pub struct LastPlace(LastPlaceFunction) { place } -> { stop }
}

circuit! {
    /// The query stream: a packet is a block's queries.
    pub struct QueryStream {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// A beat is offered.
            tvalid: Bus<In>,
            /// It is taken if offered.
            tready: Bus<Out>,
            /// The beat, in words.
            tdata: Vec<Bus<In>>,
            /// It is its packet's last.
            tlast: Bus<In>,
            /// A packet may begin.
            run: Bus<In>,
            /// The array takes a query if offered.
            ready: Bus<In>,
            /// It is not frozen.
            ce: Bus<In>,
            /// A query is offered.
            q_valid: Bus<Out>,
            /// It is its block's last.
            q_last: Bus<Out>,
            /// The query.
            q: Vec<Bus<Out>>,
            /// It is taken.
            taken: Bus<Out>,
            /// A packet begins.
            opens: Bus<Out>,
            /// Errors, as STATUS has them.
            error: Vec<Bus<Out>>,
        }
        parts {
            /// Queries of the packet so far.
            place_q: Vec<ResetRegister>,
            /// Whether this is the last that it may have.
            last_place: Vec<LastPlace>,
            /// The next place.
            next_place: Vec<NextPlace>,
            /// A block of one query.
            high: Vec<High>,
            /// Whether the array takes the query.
            takes: Take,
            /// Beats and vector.
            vectors: VectorInput,
        }
        config {
            d: usize,
            words: usize,
            many: usize,
            one: usize,
            cut: usize,
        }
    }
}

impl QueryStream {
    /// Blocks of at most `queries` queries.
    pub fn new(shape: Shape, queries: usize) -> Self {
        let bits = index_bits(queries);
        let many = usize::from(queries > 1);
        let cut = usize::from(shape.beats > 1);
        let kind = StreamKind { packets: true, limited: true, flag: false };
        let last = queries as u64 - 1;
        QueryStream {
            tag: Tag::module(
                format!("query_stream_{}_{queries}", shape.ident()),
                "Queries of a block, one packet; what goes beyond the array's queries is dropped.",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            tvalid: Bus::new(1),
            tready: Bus::new(1),
            tdata: Bus::vector(shape.words, shape.word_bits()),
            tlast: Bus::new(1),
            run: Bus::new(1),
            ready: Bus::new(1),
            ce: Bus::new(1),
            q_valid: Bus::new(1),
            q_last: Bus::new(1),
            q: Bus::vector(shape.d, shape.width),
            taken: Bus::new(1),
            opens: Bus::new(1),
            error: Bus::vector(1 + cut, 1),
            place_q: (0..many).map(|_| ResetRegister::new(bits, 0)).collect(),
            last_place: (0..many).map(|_| LastPlace::new(LastPlaceFunction { bits, last })).collect(),
            next_place: (0..many).map(|_| NextPlace::new(NextPlaceFunction { bits })).collect(),
            high: (many..1).map(|_| High::new(HighFunction {})).collect(),
            takes: Take::new(TakeFunction {}),
            vectors: VectorInput::new(shape, kind),
            d: shape.d,
            words: shape.words,
            many,
            one: 1 - many,
            cut,
        }
    }
}

impl Logic for QueryStream {
    #[hdl_gen]
    fn update(&mut self) {
        self.takes.full.next = self.vectors.full.val();
        self.takes.ready.next = self.ready.val();
        self.takes.ce.next = self.ce.val();
        self.taken.next = self.takes.take.val();
        self.vectors.clk.next = self.clk.val();
        self.vectors.rst.next = self.rst.val();
        self.vectors.tvalid.next = self.tvalid.val();
        self.tready.next = self.vectors.tready.val();
        self.vectors.tlast[0].next = self.tlast.val();
        self.vectors.permit.next = self.run.val();
        self.vectors.take.next = self.takes.take.val();
        for w in 0..self.words {
            self.vectors.tdata[w].next = self.tdata[w].val();
        }
        for i in 0..self.many {
            self.place_q[i].clk.next = self.clk.val();
            self.place_q[i].rst.next = self.rst.val();
            self.place_q[i].d.next = self.next_place[i].next_place.val();
            self.last_place[i].place.next = self.place_q[i].q.val();
            self.next_place[i].place.next = self.place_q[i].q.val();
            self.next_place[i].vector.next = self.vectors.vector[0].val();
            self.next_place[i].last.next = self.vectors.ends[0].val();
            self.vectors.stop[0].next = self.last_place[i].stop.val();
        }
        for i in 0..self.one {
            self.vectors.stop[0].next = self.high[i].y.val();
        }
        for e in 0..self.d {
            self.q[e].next = self.vectors.y[e].val();
        }
        self.q_valid.next = self.vectors.full.val();
        self.q_last.next = self.vectors.last[0].val();
        self.opens.next = self.vectors.opens[0].val();
        self.error[0].next = self.vectors.too_long[0].val();
        for i in 0..self.cut {
            self.error[i + 1].next = self.vectors.partial[i].val();
        }
    }
}

//! The key stream.

use super::beat::Shape;
use super::config::KEY_CREDIT_BITS;
use super::credit::Credit;
use super::packet::{NextPlace, NextPlaceFunction, Take, TakeFunction};
use super::vector::{StreamKind, VectorInput};
use crate::rtl::{Bus, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::{circuit, function, unit};

function! {
    /// Whether a key is the last one by its number.
    pub struct KeyLimitFunction { bits: u32 }
    name(this) = "key_limit";
    doc = "The LENGTH-th key ends the block; a packet that ends before is too short. LENGTH 0: the packet decides.";
    inputs { place: this.bits, length: this.bits, vector: 1, ends: 1 }
    outputs { stop: 1, too_short: 1 }
    eval<W> {
        let number = place.add(&W::constant(this.bits, 1)).named("number");
        let limited = length.any().named("limited");
        let stop = number.eq(&length).and(&limited).named("at_length");
        let short = vector.and(&ends).and(&limited).and(&stop.not());
        [stop, short]
    }
}
unit! {
    /// Whether a key is the last one by its number.
    pub struct KeyLimit(KeyLimitFunction) { place, length, vector, ends } -> { stop, too_short }
}

/// Bits of LENGTH.
const LENGTH_BITS: u32 = 32;

circuit! {
    /// The key stream: a packet is a block's keys.
    pub struct KeyStream {
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
            /// With masks: no query sees the key.
            tuser: Vec<Bus<In>>,
            /// A packet of queries begins, and with it a block.
            block: Bus<In>,
            /// Keys of a block; 0: as many as come.
            length: Bus<In>,
            /// The array takes a key if offered.
            ready: Bus<In>,
            /// It is not frozen.
            ce: Bus<In>,
            /// A key is offered.
            k_valid: Bus<Out>,
            /// It is its block's last.
            k_last: Bus<Out>,
            /// With masks: no query sees it.
            k_mask: Vec<Bus<Out>>,
            /// The key.
            k: Vec<Bus<Out>>,
            /// It is taken.
            taken: Bus<Out>,
            /// With packets of values: a packet begins.
            opens: Vec<Bus<Out>>,
            /// Errors, as STATUS has them.
            error: Vec<Bus<Out>>,
        }
        parts {
            /// Blocks whose keys have not begun to come.
            credit: Credit,
            /// Keys of the block so far.
            place_q: ResetRegister,
            /// Whether this is the last.
            limit: KeyLimit,
            /// The next place.
            next_place: NextPlace,
            /// Whether the array takes the key.
            takes: Take,
            /// Beats and vector.
            vectors: VectorInput,
        }
        config {
            d: usize,
            words: usize,
            masks: usize,
            begins: usize,
            cut: usize,
        }
    }
}

impl KeyStream {
    /// Keys, with a mask or without, whose values are packets or are requested.
    pub fn new(shape: Shape, masks: bool, packets_of_values: bool) -> Self {
        let (masks, begins) = (usize::from(masks), usize::from(packets_of_values));
        let cut = usize::from(shape.beats > 1);
        let kind = StreamKind { packets: true, limited: true, flag: masks > 0 };
        let suffix = if masks > 0 { "_masks" } else { "" };
        let bits = LENGTH_BITS;
        KeyStream {
            tag: Tag::module(
                format!("key_stream_{}{suffix}", shape.ident()),
                "Keys of a block, one packet; it may begin when the packet of queries has.",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            tvalid: Bus::new(1),
            tready: Bus::new(1),
            tdata: Bus::vector(shape.words, shape.word_bits()),
            tlast: Bus::new(1),
            tuser: Bus::vector(masks, 1),
            block: Bus::new(1),
            length: Bus::new(bits),
            ready: Bus::new(1),
            ce: Bus::new(1),
            k_valid: Bus::new(1),
            k_last: Bus::new(1),
            k_mask: Bus::vector(masks, 1),
            k: Bus::vector(shape.d, shape.width),
            taken: Bus::new(1),
            opens: Bus::vector(begins, 1),
            error: Bus::vector(2 + cut, 1),
            credit: Credit::new(KEY_CREDIT_BITS),
            place_q: ResetRegister::new(bits, 0),
            limit: KeyLimit::new(KeyLimitFunction { bits }),
            next_place: NextPlace::new(NextPlaceFunction { bits }),
            takes: Take::new(TakeFunction {}),
            vectors: VectorInput::new(shape, kind),
            d: shape.d,
            words: shape.words,
            masks,
            begins,
            cut,
        }
    }
}

impl Logic for KeyStream {
    #[hdl_gen]
    fn update(&mut self) {
        self.credit.clk.next = self.clk.val();
        self.credit.rst.next = self.rst.val();
        self.credit.up.next = self.block.val();
        self.credit.down.next = self.vectors.opens[0].val();
        self.takes.full.next = self.vectors.full.val();
        self.takes.ready.next = self.ready.val();
        self.takes.ce.next = self.ce.val();
        self.taken.next = self.takes.take.val();
        self.vectors.clk.next = self.clk.val();
        self.vectors.rst.next = self.rst.val();
        self.vectors.tvalid.next = self.tvalid.val();
        self.tready.next = self.vectors.tready.val();
        self.vectors.tlast[0].next = self.tlast.val();
        self.vectors.permit.next = self.credit.some.val();
        self.vectors.take.next = self.takes.take.val();
        self.vectors.stop[0].next = self.limit.stop.val();
        for w in 0..self.words {
            self.vectors.tdata[w].next = self.tdata[w].val();
        }
        for i in 0..self.masks {
            self.vectors.tuser[i].next = self.tuser[i].val();
            self.k_mask[i].next = self.vectors.flag[i].val();
        }
        self.place_q.clk.next = self.clk.val();
        self.place_q.rst.next = self.rst.val();
        self.place_q.d.next = self.next_place.next_place.val();
        self.limit.place.next = self.place_q.q.val();
        self.limit.length.next = self.length.val();
        self.limit.vector.next = self.vectors.vector[0].val();
        self.limit.ends.next = self.vectors.ends[0].val();
        self.next_place.place.next = self.place_q.q.val();
        self.next_place.vector.next = self.vectors.vector[0].val();
        self.next_place.last.next = self.vectors.ends[0].val();
        for e in 0..self.d {
            self.k[e].next = self.vectors.y[e].val();
        }
        self.k_valid.next = self.vectors.full.val();
        self.k_last.next = self.vectors.last[0].val();
        for i in 0..self.begins {
            self.opens[i].next = self.vectors.opens[0].val();
        }
        self.error[0].next = self.vectors.too_long[0].val();
        self.error[1].next = self.limit.too_short.val();
        for i in 0..self.cut {
            self.error[i + 2].next = self.vectors.partial[i].val();
        }
    }
}

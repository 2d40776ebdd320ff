//! Values: waited for, and handed over.

use super::beat::Shape;
use super::credit::Credit;
use super::vector::{StreamKind, VectorInput};
use crate::circuit;
use crate::rtl::{Bus, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::{function, unit};

function! {
    /// Whether the array has to wait for a value, and whether it takes one.
    pub struct ValueRulesFunction {}
    name(this) = "value_rules";
    doc = "A value that is due and not there freezes the array; it is taken with the step that it is due for.";
    inputs { due: 1, full: 1, ce: 1 }
    outputs { missing: 1, take: 1 }
    eval<W> { [due.and(&full.not()), due.and(&ce)] }
}
unit! {
    /// Whether the array has to wait for a value, and whether it takes one.
    pub struct ValueRules(ValueRulesFunction) { due, full, ce } -> { missing, take }
}

function! {
    /// The same where values come in packets of one for each key.
    pub struct ValuePacketRulesFunction {}
    name(this) = "value_packet_rules";
    doc = "Each step takes a value, needed or not. A packet that is too short leaves the rest of its block without values;\n\
           of one that is too long the rest is dropped.";
    inputs { due: 1, due_last: 1, full: 1, last: 1, exhausted: 1, dropping: 1, ce: 1 }
    outputs { missing: 1, take: 1, too_long: 1, too_short: 1, next_exhausted: 1, next_dropping: 1 }
    eval<W> {
        let waits = due.and(&exhausted.not()).named("wanted");
        let missing = waits.and(&dropping.or(&full.not()));
        let uses = waits.and(&ce).named("uses");
        let take = uses.or(&dropping.and(&full));
        let too_long = uses.and(&due_last).and(&last.not()).named("exceeds");
        let too_short = uses.and(&last).and(&due_last.not()).named("lacks");
        let end = due.and(&ce).and(&due_last).named("ended");
        let next_exhausted = too_short.or(&exhausted.and(&end.not()));
        let next_dropping = too_long.or(&dropping.and(&full.and(&last).not()));
        [missing, take, too_long, too_short, next_exhausted, next_dropping]
    }
}
unit! {
    /// The same where values come in packets of one for each key.
    pub struct ValuePacketRules(ValuePacketRulesFunction) { due, due_last, full, last, exhausted, dropping, ce }
        -> { missing, take, too_long, too_short, next_exhausted, next_dropping }
}

circuit! {
    /// The value stream.
    pub struct ValueStream {
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
            /// Of packets: it is its packet's last.
            tlast: Vec<Bus<In>>,
            /// Of values alone: a block is on its way.
            busy: Vec<Bus<In>>,
            /// Of packets: a packet of keys begins.
            block: Vec<Bus<In>>,
            /// The array's step needs a value on its port.
            due: Bus<In>,
            /// Of packets: it is its block's last.
            due_last: Vec<Bus<In>>,
            /// The array is not frozen.
            ce: Bus<In>,
            /// The value is not there: freeze the array.
            missing: Bus<Out>,
            /// The value.
            v: Vec<Bus<Out>>,
            /// Errors of packets, as STATUS has them.
            error: Vec<Bus<Out>>,
        }
        parts {
            /// Blocks whose values have not begun to come.
            credit: Vec<Credit>,
            /// The packet had too few values.
            exhausted_q: Vec<ResetRegister>,
            /// It had too many.
            dropping_q: Vec<ResetRegister>,
            /// Beats and vector.
            vectors: VectorInput,
            /// Rules of values alone.
            alone: Vec<ValueRules>,
            /// Rules of packets.
            packet: Vec<ValuePacketRules>,
        }
        config {
            d: usize,
            words: usize,
            packets: usize,
            alones: usize,
            cut: usize,
        }
    }
}

impl ValueStream {
    /// Values that were asked for; or in packets, with a counter of blocks of so many bits.
    pub fn new(shape: Shape, packets: Option<u32>) -> Self {
        let kind = StreamKind { packets: packets.is_some(), limited: false, flag: false };
        let credit: Vec<Credit> = packets.iter().map(|bits| Credit::new(*bits)).collect();
        let packets = credit.len();
        let cut = packets * usize::from(shape.beats > 1);
        let (suffix, doc) = match packets {
            0 => ("", "Values that were asked for, in order."),
            _ => (
                "_packets",
                "A value for each key of a block, one packet; those that no query needs are dropped.",
            ),
        };
        let flag = || (0..packets).map(|_| ResetRegister::new(1, 0)).collect();
        ValueStream {
            tag: Tag::module(format!("value_stream_{}{suffix}", shape.ident()), doc),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            tvalid: Bus::new(1),
            tready: Bus::new(1),
            tdata: Bus::vector(shape.words, shape.word_bits()),
            tlast: Bus::vector(packets, 1),
            busy: Bus::vector(1 - packets, 1),
            block: Bus::vector(packets, 1),
            due: Bus::new(1),
            due_last: Bus::vector(packets, 1),
            ce: Bus::new(1),
            missing: Bus::new(1),
            v: Bus::vector(shape.d, shape.width),
            error: Bus::vector(2 * packets + cut, 1),
            credit,
            exhausted_q: flag(),
            dropping_q: flag(),
            vectors: VectorInput::new(shape, kind),
            alone: (packets..1).map(|_| ValueRules::new(ValueRulesFunction {})).collect(),
            packet: (0..packets).map(|_| ValuePacketRules::new(ValuePacketRulesFunction {})).collect(),
            d: shape.d,
            words: shape.words,
            packets,
            alones: 1 - packets,
            cut,
        }
    }
}

impl Logic for ValueStream {
    #[hdl_gen]
    fn update(&mut self) {
        self.vectors.clk.next = self.clk.val();
        self.vectors.rst.next = self.rst.val();
        self.vectors.tvalid.next = self.tvalid.val();
        self.tready.next = self.vectors.tready.val();
        for w in 0..self.words {
            self.vectors.tdata[w].next = self.tdata[w].val();
        }
        for e in 0..self.d {
            self.v[e].next = self.vectors.y[e].val();
        }
        for i in 0..self.alones {
            self.vectors.permit.next = self.busy[i].val();
            self.alone[i].due.next = self.due.val();
            self.alone[i].full.next = self.vectors.full.val();
            self.alone[i].ce.next = self.ce.val();
            self.missing.next = self.alone[i].missing.val();
            self.vectors.take.next = self.alone[i].take.val();
        }
        for i in 0..self.packets {
            self.credit[i].clk.next = self.clk.val();
            self.credit[i].rst.next = self.rst.val();
            self.credit[i].up.next = self.block[i].val();
            self.credit[i].down.next = self.vectors.opens[i].val();
            self.vectors.permit.next = self.credit[i].some.val();
            self.vectors.tlast[i].next = self.tlast[i].val();
            self.exhausted_q[i].clk.next = self.clk.val();
            self.exhausted_q[i].rst.next = self.rst.val();
            self.exhausted_q[i].d.next = self.packet[i].next_exhausted.val();
            self.dropping_q[i].clk.next = self.clk.val();
            self.dropping_q[i].rst.next = self.rst.val();
            self.dropping_q[i].d.next = self.packet[i].next_dropping.val();
            self.packet[i].due.next = self.due.val();
            self.packet[i].due_last.next = self.due_last[i].val();
            self.packet[i].full.next = self.vectors.full.val();
            self.packet[i].last.next = self.vectors.last[i].val();
            self.packet[i].exhausted.next = self.exhausted_q[i].q.val();
            self.packet[i].dropping.next = self.dropping_q[i].q.val();
            self.packet[i].ce.next = self.ce.val();
            self.missing.next = self.packet[i].missing.val();
            self.vectors.take.next = self.packet[i].take.val();
            self.error[0].next = self.packet[i].too_long.val();
            self.error[1].next = self.packet[i].too_short.val();
            for j in 0..self.cut {
                self.error[j + 2].next = self.vectors.partial[j].val();
            }
        }
    }
}

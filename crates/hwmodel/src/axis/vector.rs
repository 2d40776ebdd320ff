//! From beats to vectors: the register from which a vector goes to all cores, filled beat by beat.

use super::beat::{BeatSelect, ElementJoin, Shape};
use super::packet::*;
use crate::block::{Low, LowFunction};
use crate::circuit;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::word::index_bits;
use crate::{function, unit};

function! {
    /// Constant one.
    pub struct HighFunction {}
    name(this) = "high";
    doc = "y = 1.";
    inputs {}
    outputs { y: 1 }
    eval<W> { [W::constant(1, 1)] }
}
unit! {
    /// Constant one.
    pub struct High(HighFunction) {} -> { y }
}

function! {
    /// One or the other.
    pub struct EitherFunction {}
    name(this) = "either";
    doc = "y = a or b.";
    inputs { a: 1, b: 1 }
    outputs { y: 1 }
    eval<W> { [a.or(&b)] }
}
unit! {
    /// One or the other.
    pub struct Either(EitherFunction) { a, b } -> { y }
}

/// What a stream of vectors has beside beats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamKind {
    /// Vectors come in packets.
    pub packets: bool,
    /// A packet may have too many.
    pub limited: bool,
    /// The last beat of a vector has a flag.
    pub flag: bool,
}

circuit! {
    /// A stream's beats, and the vector that they make.
    pub struct VectorInput {
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
            /// With a flag: the flag.
            tuser: Vec<Bus<In>>,
            /// A packet may begin; without packets, a beat may come.
            permit: Bus<In>,
            /// Of limited packets: the vector is the last that its packet may have.
            stop: Vec<Bus<In>>,
            /// The vector is taken.
            take: Bus<In>,
            /// A packet begins.
            opens: Vec<Bus<Out>>,
            /// Of limited packets: a vector becomes complete.
            vector: Vec<Bus<Out>>,
            /// It is its packet's last, or the last that the packet may have.
            ends: Vec<Bus<Out>>,
            /// A vector waits.
            full: Bus<Out>,
            /// Of packets: it is its packet's last.
            last: Vec<Bus<Out>>,
            /// Its flag.
            flag: Vec<Bus<Out>>,
            /// The vector.
            y: Vec<Bus<Out>>,
            /// Of limited packets: this one is too long.
            too_long: Vec<Bus<Out>>,
            /// Of packets of several beats a vector: this one ends inside a vector.
            partial: Vec<Bus<Out>>,
        }
        parts {
            /// The register.
            word_q: Vec<EnabledRegister>,
            /// It is full.
            full_q: ResetRegister,
            /// The vector is its packet's last.
            last_q: Vec<EnabledRegister>,
            /// Its flag.
            flag_q: Vec<EnabledRegister>,
            /// Of several: the beat.
            beat_q: Vec<ResetRegister>,
            /// A packet has begun.
            begun_q: Vec<ResetRegister>,
            /// Zeros stand for beats.
            cut_q: Vec<ResetRegister>,
            /// Beats are dropped.
            dropping_q: Vec<ResetRegister>,
            /// Nothing.
            low: Vec<Low>,
            /// Every beat is a vector's last.
            high: Vec<High>,
            /// Whether a beat may be stored.
            vector_room: Room,
            /// The beat after.
            next_beat: Vec<NextBeat>,
            /// Rules of packets.
            packet: Vec<PacketRules>,
            /// Rules without packets.
            plain: Vec<VectorRules>,
            /// Cut packets.
            cuts: Vec<CutRules>,
            /// Long packets.
            drops: Vec<DropRules>,
            /// Whether the vector is the last for one reason or the other.
            ending: Vec<Either>,
            /// Zeros where the packet was cut.
            padded: Vec<Padded>,
            /// The same for the flag.
            padded_flag: Vec<Padded>,
            /// Where beats are stored.
            select: Vec<BeatSelect>,
            /// Elements.
            join: Vec<ElementJoin>,
            /// Next state.
            next_full: Full,
        }
        config {
            whole: usize,
            joined: usize,
            parts: usize,
            words: usize,
            beats: usize,
            single: usize,
            several: usize,
            packets: usize,
            plains: usize,
            cut: usize,
            limited: usize,
            unlimited: usize,
            flags: usize,
            uncut_flags: usize,
            uncut_packets: usize,
        }
    }
}

impl VectorInput {
    /// The input of a stream.
    pub fn new(shape: Shape, kind: StreamKind) -> Self {
        let Shape { d, width, beats, parts, words } = shape;
        let bits = index_bits(beats);
        let word_bits = shape.word_bits();
        let several = usize::from(beats > 1);
        let packets = usize::from(kind.packets);
        let (cut, limited, flags) = (packets * several, usize::from(kind.limited), usize::from(kind.flag));
        let joined = if parts > 1 { d } else { 0 };
        let flag = |n: usize| (0..n).map(|_| ResetRegister::new(1, 0)).collect();
        let held = |n: usize| (0..n).map(|_| EnabledRegister::new(1)).collect();
        let mut name = format!("vector_input_{}", shape.ident());
        for (is, suffix) in [(kind.packets, "_packets"), (kind.limited, "_limited"), (kind.flag, "_flag")] {
            if is {
                name += suffix;
            }
        }
        // One and the same for all that need it.
        let lows = usize::from(kind.packets && (cut == 0 || limited == 0));
        VectorInput {
            tag: Tag::module(name, "Beats of a stream, and the register of the vector that they make."),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            tvalid: Bus::new(1),
            tready: Bus::new(1),
            tdata: Bus::vector(words, word_bits),
            tlast: Bus::vector(packets, 1),
            tuser: Bus::vector(flags, 1),
            permit: Bus::new(1),
            stop: Bus::vector(limited, 1),
            take: Bus::new(1),
            opens: Bus::vector(packets, 1),
            vector: Bus::vector(limited, 1),
            ends: Bus::vector(limited, 1),
            full: Bus::new(1),
            last: Bus::vector(packets, 1),
            flag: Bus::vector(flags, 1),
            y: Bus::vector(d, width),
            too_long: Bus::vector(limited, 1),
            partial: Bus::vector(cut, 1),
            word_q: (0..beats * words).map(|_| EnabledRegister::new(word_bits)).collect(),
            full_q: ResetRegister::new(1, 0),
            last_q: held(packets),
            flag_q: held(flags),
            beat_q: (0..several).map(|_| ResetRegister::new(bits, 0)).collect(),
            begun_q: flag(packets),
            cut_q: flag(cut),
            dropping_q: flag(limited),
            low: (0..lows).map(|_| Low::new(LowFunction {})).collect(),
            high: (several..1).map(|_| High::new(HighFunction {})).collect(),
            vector_room: Room::new(RoomFunction {}),
            next_beat: (0..several)
                .map(|_| NextBeat::new(NextBeatFunction { beats: beats as u32, bits }))
                .collect(),
            packet: (0..packets).map(|_| PacketRules::new(PacketRulesFunction {})).collect(),
            plain: (packets..1).map(|_| VectorRules::new(VectorRulesFunction {})).collect(),
            cuts: (0..cut).map(|_| CutRules::new(CutRulesFunction {})).collect(),
            drops: (0..limited).map(|_| DropRules::new(DropRulesFunction {})).collect(),
            ending: (0..limited).map(|_| Either::new(EitherFunction {})).collect(),
            padded: (0..cut * words).map(|_| Padded::new(PaddedFunction { width: word_bits })).collect(),
            padded_flag: (0..cut * flags).map(|_| Padded::new(PaddedFunction { width: 1 })).collect(),
            select: (0..several).map(|_| BeatSelect::new(beats)).collect(),
            join: (0..joined).map(|_| ElementJoin::new(parts, word_bits)).collect(),
            next_full: Full::new(FullFunction {}),
            whole: d - joined,
            joined,
            parts,
            words,
            beats,
            single: 1 - several,
            several,
            packets,
            plains: 1 - packets,
            cut,
            limited,
            unlimited: packets - limited,
            flags,
            uncut_flags: flags * (1 - cut),
            uncut_packets: packets * (1 - cut),
        }
    }
}

impl Logic for VectorInput {
    #[hdl_gen]
    fn update(&mut self) {
        self.full_q.clk.next = self.clk.val();
        self.full_q.rst.next = self.rst.val();
        self.full_q.d.next = self.next_full.next_full.val();
        self.full.next = self.full_q.q.val();
        self.vector_room.full.next = self.full_q.q.val();
        self.vector_room.take.next = self.take.val();
        self.next_full.full.next = self.full_q.q.val();
        self.next_full.take.next = self.take.val();
        // Which beat.
        for i in 0..self.several {
            self.beat_q[i].clk.next = self.clk.val();
            self.beat_q[i].rst.next = self.rst.val();
            self.beat_q[i].d.next = self.next_beat[i].next_beat.val();
            self.next_beat[i].beat.next = self.beat_q[i].q.val();
            self.select[i].beat[0].next = self.beat_q[i].q.val();
        }
        for p in 0..self.packets {
            self.packet[p].tvalid.next = self.tvalid.val();
            self.packet[p].tlast.next = self.tlast[p].val();
            self.packet[p].permit.next = self.permit.val();
            self.packet[p].room.next = self.vector_room.room.val();
            self.packet[p].begun.next = self.begun_q[p].q.val();
            self.begun_q[p].clk.next = self.clk.val();
            self.begun_q[p].rst.next = self.rst.val();
            self.begun_q[p].d.next = self.packet[p].next_begun.val();
            self.tready.next = self.packet[p].tready.val();
            self.opens[p].next = self.packet[p].opens.val();
            self.last_q[p].clk.next = self.clk.val();
            self.last_q[p].enable.next = self.packet[p].vector.val();
            self.last[p].next = self.last_q[p].q.val();
            self.next_full.vector.next = self.packet[p].vector.val();
            for i in 0..self.several {
                self.packet[p].final_beat.next = self.next_beat[i].final_beat.val();
                self.next_beat[i].fill.next = self.packet[p].fill.val();
                self.select[i].fill[0].next = self.packet[p].fill.val();
            }
            for i in 0..self.single {
                self.packet[p].final_beat.next = self.high[i].y.val();
                for w in 0..self.words {
                    self.word_q[w].enable.next = self.packet[p].fill.val();
                }
            }
            for i in 0..self.flags {
                self.flag_q[i].enable.next = self.packet[p].vector.val();
            }
            for i in 0..self.limited {
                self.vector[i].next = self.packet[p].vector.val();
                self.ends[i].next = self.ending[i].y.val();
                self.ending[i].a.next = self.packet[p].last.val();
                self.ending[i].b.next = self.stop[i].val();
                self.last_q[p].d.next = self.ending[i].y.val();
                self.packet[p].dropping.next = self.dropping_q[i].q.val();
                self.drops[i].tvalid.next = self.tvalid.val();
                self.drops[i].tready.next = self.packet[p].tready.val();
                self.drops[i].tlast.next = self.tlast[p].val();
                self.drops[i].vector.next = self.packet[p].vector.val();
                self.drops[i].last.next = self.packet[p].last.val();
                self.drops[i].stop.next = self.stop[i].val();
                self.drops[i].dropping.next = self.dropping_q[i].q.val();
                self.dropping_q[i].clk.next = self.clk.val();
                self.dropping_q[i].rst.next = self.rst.val();
                self.dropping_q[i].d.next = self.drops[i].next_dropping.val();
                self.too_long[i].next = self.drops[i].too_long.val();
            }
            for i in 0..self.cut {
                self.packet[p].cut.next = self.cut_q[i].q.val();
                self.cut_q[i].clk.next = self.clk.val();
                self.cut_q[i].rst.next = self.rst.val();
                self.cut_q[i].d.next = self.cuts[i].next_cut.val();
                self.cuts[i].tvalid.next = self.tvalid.val();
                self.cuts[i].tready.next = self.packet[p].tready.val();
                self.cuts[i].tlast.next = self.tlast[p].val();
                self.cuts[i].cut.next = self.cut_q[i].q.val();
                self.cuts[i].vector.next = self.packet[p].vector.val();
                self.cuts[i].final_beat.next = self.next_beat[i].final_beat.val();
                self.partial[i].next = self.cuts[i].partial.val();
                for j in 0..self.limited {
                    self.cuts[i].dropping.next = self.dropping_q[j].q.val();
                }
                for _never in 0..self.unlimited {
                    self.cuts[i].dropping.next = self.low[0].y.val();
                }
                for w in 0..self.words {
                    self.padded[w].cut.next = self.cut_q[i].q.val();
                    self.padded[w].x.next = self.tdata[w].val();
                }
                for j in 0..self.flags {
                    self.padded_flag[j].cut.next = self.cut_q[i].q.val();
                    self.padded_flag[j].x.next = self.tuser[j].val();
                    self.flag_q[j].d.next = self.padded_flag[j].y.val();
                }
            }
        }
        for _never in 0..self.unlimited {
            self.packet[0].dropping.next = self.low[0].y.val();
            self.last_q[0].d.next = self.packet[0].last.val();
        }
        for _never in 0..self.uncut_packets {
            self.packet[0].cut.next = self.low[0].y.val();
        }
        for i in 0..self.uncut_flags {
            self.flag_q[i].d.next = self.tuser[i].val();
        }
        for i in 0..self.flags {
            self.flag_q[i].clk.next = self.clk.val();
            self.flag[i].next = self.flag_q[i].q.val();
        }
        for p in 0..self.plains {
            self.plain[p].tvalid.next = self.tvalid.val();
            self.plain[p].permit.next = self.permit.val();
            self.plain[p].room.next = self.vector_room.room.val();
            self.tready.next = self.plain[p].tready.val();
            self.next_full.vector.next = self.plain[p].vector.val();
            for i in 0..self.several {
                self.plain[p].final_beat.next = self.next_beat[i].final_beat.val();
                self.next_beat[i].fill.next = self.plain[p].fill.val();
                self.select[i].fill[0].next = self.plain[p].fill.val();
            }
            for i in 0..self.single {
                self.plain[p].final_beat.next = self.high[i].y.val();
                for w in 0..self.words {
                    self.word_q[w].enable.next = self.plain[p].fill.val();
                }
            }
        }
        // The data.
        for s in 0..self.several {
            for n in self.words..(self.words + 1) {
                for b in 0..self.beats {
                    for w in 0..self.words {
                        self.word_q[n * b + w].enable.next = self.select[s].enable[b].val();
                    }
                }
            }
        }
        for n in self.words..(self.words + 1) {
            for b in 0..self.beats {
                for w in 0..self.words {
                    self.word_q[n * b + w].clk.next = self.clk.val();
                }
                for _cut in 0..self.cut {
                    for w in 0..self.words {
                        self.word_q[n * b + w].d.next = self.padded[w].y.val();
                    }
                }
                for _uncut in self.cut..1 {
                    for w in 0..self.words {
                        self.word_q[n * b + w].d.next = self.tdata[w].val();
                    }
                }
            }
        }
        for e in 0..self.whole {
            self.y[e].next = self.word_q[e].q.val();
        }
        for n in self.parts..(self.parts + 1) {
            for e in 0..self.joined {
                for p in 0..self.parts {
                    self.join[e].x[p].next = self.word_q[n * e + p].q.val();
                }
                self.y[e].next = self.join[e].y[0].val();
            }
        }
    }
}

//! Results on their way out.
//!
//! The first beat of a result leaves the array's port at once, the others wait in a register, from which they move down
//! by one beat at a time. What leaves goes through a buffer of two beats, so that neither the array's port nor the
//! sink's `tready` is in the other's path, at a beat a cycle.

use super::beat::{ElementSplit, Shape};
use super::buffer::{BeatBuffer, FLAG_BITS};
use crate::block::results::{Select, SelectFunction};
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::word::bits_for;
use crate::{circuit, function, unit};

function! {
    /// Whether there is room for a result, and what leaves.
    pub struct SendRulesFunction { bits: u32, rest: u64 }
    name(this) = format!("send_rules_{}", this.rest);
    doc = "A result may come when no beat of the one before waits and the buffer has room.";
    inputs { o_valid: 1, ce: 1, buffer_full: 1, left: this.bits }
    outputs { blocked: 1, load: 1, push: 1, waiting: 1, last_beat: 1, next_left: this.bits }
    eval<W> {
        let waiting = left.any().named("waiting");
        let room = waiting.not().and(&buffer_full.not()).named("room");
        let load = o_valid.and(&ce).named("load");
        let shift = waiting.and(&buffer_full.not()).named("shift");
        let minus_one = W::constant(this.bits, crate::word::ones(this.bits));
        let less = left.add(&minus_one).named("less");
        let next_left = load.select(&W::constant(this.bits, this.rest), &shift.select(&less, &left));
        let last_beat = left.eq(&W::constant(this.bits, 1)).named("final_beat");
        [o_valid.and(&room.not()), load.clone(), load.or(&shift), waiting, last_beat, next_left]
    }
}
unit! {
    /// Whether there is room for a result, and what leaves.
    pub struct SendRules(SendRulesFunction) { o_valid, ce, buffer_full, left }
        -> { blocked, load, push, waiting, last_beat, next_left }
}

function! {
    /// The same for results of one beat.
    pub struct SendWholeFunction {}
    name(this) = "send_whole";
    doc = "A result may come when the buffer has room.";
    inputs { o_valid: 1, ce: 1, buffer_full: 1 }
    outputs { blocked: 1, push: 1 }
    eval<W> { [o_valid.and(&buffer_full), o_valid.and(&ce)] }
}
unit! {
    /// The same for results of one beat.
    pub struct SendWhole(SendWholeFunction) { o_valid, ce, buffer_full } -> { blocked, push }
}

function! {
    /// Which flags leave, and whether the packet ends.
    pub struct SendFlagsFunction {}
    name(this) = "send_flags";
    doc = "The flags of the result that waits, or of the new one; a packet ends with the last beat of its last result.";
    inputs { waiting: 1, last_beat: 1, own: FLAG_BITS, kept: FLAG_BITS, kept_last: 1 }
    outputs { flags: FLAG_BITS, last: 1 }
    eval<W> { [waiting.select(&kept, &own), last_beat.and(&kept_last)] }
}
unit! {
    /// Which flags leave, and whether the packet ends.
    pub struct SendFlags(SendFlagsFunction) { waiting, last_beat, own, kept, kept_last } -> { flags, last }
}

circuit! {
    /// The words of a vector.
    pub struct WordSplit {
        ports {
            /// The vector.
            x: Vec<Bus<In>>,
            /// Its words.
            y: Vec<Bus<Out>>,
        }
        parts {
            /// Of elements of several words.
            split: Vec<ElementSplit>,
        }
        config {
            whole: usize,
            divided: usize,
            parts: usize,
        }
    }
}

impl WordSplit {
    /// For vectors of a shape.
    pub fn new(shape: Shape) -> Self {
        let Shape { d, width, parts, .. } = shape;
        let divided = if parts > 1 { d } else { 0 };
        WordSplit {
            tag: Tag::module("words", "The words of a vector.").dissolved(),
            unrest: Default::default(),
            x: Bus::vector(d, width),
            y: Bus::vector(d * parts, shape.word_bits()),
            split: (0..divided).map(|_| ElementSplit::new(parts, shape.word_bits())).collect(),
            whole: d - divided,
            divided,
            parts,
        }
    }
}

impl Logic for WordSplit {
    #[hdl_gen]
    fn update(&mut self) {
        for e in 0..self.whole {
            self.y[e].next = self.x[e].val();
        }
        for n in self.parts..(self.parts + 1) {
            for e in 0..self.divided {
                self.split[e].x[0].next = self.x[e].val();
                for p in 0..self.parts {
                    self.y[n * e + p].next = self.split[e].y[p].val();
                }
            }
        }
    }
}

circuit! {
    /// The result stream: a packet is a block's results.
    pub struct ResultStream {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// The array's result.
            o: Vec<Bus<In>>,
            /// It is there.
            o_valid: Bus<In>,
            /// It is its block's last.
            o_last: Bus<In>,
            /// Its flags.
            o_flags: Bus<In>,
            /// The array is not frozen.
            ce: Bus<In>,
            /// A beat is offered.
            tvalid: Bus<Out>,
            /// It is taken.
            tready: Bus<In>,
            /// The beat, in words.
            tdata: Vec<Bus<Out>>,
            /// Flags of its result.
            tuser: Bus<Out>,
            /// It is its packet's last.
            tlast: Bus<Out>,
            /// A result cannot leave: freeze the array.
            blocked: Bus<Out>,
        }
        parts {
            /// Words of the result.
            words_of: WordSplit,
            /// Beats after the first.
            rest_q: Vec<EnabledRegister>,
            /// Their flags.
            flags_q: Vec<EnabledRegister>,
            /// The result is its block's last.
            last_q: Vec<EnabledRegister>,
            /// Beats that wait.
            left_q: Vec<ResetRegister>,
            /// Decisions, of results of several beats.
            rules: Vec<SendRules>,
            /// The same of one.
            whole: Vec<SendWhole>,
            /// New beats, or those behind.
            shift: Vec<Select>,
            /// What goes to the buffer.
            send: Vec<Select>,
            /// The same for flags.
            send_flags: Vec<SendFlags>,
            /// What leaves.
            buffer: BeatBuffer,
        }
        config {
            d: usize,
            words: usize,
            several: usize,
            one: usize,
            rest_beats: usize,
            shifted_beats: usize,
        }
    }
}

impl ResultStream {
    /// For results of a shape.
    pub fn new(shape: Shape) -> Self {
        let Shape { d, width, beats, words, .. } = shape;
        let word_bits = shape.word_bits();
        let several = usize::from(beats > 1);
        let rest_beats = beats - 1;
        let shifted_beats = rest_beats.saturating_sub(1);
        let bits = bits_for(rest_beats as u64);
        let held = |n: usize, width: u32| (0..n).map(|_| EnabledRegister::new(width)).collect();
        let select = |n: usize| (0..n).map(|_| Select::new(SelectFunction { width: word_bits })).collect();
        ResultStream {
            tag: Tag::module(format!("result_stream_{}", shape.ident()), "Results of a block, one packet."),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            o: Bus::vector(d, width),
            o_valid: Bus::new(1),
            o_last: Bus::new(1),
            o_flags: Bus::new(FLAG_BITS),
            ce: Bus::new(1),
            tvalid: Bus::new(1),
            tready: Bus::new(1),
            tdata: Bus::vector(words, word_bits),
            tuser: Bus::new(FLAG_BITS),
            tlast: Bus::new(1),
            blocked: Bus::new(1),
            words_of: WordSplit::new(shape),
            rest_q: held(rest_beats * words, word_bits),
            flags_q: held(several, FLAG_BITS),
            last_q: held(several, 1),
            left_q: (0..several).map(|_| ResetRegister::new(bits, 0)).collect(),
            rules: (0..several)
                .map(|_| SendRules::new(SendRulesFunction { bits, rest: rest_beats as u64 }))
                .collect(),
            whole: (several..1).map(|_| SendWhole::new(SendWholeFunction {})).collect(),
            shift: select(shifted_beats * words),
            send: select(several * words),
            send_flags: (0..several).map(|_| SendFlags::new(SendFlagsFunction {})).collect(),
            buffer: BeatBuffer::new(words, word_bits),
            d,
            words,
            several,
            one: 1 - several,
            rest_beats,
            shifted_beats,
        }
    }
}

impl Logic for ResultStream {
    #[hdl_gen]
    fn update(&mut self) {
        for e in 0..self.d {
            self.words_of.x[e].next = self.o[e].val();
        }
        self.buffer.clk.next = self.clk.val();
        self.buffer.rst.next = self.rst.val();
        self.buffer.tready.next = self.tready.val();
        self.tvalid.next = self.buffer.tvalid.val();
        self.tuser.next = self.buffer.tuser.val();
        self.tlast.next = self.buffer.tlast.val();
        for w in 0..self.words {
            self.tdata[w].next = self.buffer.tdata[w].val();
        }
        for i in 0..self.one {
            self.whole[i].o_valid.next = self.o_valid.val();
            self.whole[i].ce.next = self.ce.val();
            self.whole[i].buffer_full.next = self.buffer.full.val();
            self.blocked.next = self.whole[i].blocked.val();
            self.buffer.push.next = self.whole[i].push.val();
            self.buffer.x_flags.next = self.o_flags.val();
            self.buffer.x_last.next = self.o_last.val();
            for w in 0..self.words {
                self.buffer.x[w].next = self.words_of.y[w].val();
            }
        }
        for i in 0..self.several {
            self.rules[i].o_valid.next = self.o_valid.val();
            self.rules[i].ce.next = self.ce.val();
            self.rules[i].buffer_full.next = self.buffer.full.val();
            self.rules[i].left.next = self.left_q[i].q.val();
            self.blocked.next = self.rules[i].blocked.val();
            self.buffer.push.next = self.rules[i].push.val();
            self.left_q[i].clk.next = self.clk.val();
            self.left_q[i].rst.next = self.rst.val();
            self.left_q[i].d.next = self.rules[i].next_left.val();
            self.flags_q[i].clk.next = self.clk.val();
            self.flags_q[i].enable.next = self.rules[i].load.val();
            self.flags_q[i].d.next = self.o_flags.val();
            self.last_q[i].clk.next = self.clk.val();
            self.last_q[i].enable.next = self.rules[i].load.val();
            self.last_q[i].d.next = self.o_last.val();
            self.send_flags[i].waiting.next = self.rules[i].waiting.val();
            self.send_flags[i].last_beat.next = self.rules[i].last_beat.val();
            self.send_flags[i].own.next = self.o_flags.val();
            self.send_flags[i].kept.next = self.flags_q[i].q.val();
            self.send_flags[i].kept_last.next = self.last_q[i].q.val();
            self.buffer.x_flags.next = self.send_flags[i].flags.val();
            self.buffer.x_last.next = self.send_flags[i].last.val();
            for w in 0..self.words {
                self.send[w].take.next = self.rules[i].waiting.val();
                self.send[w].own.next = self.rest_q[w].q.val();
                self.send[w].behind.next = self.words_of.y[w].val();
                self.buffer.x[w].next = self.send[w].y.val();
            }
            for n in self.words..(self.words + 1) {
                for b in 0..self.rest_beats {
                    for w in 0..self.words {
                        self.rest_q[n * b + w].clk.next = self.clk.val();
                    }
                }
                for b in 0..self.shifted_beats {
                    for w in 0..self.words {
                        self.shift[n * b + w].take.next = self.rules[i].load.val();
                        self.shift[n * b + w].own.next = self.words_of.y[n * b + n + w].val();
                        self.shift[n * b + w].behind.next = self.rest_q[n * b + n + w].q.val();
                        self.rest_q[n * b + w].enable.next = self.rules[i].push.val();
                        self.rest_q[n * b + w].d.next = self.shift[n * b + w].y.val();
                    }
                }
                // Behind the last beat there is nothing.
                for b in self.shifted_beats..self.rest_beats {
                    for w in 0..self.words {
                        self.rest_q[n * b + w].enable.next = self.rules[i].load.val();
                        self.rest_q[n * b + w].d.next = self.words_of.y[n * b + n + w].val();
                    }
                }
            }
        }
    }
}

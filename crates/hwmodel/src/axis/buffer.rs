//! A buffer of two beats: registered on both sides, a beat a cycle.

use crate::block::results::{Select, SelectFunction};
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::{circuit, function, unit};

/// Bits of `m_axis_o_tuser`: invalid, overflow, empty.
pub const FLAG_BITS: u32 = 3;

function! {
    /// Where a beat goes in the buffer.
    pub struct BufferRulesFunction {}
    name(this) = "buffer_rules";
    doc = "Two places: the first is on the port, the second takes what comes while that cannot leave.";
    inputs { push: 1, tready: 1, valid: 1, full: 1 }
    outputs { to_first: 1, to_second: 1, next_valid: 1, next_full: 1 }
    eval<W> {
        let moves = valid.not().or(&tready).named("moves");
        let some = full.or(&push).named("some");
        [moves.and(&some), push.and(&moves.not()), moves.not().or(&some), moves.not().and(&some)]
    }
}
unit! {
    /// Where a beat goes in the buffer.
    pub struct BufferRules(BufferRulesFunction) { push, tready, valid, full }
        -> { to_first, to_second, next_valid, next_full }
}

circuit! {
    /// A buffer of two beats.
    pub struct BeatBuffer {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// A beat comes; only while not `full`.
            push: Bus<In>,
            /// Its data.
            x: Vec<Bus<In>>,
            /// Its flags.
            x_flags: Bus<In>,
            /// It is its packet's last.
            x_last: Bus<In>,
            /// A beat is offered.
            tvalid: Bus<Out>,
            /// It is taken.
            tready: Bus<In>,
            /// Its data.
            tdata: Vec<Bus<Out>>,
            /// Its flags.
            tuser: Bus<Out>,
            /// It is its packet's last.
            tlast: Bus<Out>,
            /// There is no room.
            full: Bus<Out>,
        }
        parts {
            /// The first place.
            data_q: Vec<EnabledRegister>,
            /// Its flags.
            flags_q: EnabledRegister,
            /// Its last bit.
            last_q: EnabledRegister,
            /// It holds a beat.
            valid_q: ResetRegister,
            /// The second place.
            second_q: Vec<EnabledRegister>,
            /// Its flags.
            second_flags_q: EnabledRegister,
            /// Its last bit.
            second_last_q: EnabledRegister,
            /// It holds a beat.
            full_q: ResetRegister,
            /// Decisions.
            rules: BufferRules,
            /// What goes to the first place.
            select: Vec<Select>,
            /// The same for flags.
            select_flags: Select,
            /// The same for the last bit.
            select_last: Select,
        }
        config {
            words: usize,
        }
    }
}

impl BeatBuffer {
    /// For beats of `words` words of `width` bits.
    pub fn new(words: usize, width: u32) -> Self {
        let select = |width| Select::new(SelectFunction { width });
        let held = || (0..words).map(|_| EnabledRegister::new(width)).collect();
        BeatBuffer {
            tag: Tag::module(format!("beat_buffer_{words}x{width}"), "Two beats on their way out."),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            push: Bus::new(1),
            x: Bus::vector(words, width),
            x_flags: Bus::new(FLAG_BITS),
            x_last: Bus::new(1),
            tvalid: Bus::new(1),
            tready: Bus::new(1),
            tdata: Bus::vector(words, width),
            tuser: Bus::new(FLAG_BITS),
            tlast: Bus::new(1),
            full: Bus::new(1),
            data_q: held(),
            flags_q: EnabledRegister::new(FLAG_BITS),
            last_q: EnabledRegister::new(1),
            valid_q: ResetRegister::new(1, 0),
            second_q: held(),
            second_flags_q: EnabledRegister::new(FLAG_BITS),
            second_last_q: EnabledRegister::new(1),
            full_q: ResetRegister::new(1, 0),
            rules: BufferRules::new(BufferRulesFunction {}),
            select: (0..words).map(|_| select(width)).collect(),
            select_flags: select(FLAG_BITS),
            select_last: select(1),
            words,
        }
    }
}

impl Logic for BeatBuffer {
    #[hdl_gen]
    fn update(&mut self) {
        self.rules.push.next = self.push.val();
        self.rules.tready.next = self.tready.val();
        self.rules.valid.next = self.valid_q.q.val();
        self.rules.full.next = self.full_q.q.val();
        self.valid_q.clk.next = self.clk.val();
        self.valid_q.rst.next = self.rst.val();
        self.valid_q.d.next = self.rules.next_valid.val();
        self.full_q.clk.next = self.clk.val();
        self.full_q.rst.next = self.rst.val();
        self.full_q.d.next = self.rules.next_full.val();
        self.tvalid.next = self.valid_q.q.val();
        self.full.next = self.full_q.q.val();
        for w in 0..self.words {
            self.second_q[w].clk.next = self.clk.val();
            self.second_q[w].enable.next = self.rules.to_second.val();
            self.second_q[w].d.next = self.x[w].val();
            self.select[w].take.next = self.full_q.q.val();
            self.select[w].own.next = self.second_q[w].q.val();
            self.select[w].behind.next = self.x[w].val();
            self.data_q[w].clk.next = self.clk.val();
            self.data_q[w].enable.next = self.rules.to_first.val();
            self.data_q[w].d.next = self.select[w].y.val();
            self.tdata[w].next = self.data_q[w].q.val();
        }
        self.second_flags_q.clk.next = self.clk.val();
        self.second_flags_q.enable.next = self.rules.to_second.val();
        self.second_flags_q.d.next = self.x_flags.val();
        self.select_flags.take.next = self.full_q.q.val();
        self.select_flags.own.next = self.second_flags_q.q.val();
        self.select_flags.behind.next = self.x_flags.val();
        self.flags_q.clk.next = self.clk.val();
        self.flags_q.enable.next = self.rules.to_first.val();
        self.flags_q.d.next = self.select_flags.y.val();
        self.tuser.next = self.flags_q.q.val();
        self.second_last_q.clk.next = self.clk.val();
        self.second_last_q.enable.next = self.rules.to_second.val();
        self.second_last_q.d.next = self.x_last.val();
        self.select_last.take.next = self.full_q.q.val();
        self.select_last.own.next = self.second_last_q.q.val();
        self.select_last.behind.next = self.x_last.val();
        self.last_q.clk.next = self.clk.val();
        self.last_q.enable.next = self.rules.to_first.val();
        self.last_q.d.next = self.select_last.y.val();
        self.tlast.next = self.last_q.q.val();
    }
}

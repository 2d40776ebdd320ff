//! Requests for the values that some query of the block needs.

use crate::block::results::{Select, SelectFunction};
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::{circuit, function, unit};

/// Bits of a request: the place of a key in its block.
pub const INDEX_BITS: u32 = 32;

function! {
    /// When a request leaves.
    pub struct RequestRulesFunction {}
    name(this) = "request_rules";
    doc = "A step's request shows at once, even while the array is frozen, and once. If it is not taken in that cycle, it is\n\
           kept; then the next one freezes the array until it has left.";
    inputs { v_ren: 1, asked: 1, kept: 1, tready: 1, ce: 1 }
    outputs { tvalid: 1, blocked: 1, keep: 1, next_kept: 1, next_asked: 1 }
    eval<W> {
        let wants = v_ren.and(&asked.not()).named("wants");
        let tvalid = kept.or(&wants).named("valid");
        let passes = wants.and(&kept.not()).named("passes");
        let keep = passes.and(&tready.not());
        let next_asked = asked.or(&passes).and(&ce.not());
        [tvalid.clone(), wants.and(&kept), keep, tvalid.and(&tready.not()), next_asked]
    }
}
unit! {
    /// When a request leaves.
    pub struct RequestRules(RequestRulesFunction) { v_ren, asked, kept, tready, ce }
        -> { tvalid, blocked, keep, next_kept, next_asked }
}

circuit! {
    /// The requests for values: one place to wait.
    pub struct RequestStream {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// The array's step needs its value.
            v_ren: Bus<In>,
            /// Place of its key.
            index: Bus<In>,
            /// The array is not frozen.
            ce: Bus<In>,
            /// A request is offered.
            tvalid: Bus<Out>,
            /// It is taken.
            tready: Bus<In>,
            /// The request.
            tdata: Bus<Out>,
            /// A request cannot leave: freeze the array.
            blocked: Bus<Out>,
        }
        parts {
            /// The step has asked.
            asked_q: ResetRegister,
            /// A request waits.
            kept_q: ResetRegister,
            /// It.
            index_q: EnabledRegister,
            /// Decisions.
            rules: RequestRules,
            /// The request on the port.
            select: Select,
        }
        config {}
    }
}

impl Default for RequestStream {
    fn default() -> Self {
        RequestStream::new()
    }
}

impl RequestStream {
    /// The stream.
    pub fn new() -> Self {
        RequestStream {
            tag: Tag::module("request_stream", "Requests for values."),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            v_ren: Bus::new(1),
            index: Bus::new(INDEX_BITS),
            ce: Bus::new(1),
            tvalid: Bus::new(1),
            tready: Bus::new(1),
            tdata: Bus::new(INDEX_BITS),
            blocked: Bus::new(1),
            asked_q: ResetRegister::new(1, 0),
            kept_q: ResetRegister::new(1, 0),
            index_q: EnabledRegister::new(INDEX_BITS),
            rules: RequestRules::new(RequestRulesFunction {}),
            select: Select::new(SelectFunction { width: INDEX_BITS }),
        }
    }
}

impl Logic for RequestStream {
    #[hdl_gen]
    fn update(&mut self) {
        self.rules.v_ren.next = self.v_ren.val();
        self.rules.asked.next = self.asked_q.q.val();
        self.rules.kept.next = self.kept_q.q.val();
        self.rules.tready.next = self.tready.val();
        self.rules.ce.next = self.ce.val();
        self.asked_q.clk.next = self.clk.val();
        self.asked_q.rst.next = self.rst.val();
        self.asked_q.d.next = self.rules.next_asked.val();
        self.kept_q.clk.next = self.clk.val();
        self.kept_q.rst.next = self.rst.val();
        self.kept_q.d.next = self.rules.next_kept.val();
        self.index_q.clk.next = self.clk.val();
        self.index_q.enable.next = self.rules.keep.val();
        self.index_q.d.next = self.index.val();
        self.select.take.next = self.kept_q.q.val();
        self.select.own.next = self.index_q.q.val();
        self.select.behind.next = self.index.val();
        self.tvalid.next = self.rules.tvalid.val();
        self.tdata.next = self.select.y.val();
        self.blocked.next = self.rules.blocked.val();
    }
}

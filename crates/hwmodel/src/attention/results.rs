//! The flags of a query's result: its end, and whether it is invalid or overflowed.

use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::{circuit, function, unit};

function! {
    /// Sticky invalid bit and the end of a query.
    pub struct ResultFlagsFunction {}
    name(this) = "result_flags";
    doc = "A query is invalid if its q, one of its keys or a value it read is Inf or NaN.";
    inputs { valid: 1, first: 1, last: 1, invalid: 1, reads_v: 1, v_special: 1, sticky: 1 }
    outputs { next_sticky: 1, done: 1 }
    eval<W> {
        let so_far = first.not().and(&sticky);
        [so_far.or(&invalid).or(&reads_v.and(&v_special)), valid.and(&last)]
    }
}

circuit! {
    /// At the value stage: collects invalid bits over a query and announces its end one cycle later.
    pub struct ResultControl {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// Flags at the value stage.
            valid: Bus<In>,
            /// First step.
            first: Bus<In>,
            /// Last step.
            last: Bus<In>,
            /// Invalid so far upstream.
            invalid: Bus<In>,
            /// The step reads its value.
            reads_v: Bus<In>,
            /// The value has an element that is Inf or NaN.
            v_special: Bus<In>,
            /// The accumulators hold a query's result.
            done: Bus<Out>,
            /// Its sticky invalid bit.
            done_invalid: Bus<Out>,
        }
        parts {
            /// Decisions.
            flags: ResultFlags,
            /// Sticky bit.
            sticky_q: EnabledRegister,
            /// End of a query.
            done_q: ResetRegister,
        }
        config {}
    }
}

impl ResultControl {
    /// Result control.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        ResultControl {
            tag: Tag::module("result_control", "End of a query and its sticky invalid bit.").dissolved(),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            valid: Bus::new(1),
            first: Bus::new(1),
            last: Bus::new(1),
            invalid: Bus::new(1),
            reads_v: Bus::new(1),
            v_special: Bus::new(1),
            done: Bus::new(1),
            done_invalid: Bus::new(1),
            flags: ResultFlags::new(ResultFlagsFunction {}),
            sticky_q: EnabledRegister::new(1),
            done_q: ResetRegister::new(1, 0),
        }
    }
}

impl Logic for ResultControl {
    #[hdl_gen]
    fn update(&mut self) {
        self.flags.valid.next = self.valid.val();
        self.flags.first.next = self.first.val();
        self.flags.last.next = self.last.val();
        self.flags.invalid.next = self.invalid.val();
        self.flags.reads_v.next = self.reads_v.val();
        self.flags.v_special.next = self.v_special.val();
        self.flags.sticky.next = self.sticky_q.q.val();
        self.sticky_q.clk.next = self.clk.val();
        self.sticky_q.enable.next = self.valid.val();
        self.sticky_q.d.next = self.flags.next_sticky.val();
        self.done_q.clk.next = self.clk.val();
        self.done_q.rst.next = self.rst.val();
        self.done_q.d.next = self.flags.done.val();
        self.done.next = self.done_q.q.val();
        self.done_invalid.next = self.sticky_q.q.val();
    }
}

function! {
    /// The end of a query at the lanes.
    pub struct EndOfQueryFunction {}
    name(this) = "end_of_query";
    doc = "end = valid and last.";
    inputs { valid: 1, last: 1 }
    outputs { end: 1 }
    eval<W> { [valid.and(&last)] }
}

function! {
    /// Sticky overflow flag of a query.
    pub struct OverflowFlagFunction {}
    name(this) = "overflow_flag";
    doc = "sticky_next = (first ? 0 : sticky) or (reads_v and outside).";
    inputs { first: 1, sticky: 1, reads_v: 1, outside: 1 }
    outputs { sticky_next: 1 }
    eval<W> { [first.not().and(&sticky).or(&reads_v.and(&outside))] }
}

circuit! {
    /// Collects the overflow flag over a query.
    pub struct OverflowControl {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// A step is present.
            valid: Bus<In>,
            /// It is its query's first.
            first: Bus<In>,
            /// It read its value.
            reads_v: Bus<In>,
            /// Something was out of range in it.
            outside: Bus<In>,
            /// The query's flag, a cycle later.
            overflow: Bus<Out>,
        }
        parts {
            /// Decision.
            flag: OverflowFlag,
            /// Sticky bit.
            overflow_q: EnabledRegister,
        }
        config {}
    }
}

impl OverflowControl {
    /// Overflow control.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        OverflowControl {
            tag: Tag::module("overflow_control", "A query's overflow flag.").dissolved(),
            unrest: Default::default(),
            clk: Bus::new(1),
            valid: Bus::new(1),
            first: Bus::new(1),
            reads_v: Bus::new(1),
            outside: Bus::new(1),
            overflow: Bus::new(1),
            flag: OverflowFlag::new(OverflowFlagFunction {}),
            overflow_q: EnabledRegister::new(1),
        }
    }
}

impl Logic for OverflowControl {
    #[hdl_gen]
    fn update(&mut self) {
        self.flag.first.next = self.first.val();
        self.flag.sticky.next = self.overflow_q.q.val();
        self.flag.reads_v.next = self.reads_v.val();
        self.flag.outside.next = self.outside.val();
        self.overflow_q.clk.next = self.clk.val();
        self.overflow_q.enable.next = self.valid.val();
        self.overflow_q.d.next = self.flag.sticky_next.val();
        self.overflow.next = self.overflow_q.q.val();
    }
}

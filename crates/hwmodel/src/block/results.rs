//! Results of a block on their way to the port.
//!
//! A FLASH-D core's result is its accumulator, which the next query's first step overwrites. So all but the first
//! result, which leaves at once, are copied when they are complete. The copies move up by one place a cycle, which takes
//! one multiplexer a bit and place, as choosing among them would, but no wire that spans the array.
//!
//! An FA2 core has a register for its result and holds it until its next one is complete. By then all of a block have
//! left (`sending` in `control` sees to that), so that no copy is needed: `pick` chooses. Flags are held by no core; there
//! the queue has no elements, only flags.

use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::{circuit, function, unit};

function! {
    /// A place's own result, or the one behind it.
    pub struct SelectFunction { width: u32 }
    name(this) = format!("result_select_{}", this.width);
    doc = "y = take ? own : behind.";
    inputs { take: 1, own: this.width, behind: this.width }
    outputs { y: this.width }
    eval<W> { [take.select(&own, &behind)] }
}
unit! {
    /// A place's own result, or the one behind it.
    pub struct Select(SelectFunction) { take, own, behind } -> { y }
}

circuit! {
    /// Chooses between a core's result and the one that waits behind it.
    pub struct ResultSelect {
        ports {
            /// The cores' results are complete.
            take: Bus<In>,
            /// The core's result.
            own: Vec<Bus<In>>,
            /// It is there.
            own_valid: Bus<In>,
            /// Its flags: `o_invalid` and, with fixed-point lanes, `o_overflow`.
            own_flags: Vec<Bus<In>>,
            /// The result behind.
            behind: Vec<Bus<In>>,
            /// It is there.
            behind_valid: Bus<In>,
            /// Its flags.
            behind_flags: Vec<Bus<In>>,
            /// The chosen result.
            o: Vec<Bus<Out>>,
            /// It is there.
            valid: Bus<Out>,
            /// Its flags.
            flags: Vec<Bus<Out>>,
        }
        parts {
            /// Choice of an element.
            element: Vec<Select>,
            /// Choice of the valid bit.
            validity: Select,
            /// Choice of a flag.
            flag: Vec<Select>,
        }
        config {
            d: usize,
            flag_count: usize,
        }
    }
}

impl ResultSelect {
    /// For results of `d` elements of `width` bits (none if the cores hold them) with some flags.
    pub fn new(d: usize, width: u32, flag_count: usize) -> Self {
        ResultSelect {
            tag: Tag::module(
                match d {
                    0 => format!("flags_select_{flag_count}"),
                    _ => format!("result_select_{d}x{width}_{flag_count}"),
                },
                "What belongs to a core's own result when it is complete, otherwise to the one behind it.",
            ),
            unrest: Default::default(),
            take: Bus::new(1),
            own: Bus::vector(d, width),
            own_valid: Bus::new(1),
            own_flags: Bus::vector(flag_count, 1),
            behind: Bus::vector(d, width),
            behind_valid: Bus::new(1),
            behind_flags: Bus::vector(flag_count, 1),
            o: Bus::vector(d, width),
            valid: Bus::new(1),
            flags: Bus::vector(flag_count, 1),
            element: (0..d).map(|_| Select::new(SelectFunction { width })).collect(),
            validity: Select::new(SelectFunction { width: 1 }),
            flag: (0..flag_count).map(|_| Select::new(SelectFunction { width: 1 })).collect(),
            d,
            flag_count,
        }
    }
}

impl Logic for ResultSelect {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..self.d {
            self.element[i].take.next = self.take.val();
            self.element[i].own.next = self.own[i].val();
            self.element[i].behind.next = self.behind[i].val();
            self.o[i].next = self.element[i].y.val();
        }
        self.validity.take.next = self.take.val();
        self.validity.own.next = self.own_valid.val();
        self.validity.behind.next = self.behind_valid.val();
        self.valid.next = self.validity.y.val();
        for i in 0..self.flag_count {
            self.flag[i].take.next = self.take.val();
            self.flag[i].own.next = self.own_flags[i].val();
            self.flag[i].behind.next = self.behind_flags[i].val();
            self.flags[i].next = self.flag[i].y.val();
        }
    }
}

circuit! {
    /// One place of the queue to the port.
    pub struct KeptResult {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// The cores' results are complete.
            take: Bus<In>,
            /// The core's result.
            own: Vec<Bus<In>>,
            /// It is there.
            own_valid: Bus<In>,
            /// Its flags.
            own_flags: Vec<Bus<In>>,
            /// The result in the place behind.
            behind: Vec<Bus<In>>,
            /// It is there.
            behind_valid: Bus<In>,
            /// Its flags.
            behind_flags: Vec<Bus<In>>,
            /// The kept result.
            o: Vec<Bus<Out>>,
            /// It is there.
            valid: Bus<Out>,
            /// Its flags.
            flags: Vec<Bus<Out>>,
        }
        parts {
            /// What to keep.
            select: ResultSelect,
            /// The result.
            o_q: Vec<EnabledRegister>,
            /// It is there.
            valid_q: ResetRegister,
            /// Its flags.
            flag_q: Vec<EnabledRegister>,
        }
        config {
            d: usize,
            flag_count: usize,
        }
    }
}

impl KeptResult {
    /// For results of `d` elements of `width` bits (none if the cores hold them) with some flags.
    pub fn new(d: usize, width: u32, flag_count: usize) -> Self {
        KeptResult {
            tag: Tag::module(
                match d {
                    0 => format!("kept_flags_{flag_count}"),
                    _ => format!("kept_result_{d}x{width}_{flag_count}"),
                },
                "What belongs to a result that waits for the port, one place nearer in every cycle.",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            take: Bus::new(1),
            own: Bus::vector(d, width),
            own_valid: Bus::new(1),
            own_flags: Bus::vector(flag_count, 1),
            behind: Bus::vector(d, width),
            behind_valid: Bus::new(1),
            behind_flags: Bus::vector(flag_count, 1),
            o: Bus::vector(d, width),
            valid: Bus::new(1),
            flags: Bus::vector(flag_count, 1),
            select: ResultSelect::new(d, width, flag_count),
            o_q: (0..d).map(|_| EnabledRegister::new(width)).collect(),
            valid_q: ResetRegister::new(1, 0),
            flag_q: (0..flag_count).map(|_| EnabledRegister::new(1)).collect(),
            d,
            flag_count,
        }
    }
}

impl Logic for KeptResult {
    #[hdl_gen]
    fn update(&mut self) {
        self.select.take.next = self.take.val();
        self.select.own_valid.next = self.own_valid.val();
        self.select.behind_valid.next = self.behind_valid.val();
        for i in 0..self.d {
            self.select.own[i].next = self.own[i].val();
            self.select.behind[i].next = self.behind[i].val();
            self.o_q[i].clk.next = self.clk.val();
            self.o_q[i].enable.next = self.select.valid.val();
            self.o_q[i].d.next = self.select.o[i].val();
            self.o[i].next = self.o_q[i].q.val();
        }
        for i in 0..self.flag_count {
            self.select.own_flags[i].next = self.own_flags[i].val();
            self.select.behind_flags[i].next = self.behind_flags[i].val();
            self.flag_q[i].clk.next = self.clk.val();
            self.flag_q[i].enable.next = self.select.valid.val();
            self.flag_q[i].d.next = self.select.flags[i].val();
            self.flags[i].next = self.flag_q[i].q.val();
        }
        self.valid_q.clk.next = self.clk.val();
        self.valid_q.rst.next = self.rst.val();
        self.valid_q.d.next = self.select.valid.val();
        self.valid.next = self.valid_q.q.val();
    }
}

function! {
    /// Position of a result in its block.
    pub struct OrderFunction { bits: u32 }
    name(this) = format!("result_order_{}", this.bits);
    doc = "last = valid and not more; the index counts while more follow.";
    inputs { valid: 1, more: 1, index: this.bits }
    outputs { last: 1, next_index: this.bits }
    eval<W> {
        let following = index.add(&W::constant(this.bits, 1));
        [valid.and(&more.not()), more.select(&following, &W::zero(this.bits))]
    }
}
unit! {
    /// Position of a result in its block.
    pub struct Order(OrderFunction) { valid, more, index } -> { last, next_index }
}

//! Which keys of its block a query sees: those from one place to before another.
//!
//! The array counts the keys of a block; each core's window compares the count with the limits that were loaded with
//! the query. Both are places in the block's key sequence, not in the whole sequence: a host that leaves out the keys
//! before the first one that any query needs subtracts it once from each limit, and nothing is added here.

use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::{circuit, function, unit};

function! {
    /// The next key's place.
    pub struct NextKeyFunction { bits: u32 }
    name(this) = format!("next_key_{}", this.bits);
    doc = "One more for each key, saturating; 0 after the block's last.";
    inputs { index: this.bits, taken: 1, k_last: 1 }
    outputs { next_index: this.bits }
    eval<W> {
        let more = taken.and(&index.all().not()).named("more");
        let following = index.add(&more.zext(this.bits)).named("following");
        [taken.and(&k_last).not().repeat(this.bits).and(&following)]
    }
}
unit! {
    /// The next key's place.
    pub struct NextKey(NextKeyFunction) { index, taken, k_last } -> { next_index }
}

circuit! {
    /// Counts the keys of a block.
    pub struct KeyCounter {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// A key is taken.
            taken: Bus<In>,
            /// It is its block's last.
            k_last: Bus<In>,
            /// Place of the key.
            index: Bus<Out>,
        }
        parts {
            /// Place of the key.
            index_q: ResetRegister,
            /// Of the next one.
            next_key: NextKey,
        }
        config {}
    }
}

impl KeyCounter {
    /// A counter of so many bits; it stays at all ones, which no window reaches.
    pub fn new(bits: u32) -> Self {
        KeyCounter {
            tag: Tag::module(format!("key_counter_{bits}"), "Place of a key in its block.").dissolved(),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            taken: Bus::new(1),
            k_last: Bus::new(1),
            index: Bus::new(bits),
            index_q: ResetRegister::new(bits, 0),
            next_key: NextKey::new(NextKeyFunction { bits }),
        }
    }
}

impl Logic for KeyCounter {
    #[hdl_gen]
    fn update(&mut self) {
        self.next_key.index.next = self.index_q.q.val();
        self.next_key.taken.next = self.taken.val();
        self.next_key.k_last.next = self.k_last.val();
        self.index_q.clk.next = self.clk.val();
        self.index_q.rst.next = self.rst.val();
        self.index_q.d.next = self.next_key.next_index.val();
        self.index.next = self.index_q.q.val();
    }
}

function! {
    /// Whether a key is outside a query's window.
    pub struct OutsideFunction { bits: u32 }
    name(this) = format!("outside_window_{}", this.bits);
    doc = "mask = k_mask, or not from <= index < to.";
    inputs { index: this.bits, from: this.bits, to: this.bits, k_mask: 1 }
    outputs { mask: 1 }
    eval<W> { [k_mask.or(&index.lt(&from)).or(&index.lt(&to).not())] }
}
unit! {
    /// Whether a key is outside a query's window.
    pub struct Outside(OutsideFunction) { index, from, to, k_mask } -> { mask }
}

circuit! {
    /// The window of one core's query.
    pub struct KeyWindow {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// The core takes its query.
            load: Bus<In>,
            /// Limits that come with it: first key, and the one after the last.
            limit: Vec<Bus<In>>,
            /// Place of the key.
            index: Bus<In>,
            /// No query sees it.
            k_mask: Bus<In>,
            /// This one does not.
            mask: Bus<Out>,
        }
        parts {
            /// Limits.
            limit_q: Vec<EnabledRegister>,
            /// Comparisons.
            outside: Outside,
        }
        config {}
    }
}

impl KeyWindow {
    /// A window of places of so many bits.
    pub fn new(bits: u32) -> Self {
        KeyWindow {
            tag: Tag::module(format!("key_window_{bits}"), "Which keys a query does not see."),
            unrest: Default::default(),
            clk: Bus::new(1),
            load: Bus::new(1),
            limit: Bus::vector(2, bits),
            index: Bus::new(bits),
            k_mask: Bus::new(1),
            mask: Bus::new(1),
            limit_q: (0..2).map(|_| EnabledRegister::new(bits)).collect(),
            outside: Outside::new(OutsideFunction { bits }),
        }
    }
}

impl Logic for KeyWindow {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..2 {
            self.limit_q[i].clk.next = self.clk.val();
            self.limit_q[i].enable.next = self.load.val();
            self.limit_q[i].d.next = self.limit[i].val();
        }
        self.outside.index.next = self.index.val();
        self.outside.from.next = self.limit_q[0].q.val();
        self.outside.to.next = self.limit_q[1].q.val();
        self.outside.k_mask.next = self.k_mask.val();
        self.mask.next = self.outside.mask.val();
    }
}

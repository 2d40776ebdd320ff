//! How many blocks a stream is behind another.

use super::packet::{UpDown, UpDownFunction};
use crate::circuit;
use crate::rtl::{Bus, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};

circuit! {
    /// Counts what has begun and has not been followed up.
    pub struct Credit {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// One more.
            up: Bus<In>,
            /// One less.
            down: Bus<In>,
            /// Some are left.
            some: Bus<Out>,
        }
        parts {
            /// How many.
            count_q: ResetRegister,
            /// How many next.
            step: UpDown,
        }
        config {}
    }
}

impl Credit {
    /// A counter of so many bits, at least two.
    pub fn new(bits: u32) -> Self {
        Credit {
            tag: Tag::module(format!("credit_{bits}"), "Counts up and down, and says whether any are left."),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            up: Bus::new(1),
            down: Bus::new(1),
            some: Bus::new(1),
            count_q: ResetRegister::new(bits, 0),
            step: UpDown::new(UpDownFunction { bits }),
        }
    }
}

impl Logic for Credit {
    #[hdl_gen]
    fn update(&mut self) {
        self.step.count.next = self.count_q.q.val();
        self.step.up.next = self.up.val();
        self.step.down.next = self.down.val();
        self.count_q.clk.next = self.clk.val();
        self.count_q.rst.next = self.rst.val();
        self.count_q.d.next = self.step.next_count.val();
        self.some.next = self.step.some.val();
    }
}

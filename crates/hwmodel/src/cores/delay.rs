//! A word, some cycles later.

use crate::circuit;
use crate::rtl::{Bus, In, Logic, Out, Register, Tag, ast, hdl_gen, logic};

circuit! {
    /// Delays a word by a number of cycles, possibly none.
    pub struct Delay {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// The word.
            x: Bus<In>,
            /// The word, delayed.
            y: Bus<Out>,
        }
        parts {
            /// Stages.
            stage_q: Vec<Register>,
        }
        config {
            stages: usize,
            last: usize,
        }
    }
}

impl Delay {
    /// A delay of `stages` cycles for words of `width` bits.
    pub fn new(width: u32, stages: usize) -> Self {
        Delay {
            tag: Tag::module(format!("delay_{width}_{stages}"), format!("y = x, {stages} cycles later."))
                .dissolved(),
            unrest: Default::default(),
            clk: Bus::new(1),
            x: Bus::new(width),
            y: Bus::new(width),
            stage_q: (0..stages).map(|_| Register::new(width)).collect(),
            stages,
            last: stages.saturating_sub(1),
        }
    }
}

impl Logic for Delay {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..self.stages {
            self.stage_q[i].clk.next = self.clk.val();
        }
        for i in 1..self.stages {
            self.stage_q[i].d.next = self.stage_q[i - 1].q.val();
        }
        for i in self.last..self.stages {
            self.stage_q[0].d.next = self.x.val();
            self.y.next = self.stage_q[i].q.val();
        }
        for _none in self.stages..1 {
            self.y.next = self.x.val();
        }
    }
}

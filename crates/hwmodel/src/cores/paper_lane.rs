//! The output update of the paper's Alg. 3: every operation rounded to the accumulator's format.

use super::lane::{LaneFormats, LaneNext, LaneNextFunction, lane_suffix, narrow};
use super::lane_group::lane_group;
use crate::circuit;
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::units::{Canonical, CanonicalFunction, Convert, Mixed, Operation};
use std::sync::Arc;

circuit! {
    /// FLASH-D: `o <- load ? v : o + w (v - o)` when `update`.
    pub struct PaperLane {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Value element.
            v: Bus<In>,
            /// Weight.
            w: Bus<In>,
            /// Take v as it is.
            load: Bus<In>,
            /// This step changes o.
            update: Bus<In>,
            /// The accumulator, rounded to the format.
            o: Bus<Out>,
        }
        parts {
            /// v without Inf, NaN and flushed subnormals.
            value: Canonical,
            /// `v - o`.
            difference: Mixed,
            /// `w (v - o)`.
            product: Mixed,
            /// `o + w (v - o)`.
            sum: Mixed,
            /// Load or sum.
            select: LaneNext,
            /// The accumulator.
            o_q: EnabledRegister,
            /// Rounding of a wider accumulator (none or one).
            narrow: Vec<Convert>,
        }
        config {
            converts: usize,
        }
    }
}

impl PaperLane {
    /// A lane.
    pub fn new(n: &Numerics) -> Self {
        let f = LaneFormats::new(n, n.accumulator);
        let narrow = narrow(f);
        PaperLane {
            tag: Tag::module(
                format!("flash_d_paper_lane_{}", lane_suffix(f)),
                "One element of o: o <- load ? v : o + w * (v - o), when update.",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            v: Bus::new(f.format.width()),
            w: Bus::new(f.format.width()),
            load: Bus::new(1),
            update: Bus::new(1),
            o: Bus::new(f.format.width()),
            value: Canonical::new(CanonicalFunction { format: f.format, to: f.value }),
            difference: Mixed::of(Operation::Sub, f.format, f.accumulator, f.inner),
            product: Mixed::of(Operation::Mul, f.format, f.inner, f.inner),
            sum: Mixed::of(Operation::Add, f.accumulator, f.inner, f.accumulator),
            select: LaneNext::new(LaneNextFunction { formats: f }),
            o_q: EnabledRegister::new(f.accumulator.width()),
            converts: narrow.len(),
            narrow,
        }
    }
}

impl Logic for PaperLane {
    #[hdl_gen]
    fn update(&mut self) {
        self.value.a.next = self.v.val();
        self.difference.a.next = self.value.y.val();
        self.difference.b.next = self.o_q.q.val();
        self.product.a.next = self.w.val();
        self.product.b.next = self.difference.y.val();
        self.sum.a.next = self.o_q.q.val();
        self.sum.b.next = self.product.y.val();
        self.select.load.next = self.load.val();
        self.select.v.next = self.value.y.val();
        self.select.sum.next = self.sum.y.val();
        self.o_q.clk.next = self.clk.val();
        self.o_q.enable.next = self.update.val();
        self.o_q.d.next = self.select.o_next.val();
        for i in 0..self.converts {
            self.narrow[i].a.next = self.o_q.q.val();
            self.o.next = self.narrow[i].y.val();
        }
        for _i in self.converts..1 {
            self.o.next = self.o_q.q.val();
        }
    }
}

lane_group! {
    /// Up to 16 lanes after the paper. On a step that holds, neither weight nor accumulator toggle.
    PaperLaneGroup of PaperLane(n);
    flags: [update update_q update];
    words: [w w_q if update: n.format.width(), load load_q if update: 1];
    free: [];
}

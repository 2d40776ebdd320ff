//! The output update of the paper's Alg. 3: every operation rounded to the accumulator's format.

use super::lane::{LaneFormats, LaneNext, LaneNextFunction, lane_suffix, narrow};
use crate::circuit;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::units::{Canonical, CanonicalFunction, Convert, Mixed, Operation};

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
    pub fn new(f: LaneFormats) -> Self {
        let narrow = narrow(f);
        PaperLane {
            tag: Tag::module(
                format!("flash_d_paper_lane_{}", lane_suffix(f)),
                "One element of o: o <- load ? v : o + w * (v - o), when update.",
            ),
            quiet: false,
            clk: Bus::new(1),
            v: Bus::new(f.format.width()),
            w: Bus::new(f.format.width()),
            load: Bus::new(1),
            update: Bus::new(1),
            o: Bus::new(f.format.width()),
            value: Canonical::new(CanonicalFunction { format: f.format }),
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

circuit! {
    /// Up to [`LANES_PER_GROUP`] FLASH-D lanes with their own copy of the weight's register. On a step that
    /// holds, neither weight nor accumulator toggle.
    pub struct PaperLaneGroup {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// Weight of the step that reaches the lanes in the next cycle.
            w: Bus<In>,
            /// That step loads.
            load: Bus<In>,
            /// That step changes o.
            update: Bus<In>,
            /// Value elements, one cycle after the weight.
            v: Vec<Bus<In>>,
            /// Results.
            o: Vec<Bus<Out>>,
        }
        parts {
            /// Copy of the weight.
            w_q: EnabledRegister,
            /// Copy of the load bit.
            load_q: EnabledRegister,
            /// Copy of the update bit.
            update_q: ResetRegister,
            /// Lanes.
            lane: Vec<PaperLane>,
        }
        config {
            lanes: usize,
        }
    }
}

impl PaperLaneGroup {
    /// A group of `lanes` lanes.
    pub fn new(f: LaneFormats, lanes: usize) -> Self {
        let width = f.format.width();
        PaperLaneGroup {
            tag: Tag::module(
                format!("flash_d_paper_lane_group_{lanes}_{}", lane_suffix(f)),
                format!("{lanes} lanes and their copy of the weight's register."),
            ),
            quiet: false,
            clk: Bus::new(1),
            rst: Bus::new(1),
            w: Bus::new(width),
            load: Bus::new(1),
            update: Bus::new(1),
            v: Bus::vector(lanes, width),
            o: Bus::vector(lanes, width),
            w_q: EnabledRegister::new(width),
            load_q: EnabledRegister::new(1),
            update_q: ResetRegister::new(1, 0),
            lane: (0..lanes).map(|_| PaperLane::new(f)).collect(),
            lanes,
        }
    }
}

impl Logic for PaperLaneGroup {
    #[hdl_gen]
    fn update(&mut self) {
        self.w_q.clk.next = self.clk.val();
        self.w_q.enable.next = self.update.val();
        self.w_q.d.next = self.w.val();
        self.load_q.clk.next = self.clk.val();
        self.load_q.enable.next = self.update.val();
        self.load_q.d.next = self.load.val();
        self.update_q.clk.next = self.clk.val();
        self.update_q.rst.next = self.rst.val();
        self.update_q.d.next = self.update.val();
        for i in 0..self.lanes {
            self.lane[i].clk.next = self.clk.val();
            self.lane[i].v.next = self.v[i].val();
            self.lane[i].w.next = self.w_q.q.val();
            self.lane[i].load.next = self.load_q.q.val();
            self.lane[i].update.next = self.update_q.q.val();
            self.o[i].next = self.lane[i].o.val();
        }
    }
}

//! The output update: one lane per element of `o`, in groups that share a copy of the weight's register.

use crate::arith::widen;
use crate::config::{Design, Fa2Variant, WeightUnit};
use crate::format::Format;
use crate::numerics::Numerics;
use crate::rtl::{ast, hdl_gen, logic, Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag};
use crate::units::{Canonical, CanonicalFunction, Convert, ConvertFunction, Mixed, Operation};
use crate::word::Word;
use crate::{circuit, function, unit};

/// Lanes that one copy of the weight's register feeds.
pub const LANES_PER_GROUP: usize = 16;

/// The formats a lane computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneFormats {
    /// Ports.
    pub format: Format,
    /// The accumulator o.
    pub accumulator: Format,
    /// Difference and product.
    pub inner: Format,
}

/// Which recurrence a lane runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneKind {
    /// `o + w (v - o)`.
    FlashD,
    /// `o c + v` or `o + v e`.
    Fa2,
    /// `o c + v e`, both products.
    Fa2Literal,
}

impl LaneKind {
    /// Lanes of a design, and their formats.
    pub fn of(design: Design, weight: WeightUnit, fa2: Fa2Variant, n: &Numerics) -> (LaneKind, LaneFormats) {
        let formats = |inner| LaneFormats { format: n.format, accumulator: n.accumulator, inner };
        match (design, weight, fa2) {
            (Design::FlashD, WeightUnit::Lse, _) => (LaneKind::FlashD, formats(n.difference)),
            (Design::FlashD, WeightUnit::Paper, _) => (LaneKind::FlashD, formats(n.accumulator)),
            (Design::Fa2, _, Fa2Variant::Default) => (LaneKind::Fa2, formats(n.product)),
            (Design::Fa2, _, Fa2Variant::Literal) => (LaneKind::Fa2Literal, formats(n.accumulator)),
        }
    }

    /// Prefix of module names.
    pub fn name(self) -> &'static str {
        match self {
            LaneKind::FlashD => "flash_d",
            LaneKind::Fa2 => "fa2",
            LaneKind::Fa2Literal => "fa2_literal",
        }
    }
}

function! {
    /// The accumulator's next value.
    pub struct LaneNextFunction { formats: LaneFormats }
    name(this) = format!("{}_{}_lane_next", this.formats.format.ident(), this.formats.accumulator.ident());
    doc = "o_next = load ? v : sum.";
    inputs { load: 1, v: this.formats.format.width(), sum: this.formats.accumulator.width() }
    outputs { this.formats.accumulator.width() }
    eval<W> { [load.select(&widen(this.formats.format, &v, this.formats.accumulator), &sum)] }
}
unit! {
    /// The accumulator's next value.
    pub struct LaneNext(LaneNextFunction) { load, v, sum } -> { o_next }
}

function! {
    /// FA2's operands: one of the two factors is always 1, so one multiplier serves both products.
    pub struct LaneOperandsFunction { formats: LaneFormats }
    name(this) = format!("{}_{}_lane_operands", this.formats.format.ident(), this.formats.accumulator.ident());
    doc = "The maximum moved: o * e + v.  It stayed: v * e + o.";
    inputs { moved: 1, o: this.formats.accumulator.width(), v: this.formats.format.width() }
    outputs { this.formats.accumulator.width(), this.formats.accumulator.width() }
    eval<W> {
        let v = widen(this.formats.format, &v, this.formats.accumulator);
        [moved.select(&o, &v), moved.select(&v, &o)]
    }
}
unit! {
    /// FA2's operands.
    pub struct LaneOperands(LaneOperandsFunction) { moved, o, v } -> { multiplicand, addend }
}

circuit! {
    /// FLASH-D: `o <- load ? v : o + w (v - o)` when `update`.
    pub struct FlashDLane {
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

impl FlashDLane {
    /// A lane.
    pub fn new(f: LaneFormats) -> Self {
        let narrow = narrow(f);
        FlashDLane {
            tag: Tag::module(
                format!("flash_d_lane_{}", lane_suffix(f)),
                "One element of o: o <- load ? v : o + w * (v - o), when update.",
            ),
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

fn lane_suffix(f: LaneFormats) -> String {
    match f.accumulator == f.format {
        true => f.format.ident(),
        false => format!("{}_{}", f.format.ident(), f.accumulator.ident()),
    }
}

fn narrow(f: LaneFormats) -> Vec<Convert> {
    match f.accumulator == f.format {
        true => vec![],
        false => vec![Convert::new(ConvertFunction { from: f.accumulator, to: f.format })],
    }
}

impl Logic for FlashDLane {
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
    pub struct FlashDLaneGroup {
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
            lane: Vec<FlashDLane>,
        }
        config {
            lanes: usize,
        }
    }
}

impl FlashDLaneGroup {
    /// A group of `lanes` lanes.
    pub fn new(f: LaneFormats, lanes: usize) -> Self {
        let width = f.format.width();
        FlashDLaneGroup {
            tag: Tag::module(
                format!("flash_d_lane_group_{lanes}_{}", lane_suffix(f)),
                format!("{lanes} lanes and their copy of the weight's register."),
            ),
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
            lane: (0..lanes).map(|_| FlashDLane::new(f)).collect(),
            lanes,
        }
    }
}

impl Logic for FlashDLaneGroup {
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

/// Sizes of the groups that `d` lanes make.
pub fn group_sizes(d: usize) -> Vec<usize> {
    (0..d).step_by(LANES_PER_GROUP).map(|start| LANES_PER_GROUP.min(d - start)).collect()
}
